//! Files of this machine that the driver finds mounted, as with upstream: credentials for the API server, Hadoop's
//! configuration, Kerberos' files. They are read whole before anything is created, since they go into objects and not
//! into the bundle: executors mount one of them too, and the driver finds them where upstream's does.

mod credentials;
mod hadoop;
mod kerberos;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use secrecy::SecretSlice;
use shared::error_code::ErrorCode;
use shared::manifest::MemberKind;

use crate::error::{Findings, SubmitError};
use crate::inputs::inspected_input::InspectedInput;
use crate::inputs::reference;
use crate::settings::InputPlace;
use crate::settings::driver_files::DriverFiles;
use crate::settings::names::{ObjectName, SUBDOMAIN_LIMIT};
use crate::settings::resolve::Environment;
use crate::settings::spark_conf::SparkConf;

/// Most bytes that the content of a Secret or `ConfigMap` may have.
const OBJECT_LIMIT: u64 = 1024 * 1024;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// What the driver finds mounted.
    pub files: Vec<DriverFiles>,
    /// Properties that tell the driver where.
    pub properties: BTreeMap<String, String>,
}

/// Reads all of them. `proxy_user`: whether the driver acts for somebody else.
pub fn read(conf: &SparkConf, environment: &Environment, proxy_user: bool, findings: &mut Findings) -> Found {
    let mut look = Look { conf, environment, findings, found: Found::default() };
    credentials::read(&mut look);
    hadoop::read(&mut look);
    kerberos::read(&mut look, proxy_user);
    look.found
}

/// One look at settings and files.
struct Look<'a> {
    conf: &'a SparkConf,
    environment: &'a Environment,
    findings: &'a mut Findings,
    found: Found,
}

impl<'a> Look<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        self.conf.get(key).map(|value| value.text.as_str())
    }

    fn set(&mut self, key: String, value: &str) {
        self.found.properties.insert(key, value.to_owned());
    }

    fn refuse(&mut self, what: impl Into<String>, hint: impl Into<String>) {
        self.findings.problem(SubmitError::new(ErrorCode::ConfValue, what).hint(hint));
    }

    /// The object that `key` names, if it names one.
    fn object(&mut self, key: &str) -> Option<ObjectName> {
        let name = ObjectName::subdomain(self.text(key)?).map_err(|error| {
            SubmitError::new(ErrorCode::ConfValue, format!("{key} is no name of an object")).because(error)
        });
        self.findings.keep(name)
    }

    /// The content of the file on this machine that `key` names, if it names one.
    fn file(&mut self, key: &str) -> Option<SecretSlice<u8>> {
        let path = local_path(key, self.text(key)?);
        let read = path.and_then(|path| content(&path).map_err(|error| error.hint(format!("{key} names it"))));
        self.findings.keep(read)
    }
}

/// The path of a file on this machine.
fn local_path(key: &str, text: &str) -> Result<PathBuf, SubmitError> {
    match reference::parse(MemberKind::Conf, text)?.place {
        InputPlace::Here(path) => Ok(path),
        InputPlace::Elsewhere(_) => {
            let what = format!("{key}={text:?} is not on this machine");
            Err(SubmitError::new(ErrorCode::ConfValue, what).hint("name a file by its path"))
        }
    }
}

/// The file's bytes, if one object can hold them.
fn content(path: &Path) -> Result<SecretSlice<u8>, SubmitError> {
    let input = InspectedInput::open(MemberKind::Conf, String::new(), None, path.to_owned())?;
    if input.member.size > OBJECT_LIMIT {
        let what = format!("{} has {} bytes, more than an object can hold", path.display(), input.member.size);
        return Err(SubmitError::new(ErrorCode::TooLarge, what));
    }
    let bytes = std::fs::read(path).map_err(|error| {
        SubmitError::new(ErrorCode::InputUnreadable, format!("cannot read {}", path.display())).because(error)
    })?;
    Ok(bytes.into())
}

/// The file's name, if it can be one in a Secret or `ConfigMap`.
fn object_key(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    (is_plain && name.len() <= SUBDOMAIN_LIMIT && !name.starts_with("..")).then(|| name.to_owned())
}

#[cfg(test)]
#[path = "driver_files/tests.rs"]
mod tests;
