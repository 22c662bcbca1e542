//! The same settings, the same driver: all that Spark's own builder makes for one, pod, other objects and properties, against
//! ours, field by field. What may differ stands in one list with its reason; a line of it that no comparison needs fails
//! the test, and so does every difference that is not in it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the report")]

mod compare;
mod differences;
mod oracle;
mod sets;
#[path = "../spark_jvm/mod.rs"]
mod spark_jvm;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::time::SystemTime;

use client::error::Findings;
use client::launch::launch;
use client::objects::driver_objects::headless_service;
use client::objects::driver_pod::{PodContext, driver_pod};
use client::objects::mounted_objects::{claims, config_maps, secrets};
use client::objects::network_policy::network_policy;
use client::settings::NetworkPolicyChoice;
use client::settings::cli::{self, Command, Parsed};
use client::settings::names::{ObjectName, RANDOM_BYTES, SubmissionNames};
use client::settings::prepare::{Prepared, prepare};
use client::settings::resolve::{Environment, load_conf};
use client::settings::spark_version::SparkVersion;
use serde_json::{Value, json};

use crate::compare::Difference;
use crate::differences::{DIFFERENCES, NEWER, OLDER, SINCE, Side};
use crate::sets::{Set, sets};

/// Our answer, and the question to Spark that the same settings make.
fn ours(set: &Set) -> (Value, String) {
    let Parsed::Run(cli) = cli::parse(set.words().into_iter().map(OsString::from)).unwrap() else { panic!("help") };
    let Command::Submit(arguments) = cli.command else { panic!("no submission") };
    let environment = Environment {
        hadoop_conf_dir: set.hadoop_conf_dir.clone(),
        spark_home: Some(spark_jvm::spark_home()),
        ..Environment::default()
    };
    let conf = load_conf(&arguments, &environment, &mut Findings::default());
    let (prepared, _) = prepare(&arguments, &environment);
    let prepared = prepared.unwrap_or_else(|problems| panic!("{set:?}: {problems:?}"));
    let application = &prepared.settings.application;
    let names =
        SubmissionNames::new(&application.name, prepared.settings.driver.pod_name.as_ref(), &[0xab; RANDOM_BYTES]);
    let hadoop = set.hadoop_conf_dir.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let class = application.main_class.clone().unwrap_or_default();
    let mut question = vec![set.resource.to_owned(), class, names.app_id.clone(), hadoop];
    let pairs: BTreeMap<_, _> = conf.iter().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
    question.extend(["spark.app.name".to_owned(), application.name.clone()]);
    question.extend(pairs.into_iter().flat_map(|(key, value)| [key, value]));
    (answer(&prepared, &names), question.join("\0"))
}

fn answer(Prepared { settings, inputs, .. }: &Prepared, names: &SubmissionNames) -> Value {
    let context = PodContext {
        namespace: "spark".into(),
        spark_version: settings.spark_version.clone(),
        user: "ann".into(),
        lease_until: "2026-01-01T01:00:00Z".parse().unwrap(),
        bundle_bytes: 1,
        non_root: false,
    };
    let (driver, namespace) = (&settings.driver, ObjectName::label("spark").unwrap());
    let mut objects = vec![json!(headless_service(settings, names, &context, None))];
    if settings.network_policy != NetworkPolicyChoice::Never {
        objects.push(json!(network_policy(names, &context, None)));
    }
    objects.extend(secrets(driver, names, &context).iter().map(|it| json!(it)));
    objects.extend(config_maps(driver, names, &context).iter().map(|it| json!(it)));
    objects.extend(claims(driver, names, &context).iter().map(|it| json!(it)));
    let properties = launch(settings, inputs, names, &namespace, SystemTime::UNIX_EPOCH).properties;
    let all = json!({"pod": driver_pod(settings, names, &context), "objects": objects, "properties": properties});
    serde_json::from_str(&all.to_string().replace(&names.prefix, "PREFIX")).unwrap()
}

#[test]
#[ignore = "needs Spark: scripts/images"]
fn what_is_made_for_a_driver_is_what_spark_makes() {
    let version = SparkVersion::of_home(&spark_jvm::spark_home()).unwrap();
    let is_older = |(major, minor): (u32, u32)| !version.is_at_least(major, minor);
    let is_new = |pair: &String| SINCE.iter().any(|(key, since)| pair.starts_with(key) && is_older(*since));
    let sets: Vec<_> = sets().into_iter().filter(|set| !set.conf.iter().any(is_new)).collect();
    assert!(sets.len() > 120, "{}", sets.len());
    let older = OLDER.iter().filter(|(_, since, ..)| is_older(*since));
    let newer = NEWER.iter().filter(|(_, since, ..)| !is_older(*since));
    let of_version = older.chain(newer).map(|(line, _, side, why)| (*line, *side, *why));
    let lines: Vec<_> = DIFFERENCES.iter().copied().chain(of_version).collect();
    let (ours, questions): (Vec<_>, Vec<_>) = sets.iter().map(ours).unzip();
    let (mut used, mut wrong) = (BTreeSet::new(), BTreeMap::new());
    for ((set, ours), theirs) in sets.iter().zip(&ours).zip(oracle::theirs(&questions)) {
        assert!(theirs["refused"].is_null(), "{set:?}: {theirs}");
        for difference in compare::differences(ours, &theirs) {
            let explains = |(line, side, _): &&(&str, Side, &str)| difference.is_explained_by(line, *side);
            if let Some((line, ..)) = lines.iter().find(explains) {
                used.insert(*line);
                continue;
            }
            let Difference { path, ours, theirs } = difference;
            let values = || format!("ours {ours:?}, theirs {theirs:?}\n    {:?}", set.words());
            wrong.entry(path).or_insert_with(values);
        }
    }
    let text: Vec<_> = wrong.iter().map(|(path, values)| format!("{path}: {values}")).collect();
    assert!(
        wrong.is_empty(),
        "paths of differences that no line explains, each with its first set:\n{}",
        text.join("\n")
    );
    let unused: Vec<_> = lines.iter().filter(|(line, ..)| !used.contains(line)).collect();
    assert!(unused.is_empty(), "no comparison needs these lines: {unused:?}");
}
