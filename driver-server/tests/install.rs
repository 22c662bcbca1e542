//! `airlock-driver install`: the real binary copies itself, and the copy is the program.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn airlock_driver(folder: &Path, path: &Path) -> Output {
    let log = folder.join("termination-log");
    fs::write(&log, "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlock-driver"));
    command.arg("install").arg(path).arg("--termination-log").arg(log).env_clear().output().unwrap()
}

#[test]
fn the_copy_starts_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy");
    let installed = airlock_driver(folder.path(), &path);
    assert!(installed.status.success(), "{installed:?}");
    let version = Command::new(&path).arg("--version").output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("airlock-driver "), "{version:?}");
}

#[test]
fn c02_a_failure_is_the_termination_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taken");
    fs::write(&path, "mine").unwrap();
    let refused = airlock_driver(folder.path(), &path);
    assert_eq!(refused.status.code(), Some(74), "{refused:?}");
    let message = fs::read_to_string(folder.path().join("termination-log")).unwrap();
    assert!(message.starts_with("E_IO: ") && message.contains("taken"), "{message}");
    assert!(String::from_utf8_lossy(&refused.stderr).starts_with("airlock-driver: E_IO: "), "{refused:?}");
}
