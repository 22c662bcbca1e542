//! Hadoop's configuration, from `$HADOOP_CONF_DIR` or a `ConfigMap` that is there already. Executors mount it too, so it
//! must be an object. Upstream's step `HadoopConfDriver`.

use std::path::{Path, PathBuf};

use secrecy::ExposeSecret;

use super::{Look, OBJECT_LIMIT, content, object_key};
use crate::error::{Findings, SubmitError};
use crate::settings::driver_files::{DriverFiles, FileContents, Source, Store};
use shared::error_code::ErrorCode;

const CONFIG_MAP_KEY: &str = "spark.kubernetes.hadoop.configMapName";
/// Upstream's own, for its executor builder.
const EXECUTOR_KEY: &str = "spark.kubernetes.executor.hadoopConfigMapName";
const VOLUME: &str = "hadoop-properties";
const DIRECTORY: &str = "/opt/hadoop/conf";
const VARIABLE: &str = "HADOOP_CONF_DIR";

pub(super) fn read(look: &mut Look<'_>) {
    let directory = look.environment.hadoop_conf_dir.as_deref();
    let existing = look.object(CONFIG_MAP_KEY).map(Source::Existing);
    if directory.is_some() && look.text(CONFIG_MAP_KEY).is_some() {
        let what =
            format!("${VARIABLE} and {CONFIG_MAP_KEY} are both given, and the driver can have one configuration");
        look.refuse(what, format!("unset {VARIABLE}, or leave {CONFIG_MAP_KEY} out"));
        return;
    }
    let made = directory.and_then(|directory| files(directory, look.findings));
    let Some(source) = existing.or(made.map(|files| Source::Made { suffix: "-hadoop-config", files })) else { return };
    look.found.files.push(DriverFiles {
        volume: VOLUME,
        store: Store::ConfigMap,
        source,
        path: DIRECTORY,
        only: None,
        variable: Some((VARIABLE, DIRECTORY.to_owned())),
        name_property: Some(EXECUTOR_KEY),
    });
}

/// The files of `directory`, without those below it.
fn files(directory: &Path, findings: &mut Findings) -> Option<FileContents> {
    let paths = match list(directory) {
        Ok(paths) => paths,
        Err(error) => {
            findings.warn(format!("${VARIABLE}={} is left out: {error}", directory.display()));
            return None;
        }
    };
    let mut files = FileContents::new();
    for path in paths {
        let Some(name) = object_key(&path) else {
            findings.warn(format!("{} is left out: no ConfigMap can hold a file of that name", path.display()));
            continue;
        };
        if let Some(content) = findings.keep(content(&path)) {
            files.insert(name, content);
        }
    }
    if files.is_empty() {
        findings.warn(format!("${VARIABLE}={} has no files", directory.display()));
    }
    let bytes: usize = files.iter().map(|(name, content)| name.len() + content.expose_secret().len()).sum();
    if bytes as u64 > OBJECT_LIMIT {
        let what = format!(
            "the files of ${VARIABLE} ({}) have {bytes} bytes, more than a ConfigMap can hold",
            directory.display()
        );
        let hint = format!("unset {VARIABLE}, or name a folder with the files that are needed");
        findings.problem(SubmitError::new(ErrorCode::TooLarge, what).hint(hint));
    }
    Some(files)
}

fn list(directory: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    Ok(paths)
}
