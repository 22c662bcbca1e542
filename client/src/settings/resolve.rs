//! Step 1, resolve: command line, `--conf`, properties file and environment become [`Settings`], every value checked. All
//! problems are collected, so the settings are only good if none was found. No cluster is asked, no input is opened.

mod application;
mod cluster;
mod control;
mod driver;
mod injection;
mod values;
mod volumes;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use shared::error_code::ErrorCode;
use shared::manifest::MemberKind;

use crate::error::{Findings, SubmitError};
use crate::inputs::reference;
use crate::settings::cli::SubmitArguments;
use crate::settings::redaction;
use crate::settings::setting_keys::{self, KUBERNETES_PREFIX, OWN_PREFIX, Treatment};
use crate::settings::spark_conf::{ConfValue, Origin, SparkConf};
use crate::settings::spark_version::SparkVersion;
use crate::settings::submission_key::SubmissionKey;
use crate::settings::{InputReference, Settings};
pub use control::{ControlSettings, control};
use values::Reader;

/// What is read of the environment.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// `$SPARK_CONF_DIR`.
    pub spark_conf_dir: Option<PathBuf>,
    /// `$SPARK_HOME`.
    pub spark_home: Option<PathBuf>,
    /// `$HADOOP_CONF_DIR`.
    pub hadoop_conf_dir: Option<PathBuf>,
    /// `$HADOOP_TOKEN_FILE_LOCATION`.
    pub hadoop_token_file: Option<PathBuf>,
    /// Whether this process runs in a pod: the kubelet says so by `$KUBERNETES_SERVICE_HOST`.
    pub in_pod: bool,
}

impl Environment {
    /// The process's own. An empty variable is none.
    #[must_use]
    pub fn of_process() -> Self {
        let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            spark_conf_dir: path("SPARK_CONF_DIR"),
            spark_home: path("SPARK_HOME"),
            hadoop_conf_dir: path("HADOOP_CONF_DIR"),
            hadoop_token_file: path("HADOOP_TOKEN_FILE_LOCATION"),
            in_pod: path("KUBERNETES_SERVICE_HOST").is_some(),
        }
    }

    /// Where Spark's configuration lies here, if anywhere.
    #[must_use]
    pub fn conf_dir(&self) -> Option<PathBuf> {
        self.spark_conf_dir.clone().or_else(|| self.spark_home.as_ref().map(|home| home.join("conf")))
    }
}

/// Where a command has its properties from.
pub struct ConfSources<'a> {
    /// `--conf`.
    pub conf: &'a [String],
    /// `--properties-file`.
    pub properties_file: Option<&'a Path>,
    /// `--extra-properties-file`: above the properties file.
    pub extra_properties_files: &'a [PathBuf],
    /// `--load-spark-defaults`.
    pub load_spark_defaults: bool,
    /// Flags that stand for a property: flag, key, value.
    pub flags: Vec<(&'static str, &'static str, &'a str)>,
}

/// Every layer of a submission's properties, the strongest last.
pub fn load_conf(arguments: &SubmitArguments, environment: &Environment, findings: &mut Findings) -> SparkConf {
    let sources = ConfSources {
        conf: &arguments.conf,
        properties_file: arguments.properties_file.as_deref(),
        extra_properties_files: &arguments.extra_properties_file,
        load_spark_defaults: arguments.load_spark_defaults,
        flags: arguments.properties(),
    };
    load_layers(&sources, environment, findings)
}

/// Every layer of properties, the strongest last.
pub fn load_layers(sources: &ConfSources<'_>, environment: &Environment, findings: &mut Findings) -> SparkConf {
    let mut conf = SparkConf::default();
    let defaults = environment.conf_dir().map(|directory| directory.join("spark-defaults.conf"));
    let use_defaults = sources.properties_file.is_none() || sources.load_spark_defaults;
    // Without the file there are no defaults; only a file that was asked for must exist.
    if let Some(path) = defaults.filter(|path| use_defaults && path.exists()) {
        conf.add_file(&path, findings);
    }
    for path in sources.properties_file.into_iter().chain(sources.extra_properties_files.iter().map(PathBuf::as_path)) {
        conf.add_file(path, findings);
    }
    conf.add_conf(sources.conf, findings);
    for &(flag, key, value) in &sources.flags {
        conf.add_flag(flag, key, value);
    }
    conf
}

