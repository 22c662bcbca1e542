//! Spark properties in layers: flags over `--conf` over a properties file. Each value remembers where it came from, for
//! messages and for `--verbose`. What the keys mean is not known here: see `setting_keys` and `resolve`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use shared::error_code::ErrorCode;
use shared::java_properties;

use crate::error::{Findings, SubmitError};
use crate::settings::redaction;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of its own, for example `--name`.
    Flag(&'static str),
    /// `--conf`.
    Conf,
    /// A properties file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => formatter.write_str(flag),
            Self::Conf => formatter.write_str("--conf"),
            Self::File(path) => path.display().fmt(formatter),
        }
    }
}

/// A value and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfValue {
    /// The value, trimmed by upstream's rule.
    pub text: String,
    /// Where it came from.
    pub origin: Origin,
}

/// All properties given, the strongest layer of each key.
#[derive(Clone, Debug, Default)]
pub struct SparkConf {
    values: BTreeMap<String, ConfValue>,
}

impl SparkConf {
    /// The value of `key`, if it was given.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&ConfValue> {
        self.values.get(key)
    }

    /// All of them by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ConfValue)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Those below `prefix`, with the rest of their keys.
    pub fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a ConfValue)> {
        self.iter().filter_map(move |(key, value)| Some((key.strip_prefix(prefix)?, value)))
    }

    /// One line for each property, secrets hidden, with its origin: for `--verbose`.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let line = |(key, value): (&str, &ConfValue)| {
            format!("{key}={} ({})", redaction::shown(key, &value.text), value.origin)
        };
        self.iter().map(line).collect()
    }

    /// Adds a flag's value: the strongest layer, so it is added last.
    pub fn add_flag(&mut self, flag: &'static str, key: &str, text: &str) {
        self.values.insert(key.to_owned(), ConfValue { text: text.to_owned(), origin: Origin::Flag(flag) });
    }

    /// Adds every `--conf KEY=VALUE`, the last of a key winning, as upstream.
    pub fn add_conf(&mut self, pairs: &[String], findings: &mut Findings) {
        let mut given = BTreeMap::new();
        for pair in pairs {
            let Some((key, value)) = findings.keep(split_pair(pair)) else { continue };
            let text = trim(value);
            if given.insert(key, text).is_some_and(|earlier| earlier != text) {
                findings.warn(format!("--conf {key} is given more than once: the last one counts"));
            }
            self.add(key, text, &Origin::Conf, findings);
        }
    }

    /// Adds the properties file at `path`.
    pub fn add_file(&mut self, path: &Path, findings: &mut Findings) {
        let Some(pairs) = findings.keep(read_file(path)) else { return };
        for (key, value) in pairs {
            if value.contains(char::REPLACEMENT_CHARACTER) {
                findings.warn(format!("{}: the value of {key} is not all UTF-8", path.display()));
            }
            self.add(&key, trim(&value), &Origin::File(path.to_owned()), findings);
        }
    }

    fn add(&mut self, key: &str, text: &str, origin: &Origin, findings: &mut Findings) {
        if let Some(reason) = key_fault(key) {
            let what = format!("{origin}: {key:?} is no key: {reason}");
            findings.problem(
                SubmitError::new(ErrorCode::ConfKey, what).hint("write spark.KEY=VALUE, without quotes inside"),
            );
        } else if key.starts_with("spark.") {
            self.values.insert(key.to_owned(), ConfValue { text: text.to_owned(), origin: origin.clone() });
        } else {
            findings.warn(format!("{origin}: {key:?} does not begin with spark. and is ignored"));
        }
    }
}

/// `KEY=VALUE` at the first `=`.
fn split_pair(pair: &str) -> Result<(&str, &str), SubmitError> {
    pair.split_once('=').ok_or_else(|| {
        // It may be a value whose key was lost: a secret is not repeated.
        let what = format!("--conf {:?} has no '='", redaction::shown("", pair));
        SubmitError::new(ErrorCode::ConfKey, what).hint("write --conf KEY=VALUE; KEY= is an empty value")
    })
}

fn read_file(path: &Path) -> Result<Vec<(String, String)>, SubmitError> {
    let refuse =
        |what: &str| SubmitError::new(ErrorCode::Properties, format!("properties file {}: {what}", path.display()));
    let metadata = std::fs::metadata(path).map_err(|error| refuse("it cannot be read").because(error))?;
    if !metadata.is_file() {
        return Err(refuse("it is no regular file"));
    }
    let bytes = std::fs::read(path).map_err(|error| refuse("it cannot be read").because(error))?;
    // As the JVM decodes it: one foreign byte in a comment must not make the file useless.
    let text = String::from_utf8_lossy(&bytes);
    java_properties::parse(&text).map_err(|error| refuse("it is malformed").because(error))
}

/// Why `key` cannot have been meant as a key. A setting that nobody reads must not pass in silence (P04).
fn key_fault(key: &str) -> Option<&'static str> {
    if key.is_empty() {
        Some("it is empty")
    } else if key.contains(['"', '\'', '`']) {
        Some("it has a quote")
    } else if key.contains(char::is_whitespace) {
        Some("it has a blank")
    } else if key.contains(char::is_control) {
        Some("it has a control character")
    } else {
        None
    }
}

