//! Volumes of the driver pod and their mounts: scratch space, the bundle, the driver server's key, Secrets, and what the
//! user asked for, in upstream's form (its steps `LocalDirs`, `MountSecrets` and `MountVolumes`).

use k8s_openapi::api::core::v1::{
    EmptyDirVolumeSource, HostPathVolumeSource, NFSVolumeSource, PersistentVolumeClaimVolumeSource, SecretVolumeSource,
    Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use shared::driver_contract as contract;

use crate::objects::mounted_objects;
use crate::settings::DriverSettings;
use crate::settings::driver_volume::{DriverVolume, LOCAL_DIR_PREFIX, VolumeSource};
use crate::settings::names::SubmissionNames;

/// The volume that the bundle is received in.
pub const SCRATCH_VOLUME: &str = "airlock";
const TLS_VOLUME: &str = "airlock-tls";

/// Every volume with its mount, upstream's first.
#[must_use]
pub fn volumes(driver: &DriverSettings, names: &SubmissionNames) -> Vec<(Volume, VolumeMount)> {
    let mut all: Vec<_> = scratch(driver, names);
    all.push((empty_dir(SCRATCH_VOLUME, None), mount(SCRATCH_VOLUME, contract::DIRECTORY)));
    all.push(tls(names));
    all.extend(driver.secret_mounts.iter().map(|(name, path)| secret(name, path)));
    all.extend(driver.files.iter().map(|files| mounted_objects::volume(files, names)));
    all.extend(driver.volumes.iter().enumerate().map(|(index, volume)| given(volume, index, names)));
    all
}

/// What `SPARK_LOCAL_DIRS` says: where the driver's scratch space is.
#[must_use]
pub fn local_dirs(driver: &DriverSettings, names: &SubmissionNames) -> Vec<String> {
    let given: Vec<_> = driver.volumes.iter().filter(|volume| is_local_dir(volume)).collect();
    match (given.is_empty(), driver.local_dirs.is_empty()) {
        (false, _) => given.iter().map(|volume| volume.path.clone()).collect(),
        (true, false) => driver.local_dirs.clone(),
        (true, true) => vec![default_local_dir(names)],
    }
}

fn is_local_dir(volume: &DriverVolume) -> bool {
    volume.name.starts_with(LOCAL_DIR_PREFIX)
}

/// `/var/data/spark-<uuid>`, with the application's id as the UUID: the same submission, the same pod.
fn default_local_dir(names: &SubmissionNames) -> String {
    let hex = names.app_id.trim_start_matches("spark-");
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    let groups: Vec<_> = parts.iter().filter_map(|(from, to)| hex.get(*from..*to)).collect();
    format!("/var/data/spark-{}", groups.join("-"))
}

/// Nothing where the user's own volumes are the scratch space.
fn scratch(driver: &DriverSettings, names: &SubmissionNames) -> Vec<(Volume, VolumeMount)> {
    if driver.volumes.iter().any(is_local_dir) {
        return Vec::new();
    }
    let medium = driver.local_dirs_in_memory.then(|| "Memory".to_owned());
    let numbered = local_dirs(driver, names).into_iter().enumerate();
    let volume = |(index, path): (usize, String)| {
        let name = format!("{LOCAL_DIR_PREFIX}{}", index + 1);
        (empty_dir(&name, medium.clone()), mount(&name, &path))
    };
    numbered.map(volume).collect()
}

pub(super) fn empty_dir(name: &str, medium: Option<String>) -> Volume {
    let source = EmptyDirVolumeSource { medium, ..EmptyDirVolumeSource::default() };
    Volume { name: name.to_owned(), empty_dir: Some(source), ..Volume::default() }
}

pub(super) fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount { name: name.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

fn tls(names: &SubmissionNames) -> (Volume, VolumeMount) {
    let source = SecretVolumeSource {
        secret_name: Some(names.tls_secret.to_string()),
        // The Secret is deleted once the driver is launched; a volume that insists on it would fail from then on.
        optional: Some(true),
        ..SecretVolumeSource::default()
    };
    let volume = Volume { name: TLS_VOLUME.to_owned(), secret: Some(source), ..Volume::default() };
    (volume, VolumeMount { read_only: Some(true), ..mount(TLS_VOLUME, contract::TLS_DIRECTORY) })
}

fn secret(name: &str, path: &str) -> (Volume, VolumeMount) {
    let volume_name = format!("{name}-volume");
    let source = SecretVolumeSource { secret_name: Some(name.to_owned()), ..SecretVolumeSource::default() };
    let mount = mount(&volume_name, path);
    (Volume { name: volume_name, secret: Some(source), ..Volume::default() }, mount)
}

fn given(given: &DriverVolume, index: usize, names: &SubmissionNames) -> (Volume, VolumeMount) {
    let mut volume = Volume { name: given.name.clone(), ..Volume::default() };
    match &given.source {
        VolumeSource::HostPath { path, kind } => {
            volume.host_path = Some(HostPathVolumeSource { path: path.clone(), type_: Some(kind.clone()) });
        }
        VolumeSource::EmptyDir { medium, size_limit } => {
            let size_limit = size_limit.clone().map(Quantity);
            let medium = Some(medium.clone());
            volume.empty_dir = Some(EmptyDirVolumeSource { medium, size_limit, ..EmptyDirVolumeSource::default() });
        }
        VolumeSource::Nfs { path, server } => {
            volume.nfs = Some(NFSVolumeSource { path: path.clone(), server: server.clone(), read_only: None });
        }
        VolumeSource::Claim { name } => volume.persistent_volume_claim = Some(claim(name.clone(), given)),
        VolumeSource::NewClaim(new) => volume.persistent_volume_claim = Some(claim(new.name(names, index), given)),
    }
    let mount = VolumeMount {
        read_only: Some(given.read_only),
        sub_path: given.sub_path.clone(),
        sub_path_expr: given.sub_path_expr.clone(),
        ..mount(&given.name, &given.path)
    };
    (volume, mount)
}

fn claim(claim_name: String, given: &DriverVolume) -> PersistentVolumeClaimVolumeSource {
    PersistentVolumeClaimVolumeSource { claim_name, read_only: Some(given.read_only) }
}
