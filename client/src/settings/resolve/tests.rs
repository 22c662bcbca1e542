//! Tests of step 1 from the command line to the settings: P03, P04, P07, P08, P09, F04, T08.

use super::*;
use crate::inputs::reference::NO_RESOURCE;
use crate::settings::cli::{Command, Parsed};
use crate::settings::memory::Memory;
use crate::settings::{InputPlace, Language};
use proptest::prelude::*;
use shared::report::{Failure, render};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const USUAL: [&str; 6] = ["--master", "k8s://h:6443", "--class", "M", "-c", "spark.kubernetes.container.image=spark:4"];

fn arguments(words: &[&str]) -> SubmitArguments {
    let words = ["airlock", "submit"].iter().chain(words).map(OsString::from);
    match crate::settings::cli::parse(words).unwrap() {
        Parsed::Run(cli) => match cli.command {
            Command::Submit(arguments) => arguments,
            Command::Driver(command) => panic!("{command:?}"),
        },
        Parsed::Show(text) => panic!("{text}"),
    }
}

fn resolve_in(environment: &Environment, words: &[&str]) -> (Settings, Findings) {
    let (arguments, mut findings) = (arguments(words), Findings::default());
    let conf = load_conf(&arguments, environment, &mut findings);
    let settings = resolve(&arguments, &conf, environment, &mut findings);
    (settings, findings)
}

/// With the usual required options before `words`, and a jar after them.
fn look(words: &[&str]) -> (Settings, Findings) {
    resolve_in(&Environment::default(), &[&USUAL[..], words, &["a.jar"]].concat())
}

fn settings(words: &[&str]) -> Settings {
    let (settings, findings) = look(words);
    assert!(findings.problems.is_empty(), "{words:?}: {:?}", findings.problems);
    settings
}

fn conf(pairs: &[&str]) -> Settings {
    let words: Vec<&str> = pairs.iter().flat_map(|pair| ["-c", pair]).collect();
    settings(&words)
}

fn problem(pair: &str) -> (ErrorCode, String) {
    let (_, findings) = look(&["-c", pair]);
    assert_eq!(findings.problems.len(), 1, "{pair}: {:?}", findings.problems);
    (findings.problems[0].code(), render("airlock", &findings.problems[0]))
}

#[test]
fn the_usual_options_are_enough() {
    let settings = settings(&[]);
    assert_eq!(settings.access.master.unwrap().to_string(), "https://h:6443/");
    assert_eq!((settings.application.name.as_str(), settings.application.language), ("M", Language::Jvm));
    assert_eq!((settings.driver.image.as_str(), settings.driver.pull_policy.as_str()), ("spark:4", "IfNotPresent"));
    assert_eq!((settings.driver.memory.mib(), settings.driver.memory_overhead.mib()), (1024, 384));
    assert_eq!((settings.driver.cores_request.as_str(), settings.driver.cores_limit), ("1", None));
    assert_eq!(settings.access.request_timeout, Duration::from_secs(10));
    assert_eq!(settings.follow.report_interval, Duration::from_secs(1));
    assert!(settings.follow.wait && !settings.follow.logs);
    assert_eq!(settings.door.traffic_policy, None);
    assert_eq!(settings.driver.max_bundle_bytes, 64 << 30);
    assert_eq!(settings.deadlines.schedule, Duration::from_mins(15));
    assert_eq!(
        (settings.driver.ports.rpc, settings.driver.ports.block_manager, settings.driver.ports.ui),
        (7078, 7079, 4040)
    );
}

#[test]
fn every_default_of_the_table_is_a_value_its_key_takes() {
    for line in setting_keys::SETTING_KEYS.iter().filter(|line| !line.default.is_empty()) {
        conf(&[&format!("{}={}", line.name, line.default)]);
    }
}

