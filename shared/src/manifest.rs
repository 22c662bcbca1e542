//! The manifest: which files a submission sends, and what is launched with them. The client writes it, the driver server
//! parses it as hostile; whoever holds a [`Manifest`] holds one whose every rule is met.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

/// Version of the wire; raised when an older server would misread a newer client.
pub const PROTOCOL_VERSION: u32 = 1;
/// Name of the last member of every bundle, therefore of no other.
pub const SUMS_NAME: &str = "SHA256SUMS";
/// Most members of one bundle.
pub const MEMBERS_LIMIT: usize = 100_000;
/// Longest file name on the file systems that matter, in bytes (`NAME_MAX`).
pub const NAME_LIMIT: usize = 255;

/// What a member is for. It decides the folder in the bundle, and whether the working directory shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberKind {
    /// The main resource: a jar or a script.
    App,
    /// A jar for the classpath of driver and executors.
    Jar,
    /// A file for the working directory of driver and executors.
    File,
    /// A Python file, zip or egg.
    PyFile,
    /// An archive that is unpacked in the working directory.
    Archive,
    /// A file for the driver's `SPARK_CONF_DIR`.
    Conf,
}

impl MemberKind {
    /// The folder in the bundle.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Jar => "jars",
            Self::File => "files",
            Self::PyFile => "py-files",
            Self::Archive => "archives",
            Self::Conf => crate::driver_contract::CONF,
        }
    }

    /// Whether cluster-mode users expect it in the driver's working directory. Jars are found by the classpath instead.
    #[must_use]
    pub const fn in_work_dir(self) -> bool {
        matches!(self, Self::App | Self::File | Self::PyFile | Self::Archive)
    }
}

/// One file of the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Member {
    /// What it is for.
    pub kind: MemberKind,
    /// Base name in the driver: 1 to 255 bytes, no `/`, no control character, no backslash.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// Mode bits wanted; masked to `0777`, and the owner can always read.
    pub mode: u32,
    /// For an archive: the folder in the working directory that it is unpacked to, its name when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

impl Member {
    /// The path in the bundle, for example `jars/app.jar`: letter for letter the tar entry's name.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}/{}", self.kind.folder(), self.name)
    }

    /// The name in the driver's working directory, where it has one.
    #[must_use]
    pub fn work_dir_name(&self) -> Option<&str> {
        self.kind.in_work_dir().then(|| self.alias.as_deref().unwrap_or(&self.name))
    }

    /// Mode bits that the file gets: never set-id or sticky, always readable by its owner.
    #[must_use]
    pub fn file_mode(&self) -> u32 {
        self.mode & 0o777 | 0o400
    }
}

/// What the driver server starts, once: the arguments of the image's entry point, and the properties file's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Launch {
    /// `--class`.
    pub main_class: String,
    /// Main resource as `spark-submit` inside the pod reads it: a path in the pod, a URI, or `spark-internal`.
    pub resource: String,
    /// The application's arguments, byte for byte.
    pub arguments: Vec<String>,
    /// Spark properties of the driver.
    pub properties: BTreeMap<String, String>,
    /// Further options of `spark-submit` inside the pod, before the resource: `--proxy-user NAME`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// The whole list, checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "RawManifest")]
pub struct Manifest {
    version: u32,
    members: Vec<Member>,
    launch: Launch,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawManifest {
    version: u32,
    members: Vec<Member>,
    launch: Launch,
}

impl TryFrom<RawManifest> for Manifest {
    type Error = ManifestError;

    fn try_from(raw: RawManifest) -> Result<Self, ManifestError> {
        if raw.version != PROTOCOL_VERSION {
            return Err(ManifestError::Version { found: raw.version });
        }
        Self::new(raw.members, raw.launch)
    }
}

/// Why a manifest is refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ManifestError {
    /// The two sides speak different versions of the wire.
    #[error("the manifest is of protocol version {found}, this side speaks version {PROTOCOL_VERSION}")]
    Version {
        /// What the manifest says.
        found: u32,
    },
    /// Too many members.
    #[error("the manifest lists {found} members, more than the limit of {MEMBERS_LIMIT}")]
    TooManyMembers {
        /// How many it lists.
        found: usize,
    },
    /// A name that cannot be one file name everywhere.
    #[error("{name:?} cannot be the name of a member: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Two members with one path or one place in the working directory.
    #[error("two members are called {name:?}")]
    Duplicate {
        /// The name in common.
        name: String,
    },
    /// More bytes than any offset can count.
    #[error("the sizes of all members add up to more than 2^62 bytes")]
    Overflow,
}

