//! Reads single values by type: the one given, or the default of the table. A bad one is a problem, and the default stands
//! in so that the look goes on.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use shared::error_code::ErrorCode;

use super::named;
use crate::error::{Findings, SubmitError};
use crate::settings::duration::{self, Unit};
use crate::settings::memory::Memory;
use crate::settings::names::ObjectName;
use crate::settings::setting_keys;
use crate::settings::spark_conf::{ConfValue, SparkConf};

/// Properties, and where their problems go.
pub(super) struct Reader<'a> {
    pub(super) conf: &'a SparkConf,
    pub(super) findings: &'a mut Findings,
}

impl<'a> Reader<'a> {
    /// The text given, or the table's default; none where there is neither.
    pub(super) fn text(&self, key: &'static str) -> Option<&'a str> {
        let default = Some(setting_keys::default_of(key)).filter(|default| !default.is_empty());
        self.conf.get(key).map(|value| value.text.as_str()).or(default)
    }

    /// The value of `key` by `parse`, if it or a default is there.
    pub(super) fn read<T, E: Display>(&mut self, key: &'static str, parse: impl Fn(&str) -> Result<T, E>) -> Option<T> {
        match self.conf.get(key).map(|value| (value, parse(&value.text))) {
            Some((_, Ok(parsed))) => return Some(parsed),
            Some((value, Err(reason))) => self.bad_value(key, value, &reason),
            None => {}
        }
        Some(setting_keys::default_of(key))
            .filter(|default| !default.is_empty())
            .and_then(|default| parse(default).ok())
    }

    /// The same for a key that has a default.
    pub(super) fn must<T: Default, E: Display>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> T {
        self.read(key, parse).unwrap_or_default()
    }

    pub(super) fn bad_value(&mut self, key: &str, value: &ConfValue, reason: &impl Display) {
        let what = format!("{} cannot be used: {reason}", named(key, value));
        self.findings.problem(SubmitError::new(ErrorCode::ConfValue, what));
    }

    pub(super) fn memory(&mut self, key: &'static str) -> Option<Memory> {
        self.read(key, str::parse)
    }

    pub(super) fn duration(&mut self, key: &'static str, unit: Unit) -> Duration {
        self.must(key, |text| duration::parse(text, unit))
    }

    pub(super) fn flag(&mut self, key: &'static str) -> bool {
        self.must(key, |text| match text.to_ascii_lowercase().as_str() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("it must be true or false"),
        })
    }

    pub(super) fn port(&mut self, key: &'static str) -> Option<u16> {
        self.read(key, |text| text.parse().ok().filter(|port| *port != 0).ok_or("it must be a port from 1 to 65535"))
    }

    pub(super) fn count(&mut self, key: &'static str) -> Option<u64> {
        self.read(key, |text| text.parse().ok().filter(|count| *count > 0).ok_or("it must be a whole number above 0"))
    }

    pub(super) fn label_name(&mut self, key: &'static str) -> Option<ObjectName> {
        self.read(key, ObjectName::label)
    }

    pub(super) fn subdomain_name(&mut self, key: &'static str) -> Option<ObjectName> {
        self.read(key, ObjectName::subdomain)
    }

    /// What stands below `prefix`, each name and value checked by `check`.
    pub(super) fn below<E: Display>(
        &mut self,
        prefix: &'static str,
        check: impl Fn(&str, &str) -> Result<(), E>,
    ) -> BTreeMap<String, String> {
        let mut map = BTreeMap::new();
        for (name, value) in self.conf.below(prefix) {
            match check(name, &value.text) {
                Ok(()) => {
                    map.insert(name.to_owned(), value.text.clone());
                }
                Err(reason) => self.bad_value(&format!("{prefix}{name}"), value, &reason),
            }
        }
        map
    }
}
