//! Names of the objects of one submission: made from the application's name and random bytes, so that the API server
//! accepts them whatever the user wrote, and as upstream's spark-submit makes them. Nothing is asked or created here.

use std::fmt::{self, Write};

use shared::error_code::ErrorCode;

use crate::error::SubmitError;

/// Longest DNS label: names of Services, values of labels.
pub const LABEL_LIMIT: usize = 63;
/// Longest DNS subdomain: names of pods and Secrets.
pub const SUBDOMAIN_LIMIT: usize = 253;
/// Random bytes that one submission's names are made from.
pub const RANDOM_BYTES: usize = 24;

/// How names of Secrets with a driver server's key end.
pub const TLS_SUFFIX: &str = "-airlock-tls";

const POD_SUFFIX: &str = "-driver";

/// A name that the API server accepts for an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName(String);

/// Why a text is no name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    /// Not in the form of DNS.
    #[error("it must be of lower-case letters, digits and '-'{dots}, and begin and end with a letter or digit")]
    Form {
        /// Whether dots are allowed too.
        dots: &'static str,
    },
    /// Longer than DNS allows.
    #[error("it has {found} characters, more than {limit}")]
    TooLong {
        /// Its length.
        found: usize,
        /// What is allowed.
        limit: usize,
    },
}

impl ObjectName {
    /// `text` as a DNS label (RFC 1123), as namespaces and service accounts of most clusters are named.
    pub fn label(text: &str) -> Result<Self, NameError> {
        check_length(text, LABEL_LIMIT)?;
        is_label(text).then(|| Self(text.to_owned())).ok_or(NameError::Form { dots: "" })
    }

    /// `text` as a DNS subdomain (RFC 1123): labels joined by dots, as pods and Secrets are named.
    pub fn subdomain(text: &str) -> Result<Self, NameError> {
        check_length(text, SUBDOMAIN_LIMIT)?;
        text.split('.').all(is_label).then(|| Self(text.to_owned())).ok_or(NameError::Form { dots: " and '.'" })
    }