impl Manifest {
    /// Checks `members` and binds them to `launch`. Order is kept: it is the order in the bundle.
    pub fn new(members: Vec<Member>, launch: Launch) -> Result<Self, ManifestError> {
        if members.len() > MEMBERS_LIMIT {
            return Err(ManifestError::TooManyMembers { found: members.len() });
        }
        let (mut paths, mut work_names) = (HashSet::new(), HashSet::new());
        let mut total = 0_u64;
        for member in &members {
            check_member(member)?;
            total = total.checked_add(member.size).filter(|sum| *sum < 1 << 62).ok_or(ManifestError::Overflow)?;
            if !paths.insert(member.path()) {
                return Err(ManifestError::Duplicate { name: member.path() });
            }
            if let Some(name) = member.work_dir_name()
                && !work_names.insert(name)
            {
                return Err(ManifestError::Duplicate { name: name.to_owned() });
            }
        }
        Ok(Self { version: PROTOCOL_VERSION, members, launch })
    }

    /// The members in bundle order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What is launched with them.
    #[must_use]
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Bytes of all members together, without the archive's own.
    #[must_use]
    pub fn payload_bytes(&self) -> u64 {
        self.members.iter().map(|member| member.size).sum()
    }
}

fn check_member(member: &Member) -> Result<(), ManifestError> {
    check_name(&member.name)?;
    if member.kind == MemberKind::Conf && member.name == crate::driver_contract::PROPERTIES_FILE {
        return Err(ManifestError::Name { name: member.name.clone(), reason: "the driver server writes that file" });
    }
    member.alias.as_deref().map_or(Ok(()), check_name)
}

/// Whether `name` can be one file name in the bundle, in `SHA256SUMS` and in the working directory alike.
pub fn check_name(name: &str) -> Result<(), ManifestError> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > NAME_LIMIT {
        "it is longer than 255 bytes"
    } else if name == "." || name == ".." {
        "it names a directory"
    } else if name.contains('/') {
        "it has a slash"
    } else if name.contains('\\') {
        "it has a backslash"
    } else if name.chars().any(char::is_control) {
        "it has a control character"
    } else {
        return Ok(());
    };
    Err(ManifestError::Name { name: name.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> Launch {
        Launch {
            main_class: "M".into(),
            resource: "spark-internal".into(),
            arguments: vec![],
            properties: BTreeMap::new(),
            options: vec![],
        }
    }

    fn member(kind: MemberKind, name: &str) -> Member {
        Member { kind, name: name.into(), size: 3, mode: 0o644, alias: None }
    }

    #[test]
    fn reads_back_what_it_writes() {
        let manifest = Manifest::new(vec![member(MemberKind::Jar, "a b π.jar")], launch()).unwrap();
        let text = serde_json::to_string(&manifest).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
    }

    #[test]
    fn a01_names_that_lead_elsewhere_are_refused() {
        for name in ["..", ".", "", "a/b", "/a", "a\\b", "a\0b", "a\nb", &"n".repeat(256)] {
            let result = Manifest::new(vec![member(MemberKind::Jar, name)], launch());
            assert!(matches!(result, Err(ManifestError::Name { .. })), "{name:?}");
        }
    }

    #[test]
    fn a03_one_path_twice_is_refused() {
        let members = vec![member(MemberKind::Jar, "a.jar"), member(MemberKind::Jar, "a.jar")];
        assert!(matches!(Manifest::new(members, launch()), Err(ManifestError::Duplicate { .. })));
    }

    #[test]
    fn one_place_in_the_working_directory_is_given_once() {
        let mut archive = member(MemberKind::Archive, "x.tgz");
        archive.alias = Some("data".into());
        let members = vec![member(MemberKind::File, "data"), archive];
        assert_eq!(Manifest::new(members, launch()), Err(ManifestError::Duplicate { name: "data".into() }));
    }

    #[test]
    fn a05_set_id_and_sticky_bits_never_arrive() {
        let odd = Member { mode: 0o7222, ..member(MemberKind::Jar, "a.jar") };
        assert_eq!(odd.file_mode(), 0o622);
    }

    #[test]
    fn a11_sizes_that_overflow_are_refused() {
        let huge = |name| Member { size: u64::MAX / 2, ..member(MemberKind::Jar, name) };
        assert_eq!(Manifest::new(vec![huge("a"), huge("b"), huge("c")], launch()), Err(ManifestError::Overflow));
    }

    #[test]
    fn another_version_is_named() {
        let text =
            r#"{"version":9,"members":[],"launch":{"mainClass":"M","resource":"r","arguments":[],"properties":{}}}"#;
        let error = serde_json::from_str::<Manifest>(text).unwrap_err().to_string();
        assert!(error.contains("protocol version 9"), "{error}");
    }
}