#[test]
fn every_key_that_is_read_stands_in_the_table() {
    let sources = [
        include_str!("application.rs"),
        include_str!("cluster.rs"),
        include_str!("control.rs"),
        include_str!("driver.rs"),
        include_str!("volumes.rs"),
        include_str!("../resolve.rs"),
    ];
    let texts = sources.iter().flat_map(|source| source.split('"')).filter(|text| text.starts_with("spark."));
    let mut count = 0;
    for key in texts.filter(|text| !text.contains(' ') && *text != "spark.kubernetes.driver.") {
        let line = setting_keys::find(&format!("{key}{}", if key.ends_with('.') { "x" } else { "" }));
        assert!(line.is_some(), "{key} is read and not in the table");
        count += 1;
    }
    assert!(count > 50, "the search finds keys at all: {count}");
}

#[test]
fn flags_go_over_conf_over_the_file_over_the_defaults() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("spark-defaults.conf", "spark.driver.memory 2g\nspark.driver.cores 2\nspark.executor.cores 7\n");
    write("own.conf", "spark.driver.memory=3g\nspark.driver.cores=3\nspark.executor.memory=3g\n");
    let environment = Environment { spark_conf_dir: Some(directory.path().to_owned()), ..Environment::default() };
    let own = directory.path().join("own.conf").display().to_string();
    let run = |words: &[&str]| resolve_in(&environment, &[&USUAL[..], words, &["a.jar"]].concat()).0;
    let defaults = run(&[]);
    assert_eq!((defaults.driver.memory.mib(), defaults.driver.cores_request.as_str()), (2048, "2"));
    let replaced = run(&["--properties-file", &own]);
    assert_eq!(replaced.driver.memory.mib(), 3072);
    assert!(!replaced.properties.contains_key("spark.executor.cores"), "the file replaces the defaults");
    let both = run(&["--properties-file", &own, "--load-spark-defaults"]);
    assert_eq!((both.driver.memory.mib(), both.properties["spark.executor.cores"].as_str()), (3072, "7"));
    let all = run(&[
        "--properties-file",
        &own,
        "-c",
        "spark.driver.memory=4g",
        "-c",
        "spark.driver.cores=4",
        "--driver-cores",
        "5",
    ]);
    assert_eq!((all.driver.memory.mib(), all.driver.cores_request.as_str()), (4096, "5"));
}

#[test]
fn spark_home_is_the_second_place_for_defaults_and_none_is_needed() {
    let home = tempfile::tempdir().unwrap();
    let environment = Environment { spark_home: Some(home.path().to_owned()), ..Environment::default() };
    let words = [&USUAL[..], &["a.jar"]].concat();
    assert!(resolve_in(&environment, &words).1.problems.is_empty());
    std::fs::create_dir(home.path().join("conf")).unwrap();
    std::fs::write(home.path().join("conf/spark-defaults.conf"), "spark.driver.memory 2g\n").unwrap();
    let (settings, _) = resolve_in(&environment, &words);
    assert_eq!(settings.driver.memory, Memory::from_mib(2048));
    assert_eq!(settings.conf_dir.as_deref(), Some(home.path().join("conf").as_path()));
}

#[test]
fn p03_everything_after_the_resource_is_the_applications() {
    let (settings, findings) = resolve_in(
        &Environment::default(),
        &[&USUAL[..], &["EchoArgs.jar", "--help", "--conf", "x", "--", ""]].concat(),
    );
    assert!(findings.problems.is_empty());
    assert_eq!(settings.application.arguments, ["--help", "--conf", "x", "--", ""]);
    assert_eq!(settings.application.resource.place, InputPlace::Here("EchoArgs.jar".into()));
}

#[test]
fn p04_what_this_version_cannot_do_is_refused_by_name() {
    for key in [
        "spark.kubernetes.hadoop.configmapname",
        "spark.kubernetes.kerberos.krb5path",
        "spark.yarn.keytab",
        "spark.kubernetes.authenticate.driver.cacertfile",
        "spark.kubernetes.authenticate.submission.oauthtoken",
        "spark.driver.host",
        "spark.driver.bindAddress",
        "spark.kubernetes.submitInDriver",
    ] {
        let (code, text) = problem(&format!("{key}=v"));
        assert!(code == ErrorCode::ConfKey && text.contains(key), "{text}");
    }
    assert_eq!(problem("spark.kubernetes.trust.certificates=true").0, ErrorCode::ConfValue);
    conf(&["spark.kubernetes.trust.certificates=false"]);
}

