//! What the submission makes for the driver to mount, as plain functions: Secrets and `ConfigMap`s with files, claims on
//! demand; and how files stand in the pod. The driver server's own Secret is in `driver_objects`.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{
    ConfigMap, ConfigMapVolumeSource, KeyToPath, PersistentVolumeClaim, PersistentVolumeClaimSpec, Secret,
    SecretVolumeSource, Volume, VolumeMount, VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use secrecy::ExposeSecret;

use crate::objects::driver_pod::{PodContext, object_meta, over};
use crate::settings::DriverSettings;
use crate::settings::driver_files::{DriverFiles, FileContents, Source, Store};
use crate::settings::driver_volume::{NewClaim, VolumeSource};
use crate::settings::names::SubmissionNames;

/// The Secrets, immutable: nobody swaps a key in mid-run.
#[must_use]
pub fn secrets(driver: &DriverSettings, names: &SubmissionNames, context: &PodContext) -> Vec<Secret> {
    let secret = |(name, files): (String, &FileContents)| Secret {
        metadata: object_meta(names, context, &name),
        data: Some(bytes(files).collect()),
        immutable: Some(true),
        ..Secret::default()
    };
    made(driver, names, Store::Secret).map(secret).collect()
}

/// Each `ConfigMap`. A file that is no text stands beside the texts.
#[must_use]
pub fn config_maps(driver: &DriverSettings, names: &SubmissionNames, context: &PodContext) -> Vec<ConfigMap> {
    let config_map = |(name, files): (String, &FileContents)| {
        let (mut data, mut binary_data) = (BTreeMap::new(), BTreeMap::new());
        for (file, ByteString(content)) in bytes(files) {
            match String::from_utf8(content) {
                Ok(text) => drop(data.insert(file, text)),
                Err(error) => drop(binary_data.insert(file, ByteString(error.into_bytes()))),
            }
        }
        ConfigMap {
            metadata: object_meta(names, context, &name),
            data: Some(data),
            binary_data: (!binary_data.is_empty()).then_some(binary_data),
            immutable: Some(true),
        }
    };
    made(driver, names, Store::ConfigMap).map(config_map).collect()
}

/// The claims, numbered by the place of their volume.
#[must_use]
pub fn claims(driver: &DriverSettings, names: &SubmissionNames, context: &PodContext) -> Vec<PersistentVolumeClaim> {
    let numbered = driver.volumes.iter().enumerate();
    let new = numbered.filter_map(|(index, volume)| match &volume.source {
        VolumeSource::NewClaim(claim) => Some((index, claim)),
        _ => None,
    });
    new.map(|(index, given)| claim(given, &given.name(names, index), names, context)).collect()
}

fn claim(given: &NewClaim, name: &str, names: &SubmissionNames, context: &PodContext) -> PersistentVolumeClaim {
    let mut metadata = object_meta(names, context, &name);
    metadata.labels = Some(over(&given.labels, metadata.labels.unwrap_or_default()));
    metadata.annotations = Some(over(&given.annotations, metadata.annotations.unwrap_or_default()));
    let requests = [("storage".to_owned(), Quantity(given.size.clone()))].into();
    let spec = PersistentVolumeClaimSpec {
        access_modes: Some(vec![given.access_mode.to_owned()]),
        resources: Some(VolumeResourceRequirements { requests: Some(requests), limits: None }),
        storage_class_name: given.storage_class.clone(),
        ..PersistentVolumeClaimSpec::default()
    };
    PersistentVolumeClaim { metadata, spec: Some(spec), status: None }
}

/// The volume with `files`, and its mount.
#[must_use]
pub fn volume(files: &DriverFiles, names: &SubmissionNames) -> (Volume, VolumeMount) {
    let name = object_name(files, names);
    let mut volume = Volume { name: files.volume.to_owned(), ..Volume::default() };
    match files.store {
        Store::Secret => {
            volume.secret = Some(SecretVolumeSource { secret_name: Some(name), ..SecretVolumeSource::default() });
        }
        Store::ConfigMap => {
            volume.config_map =
                Some(ConfigMapVolumeSource { name, items: items(files), ..ConfigMapVolumeSource::default() });
        }
    }
    let mount = VolumeMount {
        name: files.volume.to_owned(),
        mount_path: files.path.to_owned(),
        sub_path: files.only.map(ToOwned::to_owned),
        ..VolumeMount::default()
    };
    (volume, mount)
}

/// The name of the object that holds `files`.
#[must_use]
pub fn object_name(files: &DriverFiles, names: &SubmissionNames) -> String {
    match &files.source {
        Source::Existing(name) => name.to_string(),
        Source::Made { suffix, .. } => names.beside(suffix),
    }
}

/// Each file by its own name, as upstream lists them in a `ConfigMap` that it makes.
fn items(files: &DriverFiles) -> Option<Vec<KeyToPath>> {
    let Source::Made { files, .. } = &files.source else { return None };
    let item = |name: &String| KeyToPath { key: name.clone(), path: name.clone(), ..KeyToPath::default() };
    Some(files.keys().map(item).collect())
}

fn made<'a>(
    driver: &'a DriverSettings,
    names: &'a SubmissionNames,
    store: Store,
) -> impl Iterator<Item = (String, &'a FileContents)> {
    driver.files.iter().filter(move |files| files.store == store).filter_map(|files| match &files.source {
        Source::Made { suffix, files } => Some((names.beside(suffix), files)),
        Source::Existing(_) => None,
    })
}

fn bytes(files: &FileContents) -> impl Iterator<Item = (String, ByteString)> {
    files.iter().map(|(name, content)| (name.clone(), ByteString(content.expose_secret().to_vec())))
}

#[cfg(test)]
#[path = "mounted_objects_tests.rs"]
mod tests;
