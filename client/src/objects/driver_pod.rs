//! The driver pod as a plain function of the settings: field by field what upstream's spark-submit 4.x builds from the
//! same flags, except for what Airlock needs, which stands in functions of its own: `server_arguments`, the two
//! volumes, port 7077, scratch space for the bundle, and a security context that goes as far towards Pod Security
//! `restricted` as any image can follow. Nothing secret is in it: key and certificates are in the Secret that it mounts,
//! properties and arguments in the bundle.
//!
//! `runAsNonRoot` is set only where the namespace demands it (`preflight` finds out): with it, an image that runs as
//! root, as many do with upstream, would not start at all.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ContainerPort, EnvVar, EnvVarSource, LocalObjectReference, ObjectFieldSelector, Pod,
    PodSpec, ResourceRequirements, SeccompProfile, SecretKeySelector, SecurityContext,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use shared::driver_contract as contract;

use crate::cluster::SUBMISSION_ANNOTATION;
use crate::objects::driver_injection::with_driver_server;
use crate::objects::driver_template::over_template;
use crate::objects::driver_tmp::with_writable_tmp;
use crate::objects::driver_volumes;
use crate::settings::driver_files::CREDENTIALS_VOLUME;
use crate::settings::memory::Memory;
use crate::settings::names::SubmissionNames;
use crate::settings::spark_version::SparkVersion;
use crate::settings::{Deadlines, DriverPorts, DriverSettings, Settings};

/// Name of the driver's container, as upstream's.
pub const DRIVER_CONTAINER: &str = "spark-kubernetes-driver";
/// Label: the application. Spark finds its executors and Services by it.
pub const APP_LABEL: &str = "spark-app-selector";
/// Label: made by Airlock.
pub const MANAGED_BY_LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "airlock");
/// Annotation: after it, anyone may sweep what was left behind before launch.
pub const LEASE_ANNOTATION: &str = "airlock/lease-until";

/// Name of the driver server's port.
pub const UPLOAD_PORT_NAME: &str = "airlock";

/// Name of Spark Connect's port.
pub const SPARK_CONNECT_PORT_NAME: &str = "spark-connect";

/// Upstream names this port whether the application is a Connect server or not.
const SPARK_CONNECT_PORT: u16 = 15_002;
const MIB: u64 = 1 << 20;

/// What the pod depends on besides settings and names.
#[derive(Clone, Debug)]
pub struct PodContext {
    /// Where it is created.
    pub namespace: String,
    /// The Spark whose pods ours equal.
    pub spark_version: SparkVersion,
    /// `SPARK_USER`: who submits.
    pub user: String,
    /// End of the lease.
    pub lease_until: Timestamp,
    /// Bytes of the bundle, for which scratch space is reserved.
    pub bundle_bytes: u64,
    /// Whether the namespace demands that no container runs as root.
    pub non_root: bool,
}

/// The driver pod.
#[must_use]
pub fn driver_pod(settings: &Settings, names: &SubmissionNames, context: &PodContext) -> Pod {
    let driver = &settings.driver;
    let mut metadata = object_meta(names, context, &names.pod);
    metadata.labels = Some(over(&with_app_id(&driver.labels, names), labels(names, context)));
    metadata.annotations = Some(over(&with_app_id(&driver.annotations, names), annotations(names, context)));
    let account = service_account(driver);
    let (volumes, mounts) = driver_volumes::volumes(driver, names).into_iter().unzip();
    let spec = PodSpec {
        containers: vec![Container { volume_mounts: Some(mounts), ..container(settings, names, context) }],
        image_pull_secrets: pull_secrets(driver),
        node_selector: (!driver.node_selector.is_empty()).then(|| driver.node_selector.clone()),
        restart_policy: Some("Never".to_owned()),
        scheduler_name: driver.scheduler.clone(),
        service_account: account.clone(),
        service_account_name: account,
        volumes: Some(volumes),
        ..PodSpec::default()
    };
    let pod = Pod { metadata, spec: Some(spec), status: None };
    let pod = match &driver.template {
        Some(template) => over_template(template, pod),
        None => pod,
    };
    let pod = with_writable_tmp(pod);
    match &driver.injected_from {
        Some(image) => with_driver_server(pod, image),
        None => pod,
    }
}

