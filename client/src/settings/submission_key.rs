//! `spark.airlock.submissionKey`: the name that a user, or a scheduler, gives to one submission, so that submitting again
//! is safe. The driver pod is named after it, and a namespace has only one pod of a name: the API server itself sees to
//! it that there is never a second driver, however many submit at once. What that means for a run is `resubmission`'s
//! matter.

use sha2::{Digest, Sha256};

use super::names::ObjectName;

/// Annotation of the driver pod: the key as given.
pub const SUBMISSION_KEY_ANNOTATION: &str = "airlock/submission-key";
/// Longest key in characters.
const LIMIT: usize = 256;

/// A key that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionKey(String);

impl SubmissionKey {
    /// Any text of one line, as schedulers make them from dates, names and tries.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.trim().is_empty() || text.chars().count() > LIMIT || text.chars().any(char::is_control) {
            return Err("it must be a text of 1 to 256 characters on one line");
        }
        Ok(Self(text.to_owned()))
    }

    /// The key as given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The driver pod's name: the first 128 bits of the key's SHA-256. The application's name is no part of it, since it
    /// may change between two tries.
    #[must_use]
    pub fn pod_name(&self) -> ObjectName {
        ObjectName::of_digest(&Sha256::digest(&self.0)[..16])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_any_script_names_one_pod() {
        let name = |text| SubmissionKey::parse(text).unwrap().pod_name().to_string();
        assert_eq!(name("daily 2026-01-01/π"), name("daily 2026-01-01/π"));
        assert_ne!(name("daily 2026-01-01/π"), name("daily 2026-01-02/π"));
        assert!(ObjectName::label(&name(" ✓ ")).is_ok(), "{}", name(" ✓ "));
    }

    #[test]
    fn a_key_is_one_line_of_text() {
        for bad in ["", "  ", "a\nb", &"x".repeat(257)] {
            assert!(SubmissionKey::parse(bad).is_err(), "{bad:?}");
        }
    }
}
