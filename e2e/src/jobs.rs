//! The Spark jobs that are submitted: their sources lie in `e2e/jobs`, jars are compiled with the machine's JDK for each
//! test, and the inputs beside them are made on the spot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;

/// What `data.txt` holds: not ASCII, and with what shells would expand.
pub const DATA: &str = "data π $HOME `id` *";
/// What `inner.txt` in the archive holds.
pub const INNER: &str = "from the archive";

/// The jobs and their inputs in a folder of their own.
pub struct Jobs {
    folder: tempfile::TempDir,
}

impl Default for Jobs {
    fn default() -> Self {
        Self::new()
    }
}

impl Jobs {
    /// An empty folder with the inputs that every job reads: `data.txt` and `packed.tgz`.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("data.txt"), DATA).expect("data.txt");
        fs::write(folder.path().join("inner.txt"), INNER).expect("inner.txt");
        run(Command::new("tar").args(["-czf", "packed.tgz", "inner.txt"]).current_dir(folder.path()));
        Self { folder }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in the folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles the probe: `probe.jar`, which needs `greeter.jar`.
    #[must_use]
    pub fn with_probe_jars(self) -> Self {
        self.jar("greeter", "Greeter.java", None);
        let greeter = self.path("greeter.jar");
        self.jar("probe", "Probe.java", Some(&greeter));
        self
    }

    /// Copies the Python probe: `probe.py`, which needs `greeter.py`.
    #[must_use]
    pub fn with_probe_scripts(self) -> Self {
        for name in ["probe.py", "greeter.py"] {
            fs::copy(source(name), self.path(name)).expect("the script can be copied");
        }
        self
    }

    fn jar(&self, name: &str, java: &str, needs: Option<&Path>) {
        let classes = self.path(&format!("{name}-classes"));
        let spark = environment::spark_home().join("jars/*");
        let mut classpath = spark.into_os_string();
        if let Some(jar) = needs {
            classpath.push(":");
            classpath.push(jar);
        }
        run(Command::new("javac").arg("-d").arg(&classes).arg("-cp").arg(classpath).arg(source(java)));
        let jar = self.path(&format!("{name}.jar"));
        run(Command::new("jar").arg("--create").arg("--file").arg(jar).arg("-C").arg(&classes).arg("."));
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs").join(name)
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