#[test]
fn more_of_the_driver_pod_is_read() {
    let driver = conf(&[
        "spark.kubernetes.driver.secrets.db=/etc/db",
        "spark.kubernetes.scheduler.name=common",
        "spark.kubernetes.driver.scheduler.name=own",
        "spark.driver.resource.gpu.amount=2",
        "spark.driver.resource.gpu.vendor=nvidia.com",
        "spark.driver.resource.gpu.discoveryScript=/opt/find.sh",
        "spark.kubernetes.securityContext.allowPrivilegeEscalation=true",
        "spark.kubernetes.driver.service.ipFamilies=IPv6,IPv4",
        "spark.kubernetes.driver.service.ipFamilyPolicy=PreferDualStack",
        "spark.local.dir=/a,/b",
    ])
    .driver;
    assert_eq!(driver.secret_mounts["db"], "/etc/db");
    assert_eq!(driver.scheduler.as_deref(), Some("own"));
    assert_eq!(driver.resources, [("nvidia.com/gpu".to_owned(), 2)].into());
    assert!(driver.allow_privilege_escalation);
    assert_eq!((driver.ip_families.len(), driver.local_dirs.len()), (2, 2));
    let own = "spark.kubernetes.driver.securityContext.allowPrivilegeEscalation=false";
    let both = conf(&["spark.kubernetes.securityContext.allowPrivilegeEscalation=true", own]);
    assert!(!both.driver.allow_privilege_escalation, "the driver's own goes over the common one");
}

#[test]
fn bad_values_of_the_driver_pod_are_refused() {
    for pair in [
        "spark.kubernetes.driver.secrets.s=etc",
        "spark.kubernetes.driver.secrets.A=/etc",
        "spark.kubernetes.scheduler.name=A b",
        "spark.driver.resource.gpu.amount=1",
        "spark.driver.resource.gpu.amount=x",
        "spark.kubernetes.driver.service.ipFamilies=IPv5",
        "spark.kubernetes.driver.service.ipFamilyPolicy=Dual",
        "spark.local.dir=scratch",
    ] {
        let (code, text) = problem(pair);
        assert!(code == ErrorCode::ConfValue && text.contains(pair.split('=').next().unwrap()), "{text}");
    }
}

#[test]
fn flags_that_do_nothing_on_kubernetes_are_taken_and_said_once() {
    let (_, findings) = look(&["--supervise", "--queue", "q", "--total-executor-cores", "3"]);
    assert!(findings.problems.is_empty());
    let said: Vec<_> = findings.warnings.iter().map(|text| text.split(' ').next().unwrap()).collect();
    assert_eq!(said, ["--total-executor-cores", "--queue", "--supervise"]);
}

#[test]
fn p04_what_only_the_driver_reads_is_passed_on() {
    let pairs = [
        "spark.kubernetes.executor.limit.cores=2",
        "spark.kubernetes.executor.volumes.emptyDir.x.mount.path=/x",
        "spark.kubernetes.allocation.batch.size=7",
        "spark.sql.shuffle.partitions=3",
        "spark.executorEnv.A=b",
    ];
    let (settings, findings) = look(&pairs.iter().flat_map(|pair| ["-c", pair]).collect::<Vec<_>>());
    assert!(findings.problems.is_empty() && findings.warnings.is_empty(), "{findings:?}");
    for (key, value) in pairs.iter().map(|pair| pair.split_once('=').unwrap()) {
        assert_eq!(settings.properties[key], value);
    }
}

#[test]
fn p04_a_misspelt_key_is_said() {
    let (code, text) = problem("spark.airlock.door.nodeport=30000");
    assert!(code == ErrorCode::ConfKey && text.contains("did you mean spark.airlock.door.nodePort?"), "{text}");
    let (_, findings) = look(&["-c", "spark.kubernetes.driver.lable.a=b"]);
    assert!(findings.warnings[0].contains("spark.kubernetes.driver.lable.a"), "{findings:?}");
}

