//! The one directory that the server writes to, held by a handle that cannot be left. It is claimed once: a directory
//! that an earlier server has used means that its upload is lost. Which files go into it is the matter of `staging`,
//! `received` and `work_directory`.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Permissions, PermissionsExt as _};
use rustix::fs::fstatvfs;
use shared::driver_contract::{BUNDLE, STAGING, WORK_DIR};
use shared::error_code::ErrorCode;
use shared::manifest::Manifest;

use crate::error::{MORE_DISK, Refusal};

/// Inodes beyond the members' own: folders, properties file, working directory with its links.
const SPARE_INODES: u64 = 16;

/// The claimed directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    dir: Dir,
}

impl Directory {
    /// Claims the directory at `path` by making the staging directory in it. That stays, emptied, after a failure: it is
    /// the mark by which a server that is started again knows that nobody will send the bundle once more.
    pub fn claim(path: &Path) -> Result<Self, Refusal> {
        let failed = |error| Refusal::io(format!("the directory {} cannot be used", path.display()), &error);
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(failed)?;
        for name in [BUNDLE, WORK_DIR, STAGING] {
            if dir.symlink_metadata(name).is_ok() {
                return Err(upload_lost(path, name));
            }
        }
        make_dir(&dir, STAGING).map_err(failed)?;
        Ok(Self { path: path.to_owned(), dir })
    }

    /// Where it is, for the driver's command.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The handle.
    #[must_use]
    pub fn handle(&self) -> &Dir {
        &self.dir
    }

    /// Frees what has been staged; the empty staging directory stays.
    pub fn empty_staging(&self) -> io::Result<()> {
        let staging = match self.dir.open_dir(STAGING) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        for entry in staging.entries()? {
            let name = entry?.file_name();
            staging.remove_dir_all(name)?;
        }
        Ok(())
    }

    /// Refuses a manifest whose files do not fit: bytes in whole blocks, and inodes.
    pub fn check_space(&self, manifest: &Manifest) -> Result<(), Refusal> {
        let stat = fstatvfs(&self.dir).map_err(|error| Refusal::io("free space cannot be read", &error.into()))?;
        let block = stat.f_frsize.max(1);
        let sizes = manifest.members().iter().map(|member| member.size);
        let needed =
            sizes.fold(0_u64, |sum, size| sum.saturating_add(size.checked_next_multiple_of(block).unwrap_or(size)));
        let free = stat.f_bavail.saturating_mul(block);
        if needed > free {
            let path = self.path.display();
            let detail = format!("the bundle needs {needed} bytes, and {path} has {free} bytes free");
            return Err(Refusal::new(ErrorCode::DiskFull, detail).hint(MORE_DISK));
        }
        let inodes = manifest.members().len() as u64 + SPARE_INODES;
        // Some file systems make inodes as they go and state none.
        if stat.f_files > 0 && inodes > stat.f_favail {
            let (path, free) = (self.path.display(), stat.f_favail);
            let detail = format!("the bundle needs {inodes} inodes, and {path} has {free} free");
            return Err(Refusal::new(ErrorCode::DiskFull, detail).hint(MORE_DISK));
        }
        Ok(())
    }
}

fn upload_lost(path: &Path, name: &str) -> Refusal {
    let path = path.join(name);
    let detail = format!("{} is left from an earlier driver server; the client sends nothing twice", path.display());
    Refusal::new(ErrorCode::UploadLost, detail).hint("submit again; the driver pod's restart policy must be Never")
}

/// Makes `parent/name` as a directory that others can read and enter, whatever the umask, and opens it.
pub(crate) fn make_dir(parent: &Dir, name: &str) -> io::Result<Dir> {
    parent.create_dir(name)?;
    parent.set_permissions(name, Permissions::from_mode(0o755))?;
    parent.open_dir(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::report::Failure as _;

    #[test]
    fn c05_a_used_directory_is_claimed_by_nobody_again() {
        let temporary = tempfile::tempdir().unwrap();
        let first = Directory::claim(temporary.path()).unwrap();
        std::fs::create_dir_all(temporary.path().join("staging/jars/deep")).unwrap();
        std::fs::write(temporary.path().join("staging/jars/a.jar"), "x").unwrap();
        first.empty_staging().unwrap();
        assert_eq!(std::fs::read_dir(temporary.path().join("staging")).unwrap().count(), 0);
        assert_eq!(Directory::claim(temporary.path()).unwrap_err().code(), ErrorCode::UploadLost);
    }

    #[test]
    fn a_directory_that_is_missing_is_named() {
        let refusal = Directory::claim(Path::new("/nonexistent/airlock")).unwrap_err();
        assert!(refusal.to_string().contains("/nonexistent/airlock"), "{refusal}");
    }
}