/// None where the driver has credentials of its own, as upstream.
fn service_account(driver: &DriverSettings) -> Option<String> {
    let has_credentials = driver.files.iter().any(|files| files.volume == CREDENTIALS_VOLUME);
    driver.service_account.as_ref().filter(|_| !has_credentials).map(ToString::to_string)
}

/// Upstream's labels and our own, on every object of the submission.
#[must_use]
pub fn labels(names: &SubmissionNames, context: &PodContext) -> BTreeMap<String, String> {
    let (key, value) = MANAGED_BY_LABEL;
    let mut labels = selector(names, context);
    labels.insert(key.to_owned(), value.to_owned());
    labels
}

/// Upstream's labels: what selects the driver pod.
#[must_use]
pub fn selector(names: &SubmissionNames, context: &PodContext) -> BTreeMap<String, String> {
    let pairs = [
        (APP_LABEL, names.app_id.clone()),
        ("spark-app-name", names.app_name_label.clone()),
        ("spark-role", "driver".to_owned()),
        ("spark-version", context.spark_version.as_str().to_owned()),
    ];
    pairs.map(|(key, value)| (key.to_owned(), value)).into()
}

/// Annotations of every object of the submission.
#[must_use]
pub fn annotations(names: &SubmissionNames, context: &PodContext) -> BTreeMap<String, String> {
    let lease = context.lease_until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let pairs = [(SUBMISSION_ANNOTATION, names.submission_id.to_string()), (LEASE_ANNOTATION, lease)];
    pairs.map(|(key, value)| (key.to_owned(), value)).into()
}

/// Metadata that every object of the submission has.
#[must_use]
pub fn object_meta(names: &SubmissionNames, context: &PodContext, name: &impl ToString) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_string()),
        namespace: Some(context.namespace.clone()),
        labels: Some(labels(names, context)),
        annotations: Some(annotations(names, context)),
        ..ObjectMeta::default()
    }
}

/// `ours` over `theirs`: what Spark and Airlock find objects by cannot be set by users, as upstream.
pub(crate) fn over(theirs: &BTreeMap<String, String>, ours: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut both = theirs.clone();
    both.extend(ours);
    both
}

/// Values with upstream's variables filled in: a driver is no executor, so the id of one is empty.
fn with_app_id(values: &BTreeMap<String, String>, names: &SubmissionNames) -> BTreeMap<String, String> {
    let filled_in = |value: &str| value.replace("{{APP_ID}}", &names.app_id).replace("{{EXECUTOR_ID}}", "");
    values.iter().map(|(key, value)| (key.clone(), filled_in(value))).collect()
}

fn container(settings: &Settings, names: &SubmissionNames, context: &PodContext) -> Container {
    let driver = &settings.driver;
    Container {
        name: DRIVER_CONTAINER.to_owned(),
        image: Some(driver.image.clone()),
        image_pull_policy: Some(driver.pull_policy.clone()),
        command: Some(vec![driver.server_command.clone()]),
        args: Some(server_arguments(driver, &settings.deadlines, names, &context.namespace)),
        env: Some(environment(driver, names, context)),
        ports: Some(container_ports(driver, &context.spark_version)),
        resources: Some(resources(driver, context.bundle_bytes)),
        security_context: Some(security_context(driver.allow_privilege_escalation, context.non_root)),
        ..Container::default()
    }
}

/// The driver server's command line.
fn server_arguments(
    driver: &DriverSettings,
    deadlines: &Deadlines,
    names: &SubmissionNames,
    namespace: &str,
) -> Vec<String> {
    let pairs = [
        (contract::ARG_IDLE_TIMEOUT, deadlines.idle.as_secs().max(1).to_string()),
        (contract::ARG_MAX_BYTES, driver.max_bundle_bytes.to_string()),
        (contract::ARG_ENTRY_POINT, driver.entry_point.clone()),
        (contract::ARG_NAMESPACE, namespace.to_owned()),
        (contract::ARG_DOOR_SERVICE, names.door_service.to_string()),
        (contract::ARG_TLS_SECRET, names.tls_secret.to_string()),
    ];
    pairs.into_iter().flat_map(|(key, value)| [key.to_owned(), value]).collect()
}