#[test]
fn what_means_nothing_in_the_pod_stays_here() {
    let settings = conf(&[
        "spark.kubernetes.context=c",
        "spark.kubernetes.file.upload.path=s3a://b",
        "spark.airlock.followLogs=true",
        "spark.jars=x.jar",
        "spark.a=1",
    ]);
    let keys: Vec<_> = settings.properties.keys().map(String::as_str).collect();
    assert_eq!(keys, ["spark.a", "spark.kubernetes.container.image"]);
    assert_eq!(settings.access.context.as_deref(), Some("c"));
}

#[test]
fn p07_lists_from_flag_conf_and_file_are_the_same() {
    let texts = |settings: Settings| settings.inputs.into_iter().map(|input| input.text).collect::<Vec<_>>();
    let list = " a.xml ,, b.jks#k,";
    assert_eq!(texts(settings(&["--files", list])), ["a.xml", "b.jks#k"]);
    assert_eq!(texts(conf(&[&format!("spark.files={list}")])), ["a.xml", "b.jks#k"]);
    let order = texts(settings(&["--archives", "4.zip", "--py-files", "3.py", "--files", "2", "--jars", "1.jar"]));
    assert_eq!(order, ["1.jar", "2", "3.py", "4.zip"]);
}

#[test]
fn p08_an_empty_name_is_refused_and_any_other_kept() {
    for words in [&["--name", ""][..], &["--name", "  "], &["-c", "spark.app.name="]] {
        let (_, findings) = look(words);
        assert_eq!(findings.problems[0].code(), ErrorCode::Usage, "{words:?}");
    }
    for name in ["Spark π ✓ Job", "---"] {
        assert_eq!(settings(&["--name", name]).application.name, name);
    }
}

#[test]
fn the_name_is_the_class_or_the_files() {
    let name = |words: &[&str]| resolve_in(&Environment::default(), words).0.application.name;
    let image = ["-c", "spark.kubernetes.container.image=i"];
    assert_eq!(name(&[&image[..], &["x/job.py"]].concat()), "job.py");
    assert_eq!(name(&[&image[..], &["local:///opt/job.R"]].concat()), "job.R");
    assert_eq!(name(&[&image[..], &["--class", "a.B", "x.jar"]].concat()), "a.B");
}

#[test]
fn scripts_need_no_class_and_more_overhead() {
    let image = "spark.kubernetes.container.image=i";
    for (resource, language) in [("job.py", Language::Python), ("job.R", Language::R)] {
        let (settings, findings) =
            resolve_in(&Environment::default(), &["-c", image, "--driver-memory", "4g", resource]);
        assert!(findings.problems.is_empty(), "{findings:?}");
        assert_eq!((settings.application.language, settings.application.main_class), (language, None));
        assert_eq!(settings.driver.memory_overhead, Memory::from_mib(1638));
    }
    for words in [&["-c", image, "local:///a.jar"][..], &["-c", image, "--class", " ", "a.jar"]] {
        let (_, findings) = resolve_in(&Environment::default(), words);
        assert!(findings.problems[0].hints()[0].contains("--class"), "{findings:?}");
    }
    let (settings, findings) = resolve_in(&Environment::default(), &["-c", image, "--class", "M", "spark-internal"]);
    assert!(findings.problems.is_empty());
    assert_eq!(settings.application.resource.place, InputPlace::Elsewhere(NO_RESOURCE.into()));
}

#[test]
fn memory_overhead_is_upstreams() {
    let of = |pairs: &[&str]| {
        let driver = conf(&[&["spark.driver.memory=10g"], pairs].concat()).driver;
        (driver.memory_overhead.mib(), driver.memory_overhead_factor.to_string())
    };
    assert_eq!(of(&[]), (1024, "0.1".into()));
    assert_eq!(of(&["spark.kubernetes.memoryOverheadFactor=0.2"]), (2048, "0.2".into()));
    assert_eq!(of(&["spark.driver.memoryOverheadFactor=0.3"]), (3072, "0.1".into()));
    assert_eq!(of(&["spark.driver.memoryOverhead=512"]), (512, "0.1".into()));
    assert_eq!(of(&["spark.driver.minMemoryOverhead=2g"]), (2048, "0.1".into()));
}