/// Upstream's rule: blanks and control characters at both ends go, but line ends stay, since only an escape can have put
/// them there. The same for every source, because the driver reads a file in the end.
fn trim(value: &str) -> &str {
    value.trim_matches(|c| c <= ' ' && c != '\r' && c != '\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conf(pairs: &[&str]) -> (SparkConf, Findings) {
        let (mut conf, mut findings) = (SparkConf::default(), Findings::default());
        let pairs: Vec<_> = pairs.iter().map(ToString::to_string).collect();
        conf.add_conf(&pairs, &mut findings);
        (conf, findings)
    }

    fn file(text: &str) -> (SparkConf, Findings) {
        let (mut conf, mut findings) = (SparkConf::default(), Findings::default());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        conf.add_file(file.path(), &mut findings);
        (conf, findings)
    }

    fn text<'a>(conf: &'a SparkConf, key: &str) -> &'a str {
        &conf.get(key).unwrap().text
    }

    #[test]
    fn p04_stray_quotes_blanks_and_missing_values_are_refused_with_the_key_as_received() {
        for pair in
            ["\"spark.cores.max=2\"", "spark.x", "spark.a b=1", " spark.a=1", "spark.\u{1}=1", "'spark.a'=1", "=1", ""]
        {
            let (conf, findings) = conf(&[pair]);
            assert_eq!(findings.problems.len(), 1, "{pair}");
            assert_eq!(findings.problems[0].code(), ErrorCode::ConfKey);
            let key = pair.split('=').next().unwrap();
            assert!(findings.problems[0].to_string().contains(&format!("{key:?}")), "{}", findings.problems[0]);
            assert_eq!(conf.iter().count(), 0);
        }
    }

    #[test]
    fn p04_a_value_begins_after_the_first_equals_sign_and_may_be_empty() {
        let (conf, findings) = conf(&["spark.x=a=b=c", "spark.y="]);
        assert_eq!((text(&conf, "spark.x"), text(&conf, "spark.y")), ("a=b=c", ""));
        assert!(findings.problems.is_empty() && findings.warnings.is_empty());
    }

    #[test]
    fn p04_keys_that_are_not_sparks_are_named_and_ignored() {
        let (from_flag, flag_findings) = conf(&["foo.bar=1"]);
        let (from_file, file_findings) = file("foo.bar 1\n");
        assert_eq!(from_flag.iter().count() + from_file.iter().count(), 0);
        assert!(flag_findings.warnings[0].contains("foo.bar") && file_findings.warnings[0].contains("foo.bar"));
    }

    #[test]
    fn p06_a_value_is_the_same_whatever_its_source() {
        let (from_file, _) = file("spark.d1=\\nblah\nspark.d2=blah\\r\nspark.d3=\\ blah\\f\nspark.d4 \\tx\\u0020\n");
        let (from_conf, _) = conf(&["spark.d1=\nblah", "spark.d2=blah\r", "spark.d3= blah\x0c", "spark.d4=\tx "]);
        for (key, value) in [("spark.d1", "\nblah"), ("spark.d2", "blah\r"), ("spark.d3", "blah"), ("spark.d4", "x")] {
            assert_eq!((text(&from_file, key), text(&from_conf, key)), (value, value));
        }
    }

    #[test]
    fn p06_a_malformed_file_is_named_with_its_line() {
        let (_, findings) = file("spark.a=1\nspark.b=\\u12\n");
        let shown = shared::report::render("airlock", &findings.problems[0]);
        assert!(shown.contains("E_PROPERTIES") && shown.contains("line 2"), "{shown}");
    }

    #[test]
    fn a_missing_file_or_a_directory_is_78() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path(), &directory.path().join("gone")] {
            let (mut conf, mut findings) = (SparkConf::default(), Findings::default());
            conf.add_file(path, &mut findings);
            assert_eq!(findings.problems[0].code().exit_status(), 78);
        }
    }

    #[test]
    fn p05_values_with_shell_syntax_stay_as_they_are() {
        let value = "(?i)secret|password|token$(touch pwned);`id`";
        assert_eq!(text(&conf(&[&format!("spark.z={value}")]).0, "spark.z"), value);
    }

    #[test]
    fn layers_and_origins() {
        let (mut conf, mut findings) = file("spark.a=file\nspark.b=file\nspark.c=file\n");
        conf.add_conf(&["spark.a=x".into(), "spark.a=conf".into(), "spark.b=conf".into()], &mut findings);
        conf.add_flag("--name", "spark.a", "flag");
        assert_eq!(conf.get("spark.a").unwrap().origin, Origin::Flag("--name"));
        assert_eq!(conf.get("spark.b").unwrap().origin, Origin::Conf);
        assert!(matches!(conf.get("spark.c").unwrap().origin, Origin::File(_)));
        assert!(findings.warnings[0].contains("spark.a"), "the same key twice with two values is said");
    }

    #[test]
    fn t08_secrets_are_never_described() {
        let (conf, _) = conf(&["spark.my.password=hunter2", "spark.opts=-Dtoken=hunter2", "spark.a=1"]);
        let lines = conf.describe().join("\n");
        assert!(!lines.contains("hunter2") && lines.contains("spark.a=1 (--conf)"), "{lines}");
    }
}
