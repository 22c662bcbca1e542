//! Names of the objects of one submission. (Stand-in until the settings half is merged.)

use std::fmt;

/// A name that the API server accepts for an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName(String);

impl ObjectName {
    /// Takes `name` as it is.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
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

/// The id of one submission.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubmissionId(String);

impl SubmissionId {
    /// Takes `id` as it is.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

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
    /// `spark-<32 hex>`.
    pub app_id: String,
    /// `<name>-<16 hex>`.
    pub prefix: String,
    /// The driver pod.
    pub pod: ObjectName,
    /// The headless Service.
    pub headless_service: ObjectName,
    /// The Secret with the driver server's key.
    pub tls_secret: ObjectName,
    /// The door.
    pub door_service: ObjectName,
}
