//! Tests of the settings of commands for drivers.

use super::*;
use crate::settings::cli::{Command, Parsed, parse};
use shared::error_code::ErrorCode;
use std::ffi::OsString;

fn command(words: &[&str]) -> DriverCommand {
    let words = ["airlock", "kill", "x"].iter().chain(words).map(OsString::from);
    let Parsed::Run(cli) = parse(words).unwrap() else { panic!("help") };
    let Command::Driver(command) = cli.command else { panic!("a submission") };
    command
}

fn settings(words: &[&str]) -> Result<ControlSettings, Problems> {
    control(&command(words), &Environment::default()).0
}

#[test]
fn grace_is_a_time_and_may_be_none_at_all() {
    let grace = |text: &str| {
        settings(&["-c", &format!("spark.kubernetes.appKillPodDeletionGracePeriod={text}")]).map(|read| read.grace)
    };
    let table = [("30", 30), ("5m", 300), ("0", 0)];
    for (text, seconds) in table {
        assert_eq!(grace(text).unwrap(), Some(Duration::from_secs(seconds)), "{text}");
    }
    assert_eq!(settings(&[]).unwrap().grace, None);
    assert_eq!(grace("-1").unwrap_err().code(), ErrorCode::ConfValue);
}

#[test]
fn the_defaults_of_submit_are_read_and_flags_go_over_them() {
    let directory = tempfile::tempdir().unwrap();
    let text = "spark.kubernetes.namespace defaults\nspark.kubernetes.context c\nspark.airlock.timeout.api 7s\n";
    std::fs::write(directory.path().join("spark-defaults.conf"), text).unwrap();
    let environment = Environment { spark_conf_dir: Some(directory.path().to_owned()), ..Environment::default() };
    let settings = control(&command(&["-n", "flag"]), &environment).0.unwrap();
    assert_eq!(settings.namespace.unwrap().as_str(), "flag");
    assert_eq!((settings.access.context.as_deref(), settings.api), (Some("c"), Duration::from_secs(7)));
}

#[test]
fn what_only_a_submission_refuses_stops_no_kill() {
    for pair in ["spark.submit.deployMode=client", "spark.kerberos.keytab=k", "spark.driver.memory=lots"] {
        assert!(settings(&["-c", pair]).is_ok(), "{pair}");
    }
}

#[test]
fn p04_a_typo_of_ours_is_named() {
    let problems = settings(&["-c", "spark.airlock.timeouts.api=1m"]).unwrap_err();
    assert!(problems.render("airlock").contains("did you mean spark.airlock.timeout.api?"));
}
