//! What the driver mounts: `spark.kubernetes.driver.volumes.TYPE.NAME.…`, `spark.kubernetes.driver.secrets.NAME=PATH`, and
//! its scratch space. An option that a volume's type does not have is refused: upstream drops it, and the volume is then
//! not the one that was asked for.

use std::collections::BTreeMap;

use shared::driver_contract::{DIRECTORY, TLS_DIRECTORY};
use shared::error_code::ErrorCode;

use super::driver::pod_label;
use super::values::Reader;
use crate::error::SubmitError;
use crate::inputs::reference::split_list;
use crate::settings::driver_volume::{DriverVolume, NewClaim, ON_DEMAND, VolumeSource};
use crate::settings::kubernetes_syntax::{annotation, quantity};
use crate::settings::names::ObjectName;
use crate::settings::spark_version::SparkVersion;

const PREFIX: &str = "spark.kubernetes.driver.volumes.";
const SECRETS: &str = "spark.kubernetes.driver.secrets.";
const CLAIM: &str = "persistentVolumeClaim";
/// Types, with the options that each one needs and may have.
const TYPES: [(&str, &[&str], &[&str]); 4] = [
    ("hostPath", &["path"], &["type"]),
    ("emptyDir", &[], &["medium", "sizeLimit"]),
    ("nfs", &["path", "server"], &[]),
    (CLAIM, &["claimName"], &["storageClass", "sizeLimit"]),
];
const MOUNT_OPTIONS: [&str; 4] = ["mount.path", "mount.readOnly", "mount.subPath", "mount.subPathExpr"];
/// What may be said about a claim that is made.
const CLAIM_MARKS: [&str; 2] = ["label.", "annotation."];
/// As `sizeLimit` without a unit is in bytes, a smaller one is one whose unit is missing.
const LEAST_BYTES: u64 = 1024;

/// The options of one volume, by what stands behind its name.
type Options<'a> = BTreeMap<&'a str, &'a str>;

/// The volumes, by type and name.
pub(super) fn volumes(version: &SparkVersion, reader: &mut Reader<'_>) -> Vec<DriverVolume> {
    let conf = reader.conf;
    let mut groups: BTreeMap<(&str, &str), Options<'_>> = BTreeMap::new();
    for (rest, value) in conf.below(PREFIX) {
        let mut parts = rest.splitn(3, '.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(kind), Some(name), Some(option)) => {
                groups.entry((kind, name)).or_default().insert(option, &value.text);
            }
            _ => reader.bad_value(&format!("{PREFIX}{rest}"), value, &"a volume's key ends with TYPE.NAME.OPTION"),
        }
    }
    let key = "spark.kubernetes.legacy.useReadWriteOnceAccessMode";
    let is_once = if reader.conf.get(key).is_some() { reader.flag(key) } else { version.claims_are_read_write_once() };
    let access_mode = if is_once { "ReadWriteOnce" } else { "ReadWriteOncePod" };
    let volume = |((kind, name), options): ((_, _), Options<'_>)| volume(kind, name, &options, access_mode);
    let read: Vec<_> = groups.into_iter().map(volume).collect();
    let volumes: Vec<_> = read.into_iter().filter_map(|volume| reader.findings.keep(volume)).collect();
    check_unique(&volumes, reader);
    volumes
}

