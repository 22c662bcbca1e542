//! Tests of the launch: P01, P02, P05, F01, F04–F06, and whole launches as snapshots.

use super::*;
use crate::settings::cli::{self, Command, Parsed};
use crate::settings::prepare::prepare;
use crate::settings::resolve::Environment;
use proptest::prelude::*;
use std::ffi::OsString;
use std::time::Duration;
use tempfile::TempDir;

fn files(names: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in names {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, name).unwrap();
    }
    directory
}

/// The launch of `words` with an image; `@` stands for the directory.
fn launch_of(directory: &TempDir, words: &[&str]) -> Launch {
    let at = directory.path().to_str().unwrap();
    let fixed = ["airlock", "submit", "--conf", "spark.kubernetes.container.image=spark:4"];
    let words = fixed.iter().map(OsString::from).chain(words.iter().map(|word| word.replace('@', at).into()));
    let Parsed::Run(cli) = cli::parse(words).unwrap() else { panic!("help") };
    let Command::Submit(arguments) = cli.command else { panic!("no submission") };
    let (prepared, _) = prepare(&arguments, &Environment::default());
    let prepared = prepared.unwrap_or_else(|problems| panic!("{}", problems.render("airlock")));
    let names = SubmissionNames::new(&prepared.settings.application.name, None, &[0xab; 24]);
    let namespace = ObjectName::label("jobs").unwrap();
    let submitted = UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    launch(&prepared.settings, &prepared.inputs, &names, &namespace, submitted)
}

#[test]
fn executors_find_hadoops_configuration_by_the_name_of_its_object() {
    let directory = files(&["conf/core-site.xml"]);
    let settings = |words: &[&str], environment: &Environment| {
        let words = ["airlock", "submit", "-c", "spark.kubernetes.container.image=spark:4"].iter().chain(words);
        let Parsed::Run(cli) = cli::parse(words.map(OsString::from)).unwrap() else { panic!("help") };
        let Command::Submit(arguments) = cli.command else { panic!("no submission") };
        prepare(&arguments, environment).0.unwrap()
    };
    let here = Environment { hadoop_conf_dir: Some(directory.path().join("conf")), ..Environment::default() };
    let words = ["--class", "M", "local:///a.jar"];
    let theirs = [&["-c", "spark.kubernetes.hadoop.configMapName=theirs"], &words[..]].concat();
    let names = SubmissionNames::new("M", None, &[0xab; 24]);
    let namespace = ObjectName::label("jobs").unwrap();
    for (prepared, name) in [
        (settings(&words, &here), format!("{}-hadoop-config", names.prefix)),
        (settings(&theirs, &Environment::default()), "theirs".to_owned()),
    ] {
        let launch = launch(&prepared.settings, &prepared.inputs, &names, &namespace, UNIX_EPOCH);
        assert_eq!(launch.properties["spark.kubernetes.executor.hadoopConfigMapName"], name);
    }
}

#[test]
fn a_jar_with_everything() {
    let directory = files(&["app.jar", "a/dep.jar", "b/dep.jar", "q-1.sql", "env.tgz", "util.py"]);
    let launch = launch_of(
        &directory,
        &[
            "--class",
            "org.example.Main",
            "--name",
            "My Job",
            "--jars",
            "@/a/dep.jar,https://h/r.jar,@/b/dep.jar,local:///opt/l.jar",
            "--files",
            "@/q-1.sql#q.sql,s3a://b/x.txt#y.txt",
            "--archives",
            "@/env.tgz#env",
            "--py-files",
            "@/util.py",
            "--driver-memory",
            "2g",
            "--num-executors",
            "3",
            "--conf",
            "spark.sql.x=$(id) `id` | (a)",
            "@/app.jar",
            "--x",
            "a b",
            "",
        ],
    );
    insta::assert_yaml_snapshot!(launch);
}

#[test]
fn a_python_script() {
    let directory = files(&["job.py"]);
    insta::assert_yaml_snapshot!(launch_of(&directory, &["@/job.py", "1", "2"]));
}

