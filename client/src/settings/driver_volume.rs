//! Volumes that the user gives the driver, as checked values. How they are written is in `resolve/volumes`, what they look
//! like in the pod in `objects/driver_volumes`.

use std::collections::BTreeMap;

use crate::settings::names::SubmissionNames;

/// In the name of a claim, upstream's sign for a name that is made from the submission's.
pub const ON_DEMAND: &str = "OnDemand";

/// Upstream's sign for a volume that takes the place of the driver's scratch space.
pub const LOCAL_DIR_PREFIX: &str = "spark-local-dir-";

/// One volume, and where it is seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverVolume {
    /// Name in the pod.
    pub name: String,
    /// `mount.path`: absolute, in the container.
    pub path: String,
    /// `mount.readOnly`.
    pub read_only: bool,
    /// `mount.subPath`: only this part of the volume.
    pub sub_path: Option<String>,
    /// `mount.subPathExpr`: the same with `$(VARIABLE)` in it.
    pub sub_path_expr: Option<String>,
    /// What it is.
    pub source: VolumeSource,
}

/// What a volume is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VolumeSource {
    /// A path of the node.
    HostPath {
        /// `options.path`.
        path: String,
        /// `options.type`, as `DirectoryOrCreate`; empty: not checked.
        kind: String,
    },
    /// An empty folder that goes with the pod.
    EmptyDir {
        /// `options.medium`: `Memory`, or empty for the node's disk.
        medium: String,
        /// `options.sizeLimit`, a quantity.
        size_limit: Option<String>,
    },
    /// A folder of an NFS server.
    Nfs {
        /// `options.path`.
        path: String,
        /// `options.server`.
        server: String,
    },
    /// A claim that exists.
    Claim {
        /// `options.claimName`.
        name: String,
    },
    /// A claim that the submission makes, and that goes with the pod.
    NewClaim(NewClaim),
}

/// A claim to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewClaim {
    /// `options.claimName`, with `OnDemand` for a name of the submission's own.
    pub name: String,
    /// `options.storageClass`; the cluster's default when absent.
    pub storage_class: Option<String>,
    /// `options.sizeLimit`, a quantity.
    pub size: String,
    /// `ReadWriteOncePod`, or `ReadWriteOnce` where the legacy switch says so.
    pub access_mode: &'static str,
    /// `label.*`.
    pub labels: BTreeMap<String, String>,
    /// `annotation.*`.
    pub annotations: BTreeMap<String, String>,
}

impl NewClaim {
    /// Its name as that of volume `index` of the driver.
    #[must_use]
    pub fn name(&self, names: &SubmissionNames, index: usize) -> String {
        self.name.replace(ON_DEMAND, &names.beside(&format!("-driver-pvc-{index}")))
    }
}