fn volume(
    kind: &str,
    name: &str,
    options: &Options<'_>,
    access_mode: &'static str,
) -> Result<DriverVolume, SubmitError> {
    let fault = |what: &str| {
        SubmitError::new(ErrorCode::ConfValue, format!("volume {name:?} ({PREFIX}{kind}.{name}.*) {what}"))
    };
    let Some((_, needed, possible)) = TYPES.iter().find(|(known, ..)| *known == kind) else {
        let known = TYPES.map(|(kind, ..)| kind).join(", ");
        return Err(fault("is of no known type").hint(format!("types: {known}")));
    };
    ObjectName::label(name).map_err(|error| fault("cannot have that name").because(error))?;
    check_options(kind, options, needed, possible).map_err(|what| fault(&what))?;
    let option = |option: &str| options.get(format!("options.{option}").as_str()).map(|text| (*text).to_owned());
    let text = |name: &str| option(name).unwrap_or_default();
    let source = match kind {
        "hostPath" => VolumeSource::HostPath { path: text("path"), kind: text("type") },
        "emptyDir" => VolumeSource::EmptyDir { medium: text("medium"), size_limit: option("sizeLimit") },
        "nfs" => VolumeSource::Nfs { path: text("path"), server: text("server") },
        _ => claim(options, access_mode).map_err(|what| fault(&what))?,
    };
    check_source(&source).map_err(fault)?;
    let mount = |option: &str| options.get(option).map(|text| (*text).to_owned());
    Ok(DriverVolume {
        name: name.to_owned(),
        path: mount("mount.path").unwrap_or_default(),
        read_only: options.get("mount.readOnly").is_some_and(|text| text.eq_ignore_ascii_case("true")),
        sub_path: mount("mount.subPath"),
        sub_path_expr: mount("mount.subPathExpr"),
        source,
    })
}

/// Upstream makes a claim where class and size are given, under the name that is given; and none where one of them is
/// absent, so that a driver with a claim on demand would wait for ever.
fn claim(options: &Options<'_>, access_mode: &'static str) -> Result<VolumeSource, String> {
    let option = |option: &str| options.get(option).map(|text| (*text).to_owned());
    let name = option("options.claimName").unwrap_or_default();
    let (storage_class, size) = (option("options.storageClass"), option("options.sizeLimit"));
    let (labels, annotations) = (below(options, "label.", pod_label)?, below(options, "annotation.", annotation)?);
    match size {
        Some(size) if storage_class.is_some() || name.contains(ON_DEMAND) => {
            Ok(VolumeSource::NewClaim(NewClaim { name, storage_class, size, access_mode, labels, annotations }))
        }
        None if name.contains(ON_DEMAND) => Err("lacks options.sizeLimit, without which no claim is made".to_owned()),
        None if storage_class.is_none() && labels.is_empty() && annotations.is_empty() => {
            Ok(VolumeSource::Claim { name })
        }
        _ => Err(format!(
            "says how claim {name:?} is to be made, and not both options.storageClass and options.sizeLimit; \
             a claim that exists needs neither, nor labels or annotations"
        )),
    }
}

fn below(
    options: &Options<'_>,
    prefix: &str,
    check: impl Fn(&str, &str) -> Result<(), &'static str>,
) -> Result<BTreeMap<String, String>, String> {
    let pairs = options.iter().filter_map(|(option, value)| Some((option.strip_prefix(prefix)?, *value)));
    let checked = pairs.map(|(name, value)| match check(name, value) {
        Ok(()) => Ok((name.to_owned(), value.to_owned())),
        Err(reason) => Err(format!("has {prefix}{name}={value:?}, which cannot be used: {reason}")),
    });
    checked.collect()
}

fn check_options(kind: &str, options: &Options<'_>, needed: &[&str], possible: &[&str]) -> Result<(), String> {
    let is_known = |option: &str| {
        let own = option.strip_prefix("options.");
        let is_mark = || kind == CLAIM && CLAIM_MARKS.iter().any(|prefix| option.starts_with(prefix));
        MOUNT_OPTIONS.contains(&option)
            || own.is_some_and(|own| needed.contains(&own) || possible.contains(&own))
            || is_mark()
    };
    if let Some(option) = options.keys().find(|option| !is_known(option)) {
        return Err(format!("has no {option} here"));
    }
    let absent = needed.iter().map(|option| format!("options.{option}")).chain(["mount.path".to_owned()]);
    if let Some(option) = absent.into_iter().find(|option| options.get(option.as_str()).is_none_or(|it| it.is_empty()))
    {
        return Err(format!("lacks {option}"));
    }
    if !options["mount.path"].starts_with('/') {
        return Err("must be mounted at an absolute path".to_owned());
    }
    if options.contains_key("mount.subPath") && options.contains_key("mount.subPathExpr") {
        return Err("has both mount.subPath and mount.subPathExpr, of which one can hold".to_owned());
    }
    match options.get("mount.readOnly").map(|text| text.to_ascii_lowercase()).as_deref() {
        None | Some("true" | "false") => Ok(()),
        Some(other) => Err(format!("has mount.readOnly={other}; it must be true or false")),
    }
}

