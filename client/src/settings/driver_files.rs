//! Files that the driver finds mounted, as checked values: from a Secret or `ConfigMap` that is there already, or from
//! one that the submission makes. Which files they are is decided in `inputs/driver_files`; the objects are in
//! `objects/mounted_objects`.

use std::collections::BTreeMap;

use secrecy::SecretSlice;

use crate::settings::names::ObjectName;

/// Volume with the driver's own credentials for the API server.
pub const CREDENTIALS_VOLUME: &str = "kubernetes-credentials";

/// Files by name. All count as secret: a Hadoop configuration may hold passwords too.
pub type FileContents = BTreeMap<String, SecretSlice<u8>>;

/// Files of one object, and where the driver finds them.
#[derive(Clone, Debug)]
pub struct DriverFiles {
    /// Name of the volume, as upstream's.
    pub volume: &'static str,
    /// What kind of object they are kept in.
    pub store: Store,
    /// The object.
    pub source: Source,
    /// Where it is mounted.
    pub path: &'static str,
    /// The only file that is mounted, then at `path` itself.
    pub only: Option<&'static str>,
    /// Environment variable by which the driver finds them.
    pub variable: Option<(&'static str, String)>,
    /// Property by which Spark finds the object, to mount it in executors.
    pub name_property: Option<&'static str>,
}

/// A kind of object that holds files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// For what opens doors.
    Secret,
    /// For the rest.
    ConfigMap,
}

/// Whose object it is.
#[derive(Clone, Debug)]
pub enum Source {
    /// Somebody else's, in the namespace.
    Existing(ObjectName),
    /// The submission's own.
    Made {
        /// What follows the submission's prefix in its name.
        suffix: &'static str,
        /// Its content.
        files: FileContents,
    },
}
