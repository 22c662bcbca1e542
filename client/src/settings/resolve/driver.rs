//! The driver pod: image, resources, labels, environment. Values are checked by the API server's own rules, so that its
//! refusal does not come after half of the objects exist.

use std::collections::BTreeMap;

use shared::driver_contract::UPLOAD_PORT;
use shared::error_code::ErrorCode;

use super::values::Reader;
use super::{injection, volumes};
use crate::error::SubmitError;
use crate::inputs::reference::split_list;
use crate::settings::kubernetes_syntax::{annotation, cpu_quantity, env_name, label};
use crate::settings::master;
use crate::settings::memory::Memory;
use crate::settings::names::ObjectName;
use crate::settings::spark_version::SparkVersion;
use crate::settings::submission_key::{SUBMISSION_KEY_ANNOTATION, SubmissionKey};
use crate::settings::{DriverPorts, DriverSettings, Language};

/// Labels that Spark, or airlock, reads back.
const RESERVED_LABELS: [&str; 5] =
    ["spark-app-selector", "spark-app-name", "spark-role", "spark-version", "app.kubernetes.io/managed-by"];

/// With a key, the pod's name is what keeps a second driver away, so it cannot be chosen as well.
fn pod_name(key: Option<&SubmissionKey>, reader: &mut Reader<'_>) -> Option<ObjectName> {
    let chosen = reader.subdomain_name("spark.kubernetes.driver.pod.name");
    if let (Some(_), Some(name)) = (key, &chosen) {
        let what = format!("spark.kubernetes.driver.pod.name={name} cannot be used with spark.airlock.submissionKey");
        let hint = "leave one of them out: the driver pod is named after the key";
        reader.findings.problem(SubmitError::new(ErrorCode::ConfValue, what).hint(hint));
    }
    key.map(SubmissionKey::pod_name).or(chosen)
}

fn annotations(key: Option<&SubmissionKey>, reader: &mut Reader<'_>) -> BTreeMap<String, String> {
    let mut annotations = reader.below("spark.kubernetes.driver.annotation.", annotation);
    annotations.extend(key.map(|key| (SUBMISSION_KEY_ANNOTATION.to_owned(), key.as_str().to_owned())));
    annotations
}

/// What upstream fills in in the name of an image.
const SPARK_VERSION_VARIABLE: &str = "{{SPARK_VERSION}}";

pub(super) fn resolve(
    language: Language,
    version: &SparkVersion,
    key: Option<&SubmissionKey>,
    reader: &mut Reader<'_>,
) -> DriverSettings {
    check_executors(reader);
    let memory = reader.must("spark.driver.memory", str::parse);
    let (memory_overhead, memory_overhead_factor) = overhead(memory, language, reader);
    let (server_command, injected_from) = injection::resolve(reader);
    DriverSettings {
        pod_name: pod_name(key, reader),
        image: image(reader).replace(SPARK_VERSION_VARIABLE, version.as_str()),
        pull_policy: reader.must("spark.kubernetes.container.image.pullPolicy", pull_policy),
        pull_secrets: reader.must("spark.kubernetes.container.image.pullSecrets", pull_secrets),
        service_account: reader.subdomain_name("spark.kubernetes.authenticate.driver.serviceAccountName"),
        memory,
        memory_overhead,
        memory_overhead_factor,
        ports: ports(reader),
        cores_request: cores_request(reader),
        cores_limit: reader.read("spark.kubernetes.driver.limit.cores", cpu_quantity),
        labels: reader.below("spark.kubernetes.driver.label.", pod_label),
        annotations: annotations(key, reader),
        service_labels: reader.below("spark.kubernetes.driver.service.label.", pod_label),
        service_annotations: reader.below("spark.kubernetes.driver.service.annotation.", annotation),
        env: reader.below("spark.kubernetes.driverEnv.", |name, _| env_name(name)),
        secret_env: secret_env(reader),
        node_selector: node_selector(reader),
        template: None,
        volumes: volumes::volumes(version, reader),
        files: Vec::new(),
        secret_mounts: volumes::secret_mounts(reader),
        local_dirs: reader.must("spark.local.dir", volumes::local_dirs),
        local_dirs_in_memory: reader.flag("spark.kubernetes.local.dirs.tmpfs"),
        scheduler: scheduler(reader),
        resources: resources(reader),
        allow_privilege_escalation: escalation(reader),
        ip_family_policy: reader.read("spark.kubernetes.driver.service.ipFamilyPolicy", ip_family_policy),
        ip_families: reader.must("spark.kubernetes.driver.service.ipFamilies", ip_families),
        server_command,
        injected_from,
        entry_point: reader.must("spark.airlock.driver.entryPoint", absolute_path),
        max_bundle_bytes: reader.count("spark.airlock.upload.maxBytes").unwrap_or_default(),
    }
}