fn check_source(source: &VolumeSource) -> Result<(), &'static str> {
    match source {
        VolumeSource::EmptyDir { medium, .. } if !["", "Memory"].contains(&medium.as_str()) => {
            Err("has an options.medium that is neither Memory nor empty")
        }
        VolumeSource::EmptyDir { size_limit: Some(limit), .. } => check_size(limit),
        VolumeSource::Claim { name } => check_claim_name(name),
        VolumeSource::NewClaim(claim) => {
            check_claim_name(&claim.name.replace(ON_DEMAND, "x")).and_then(|()| check_size(&claim.size))
        }
        _ => Ok(()),
    }
}

fn check_claim_name(name: &str) -> Result<(), &'static str> {
    ObjectName::subdomain(name).map(|_| ()).map_err(|_| "has an options.claimName that no claim can have")
}

fn check_size(text: &str) -> Result<(), &'static str> {
    match text.parse::<u64>() {
        Ok(bytes) if bytes < LEAST_BYTES => Err("has an options.sizeLimit below 1 KiB: its unit is missing"),
        _ => quantity(text).map(|_| ()),
    }
}

/// The API server would refuse these too, but with a list of the whole pod.
fn check_unique(volumes: &[DriverVolume], reader: &mut Reader<'_>) {
    for (index, volume) in volumes.iter().enumerate() {
        let DriverVolume { name, path, .. } = volume;
        if [DIRECTORY, TLS_DIRECTORY].contains(&path.as_str()) {
            let what = format!("volume {name:?} cannot be mounted at {path}: the bundle or its key lies there");
            reader.findings.problem(SubmitError::new(ErrorCode::ConfValue, what));
        }
        if let Some(other) = volumes[..index].iter().find(|other| other.name == *name || other.path == *path) {
            let what = format!("volumes {:?} and {name:?} have the same name or path", other.name);
            reader.findings.problem(SubmitError::new(ErrorCode::ConfValue, what));
        }
    }
}

/// Secrets by name, with the path at which each one is mounted.
pub(super) fn secret_mounts(reader: &mut Reader<'_>) -> BTreeMap<String, String> {
    reader.below(SECRETS, |name, path| {
        // The volume is called NAME-volume, which must be a label.
        if ObjectName::label(&format!("{name}-volume")).is_err() {
            Err("that is no name of a Secret that can be mounted")
        } else if !path.starts_with('/') {
            Err("it must be an absolute path in the container")
        } else {
            Ok(())
        }
    })
}

