//! The binary as a user runs it, up to the first call of the cluster: statuses, streams, and that all faults come at once.
//! No test here may find a cluster: there is no kubeconfig.
#![expect(clippy::unwrap_used, reason = "in tests a panic is the report")]

use assert_cmd::Command;
use shared::error_code::ErrorCode;
use tempfile::TempDir;

/// `airlock submit` in `folder`, without this machine's Spark and clusters, with an image and `words` after it.
fn submit(folder: &TempDir, words: &[&str]) -> (u8, String, String) {
    let mut command = Command::cargo_bin("airlock").unwrap();
    command.current_dir(folder).env_clear().env("HOME", folder.path()).env("KUBECONFIG", folder.path().join("none"));
    command.args(["submit", "--conf", "spark.kubernetes.container.image=spark:4"]).args(words);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (u8::try_from(output.status.code().unwrap()).unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn p03_help_is_ours_before_the_resource_and_the_applications_after_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jar"), "x").unwrap();
    let (status, stdout, stderr) = submit(&folder, &["--help"]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(stdout.contains("--properties-file") && stdout.contains("airlock submit [OPTIONS] <MAIN-RESOURCE>"));
    let (_, stdout, _) = submit(&folder, &["--class", "M", "a.jar", "--help"]);
    assert_eq!(stdout, "", "no help text from submit");
}

#[test]
fn p03_an_unknown_option_is_64_and_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let (status, stdout, stderr) = submit(&folder, &["--packges", "x", "a.jar"]);
    assert_eq!((status, stdout.as_str()), (64, ""));
    assert!(stderr.starts_with("airlock: E_USAGE: unknown option \"--packges\""), "{stderr}");
    let (status, _, stderr) = submit(&folder, &["--remote", "sc://h", "a.jar"]);
    let expected = "airlock: E_USAGE: --remote is for spark connect clients, not for a submission\n";
    assert_eq!((status, stderr.as_str()), (64, expected));
}

#[test]
fn f11_settings_and_inputs_are_faulted_in_one_list() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("dep.jar")).unwrap();
    let words = ["--jars", "dep.jar,missing.jar", "--driver-memory", "lots", "app.jar"];
    let (status, _, stderr) = submit(&folder, &words);
    assert_eq!(status, ErrorCode::ConfValue.exit_status(), "the first problem decides");
    for code in ["E_CONF_VALUE", "E_NOT_A_FILE: dep.jar", "E_INPUT_MISSING: missing.jar", "E_INPUT_MISSING: app.jar"] {
        assert!(stderr.contains(&format!("airlock: {code}")), "{stderr}");
    }
}

#[test]
fn t08_verbose_shows_origins_and_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.conf"), "spark.a 1\nspark.my.password hunter2\n").unwrap();
    let words = ["-v", "--properties-file", "own.conf", "--name", "n", "--class", "M", "spark-internal"];
    let (_, _, stderr) = submit(&folder, &words);
    assert!(stderr.contains("spark.a=1 (own.conf)\n"), "{stderr}");
    assert!(stderr.contains("spark.app.name=n (--name)\n") && !stderr.contains("hunter2"), "{stderr}");
}

#[test]
fn a_jar_without_class_or_manifest_is_64() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jar"), "x").unwrap();
    let (status, _, stderr) = submit(&folder, &["a.jar"]);
    assert_eq!(status, 64);
    assert!(stderr.starts_with("airlock: E_USAGE: no main class for a.jar"), "{stderr}");
    assert!(stderr.ends_with("hint: name it: --class CLASS\n"), "{stderr}");
}

#[test]
fn under_the_name_of_spark_submit_it_submits() {
    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("spark-submit");
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin("airlock"), &named).unwrap();
    let mut command = Command::new(&named);
    command.current_dir(folder.path()).env_clear().env("HOME", folder.path());
    let output = command.args(["--master", "yarn", "missing.jar", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("E_INPUT_MISSING: missing.jar") && text.contains("yarn"), "{text}");
}

#[test]
fn a_dry_run_shows_every_object_and_no_secret_and_needs_no_cluster() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("job.py"), "print(1)").unwrap();
    let words =
        ["--dry-run", "-c", "spark.kubernetes.driverEnv.DB_PASSWORD=hunter2", "-c", "spark.my.token=hunter2", "job.py"];
    let (status, stdout, stderr) = submit(&folder, &[&words[..], &["--password=hunter2", "two\nlines"]].concat());
    assert_eq!(status, 0, "{stderr}");
    let kinds: Vec<_> = stdout.lines().filter_map(|line| line.strip_prefix("kind: ")).collect();
    assert_eq!(kinds, ["Secret", "Pod", "Service", "NetworkPolicy", "Service"]);
    for part in ["app/job.py", "spark.my.token=*", "two\\nlines", "namespace: default"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains("hunter2"), "{stdout}");
}