/// The settings that `arguments` and `conf` mean together. With a problem in `findings` they must not be used.
pub fn resolve(
    arguments: &SubmitArguments,
    conf: &SparkConf,
    environment: &Environment,
    findings: &mut Findings,
) -> Settings {
    for (key, value) in conf.iter() {
        check_key(key, value, findings);
    }
    for flag in &arguments.repeated {
        findings.warn(format!("{flag} is given more than once: the last one counts"));
    }
    for flag in arguments.without_effect() {
        findings.warn(format!("{flag} has no effect on kubernetes"));
    }
    let mut reader = Reader { conf, findings };
    let application = application::resolve(arguments, &mut reader);
    let spark_version = spark_version(environment, &mut reader);
    let submission_key = reader.read("spark.airlock.submissionKey", SubmissionKey::parse);
    Settings {
        access: cluster::access(&mut reader),
        namespace: reader.label_name("spark.kubernetes.namespace"),
        network_policy: cluster::network_policy(&spark_version, &mut reader),
        driver: driver::resolve(application.language, &spark_version, submission_key.as_ref(), &mut reader),
        submission_key,
        spark_version,
        application,
        inputs: input_lists(&mut reader),
        door: cluster::door(environment.in_pod, &mut reader),
        deadlines: cluster::deadlines(&mut reader),
        follow: cluster::follow(&mut reader),
        fan_out_warn_bytes: reader.count("spark.airlock.fanOut.warnBytes").unwrap_or(u64::MAX),
        conf_dir: environment.conf_dir(),
        properties: properties(conf),
    }
}

/// The version given, else that of `$SPARK_HOME`, else the newest.
fn spark_version(environment: &Environment, reader: &mut Reader<'_>) -> SparkVersion {
    let given = reader.read("spark.airlock.sparkVersion", str::parse);
    given.or_else(|| SparkVersion::of_home(environment.spark_home.as_ref()?)).unwrap_or_default()
}

/// Refuses what this version cannot do, and points at what nobody reads (P04).
fn check_key(key: &str, value: &ConfValue, findings: &mut Findings) {
    let line = setting_keys::find(key);
    let meaning = line.map_or("", |line| line.meaning);
    match setting_keys::treatment(key) {
        Treatment::Refused => findings.problem(refused(key, value, meaning)),
        Treatment::Only(only) if value.text != only => findings.problem(not_only(key, value, only, meaning)),
        Treatment::PassedOn if key.starts_with(OWN_PREFIX) => check_own_key(key, value, findings),
        Treatment::PassedOn if line.is_none() && key.starts_with(KUBERNETES_PREFIX) => {
            let near = setting_keys::nearest(key).map(|near| format!("; did you mean {near}?"));
            let near = near.unwrap_or_default();
            findings.warn(format!(
                "{key} ({}) is no key of spark: it is handed to the driver as it is{near}",
                value.origin
            ));
        }
        Treatment::Ignored => findings.warn(format!("{key} ({}) is {meaning}", value.origin)),
        _ => {}
    }
}

/// Refuses a key of ours that does not exist.
fn check_own_key(key: &str, value: &ConfValue, findings: &mut Findings) {
    if key.starts_with(OWN_PREFIX) && setting_keys::treatment(key) == Treatment::PassedOn {
        findings.problem(unknown_own_key(key, value));
    }
}

fn refused(key: &str, value: &ConfValue, meaning: &str) -> SubmitError {
    SubmitError::new(ErrorCode::ConfKey, format!("{key} ({}) {meaning}", value.origin)).hint(format!("leave {key} out"))
}

fn not_only(key: &str, value: &ConfValue, only: &str, meaning: &str) -> SubmitError {
    let what = format!("{key}={} ({}) {meaning}", redaction::shown(key, &value.text), value.origin);
    SubmitError::new(ErrorCode::ConfValue, what).hint(format!("leave {key} out, or set it to {only}"))
}

fn unknown_own_key(key: &str, value: &ConfValue) -> SubmitError {
    let problem = SubmitError::new(ErrorCode::ConfKey, format!("{key} ({}) does not exist", value.origin));
    match setting_keys::nearest(key) {
        Some(near) => problem.hint(format!("did you mean {near}?")),
        None => problem,
    }
}

/// The keys of the input lists, in upstream's order.
const LISTS: [(&str, MemberKind); 4] = [
    ("spark.jars", MemberKind::Jar),
    ("spark.files", MemberKind::File),
    ("spark.submit.pyFiles", MemberKind::PyFile),
    ("spark.archives", MemberKind::Archive),
];

fn input_lists(reader: &mut Reader<'_>) -> Vec<InputReference> {
    let mut references = Vec::new();
    for (key, kind) in LISTS {
        let items = reader.text(key).map(reference::split_list).unwrap_or_default();
        references.extend(items.into_iter().filter_map(|item| reader.findings.keep(reference::parse(kind, item))));
    }
    references
}

/// What the driver gets of it.
fn properties(conf: &SparkConf) -> BTreeMap<String, String> {
    let passed =
        |key: &str| matches!(setting_keys::treatment(key), Treatment::Read | Treatment::PassedOn | Treatment::Only(_));
    conf.iter().filter(|(key, _)| passed(key)).map(|(key, value)| (key.to_owned(), value.text.clone())).collect()
}

/// How a message calls a value: by the flag, if it came from one.
fn named(key: &str, value: &ConfValue) -> String {
    let shown = redaction::shown(key, &value.text);
    match &value.origin {
        Origin::Flag(flag) => format!("{flag} {shown:?}"),
        origin => format!("{key}={shown:?} ({origin})"),
    }
}

#[cfg(test)]
#[path = "resolve/tests.rs"]
mod tests;