/// `spark.local.dir`, as absolute paths; empty: the default.
pub(super) fn local_dirs(list: &str) -> Result<Vec<String>, &'static str> {
    let paths: Vec<_> = split_list(list).into_iter().map(ToOwned::to_owned).collect();
    if paths.iter().all(|path| path.starts_with('/')) { Ok(paths) } else { Err("each item must be an absolute path") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Findings;
    use crate::settings::spark_conf::SparkConf;

    fn read(pairs: &[&str]) -> (Vec<DriverVolume>, Vec<String>) {
        let (mut conf, mut findings) = (SparkConf::default(), Findings::default());
        let pairs: Vec<String> = pairs.iter().map(|pair| format!("{PREFIX}{pair}")).collect();
        conf.add_conf(&pairs, &mut findings);
        let found = volumes(&SparkVersion::default(), &mut Reader { conf: &conf, findings: &mut findings });
        (found, findings.problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn volumes_of_every_type() {
        let (found, problems) = read(&[
            "hostPath.h.mount.path=/h",
            "hostPath.h.options.path=/srv",
            "hostPath.h.options.type=Directory",
            "emptyDir.e.mount.path=/e",
            "emptyDir.e.mount.readOnly=TRUE",
            "emptyDir.e.options.sizeLimit=5Gi",
            "nfs.n.mount.path=/n",
            "nfs.n.mount.subPath=a/b",
            "nfs.n.options.path=/export",
            "nfs.n.options.server=nas",
            "persistentVolumeClaim.c.mount.path=/c",
            "persistentVolumeClaim.c.options.claimName=data",
        ]);
        assert!(problems.is_empty(), "{problems:?}");
        let names: Vec<_> = found.iter().map(|volume| volume.name.as_str()).collect();
        assert_eq!(names, ["e", "h", "n", "c"]);
        assert!(found[0].read_only && !found[1].read_only);
        assert_eq!(found[2].sub_path.as_deref(), Some("a/b"));
        assert_eq!(found[3].source, VolumeSource::Claim { name: "data".into() });
    }

    #[test]
    fn a_claim_on_demand_is_made_as_it_is_described() {
        let (found, problems) = read(&[
            "persistentVolumeClaim.c.mount.path=/c",
            "persistentVolumeClaim.c.options.claimName=OnDemand",
            "persistentVolumeClaim.c.options.sizeLimit=5Gi",
            "persistentVolumeClaim.c.label.team=data",
            "persistentVolumeClaim.c.annotation.example.com/note=any text",
        ]);
        assert!(problems.is_empty(), "{problems:?}");
        let VolumeSource::NewClaim(claim) = &found[0].source else { panic!("{found:?}") };
        assert_eq!((claim.size.as_str(), claim.storage_class.as_deref()), ("5Gi", None));
        assert_eq!(
            (claim.labels["team"].as_str(), claim.annotations["example.com/note"].as_str()),
            ("data", "any text")
        );
        assert_eq!(claim.access_mode, "ReadWriteOncePod");
        let names = crate::test_settings::names();
        assert_eq!(claim.name(&names, 3), format!("{}-driver-pvc-3", names.prefix));
    }

    #[test]
    fn p04_a_volume_that_would_not_be_the_one_asked_for_is_refused() {
        for (pairs, reason) in [
            (&["hostPath.h.mount.path=/h"][..], "lacks options.path"),
            (&["emptyDir.e.options.medium=Memory"], "lacks mount.path"),
            (&["emptyDir.e.mount.path=e"], "absolute"),
            (&["emptyDir.e.mount.path=/e", "emptyDir.e.options.medium=Ram"], "medium"),
            (&["emptyDir.e.mount.path=/e", "emptyDir.e.options.sizelimit=1Gi"], "has no options.sizelimit"),
            (&["emptyDir.e.mount.path=/e", "emptyDir.e.options.sizeLimit=big"], "quantity"),
            (&["emptyDir.e.mount.path=/e", "emptyDir.e.mount.readOnly=yes"], "true or false"),
            (&["csi.x.mount.path=/x"], "no known type"),
            (&["emptyDir.e=x"], "TYPE.NAME.OPTION"),
            (
                &["persistentVolumeClaim.c.mount.path=/c", "persistentVolumeClaim.c.options.claimName=OnDemand"],
                "lacks options.sizeLimit",
            ),
            (
                &[
                    "persistentVolumeClaim.c.mount.path=/c",
                    "persistentVolumeClaim.c.options.claimName=data",
                    "persistentVolumeClaim.c.options.sizeLimit=1Gi",
                ],
                "not both",
            ),
            (
                &[
                    "persistentVolumeClaim.c.mount.path=/c",
                    "persistentVolumeClaim.c.options.claimName=data",
                    "persistentVolumeClaim.c.label.team=x",
                ],
                "not both",
            ),
            (
                &[
                    "persistentVolumeClaim.c.mount.path=/c",
                    "persistentVolumeClaim.c.options.claimName=OnDemand",
                    "persistentVolumeClaim.c.options.sizeLimit=1Gi",
                    "persistentVolumeClaim.c.label.spark-role=x",
                ],
                "label.spark-role",
            ),
            (&["emptyDir.e.mount.path=/e", "emptyDir.e.options.sizeLimit=5"], "unit"),
            (&["emptyDir.e.mount.path=/e", "emptyDir.e.label.team=x"], "has no label.team"),
            (&["emptyDir.e.mount.path=/e", "emptyDir.f.mount.path=/e"], "same name or path"),
            (&["emptyDir.e.mount.path=/var/airlock"], "the bundle"),
        ] {
            let (_, problems) = read(pairs);
            assert!(problems.len() == 1 && problems[0].contains(reason), "{pairs:?}: {problems:?}");
        }
    }
}
