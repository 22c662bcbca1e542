//! Checked settings: what flags, `--conf`, properties file and defaults mean together. Whoever holds a [`Settings`] need
//! check nothing again. No file is opened and no cluster is asked here; local inputs are opened by `inputs`.

pub mod advice;
pub mod cli;
pub mod driver_files;
pub mod driver_volume;
pub mod duration;
pub mod kubernetes_syntax;
pub mod master;
pub mod memory;
pub mod names;
pub mod prepare;
pub mod redaction;
pub mod resolve;
pub mod setting_keys;
pub mod spark_conf;
pub mod spark_version;
pub mod submission_key;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use shared::manifest::MemberKind;

use crate::inputs::pod_template::PodTemplate;
use crate::settings::driver_files::DriverFiles;
use crate::settings::driver_volume::DriverVolume;
use crate::settings::memory::Memory;
use crate::settings::names::ObjectName;
use crate::settings::spark_version::SparkVersion;
use crate::settings::submission_key::SubmissionKey;

/// Everything that one submission does.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the API server is reached.
    pub access: AccessSettings,
    /// `spark.kubernetes.namespace`; the context's when absent, else `default`.
    pub namespace: Option<ObjectName>,
    /// What runs.
    pub application: Application,
    /// Local and remote inputs in the order of the flags; the main resource is [`Application::resource`].
    pub inputs: Vec<InputReference>,
    /// `spark.airlock.sparkVersion`, else that of `$SPARK_HOME`.
    pub spark_version: SparkVersion,
    /// The driver pod.
    pub driver: DriverSettings,
    /// The way from here to the driver server.
    pub door: DoorSettings,
    /// `spark.airlock.networkPolicy`.
    pub network_policy: NetworkPolicyChoice,
    /// One limit for each kind of wait.
    pub deadlines: Deadlines,
    /// `spark.airlock.submissionKey`; the driver pod's name is made from it.
    pub submission_key: Option<SubmissionKey>,
    /// What happens after the launch.
    pub follow: FollowSettings,
    /// `spark.airlock.fanOut.warnBytes`: from which amount on a warning says what executors will fetch from the driver.
    pub fan_out_warn_bytes: u64,
    /// `$SPARK_CONF_DIR`, else `$SPARK_HOME/conf`: its text files travel to the driver's, as upstream's do.
    pub conf_dir: Option<PathBuf>,
    /// Every `spark.*` property that the driver gets, before the client adds its own.
    pub properties: BTreeMap<String, String>,
}

/// How the API server is reached.
#[derive(Clone, Debug, Default)]
pub struct AccessSettings {
    /// From `--master k8s://…`: `https://host:port[/path]`. Absent: the kubeconfig's or the pod's own.
    pub master: Option<http::Uri>,
    /// `spark.kubernetes.context`.
    pub context: Option<String>,
    /// `spark.kubernetes.authenticate.submission.*`, over what the kubeconfig says.
    pub credentials: SubmitterCredentials,
    /// `spark.kubernetes.submission.connectionTimeout`.
    pub connection_timeout: Duration,
    /// `spark.kubernetes.submission.requestTimeout`: for one request, without watches.
    pub request_timeout: Duration,
}

/// What the submitter proves itself with when it is not the kubeconfig's user. Files are of this machine.
#[derive(Clone, Debug, Default)]
pub struct SubmitterCredentials {
    /// `….caCertFile`: the only authorities trusted, PEM.
    pub ca_cert_file: Option<PathBuf>,
    /// `….clientCertFile`, PEM; never without its key.
    pub client_cert_file: Option<PathBuf>,
    /// `….clientKeyFile`, PEM.
    pub client_key_file: Option<PathBuf>,
    /// `….oauthToken`; never beside a token file.
    pub token: Option<SecretString>,
    /// `….oauthTokenFile`.
    pub token_file: Option<PathBuf>,
}

impl SubmitterCredentials {
    /// Whether they say who submits, and not only whom to trust.
    #[must_use]
    pub const fn identify(&self) -> bool {
        self.client_cert_file.is_some() || self.token.is_some() || self.token_file.is_some()
    }
}

/// What runs.
#[derive(Clone, Debug)]
pub struct Application {
    /// `spark.app.name` as given; otherwise derived from class or resource as upstream does.
    pub name: String,
    /// Which runner `spark-submit` in the pod uses.
    pub language: Language,
    /// `--class`, else the class that the jar's own manifest names; always there for [`Language::Jvm`].
    pub main_class: Option<String>,
    /// The main resource.
    pub resource: InputReference,
    /// The application's arguments, byte for byte.
    pub arguments: Vec<String>,
    /// `--proxy-user`: on whose behalf the driver works with Hadoop.
    pub proxy_user: Option<String>,
}

/// The kind of main resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// A jar (Java, Scala), or `spark-internal`.
    Jvm,
    /// A `.py` file.
    Python,
    /// A `.R` file.
    R,
}

