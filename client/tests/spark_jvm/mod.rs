//! Questions to Spark itself, many in one JVM: a Java class answers each line of a file with one line. Shared by the tests
//! that have Spark as their oracle.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Spark that is asked: `AIRLOCK_E2E_SPARK_HOME`, else that of the test image.
pub(crate) fn spark_home() -> PathBuf {
    if let Some(home) = std::env::var_os("AIRLOCK_E2E_SPARK_HOME") {
        return home.into();
    }
    run(&mut Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/spark-home"))).trim().into()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; this test needs a JDK 17"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What `main` of the Java `class` with this `source` answers, a line to each question. It gets the path of a file
/// with a question in hex on each line, that of a file for the answers, since Spark prints on
/// stdout too, and an environment in which `ann` is the user of Spark.
pub(crate) fn ask(class: &str, source: &str, questions: &[String]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut text = String::new();
    for question in questions {
        question.bytes().for_each(|byte| write!(text, "{byte:02x}").unwrap());
        text.push('\n');
    }
    std::fs::write(at("questions"), text).unwrap();
    let file = at(&format!("{class}.java"));
    std::fs::write(&file, source).unwrap();
    let jars = format!("{}:{}/jars/*", folder.path().display(), spark_home().display());
    run(Command::new("javac").arg("-cp").arg(&jars).arg("-d").arg(folder.path()).arg(&file));
    let mut java = Command::new("java");
    java.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("HOME", folder.path());
    java.env("SPARK_USER", "ann");
    run(java.args(["-Dfile.encoding=UTF-8", "-cp", &jars, class]).arg(at("questions")).arg(at("answers")));
    let answers = std::fs::read_to_string(at("answers")).unwrap();
    let answers: Vec<String> = answers.lines().map(ToOwned::to_owned).collect();
    assert_eq!(answers.len(), questions.len(), "{answers:?}");
    answers
}
