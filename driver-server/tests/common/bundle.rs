//! Bundles for tests: files in memory, their manifest, and the tar stream that a client would send. Used by the unit
//! tests as well, so that both kinds test against one sender.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use shared::bundle::{BundleLayout, Content};
use shared::manifest::{Launch, Manifest, Member, MemberKind};

/// A manifest and the files that it lists.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) manifest: Manifest,
    pub(crate) files: Vec<Vec<u8>>,
}

impl Bundle {
    /// Jars with these names and contents.
    pub(crate) fn of_jars(jars: &[(&str, &[u8])]) -> Self {
        Self::new(jars.iter().map(|(name, bytes)| (member(MemberKind::Jar, name), bytes.to_vec())).collect())
    }

    /// Members with their contents; sizes are taken from these.
    pub(crate) fn new(files: Vec<(Member, Vec<u8>)>) -> Self {
        Self::with_launch(files, launch())
    }

    pub(crate) fn with_launch(files: Vec<(Member, Vec<u8>)>, launch: Launch) -> Self {
        let (members, files): (Vec<_>, Vec<_>) =
            files.into_iter().map(|(member, bytes)| (Member { size: bytes.len() as u64, ..member }, bytes)).unzip();
        Self { manifest: Manifest::new(members, launch).unwrap(), files }
    }

    /// The whole tar stream.
    pub(crate) fn tar(&self) -> Vec<u8> {
        let layout = BundleLayout::new(&self.manifest);
        let digests: Vec<String> = self.files.iter().map(|bytes| sha256(bytes)).collect();
        let mut tar = Vec::new();
        while let Some(segment) = layout.segment_at(tar.len() as u64) {
            match segment.content {
                Content::File(index) => tar.extend(&self.files[index]),
                Content::Sums => tar.extend(layout.sums_text(digests.iter().map(String::as_str)).as_bytes()),
                _ => tar.extend(layout.fixed_bytes(segment).unwrap()),
            }
        }
        tar
    }

    /// The stream as a request carries it.
    pub(crate) fn gzip(&self) -> Vec<u8> {
        gzip(&self.tar())
    }

    /// SHA-256 of the text of `SHA256SUMS`.
    pub(crate) fn digest(&self) -> String {
        let layout = BundleLayout::new(&self.manifest);
        let digests: Vec<String> = self.files.iter().map(|bytes| sha256(bytes)).collect();
        sha256(layout.sums_text(digests.iter().map(String::as_str)).as_bytes())
    }
}

pub(crate) fn member(kind: MemberKind, name: &str) -> Member {
    Member { kind, name: name.into(), size: 0, mode: 0o644, alias: None }
}

pub(crate) fn launch() -> Launch {
    Launch {
        main_class: "org.example.Main".into(),
        resource: "spark-internal".into(),
        arguments: vec!["--query".into(), "select * from t".into(), "it's".into(), String::new()],
        properties: BTreeMap::from([("spark.app.name".into(), "a = b".into())]),
        options: vec![],
    }
}

/// One gzip member.
pub(crate) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