/// One input as the user named it, and who owns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputReference {
    /// What it is for.
    pub kind: MemberKind,
    /// As typed, for messages.
    pub text: String,
    /// Where it lives.
    pub place: InputPlace,
    /// After the last `#`: the name in the driver.
    pub alias: Option<String>,
}

/// Where an input lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputPlace {
    /// On this machine: it travels in the bundle.
    Here(PathBuf),
    /// In the image (`local:`) or at a remote URI: handed to Spark as it is, without the alias.
    Elsewhere(String),
}

/// The driver pod.
#[derive(Clone, Debug)]
pub struct DriverSettings {
    /// `spark.kubernetes.driver.pod.name`.
    pub pod_name: Option<ObjectName>,
    /// `spark.kubernetes.driver.container.image`, else `spark.kubernetes.container.image`.
    pub image: String,
    /// `spark.kubernetes.container.image.pullPolicy`.
    pub pull_policy: String,
    /// `spark.kubernetes.container.image.pullSecrets`.
    pub pull_secrets: Vec<String>,
    /// `spark.kubernetes.authenticate.driver.serviceAccountName`.
    pub service_account: Option<ObjectName>,
    /// `spark.driver.memory`.
    pub memory: Memory,
    /// `spark.driver.memoryOverhead`, or the rule of upstream (factor, 384 MiB at least).
    pub memory_overhead: Memory,
    /// `spark.kubernetes.memoryOverheadFactor`, or the language's; the driver hands it on to its executors.
    pub memory_overhead_factor: f64,
    /// The ports that the driver's JVM listens on.
    pub ports: DriverPorts,
    /// `spark.driver.cores`, or `spark.kubernetes.driver.request.cores`: a Kubernetes quantity.
    pub cores_request: String,
    /// `spark.kubernetes.driver.limit.cores`.
    pub cores_limit: Option<String>,
    /// `spark.kubernetes.driver.label.*`.
    pub labels: BTreeMap<String, String>,
    /// `spark.kubernetes.driver.annotation.*`.
    pub annotations: BTreeMap<String, String>,
    /// `spark.kubernetes.driver.service.label.*`.
    pub service_labels: BTreeMap<String, String>,
    /// `spark.kubernetes.driver.service.annotation.*`.
    pub service_annotations: BTreeMap<String, String>,
    /// `spark.kubernetes.driverEnv.*`.
    pub env: BTreeMap<String, String>,
    /// `spark.kubernetes.driver.secretKeyRef.ENV=name:key`, as (variable, (name, key)).
    pub secret_env: BTreeMap<String, (String, String)>,
    /// `spark.kubernetes.node.selector.*` and `spark.kubernetes.driver.node.selector.*`.
    pub node_selector: BTreeMap<String, String>,
    /// `spark.kubernetes.driver.podTemplateFile`, as it is read when the inputs are inspected.
    pub template: Option<PodTemplate>,
    /// `spark.kubernetes.driver.volumes.*`.
    pub volumes: Vec<DriverVolume>,
    /// Credentials, Hadoop's configuration and Kerberos' files, as they are read when the inputs are inspected.
    pub files: Vec<DriverFiles>,
    /// `spark.kubernetes.driver.secrets.NAME`, as (name, path).
    pub secret_mounts: BTreeMap<String, String>,
    /// `spark.local.dir`: scratch space; empty: one folder with a name of its own.
    pub local_dirs: Vec<String>,
    /// `spark.kubernetes.local.dirs.tmpfs`.
    pub local_dirs_in_memory: bool,
    /// `spark.kubernetes.driver.scheduler.name`, else `spark.kubernetes.scheduler.name`.
    pub scheduler: Option<String>,
    /// `spark.driver.resource.*`: extended resources as (`vendor/name`, amount).
    pub resources: BTreeMap<String, u64>,
    /// `spark.kubernetes.driver.securityContext.allowPrivilegeEscalation`, else the common one.
    pub allow_privilege_escalation: bool,
    /// `spark.kubernetes.driver.service.ipFamilyPolicy`; the cluster's own choice when absent.
    pub ip_family_policy: Option<String>,
    /// `spark.kubernetes.driver.service.ipFamilies`; the cluster's own choice when empty.
    pub ip_families: Vec<String>,
    /// Path of the driver server in the driver's container: `spark.airlock.driver.command`, or where it is injected.
    pub server_command: String,
    /// `spark.airlock.driver.image`, if an init container is to bring the driver server from it.
    pub injected_from: Option<String>,
    /// `spark.airlock.driver.entryPoint`: path of the image's own entry point.
    pub entry_point: String,
    /// `spark.airlock.upload.maxBytes`: largest bundle in bytes.
    pub max_bundle_bytes: u64,
}

