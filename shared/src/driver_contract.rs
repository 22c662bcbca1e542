//! What the pod sets and the driver server reads: ports, paths, arguments. The client builds the pod from these, the
//! driver server parses its command line into them, so neither can drift.

/// Where the image holds the driver server, unless `spark.airlock.driver.command` says otherwise.
pub const DRIVER_SERVER_COMMAND: &str = "/opt/airlock/airlock-driver";
/// The image's own entry point, as upstream's images have it.
pub const ENTRY_POINT: &str = "/opt/entrypoint.sh";

/// Port of the driver server in the pod.
pub const UPLOAD_PORT: u16 = 7077;

/// Mount path of the one emptyDir. Everything that the driver server writes lies below it.
pub const DIRECTORY: &str = "/var/airlock";
/// Below [`DIRECTORY`]: where the bundle lies while it arrives; gone afterwards.
pub const STAGING: &str = "staging";
/// Below [`DIRECTORY`]: the verified bundle; appears by one rename.
pub const BUNDLE: &str = "bundle";
/// Below [`DIRECTORY`]: the driver's working directory, with files, py-files and unpacked archives in it.
pub const WORK_DIR: &str = "work-dir";
/// Below [`BUNDLE`]: `SPARK_CONF_DIR` of the driver; the driver server adds [`PROPERTIES_FILE`].
pub const CONF: &str = "conf";
/// In [`CONF`]: the driver's properties.
pub const PROPERTIES_FILE: &str = "spark.properties";

/// Mount path of the Secret with this driver's key and certificates.
pub const TLS_DIRECTORY: &str = "/var/run/airlock/tls";
/// In [`TLS_DIRECTORY`]: the authority that signed the client's certificate, PEM.
pub const TLS_CA: &str = "ca.crt";
/// In [`TLS_DIRECTORY`]: the server's certificate, PEM.
pub const TLS_CERTIFICATE: &str = "tls.crt";
/// In [`TLS_DIRECTORY`]: the server's key, PKCS #8 PEM.
pub const TLS_KEY: &str = "tls.key";

/// The driver server in the image that injects it.
pub const INJECTOR_COMMAND: &str = "/airlock-driver";
/// The driver server where an init container has put it.
pub const INJECTED_COMMAND: &str = "/var/airlock/airlock-driver";
/// First argument of that init container; its second is the path to install at.
pub const INSTALL: &str = "install";

/// Argument: seconds without progress of the client after which the driver server ends the pod.
pub const ARG_IDLE_TIMEOUT: &str = "--idle-timeout-seconds";
/// Argument: largest bundle in bytes of tar that is accepted.
pub const ARG_MAX_BYTES: &str = "--max-bundle-bytes";
/// Argument: the entry point to become.
pub const ARG_ENTRY_POINT: &str = "--entry-point";
/// Argument: namespace of the objects to delete when nobody uploads.
pub const ARG_NAMESPACE: &str = "--namespace";
/// Argument: name of the door Service to delete when nobody uploads.
pub const ARG_DOOR_SERVICE: &str = "--door-service";
/// Argument: name of the Secret to delete when nobody uploads.
pub const ARG_TLS_SECRET: &str = "--tls-secret";

/// Largest bundle by default: 64 GiB. A bound that is stated, not one that a jar meets.
pub const DEFAULT_MAX_BYTES: u64 = 64 * 1024 * 1024 * 1024;

/// Path in the pod of a member of the verified bundle.
#[must_use]
pub fn bundle_path(member_path: &str) -> String {
    format!("{DIRECTORY}/{BUNDLE}/{member_path}")
}