#[test]
fn recipe_b_leaves_out_what_would_copy_everything() {
    let launch = launch_of(&files(&["a.jar"]), &["--class", "M", "--deploy-mode", "cluster", "@/a.jar"]);
    assert_eq!(launch.properties["spark.submit.deployMode"], "client");
    for key in
        ["spark.kubernetes.submitInDriver", "spark.driver.bindAddress", "spark.jars", "spark.kubernetes.resource.type"]
    {
        assert!(!launch.properties.contains_key(key), "{key}");
    }
}

#[test]
fn what_the_user_said_of_executors_is_kept() {
    let words = [
        "--class",
        "M",
        "-c",
        "spark.kubernetes.executor.podNamePrefix=mine",
        "-c",
        "spark.kubernetes.driver.container.image=other",
        "-c",
        "spark.kubernetes.memoryOverheadFactor=0.25",
        "-c",
        "spark.kubernetes.driver.master=https://10.0.0.1:6443",
        "-c",
        "spark.driver.port=9078",
        "spark-internal",
    ];
    let launch = launch_of(&files(&[]), &words);
    assert_eq!(launch.properties["spark.kubernetes.executor.podNamePrefix"], "mine");
    assert_eq!(launch.properties["spark.kubernetes.container.image"], "spark:4");
    assert_eq!(launch.properties["spark.kubernetes.memoryOverheadFactor"], "0.25");
    assert_eq!(launch.properties["spark.master"], "k8s://https://10.0.0.1:6443");
    assert_eq!(launch.properties["spark.driver.port"], "9078");
    assert_eq!(launch.resource, "spark-internal");
}

#[test]
fn p02_lists_of_arguments_stay_lists() {
    let directory = files(&["a.jar"]);
    assert_eq!(launch_of(&directory, &["--class", "M", "@/a.jar", "1", "2", "3"]).arguments, ["1", "2", "3"]);
    assert_eq!(launch_of(&directory, &["--class", "M", "@/a.jar", "a,b"]).arguments, ["a,b"]);
}

#[test]
fn f06_the_main_jar_is_not_listed_again() {
    let directory = files(&["app.jar", "dep.jar", "x/y"]);
    let launch = launch_of(&directory, &["--class", "M", "--jars", "@/app.jar,@/dep.jar", "@/x/../app.jar"]);
    assert_eq!(launch.properties["spark.jars"], "file:///var/airlock/bundle/jars/dep.jar");
    assert_eq!(launch.resource, "file:///var/airlock/bundle/app/app.jar");
}

#[test]
fn f10_names_are_encoded_on_their_way_through_spark() {
    let directory = files(&["a b#π%.jar"]);
    let launch = launch_of(&directory, &["--class", "M", "@/a b#π%.jar"]);
    assert_eq!(launch.resource, "file:///var/airlock/bundle/app/a%20b%23%CF%80%25.jar");
}

proptest! {
    #[test]
    fn p01_and_p05_texts_of_the_user_reach_the_launch_unchanged(
        arguments in prop::collection::vec("(?s).{0,10}", 0..4),
        value in "(?s)[^ \t].{0,10}[^ \t]",
    ) {
        let value = value.trim_matches(|c| c <= ' ').to_owned();
        let pair = format!("spark.x={value}");
        let arguments: Vec<String> = arguments.into_iter().map(|argument| argument.replace('@', "-")).collect();
        let mut words = vec!["--class", "M", "-c"];
        let pair = pair.replace('@', "-");
        words.extend([pair.as_str(), "spark-internal"]);
        words.extend(arguments.iter().map(String::as_str));
        let launch = launch_of(&files(&[]), &words);
        prop_assert_eq!(&launch.arguments, &arguments);
        prop_assert_eq!(&launch.properties["spark.x"], &value.replace('@', "-"));
        let file = shared::java_properties::write(&launch.properties);
        let read: BTreeMap<_, _> = shared::java_properties::parse(&file).unwrap().into_iter().collect();
        prop_assert_eq!(read, launch.properties);
    }
}