/// Only the driver uses these; a bad one must not wait until it runs.
fn check_executors(reader: &mut Reader<'_>) {
    reader.memory("spark.executor.memory");
    reader.count("spark.executor.cores");
    reader.read("spark.executor.instances", |text| text.parse::<u32>().map_err(|_| "it must be a whole number"));
    reader.read("spark.kubernetes.executor.podNamePrefix", ObjectName::subdomain);
    reader.read("spark.kubernetes.driver.master", |text| master::parse(&format!("k8s://{text}")));
}

fn overhead(memory: Memory, language: Language, reader: &mut Reader<'_>) -> (Memory, f64) {
    let language_factor = if language == Language::Jvm { 0.1 } else { 0.4 };
    let default_factor = reader.read("spark.kubernetes.memoryOverheadFactor", factor).unwrap_or(language_factor);
    let driver_factor = reader.read("spark.driver.memoryOverheadFactor", factor).unwrap_or(default_factor);
    let least = reader.must("spark.driver.minMemoryOverhead", str::parse);
    let given = reader.memory("spark.driver.memoryOverhead");
    (given.unwrap_or_else(|| memory.overhead(driver_factor, least)), default_factor)
}

fn factor(text: &str) -> Result<f64, &'static str> {
    let number = text.parse::<f64>().ok().filter(|factor| (0.0..=100.0).contains(factor));
    number.ok_or("it must be a number from 0 to 100, as 0.1")
}

fn image(reader: &mut Reader<'_>) -> String {
    let common = reader.read("spark.kubernetes.container.image", image_name);
    let image = reader.read("spark.kubernetes.driver.container.image", image_name).or(common);
    let is_given = ["spark.kubernetes.container.image", "spark.kubernetes.driver.container.image"]
        .into_iter()
        .any(|key| reader.conf.get(key).is_some());
    if !is_given {
        let problem = SubmitError::new(ErrorCode::Usage, "no image: the driver needs one");
        reader.findings.problem(problem.hint("--conf spark.kubernetes.container.image=IMAGE"));
    }
    image.unwrap_or_default()
}

pub(super) fn image_name(text: &str) -> Result<String, &'static str> {
    if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        Err("it is no image name")
    } else if text.replace(SPARK_VERSION_VARIABLE, "").contains("{{") {
        Err("{{SPARK_VERSION}} is the only variable that is filled in")
    } else {
        Ok(text.to_owned())
    }
}

fn pull_policy(text: &str) -> Result<String, &'static str> {
    let known = ["Always", "IfNotPresent", "Never"].contains(&text);
    if known { Ok(text.to_owned()) } else { Err("it must be Always, IfNotPresent or Never") }
}

fn pull_secrets(list: &str) -> Result<Vec<String>, String> {
    let name = |name| ObjectName::subdomain(name).map_err(|error| format!("{name:?}: {error}"));
    split_list(list).into_iter().map(|item| name(item).map(|name| name.to_string())).collect()
}

pub(super) fn absolute_path(text: &str) -> Result<String, &'static str> {
    if text.starts_with('/') { Ok(text.to_owned()) } else { Err("it must be an absolute path in the image") }
}

fn ports(reader: &mut Reader<'_>) -> DriverPorts {
    // Read in upstream's order: the driver's own block manager port, then the common one, then the default.
    let common = reader.port("spark.blockManager.port");
    let own_is_given = reader.conf.get("spark.driver.blockManager.port").is_some();
    let own = reader.port("spark.driver.blockManager.port").unwrap_or_default();
    let block_manager = common.filter(|_| !own_is_given).unwrap_or(own);
    let rpc = reader.port("spark.driver.port").unwrap_or_default();
    let ui = reader.port("spark.ui.port").unwrap_or_default();
    let mut all = [rpc, block_manager, ui, UPLOAD_PORT];
    all.sort_unstable();
    if all.windows(2).any(|pair| pair[0] == pair[1]) {
        let what =
            format!("the driver's ports {rpc}, {block_manager} and {ui} must differ from each other and {UPLOAD_PORT}");
        let hint = "spark.driver.port, spark.driver.blockManager.port, spark.ui.port";
        reader.findings.problem(SubmitError::new(ErrorCode::ConfValue, what).hint(hint));
    }
    DriverPorts { rpc, block_manager, ui }
}

