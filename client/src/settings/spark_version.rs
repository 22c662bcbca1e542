//! Which Spark the driver's image has, and everything that spark-submit does otherwise from one version to the next: what
//! upstream's builder makes of the same settings in 3.5, 4.0, 4.1, 4.2 and 4.3 (`tests/spark_objects/main.rs` runs against each).

use std::path::Path;
use std::str::FromStr;

use crate::settings::kubernetes_syntax::label;

/// The version where nothing else is known.
pub const NEWEST: &str = "4.3.0";
/// The oldest one whose driver this road has been tried with.
const OLDEST: (u32, u32) = (3, 5);

/// A version of Spark, 3.5 or newer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SparkVersion {
    text: String,
    number: (u32, u32),
}

impl SparkVersion {
    /// As written, for the label `spark-version`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is version `major.minor` or a later one.
    #[must_use]
    pub fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.number >= (major, minor)
    }

    /// Whether the driver's port for Spark Connect is named, on pod and Service.
    #[must_use]
    pub fn names_connect_port(&self) -> bool {
        self.is_at_least(4, 1)
    }

    /// Whether claims made on demand are `ReadWriteOnce` unless it is said.
    #[must_use]
    pub fn claims_are_read_write_once(&self) -> bool {
        !self.is_at_least(4, 0)
    }

    /// Whether executors get a network policy.
    #[must_use]
    pub fn makes_network_policy(&self) -> bool {
        self.is_at_least(4, 2)
    }

    /// Whether the Service says that Spark Connect speaks gRPC.
    #[must_use]
    pub fn names_connect_protocol(&self) -> bool {
        self.is_at_least(4, 2)
    }

    /// The version of the distribution at `home`, by the name of its core jar, as `spark-core_2.13-4.3.0.jar`. None for a
    /// folder without one.
    #[must_use]
    pub fn of_home(home: &Path) -> Option<Self> {
        let version = |name: &str| {
            let (_, version) = name.strip_prefix("spark-core_")?.strip_suffix(".jar")?.split_once('-')?;
            version.parse().ok()
        };
        let entries = std::fs::read_dir(home.join("jars")).ok()?;
        entries.filter_map(Result::ok).find_map(|entry| version(entry.file_name().to_str()?))
    }
}

impl Default for SparkVersion {
    fn default() -> Self {
        Self { text: NEWEST.to_owned(), number: (4, 3) }
    }
}

impl FromStr for SparkVersion {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
        let (Some(Some(major)), Some(Some(minor))) = (parts.next(), parts.next()) else {
            return Err("it must be a version of spark, as 4.3.0");
        };
        if (major, minor) < OLDEST {
            return Err("spark 3.5 is the oldest that can be submitted");
        }
        label("spark-version", text).map_err(|_| "it must be a version of spark, as 4.3.0")?;
        Ok(Self { text: text.to_owned(), number: (major, minor) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_is_shown() {
        for text in ["3.5.9", "4.0.0-preview2", "4.1.0.dev1", "4.3.0", "5.0.0-SNAPSHOT", "4.2"] {
            assert_eq!(text.parse::<SparkVersion>().unwrap().as_str(), text);
        }
        assert_eq!(NEWEST.parse(), Ok(SparkVersion::default()));
    }

    #[test]
    fn what_is_no_version_or_too_old_is_refused() {
        for text in ["", "4", "four", "4.x", "3.4.4", "2.4.8", "4.3.0 ", "4.3.0/x", "-4.3"] {
            assert!(text.parse::<SparkVersion>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn connect_has_a_port_since_4_1() {
        let names = |text: &str| text.parse::<SparkVersion>().unwrap().names_connect_port();
        assert_eq!(["3.5.9", "4.0.5", "4.1.0", "4.3.0", "5.0.0"].map(names), [false, false, true, true, true]);
    }

    #[test]
    fn a_distribution_says_its_version_by_its_core_jar() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(SparkVersion::of_home(home.path()), None);
        std::fs::create_dir(home.path().join("jars")).unwrap();
        for jar in ["spark-core.jar", "spark-sql_2.12-9.9.9.jar", "spark-core_2.12-3.5.9.jar"] {
            std::fs::write(home.path().join("jars").join(jar), "").unwrap();
        }
        assert_eq!(SparkVersion::of_home(home.path()).unwrap().as_str(), "3.5.9");
    }
}
