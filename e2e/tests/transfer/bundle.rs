//! Files to send: made for one test, inspected as the client inspects a user's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::inputs::inspected_input::InspectedInput;
use client::upload::bundle_source::BundleSource;
use client::upload::bundle_transfer::BundleTransfer;
use shared::manifest::{Launch, Manifest, MemberKind};
use tempfile::TempDir;

/// Some local inputs and their manifest.
pub(crate) struct Bundle {
    pub(crate) manifest: Manifest,
    folder: TempDir,
    inputs: Vec<InspectedInput>,
    source: Arc<BundleSource>,
}

impl Bundle {
    /// Jars of these sizes: every second one cannot be compressed, the others can.
    pub(crate) fn of_sizes(sizes: &[usize]) -> Self {
        let content = |(index, size): (usize, &usize)| {
            let name = format!("part-{index}.jar");
            (
                name,
                if index % 2 == 0 {
                    random_bytes(*size)
                } else {
                    b"airlock ".iter().copied().cycle().take(*size).collect()
                },
            )
        };
        Self::of_files(sizes.iter().enumerate().map(content))
    }

    /// One jar of one line, and so many empty files that the manifest alone has some 60 KB.
    pub(crate) fn with_large_manifest() -> Self {
        let empty = (0..300).map(|index| (format!("{index:0100}.jar"), Vec::new()));
        Self::of_files(empty.chain([("app.jar".to_owned(), b"one line".to_vec())]))
    }

    fn of_files(files: impl Iterator<Item = (String, Vec<u8>)>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let inspect = |(name, content): (String, Vec<u8>)| {
            let path = folder.path().join(&name);
            fs::write(&path, content).unwrap();
            InspectedInput::open(MemberKind::Jar, name, None, path).unwrap()
        };
        let inputs: Vec<_> = files.map(inspect).collect();
        let launch = Launch {
            main_class: "M".into(),
            resource: "spark-internal".into(),
            arguments: vec![],
            properties: BTreeMap::new(),
            options: vec![],
        };
        let manifest = Manifest::new(inputs.iter().map(|input| input.member.clone()).collect(), launch).unwrap();
        let source = Arc::new(BundleSource::new(&manifest, inputs.clone()));
        Self { manifest, folder, inputs, source }
    }

    /// The bytes to send. One for each bundle, as each submission has one.
    pub(crate) fn source(&self) -> Arc<BundleSource> {
        Arc::clone(&self.source)
    }

    /// The same files, as `submit` sends them.
    pub(crate) fn transfer(&self) -> BundleTransfer {
        BundleTransfer::new(self.manifest.clone(), self.inputs.clone())
    }

    /// Where the file `name` lies here.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Whether every file lies below `directory` as it lies here.
    pub(crate) fn assert_received(&self, directory: &Path) {
        for member in self.manifest.members() {
            let received = fs::read(directory.join("bundle").join(member.path())).unwrap();
            assert!(received == fs::read(self.path(&member.name)).unwrap(), "{} differs", member.name);
        }
    }
}

fn random_bytes(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}