#[test]
fn p09_a_bad_master_is_refused_and_none_is_the_kubeconfigs() {
    let (_, findings) = resolve_in(
        &Environment::default(),
        &["--master", "h:6443", "-c", "spark.kubernetes.container.image=i", "a.py"],
    );
    assert_eq!(findings.problems[0].code(), ErrorCode::Master);
    let (settings, findings) =
        resolve_in(&Environment::default(), &["-c", "spark.kubernetes.container.image=i", "a.py"]);
    assert!(findings.problems.is_empty() && settings.access.master.is_none());
}

#[test]
fn client_mode_and_shells_are_refused() {
    for words in [&["--deploy-mode", "client"][..], &["-c", "spark.submit.deployMode=client"], &["--deploy-mode", "x"]]
    {
        assert_eq!(look(words).1.problems[0].code(), ErrorCode::Usage);
    }
    settings(&["--deploy-mode", "cluster"]);
    for resource in ["pyspark-shell", "spark-shell", ""] {
        let (_, findings) = resolve_in(&Environment::default(), &[&USUAL[..], &[resource]].concat());
        assert_eq!(findings.problems[0].code(), ErrorCode::Usage, "{resource:?}");
    }
    let (_, findings) = resolve_in(&Environment::default(), &USUAL);
    assert!(findings.problems[0].to_string().contains("no main resource"));
}

#[test]
fn f10_a_main_resource_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt;
    let mut arguments = arguments(&USUAL);
    arguments.application = vec![OsString::from_vec(b"a\xff.jar".to_vec()), OsString::from_vec(b"\xff".to_vec())];
    let mut findings = Findings::default();
    let conf = load_conf(&arguments, &Environment::default(), &mut findings);
    resolve(&arguments, &conf, &Environment::default(), &mut findings);
    let codes: Vec<_> = findings.problems.iter().map(|problem| problem.code().exit_status()).collect();
    assert_eq!(codes, [66, 64], "{findings:?}");
}

#[test]
fn the_driver_pods_texts() {
    let driver = conf(&[
        "spark.kubernetes.driver.label.team=a",
        "spark.kubernetes.driver.annotation.note=any text",
        "spark.kubernetes.driver.service.label.s=1",
        "spark.kubernetes.driver.service.annotation.t=2",
        "spark.kubernetes.driverEnv.A=b=c",
        "spark.kubernetes.driver.secretKeyRef.PW=db:pass.word",
        "spark.kubernetes.node.selector.disk=ssd",
        "spark.kubernetes.node.selector.zone=1",
        "spark.kubernetes.driver.node.selector.zone=2",
        "spark.kubernetes.container.image.pullSecrets=x, y",
        "spark.kubernetes.driver.request.cores=500m",
        "spark.kubernetes.driver.limit.cores=2",
        "spark.kubernetes.driver.container.image=other",
        "spark.kubernetes.driver.pod.name=my-pod",
        "spark.kubernetes.authenticate.driver.serviceAccountName=spark",
    ])
    .driver;
    assert_eq!((driver.labels["team"].as_str(), driver.annotations["note"].as_str()), ("a", "any text"));
    assert_eq!((driver.service_labels["s"].as_str(), driver.service_annotations["t"].as_str()), ("1", "2"));
    assert_eq!(driver.env["A"], "b=c");
    assert_eq!(driver.secret_env["PW"], ("db".into(), "pass.word".into()));
    assert_eq!((driver.node_selector["disk"].as_str(), driver.node_selector["zone"].as_str()), ("ssd", "2"));
    assert_eq!(driver.pull_secrets, ["x", "y"]);
    assert_eq!(
        (driver.cores_request.as_str(), driver.cores_limit.as_deref(), driver.image.as_str()),
        ("500m", Some("2"), "other")
    );
    assert_eq!(driver.pod_name.unwrap().as_str(), "my-pod");
    assert_eq!(driver.service_account.unwrap().as_str(), "spark");
}