    /// A driver pod's name from a digest.
    pub(super) fn of_digest(digest: &[u8]) -> Self {
        Self(format!("spark-{}{POD_SUFFIX}", hex(digest)))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn check_length(text: &str, limit: usize) -> Result<(), NameError> {
    let found = text.chars().count();
    if found > limit { Err(NameError::TooLong { found, limit }) } else { Ok(()) }
}

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// The id of one submission: 32 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubmissionId(String);

impl SubmissionId {
    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SubmissionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Every name of one submission.
#[derive(Clone, Debug)]
pub struct SubmissionNames {
    /// The submission.
    pub submission_id: SubmissionId,
    /// `spark-<32 hex>`: the value of the label `spark-app-selector`.
    pub app_id: String,
    /// The value of the label `spark-app-name`; may be empty.
    pub app_name_label: String,
    /// `<name>-<16 hex>`.
    pub prefix: String,
    /// The driver pod.
    pub pod: ObjectName,
    /// What executor pods' names begin with: room is left for `-exec-` and the largest number.
    pub executor_prefix: String,
    /// The headless Service.
    pub headless_service: ObjectName,
    /// The Secret with the driver server's key.
    pub tls_secret: ObjectName,
    /// The door.
    pub door_service: ObjectName,
}

impl SubmissionNames {
    /// Names for an application called `app_name`; `pod_name` where the user chose one.
    #[must_use]
    pub fn new(app_name: &str, pod_name: Option<&ObjectName>, random: &[u8; RANDOM_BYTES]) -> Self {
        let (unique, id) = (hex(&random[..8]), hex(&random[8..]));
        let prefix = resource_prefix(app_name, &unique);
        let short = |suffix: &str, limit: usize| {
            if prefix.len() + suffix.len() <= limit {
                format!("{prefix}{suffix}")
            } else {
                format!("spark-{unique}{suffix}")
            }
        };
        Self {
            app_id: format!("spark-{id}"),
            submission_id: SubmissionId(id),
            app_name_label: app_name_label(app_name),
            pod: pod_name.cloned().unwrap_or_else(|| ObjectName(format!("{prefix}{POD_SUFFIX}"))),
            executor_prefix: short("", EXECUTOR_PREFIX_LIMIT),
            headless_service: ObjectName(short("-driver-svc", LABEL_LIMIT)),
            tls_secret: ObjectName(short(TLS_SUFFIX, LABEL_LIMIT)),
            door_service: ObjectName(short("-airlock-door", LABEL_LIMIT)),
            prefix,
        }
    }

    /// The name of a further object: the prefix leaves room for `suffix` in a subdomain.
    #[must_use]
    pub fn beside(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.prefix)
    }
}

/// What is left of a label when `-exec-` and ten digits follow.
const EXECUTOR_PREFIX_LIMIT: usize = LABEL_LIMIT - "-exec-".len() - 10;

/// Longest name in bytes of a pod in a namespace with a name of 63: the kubelet keeps logs in a folder that is called
/// `<namespace>_<pod>_<uid>`, and a longer one can never start, though the API server takes it.
const POD_NAME_LIMIT: usize = FOLDER_LIMIT - LABEL_LIMIT;
/// For namespace and pod together: what the two separators and a uid leave of a folder's name.
const FOLDER_LIMIT: usize = 255 - 2 - 36;

/// Refuses a pod that no kubelet could start.
pub fn check_pod_name(pod: &ObjectName, namespace: &ObjectName) -> Result<(), SubmitError> {
    let (length, limit) = (pod.as_str().len(), FOLDER_LIMIT - namespace.as_str().len());
    if length <= limit {
        return Ok(());
    }
    let what =
        format!("the driver pod's name has {length} characters; in namespace {namespace} a pod can have {limit}");
    Err(SubmitError::new(ErrorCode::ConfValue, what).hint("choose a shorter spark.kubernetes.driver.pod.name"))
}

/// Upstream's `getResourceNamePrefix`, but cut where no kubelet could start a pod of that name.
fn resource_prefix(app_name: &str, unique: &str) -> String {
    let mut name = clean(app_name);
    name.truncate(POD_NAME_LIMIT - POD_SUFFIX.len() - 1 - unique.len());
    let joined = format!("{name}-{unique}").replace("--", "-");
    let joined = joined.trim_start_matches('-');
    if joined.starts_with(|c: char| c.is_ascii_digit()) { format!("x{}", &joined[1..]) } else { joined.to_owned() }
}

/// Upstream's `getAppNameLabel`.
fn app_name_label(app_name: &str) -> String {
    let mut label = clean(app_name);
    label.truncate(LABEL_LIMIT);
    label.trim_matches('-').to_owned()
}

/// Lower case, with every run of other characters than letters, digits and `-` as one `-`. The result is ASCII.
fn clean(text: &str) -> String {
    let mut clean = String::new();
    for c in text.trim_matches(|c| c <= ' ').to_lowercase().chars() {
        let c = if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' };
        if c != '-' || !clean.ends_with('-') {
            clean.push(c);
        }
    }
    clean
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANDOM: [u8; RANDOM_BYTES] = [0xab; RANDOM_BYTES];
    const UNIQUE: &str = "abababababababab";

    fn prefix(name: &str) -> String {
        SubmissionNames::new(name, None, &RANDOM).prefix
    }

    #[test]
    fn p08_names_are_cleaned_as_upstream_cleans_them() {
        let cases = [
            ("T_1 %x", "t-1-x"),
            ("Spark π ✓ Job", "spark-job"),
            ("a--b", "a-b"),
            ("1st", "xst"),
            (" pad ", "pad"),
            ("-lead", "lead"),
            ("K\u{212a}", "kk"),
            ("a-", "a"),
        ];
        for (name, clean) in cases {
            assert_eq!(prefix(name), format!("{clean}-{UNIQUE}"), "{name:?}");
        }
        assert_eq!(prefix("---"), UNIQUE);
        assert_eq!(prefix("ππ"), UNIQUE);
    }

    #[test]
    fn p08_a_name_of_symbols_never_begins_with_a_digit() {
        let names = SubmissionNames::new("---", None, &[0x12; RANDOM_BYTES]);
        assert_eq!(names.prefix, "x212121212121212");
        assert_eq!(names.app_name_label, "");
    }

    #[test]
    fn p08_long_names_fall_back_to_a_short_one_where_a_label_is_needed() {
        let names = SubmissionNames::new(&"n".repeat(300), None, &RANDOM);
        assert_eq!(names.pod.as_str().len(), POD_NAME_LIMIT);
        assert_eq!(names.headless_service.as_str(), format!("spark-{UNIQUE}-driver-svc"));
        assert_eq!(names.door_service.as_str(), format!("spark-{UNIQUE}-airlock-door"));
        assert_eq!(names.executor_prefix, format!("spark-{UNIQUE}"));
        assert_eq!(names.app_name_label, "n".repeat(63));
    }

    #[test]
    fn p08_a_pod_name_that_no_kubelet_could_use_is_refused() {
        let name = |length| ObjectName::subdomain(&"n".repeat(length)).unwrap();
        let namespace = ObjectName::label("spark").unwrap();
        assert!(check_pod_name(&name(212), &namespace).is_ok());
        assert_eq!(check_pod_name(&name(213), &namespace).unwrap_err().code(), ErrorCode::ConfValue);
    }

    #[test]
    fn a_pod_name_that_the_user_chose_is_kept() {
        let chosen = ObjectName::subdomain("my.pod").unwrap();
        assert_eq!(SubmissionNames::new("a", Some(&chosen), &RANDOM).pod, chosen);
    }

    #[test]
    fn object_names_are_checked() {
        for bad in ["", "-a", "a-", "A", "a_b", "a.b", "π", "a b"] {
            assert!(matches!(ObjectName::label(bad), Err(NameError::Form { .. })), "{bad:?}");
        }
        assert!(ObjectName::subdomain("a.b").is_ok() && ObjectName::subdomain("a..b").is_err());
        assert_eq!(ObjectName::label(&"a".repeat(64)), Err(NameError::TooLong { found: 64, limit: 63 }));
    }

    proptest! {
        #[test]
        fn p08_any_string_gives_names_that_the_api_accepts(name in "(?s).{0,300}", random in any::<[u8; RANDOM_BYTES]>()) {
            let names = SubmissionNames::new(&name, None, &random);
            prop_assert!(ObjectName::subdomain(names.pod.as_str()).is_ok());
            for service in [&names.headless_service, &names.door_service, &names.tls_secret] {
                prop_assert!(ObjectName::label(service.as_str()).is_ok());
                // Services are stricter than pods: RFC 1035, a letter first.
                prop_assert!(service.as_str().starts_with(|c: char| c.is_ascii_lowercase()));
            }
            let executor = format!("{}-exec-{}", names.executor_prefix, i32::MAX);
            prop_assert!(ObjectName::label(&executor).is_ok());
            prop_assert!(ObjectName::label(&names.app_id).is_ok());
            prop_assert!(names.app_name_label.is_empty() || ObjectName::label(&names.app_name_label).is_ok());
        }
    }
}