/// The ports that the driver's JVM listens on, for the pod and the headless Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverPorts {
    /// `spark.driver.port`.
    pub rpc: u16,
    /// `spark.driver.blockManager.port`, else `spark.blockManager.port`.
    pub block_manager: u16,
    /// `spark.ui.port`.
    pub ui: u16,
}

/// The ways from here to the driver server.
#[derive(Clone, Debug, Default)]
pub struct DoorSettings {
    /// `spark.airlock.door.kinds`.
    pub kinds: DoorKinds,
    /// Whether this process is a pod of a cluster.
    pub in_pod: bool,
    /// `spark.airlock.door.address`: where something already forwards to the driver server.
    pub address: Vec<String>,
    /// `spark.airlock.door.addressAnnotation`: where, on the headless Service, something writes that.
    pub address_annotation: Option<String>,
    /// `spark.airlock.door.gateway`: a proxy that forwards by SNI.
    pub gateway: Vec<String>,
    /// `spark.airlock.door.loadBalancer.class`.
    pub load_balancer_class: Option<String>,
    /// `spark.airlock.door.loadBalancer.annotation.*`.
    pub load_balancer_annotations: BTreeMap<String, String>,
    /// `spark.airlock.door.loadBalancer.nodePorts`: whether the provider needs node ports behind it.
    pub load_balancer_node_ports: bool,
    /// `spark.airlock.door.sourceRanges`: CIDR blocks from which a load balancer takes connections; empty: all.
    pub source_ranges: Vec<String>,
    /// `spark.airlock.door.addresses`: `host`, `host:port`, an address or `[v6]:port` to dial instead of the nodes.
    pub addresses: Vec<String>,
    /// `spark.airlock.door.nodePort`: one port, or none to let the API server choose.
    pub node_port: Option<u16>,
    /// `spark.airlock.door.externalTrafficPolicy`. None: `Local` first, then `Cluster`.
    pub traffic_policy: Option<TrafficPolicy>,
}

/// Which doors are tried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DoorKinds {
    /// What fits, best first.
    #[default]
    Auto,
    /// These, by their names, in this order.
    These(Vec<String>),
}

/// Which nodes forward a node port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrafficPolicy {
    /// Every node; the source address is the node's.
    #[default]
    Cluster,
    /// Only the pod's own node; the source address is kept.
    Local,
}

/// Whether executors get upstream's network policy: nobody but pods of the same application may connect to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkPolicyChoice {
    /// Where the cluster lets the submitter make one; otherwise a warning says that there is none.
    #[default]
    Auto,
    /// Without it nothing is submitted.
    Always,
    /// None is made.
    Never,
}

/// One limit for each kind of wait: a phase that moves on is not cut by the limit of another.
#[derive(Clone, Debug)]
pub struct Deadlines {
    /// `spark.airlock.timeout.schedule`: until a node is found.
    pub schedule: Duration,
    /// `spark.airlock.timeout.pull`: until the image is there.
    pub pull: Duration,
    /// `spark.airlock.timeout.start`: until the container runs.
    pub start: Duration,
    /// `spark.airlock.timeout.reach`: until an address answers.
    pub reach: Duration,
    /// `spark.airlock.timeout.loadBalancer`: until a load balancer has an address.
    pub load_balancer: Duration,
    /// `spark.airlock.timeout.idle`: without progress of the upload; the driver server ends itself after it too.
    pub idle: Duration,
    /// `spark.airlock.timeout.fault`: how long a fault that may heal (a first failed pull) is watched.
    pub fault: Duration,
    /// `spark.airlock.timeout.api`: how long one call to the API server is repeated while it is busy or unreachable.
    pub api: Duration,
    /// `spark.airlock.timeout.lease`: after it, anyone may sweep an object of ours that was left behind before launch.
    pub lease: Duration,
}

/// What happens after the launch.
#[derive(Clone, Debug, Default)]
pub struct FollowSettings {
    /// `spark.kubernetes.submission.waitAppCompletion`.
    pub wait: bool,
    /// `spark.kubernetes.report.interval`.
    pub report_interval: Duration,
    /// `spark.airlock.followLogs`: the driver's log on stdout.
    pub logs: bool,
    /// `spark.airlock.exitStatus`.
    pub exit_status: ExitStatus,
    /// `spark.airlock.onInterrupt`.
    pub on_interrupt: OnInterrupt,
}

/// The status with which a submission ends that waited for its driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitStatus {
    /// The driver's own exit code.
    #[default]
    Driver,
    /// Upstream's: 0, also when the driver failed.
    Upstream,
}

/// What an interrupt does to a driver that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInterrupt {
    /// It runs on, as upstream.
    #[default]
    Detach,
    /// Its pod is deleted.
    Kill,
}

/// An address to dial, and why it is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where.
    pub address: SocketAddr,
    /// For messages: `node1 InternalIP`.
    pub origin: String,
}