#[test]
fn a_submission_key_names_the_driver_pod_whatever_the_application_is_called() {
    let key = "spark.airlock.submissionKey=daily 2026-01-01";
    let driver = |name: &str| conf(&[key, &format!("spark.app.name={name}")]).driver;
    assert_eq!(driver("a").pod_name, driver("b").pod_name);
    assert_eq!(driver("a").annotations["airlock/submission-key"], "daily 2026-01-01");
    let (settings, findings) = resolve_in(
        &Environment::default(),
        &[&USUAL[..], &["--conf", key, "--conf", "spark.kubernetes.driver.pod.name=x", "a.jar"]].concat(),
    );
    drop(settings);
    assert_eq!(findings.problems.iter().map(SubmitError::code).collect::<Vec<_>>(), [ErrorCode::ConfValue]);
}

#[test]
fn bad_values_name_key_value_and_reason() {
    for pair in [
        "spark.driver.memory=1.5g",
        "spark.driver.memoryOverheadFactor=x",
        "spark.driver.cores=0",
        "spark.kubernetes.driver.request.cores=two",
        "spark.kubernetes.namespace=My_NS",
        "spark.kubernetes.driver.pod.name=-x",
        "spark.kubernetes.driver.label.spark-role=x",
        "spark.kubernetes.driver.label.a=b c",
        "spark.kubernetes.driver.label.=x",
        "spark.kubernetes.driverEnv.1A=x",
        "spark.kubernetes.container.image.pullPolicy=always",
        "spark.kubernetes.driver.container.image=spark:{{VERSION}}",
        "spark.kubernetes.submission.waitAppCompletion=yes",
        "spark.kubernetes.report.interval=0s",
        "spark.airlock.door.nodePort=70000",
        "spark.airlock.door.addresses=a b",
        "spark.airlock.door.externalTrafficPolicy=cluster",
        "spark.airlock.timeout.pull=soon",
        "spark.airlock.driver.command=airlock-driver",
        "spark.executor.memory=lots",
        "spark.driver.port=0",
    ] {
        let (code, text) = problem(pair);
        let (key, value) = pair.split_once('=').unwrap();
        assert_eq!(code, ErrorCode::ConfValue, "{text}");
        assert!(text.contains(key) && text.contains(value), "{text}");
    }
    let (_, findings) = look(&["--driver-memory", "lots"]);
    assert!(findings.problems[0].to_string().starts_with("--driver-memory \"lots\" cannot be used"), "{findings:?}");
}

#[test]
fn ports_and_leases_that_cannot_work_together_are_refused() {
    for pair in ["spark.driver.port=7077", "spark.ui.port=7078", "spark.airlock.timeout.lease=10min"] {
        assert_eq!(problem(pair).0, ErrorCode::ConfValue, "{pair}");
    }
    let ports = conf(&["spark.blockManager.port=9000"]).driver.ports;
    assert_eq!(ports.block_manager, 9000);
    let ports = conf(&["spark.blockManager.port=9000", "spark.driver.blockManager.port=9001"]).driver.ports;
    assert_eq!(ports.block_manager, 9001);
}

#[test]
fn r03_door_addresses_are_names_or_addresses() {
    let list = "node1.example, 10.0.0.1,fd00::1,[fd00::2],Node-2,h:30000,127.0.0.1:1,[fd00::3]:2";
    let door = conf(&[&format!("spark.airlock.door.addresses={list}")]).door;
    let expected =
        ["node1.example", "10.0.0.1", "fd00::1", "fd00::2", "Node-2", "h:30000", "127.0.0.1:1", "[fd00::3]:2"];
    assert_eq!(door.addresses, expected);
    for bad in ["h:0", "h:", "h:65536", "http://h", "[h]", "[fd00::1", "a_b", ":1"] {
        assert_eq!(problem(&format!("spark.airlock.door.addresses={bad}")).0, ErrorCode::ConfValue, "{bad}");
    }
}

#[test]
fn a_missing_image_is_said_once() {
    let (_, findings) = resolve_in(&Environment::default(), &["a.jar"]);
    assert_eq!(findings.problems.len(), 1);
    assert!(findings.problems[0].hints()[0].contains("spark.kubernetes.container.image=IMAGE"));
}

