//! The bundle's files while they arrive: each created new under a directory handle that cannot be left, with the mode
//! that the manifest states, and hashed as it is written. Nothing here is visible under its final name; `received` shows
//! the files once all of them are proved.

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use sha2::{Digest as _, Sha256};
use shared::driver_contract::STAGING;
use shared::error_code::ErrorCode;
use shared::manifest::{Manifest, Member};

use crate::directory::{Directory, make_dir};
use crate::error::Refusal;

/// A SHA-256.
pub type Sha256Digest = [u8; 32];

/// The folders of the staging directory, opened.
#[derive(Debug)]
pub struct Staging {
    root: Dir,
    folders: BTreeMap<&'static str, Dir>,
}

impl Staging {
    /// Makes the folders that `manifest` needs.
    pub fn prepare(directory: &Directory, manifest: &Manifest) -> Result<Self, Refusal> {
        let failed = |error| Refusal::io("the staging directory cannot be prepared", &error);
        let staging = directory.handle().open_dir(STAGING).map_err(failed)?;
        let mut folders = BTreeMap::new();
        for member in manifest.members() {
            let folder = member.kind.folder();
            if !folders.contains_key(folder) {
                folders.insert(folder, make_dir(&staging, folder).map_err(failed)?);
            }
        }
        Ok(Self { root: staging, folders })
    }

    /// Creates the file of `member`, which must not exist in any form: not as a file, not as a link.
    pub fn create(&self, member: &Member) -> Result<StagedFile, Refusal> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let created = self.folder(member).and_then(|folder| folder.open_with(&member.name, &options));
        match created {
            Ok(file) => Ok(StagedFile { file: file.into_std(), hasher: Sha256::new() }),
            Err(error) => Err(Refusal::io(format!("{} cannot be created", member.path()), &error)),
        }
    }

    /// Checks that the file of `member` is what was written: a regular file of its size. It is looked up by its path, so
    /// a folder that somebody has put in the place of ours is found out.
    pub fn check(&self, member: &Member) -> Result<(), Refusal> {
        let metadata = self.root.symlink_metadata(member.path());
        let found = match metadata {
            Ok(metadata) if metadata.is_file() && metadata.len() == member.size => return Ok(()),
            Ok(metadata) if metadata.is_file() => format!("{} bytes", metadata.len()),
            Ok(_) => "something that is no file".to_owned(),
            Err(error) => error.to_string(),
        };
        let detail = format!("{} has {} bytes, and on the driver's disk lies: {found}", member.path(), member.size);
        Err(Refusal::new(ErrorCode::ShortTransfer, detail))
    }

    fn folder(&self, member: &Member) -> io::Result<&Dir> {
        self.folders.get(member.kind.folder()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A file that is being written.
#[derive(Debug)]
pub struct StagedFile {
    file: File,
    hasher: Sha256,
}

impl StagedFile {
    /// Appends `bytes`.
    pub fn write(&mut self, member: &Member, bytes: &[u8]) -> Result<(), Refusal> {
        self.hasher.update(bytes);
        self.file.write_all(bytes).map_err(|error| Refusal::io(format!("{} cannot be written", member.path()), &error))
    }

    /// Gives the file its mode, independent of the umask, and returns the SHA-256 of what was written.
    pub fn finish(self, member: &Member) -> Result<Sha256Digest, Refusal> {
        let mode = self.file.set_permissions(Permissions::from_mode(member.file_mode()));
        mode.map_err(|error| Refusal::io(format!("{} cannot be given its mode", member.path()), &error))?;
        Ok(self.hasher.finalize().into())
    }
}

/// Lower-case hex, as `sha256sum` prints it.
#[must_use]
pub fn hex(digest: &Sha256Digest) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    digest.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