fn cores_request(reader: &mut Reader<'_>) -> String {
    let cores = reader.count("spark.driver.cores").unwrap_or(1);
    reader.read("spark.kubernetes.driver.request.cores", cpu_quantity).unwrap_or_else(|| cores.to_string())
}

pub(super) fn pod_label(name: &str, value: &str) -> Result<(), &'static str> {
    if RESERVED_LABELS.contains(&name) {
        Err("that label is set by spark or airlock itself")
    } else {
        label(name, value)
    }
}

fn secret_env(reader: &mut Reader<'_>) -> BTreeMap<String, (String, String)> {
    let parts = |value: &str| value.split_once(':').map(|(name, key)| (name.to_owned(), key.to_owned()));
    let check = |name: &str, value: &str| {
        env_name(name)?;
        let is_reference =
            parts(value).is_some_and(|(name, key)| ObjectName::subdomain(&name).is_ok() && !key.is_empty());
        if is_reference { Ok(()) } else { Err("it must be NAME:KEY, the name of a Secret and a key in it") }
    };
    let checked = reader.below("spark.kubernetes.driver.secretKeyRef.", check);
    checked.into_iter().filter_map(|(name, value)| Some((name, parts(&value)?))).collect()
}

fn node_selector(reader: &mut Reader<'_>) -> BTreeMap<String, String> {
    let mut selector = reader.below("spark.kubernetes.node.selector.", label);
    selector.extend(reader.below("spark.kubernetes.driver.node.selector.", label));
    selector
}

fn scheduler(reader: &mut Reader<'_>) -> Option<String> {
    let common = reader.subdomain_name("spark.kubernetes.scheduler.name");
    reader.subdomain_name("spark.kubernetes.driver.scheduler.name").or(common).map(|name| name.to_string())
}

fn escalation(reader: &mut Reader<'_>) -> bool {
    let common = reader.flag("spark.kubernetes.securityContext.allowPrivilegeEscalation");
    let key = "spark.kubernetes.driver.securityContext.allowPrivilegeEscalation";
    if reader.conf.get(key).is_some() { reader.flag(key) } else { common }
}

fn ip_family_policy(text: &str) -> Result<String, &'static str> {
    let known = ["SingleStack", "PreferDualStack", "RequireDualStack"].contains(&text);
    if known { Ok(text.to_owned()) } else { Err("it must be SingleStack, PreferDualStack or RequireDualStack") }
}

fn ip_families(list: &str) -> Result<Vec<String>, &'static str> {
    let families: Vec<_> = split_list(list).into_iter().map(ToOwned::to_owned).collect();
    let known = families.iter().all(|family| ["IPv4", "IPv6"].contains(&family.as_str()));
    if known { Ok(families) } else { Err("it must be IPv4, IPv6, or both in a list") }
}

/// `NAME.amount` with `NAME.vendor` is `vendor/NAME` among the limits. Without a vendor upstream refuses too: on Kubernetes
/// there is no resource of that name. `discoveryScript` is the driver's own matter.
fn resources(reader: &mut Reader<'_>) -> BTreeMap<String, u64> {
    let conf = reader.conf;
    let prefix = "spark.driver.resource.";
    let mut resources = BTreeMap::new();
    for (name, value) in conf.below(prefix) {
        let Some(name) = name.strip_suffix(".amount") else { continue };
        let key = format!("{prefix}{name}.amount");
        let vendor = conf.get(&format!("{prefix}{name}.vendor")).map(|vendor| vendor.text.as_str());
        match (value.text.parse::<u64>(), vendor.filter(|vendor| ObjectName::subdomain(vendor).is_ok())) {
            (Ok(0), _) => {}
            (Ok(amount), Some(vendor)) => {
                resources.insert(format!("{vendor}/{name}"), amount);
            }
            (Ok(_), None) => {
                reader.bad_value(&key, value, &format!("{prefix}{name}.vendor must say whose it is, as nvidia.com"));
            }
            (Err(_), _) => reader.bad_value(&key, value, &"it must be a whole number"),
        }
    }
    resources
}