fn environment(driver: &DriverSettings, names: &SubmissionNames, context: &PodContext) -> Vec<EnvVar> {
    let plain = |(name, value): (&str, String)| EnvVar { name: name.to_owned(), value: Some(value), value_from: None };
    let mut variables =
        vec![plain(("SPARK_USER", context.user.clone())), plain(("SPARK_APPLICATION_ID", names.app_id.clone()))];
    variables.extend(driver.env.iter().map(|(name, value)| plain((name, value.clone()))));
    variables.push(EnvVar {
        name: "SPARK_DRIVER_BIND_ADDRESS".to_owned(),
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                api_version: Some("v1".to_owned()),
                field_path: "status.podIP".to_owned(),
            }),
            ..EnvVarSource::default()
        }),
    });
    variables.extend(driver.secret_env.iter().map(secret_variable));
    variables.push(plain(("SPARK_LOCAL_DIRS", driver_volumes::local_dirs(driver, names).join(","))));
    variables.push(plain(("SPARK_CONF_DIR", contract::bundle_path(contract::CONF))));
    variables.extend(driver.files.iter().filter_map(|files| files.variable.clone()).map(plain));
    variables
}

fn secret_variable((variable, (name, key)): (&String, &(String, String))) -> EnvVar {
    let selector = SecretKeySelector { name: name.clone(), key: key.clone(), optional: None };
    let source = EnvVarSource { secret_key_ref: Some(selector), ..EnvVarSource::default() };
    EnvVar { name: variable.clone(), value: None, value_from: Some(source) }
}

/// Every port of the driver, for pod and headless Service: upstream's in its order, then the driver server's.
#[must_use]
pub fn driver_ports(driver: &DriverSettings, version: &SparkVersion) -> Vec<(&'static str, u16)> {
    let DriverPorts { rpc, block_manager, ui } = driver.ports;
    let mut ports = vec![("driver-rpc-port", rpc), ("blockmanager", block_manager), ("spark-ui", ui)];
    ports.extend(version.names_connect_port().then_some((SPARK_CONNECT_PORT_NAME, SPARK_CONNECT_PORT)));
    ports.push((UPLOAD_PORT_NAME, contract::UPLOAD_PORT));
    ports
}

fn container_ports(driver: &DriverSettings, version: &SparkVersion) -> Vec<ContainerPort> {
    let port = |(name, port): (&str, u16)| ContainerPort {
        name: Some(name.to_owned()),
        container_port: i32::from(port),
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    };
    driver_ports(driver, version).into_iter().map(port).collect()
}

/// Memory is requested and limited alike, as upstream; scratch space is reserved so that a driver is not the first to
/// be evicted for the bundle that it received.
fn resources(driver: &DriverSettings, bundle_bytes: u64) -> ResourceRequirements {
    let memory = Memory::from_mib(driver.memory.mib() + driver.memory_overhead.mib()).to_string();
    let scratch = format!("{}Mi", bundle_bytes.div_ceil(MIB).max(1));
    let quantities = |pairs: &[(&str, &String)]| {
        pairs.iter().map(|(name, amount)| ((*name).to_owned(), Quantity((*amount).clone()))).collect::<BTreeMap<_, _>>()
    };
    let mut limits = quantities(&[("memory", &memory)]);
    limits.extend(driver.cores_limit.iter().map(|cores| ("cpu".to_owned(), Quantity(cores.clone()))));
    limits.extend(driver.resources.iter().map(|(name, amount)| (name.clone(), Quantity(amount.to_string()))));
    let requests = quantities(&[("cpu", &driver.cores_request), ("memory", &memory), ("ephemeral-storage", &scratch)]);
    ResourceRequirements { limits: Some(limits), requests: Some(requests), claims: None }
}

fn security_context(allow_privilege_escalation: bool, non_root: bool) -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(allow_privilege_escalation),
        run_as_non_root: non_root.then_some(true),
        ..confined()
    }
}

/// What Pod Security `restricted` asks of every container, whatever user it runs as.
pub(crate) fn confined() -> SecurityContext {
    SecurityContext {
        capabilities: Some(Capabilities { add: None, drop: Some(vec!["ALL".to_owned()]) }),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..SecurityContext::default()
    }
}

fn pull_secrets(driver: &DriverSettings) -> Option<Vec<LocalObjectReference>> {
    let references = driver.pull_secrets.iter().map(|name| LocalObjectReference { name: name.clone() });
    (!driver.pull_secrets.is_empty()).then(|| references.collect())
}

#[cfg(test)]
#[path = "driver_pod_tests.rs"]
mod tests;
