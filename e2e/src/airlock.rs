//! Runs the submit CLI as a user would: a process with arguments, whose output and status are looked at afterwards.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};

use crate::environment;
use crate::namespace::TestNamespace;

/// Longest run of one submission in a test.
const LIMIT: Duration = Duration::from_mins(5);

/// A submission that is being put together.
pub struct Airlock {
    options: Vec<OsString>,
    application: Vec<OsString>,
    folder: Option<std::path::PathBuf>,
}

/// How a run ended, and what it printed.
#[derive(Debug)]
pub struct Run {
    /// The process's status.
    pub status: ExitStatus,
    /// Everything on stdout.
    pub stdout: String,
    /// Everything on stderr.
    pub stderr: String,
}

impl Airlock {
    /// `airlock submit` into `namespace`, with the image under test and a small driver and executor.
    #[must_use]
    pub fn submit(namespace: &TestNamespace) -> Self {
        let submit = Self { options: Vec::new(), application: Vec::new(), folder: None };
        submit
            .conf("spark.kubernetes.namespace", &namespace.name)
            .conf("spark.kubernetes.container.image", &environment::image())
            .conf("spark.kubernetes.authenticate.driver.serviceAccountName", "spark")
            .conf("spark.kubernetes.executor.deleteOnTermination", "true")
            .conf("spark.kubernetes.executor.request.cores", "100m")
            .conf("spark.kubernetes.driver.request.cores", "100m")
            .conf("spark.driver.memory", "512m")
            .conf("spark.executor.memory", "512m")
            .conf("spark.executor.instances", "1")
            .conf("spark.kubernetes.submission.waitAppCompletion", "true")
    }

    /// Adds `--conf key=value`.
    #[must_use]
    pub fn conf(self, key: &str, value: &str) -> Self {
        self.option("--conf", format!("{key}={value}"))
    }

    /// Adds an option with a value.
    #[must_use]
    pub fn option(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.options.extend([name.into(), value.into()]);
        self
    }

    /// The main resource and the application's arguments.
    #[must_use]
    pub fn application<I, S>(mut self, resource: impl AsRef<Path>, arguments: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<OsString>,
    {
        self.application.push(resource.as_ref().into());
        self.application.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Runs in `folder`.
    #[must_use]
    pub fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Starts it, output piped, and leaves it running; it is killed when dropped.
    #[must_use]
    pub fn spawn(&self) -> Child {
        let mut command = Command::new(environment::binary("airlock"));
        command
            .arg("submit")
            .args(&self.options)
            .args(&self.application)
            .env("KUBECONFIG", environment::kubeconfig())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.spawn().expect("airlock can be started")
    }

    /// Runs it to its end.
    pub async fn run(&self) -> Run {
        finish(self.spawn()).await
    }
}

/// Waits for a started submission.
pub async fn finish(child: Child) -> Run {
    let output = tokio::time::timeout(LIMIT, child.wait_with_output());
    let output = output.await.unwrap_or_else(|_| panic!("airlock ran for more than {LIMIT:?}"));
    let output = output.expect("airlock's output can be read");
    Run {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Run {
    /// Asserts the exit status and returns the run; shows all output otherwise.
    #[must_use]
    pub fn expect_status(self, status: i32) -> Self {
        assert_eq!(self.status.code(), Some(status), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that stderr holds `text` and returns the run.
    #[must_use]
    pub fn expect_stderr(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "{text:?} is not in stderr:\n{}", self.stderr);
        self
    }
}