#[test]
fn f11_all_problems_come_together() {
    let words = [
        "--master",
        "x",
        "--name",
        "",
        "-c",
        "bad key=1",
        "-c",
        "spark.driver.memory=x",
        "--jars",
        "spark://h/x",
        "--properties-file",
        "/gone",
        "a.jar",
    ];
    let (_, findings) = resolve_in(&Environment::default(), &words);
    let codes: Vec<_> = findings.problems.iter().map(Failure::code).collect();
    let codes: Vec<_> = codes.iter().map(|code| code.as_str().trim_start_matches("E_")).collect();
    assert_eq!(codes.join(" "), "PROPERTIES CONF_KEY USAGE MASTER CONF_VALUE USAGE SCHEME");
}

#[test]
fn t08_secrets_are_not_in_messages() {
    for pair in [
        "spark.kubernetes.driver.secretKeyRef.DB_PASSWORD=hunter2",
        "spark.kubernetes.authenticate.submission.oauthTokn=hunter2",
    ] {
        let (_, text) = problem(pair);
        assert!(!text.contains("hunter2"), "{text}");
    }
}

proptest! {
    #[test]
    fn p01_arguments_are_the_identity(tail in prop::collection::vec("(?s).{0,12}", 0..5)) {
        let words: Vec<&str> = USUAL.into_iter().chain(["a.jar"]).chain(tail.iter().map(String::as_str)).collect();
        let (settings, findings) = resolve_in(&Environment::default(), &words);
        prop_assert!(findings.problems.is_empty());
        prop_assert_eq!(settings.application.arguments, tail);
    }

    #[test]
    fn p04_any_value_of_any_key_is_taken_or_refused(index in 0..setting_keys::SETTING_KEYS.len(), value in "(?s).{0,12}") {
        let name = setting_keys::SETTING_KEYS[index].name.replace('*', "x");
        let pair = format!("{name}={value}");
        look(&["-c", &pair]);
        prop_assert!(Path::new(&name).is_relative());
    }
}

#[test]
fn the_driver_server_is_brought_only_where_that_was_said() {
    let brought = |pairs: &[&str]| {
        let driver = conf(pairs).driver;
        (driver.server_command, driver.injected_from)
    };
    let (inside, image) = ("/opt/airlock/airlock-driver".to_owned(), "spark.airlock.driver.image=r/d:1");
    let injected = ("/var/airlock/airlock-driver".to_owned(), Some("r/d:1".to_owned()));
    assert_eq!(brought(&[]), (inside.clone(), None));
    assert_eq!(brought(&[image]), injected);
    assert_eq!(brought(&[image, "spark.airlock.driver.inject=always"]), injected);
    assert_eq!(brought(&[image, "spark.airlock.driver.inject=never"]), (inside, None));
    let both = [image, "spark.airlock.driver.command=/x", "spark.airlock.driver.inject=never"];
    assert_eq!(brought(&both), ("/x".to_owned(), None));
}

#[test]
fn a_driver_server_that_is_in_two_places_or_none_is_a_problem() {
    let text = |pairs: &[&str]| {
        let words: Vec<&str> = pairs.iter().flat_map(|pair| ["-c", pair]).collect();
        let (_, findings) = look(&words);
        assert_eq!(findings.problems.len(), 1, "{pairs:?}: {:?}", findings.problems);
        assert_eq!(findings.problems[0].code(), ErrorCode::ConfValue);
        render("airlock", &findings.problems[0])
    };
    assert!(text(&["spark.airlock.driver.inject=always"]).contains("needs spark.airlock.driver.image"));
    assert!(text(&["spark.airlock.driver.inject=yes"]).contains("auto, never or always"));
    assert!(text(&["spark.airlock.driver.image=a b"]).contains("no image name"));
    let both = text(&["spark.airlock.driver.image=r/d:1", "spark.airlock.driver.command=/x"]);
    assert!(both.contains("inject=always") && both.contains("inject=never"), "{both}");
    let (_, findings) = look(&[
        "-c",
        "spark.airlock.driver.image=r/d:1",
        "-c",
        "spark.airlock.driver.command=/x",
        "-c",
        "spark.airlock.driver.inject=always",
    ]);
    assert!(findings.problems.is_empty());
    assert!(findings.warnings.iter().any(|text| text.contains("no effect")), "{:?}", findings.warnings);
}
