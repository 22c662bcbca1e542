//! One local input that was opened and found usable, and how to know it again: between inspection and the last byte sent,
//! a file can grow, shrink, or be replaced. Which inputs there are is decided in `inputs`.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use shared::error_code::ErrorCode;
use shared::manifest::{Member, MemberKind};

use crate::error::SubmitError;

/// Linux' `O_NONBLOCK`: opening a FIFO that nobody writes to returns at once.
const O_NONBLOCK: i32 = 0o4000;

/// A local input, checked. It holds no descriptor: a submission may have more inputs than a process may open files.
#[derive(Clone, Debug)]
pub struct InspectedInput {
    /// Its place in the bundle.
    pub member: Member,
    /// Where it is, as the user named it.
    pub path: PathBuf,
    identity: FileIdentity,
}

/// What changes when the file behind a path changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device and inode: equal for two names of one file.
    pub file: (u64, u64),
    size: u64,
    modified: (i64, i64),
}

impl FileIdentity {
    fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl InspectedInput {
    /// Opens `path`, follows links, and takes its size and mode. Anything but a regular file is refused.
    pub fn open(kind: MemberKind, name: String, alias: Option<String>, path: PathBuf) -> Result<Self, SubmitError> {
        let file = open(&path).map_err(|error| cannot_open(&path, error))?;
        let metadata = file.metadata().map_err(|error| cannot_open(&path, error))?;
        if !metadata.is_file() {
            let what = format!("{} is {}, not a file", path.display(), file_kind(&metadata));
            return Err(SubmitError::new(ErrorCode::NotAFile, what).hint("name a regular file"));
        }
        let member = Member { kind, name, size: metadata.size(), mode: metadata.mode() & 0o777, alias };
        Ok(Self { member, path, identity: FileIdentity::of(&metadata) })
    }

    /// Device and inode.
    #[must_use]
    pub fn identity(&self) -> FileIdentity {
        self.identity
    }

    /// Opens the same file again; another one under that name is an error.
    pub fn reopen(&self) -> Result<File, SubmitError> {
        let file = open(&self.path).map_err(|error| self.changed("it can no longer be opened").because(error))?;
        self.check_unchanged(&file)?;
        Ok(file)
    }

    /// Whether `file`, open for this input, is still what was inspected.
    pub fn check_unchanged(&self, file: &File) -> Result<(), SubmitError> {
        let metadata = file.metadata().map_err(|error| self.changed("it can no longer be read").because(error))?;
        let now = FileIdentity::of(&metadata);
        if now == self.identity {
            return Ok(());
        }
        Err(self.changed(&if now.file != self.identity.file {
            "another file took its place".to_owned()
        } else if now.size != self.identity.size {
            format!("its size was {} bytes and is {} now", self.identity.size, now.size)
        } else {
            "it was written to".to_owned()
        }))
    }

    /// The error for an input that is no longer what was inspected.
    #[must_use]
    pub fn changed(&self, how: &str) -> SubmitError {
        let what = format!("{} changed during the submission: {how}", self.path.display());
        SubmitError::new(ErrorCode::InputChanged, what).hint("submit again when nothing writes to it any more")
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path)
}

fn cannot_open(path: &Path, error: io::Error) -> SubmitError {
    if error.kind() != io::ErrorKind::NotFound && error.raw_os_error() != Some(ELOOP) {
        return SubmitError::new(ErrorCode::InputUnreadable, format!("cannot open {}", path.display())).because(error);
    }
    let what = match std::fs::read_link(path) {
        Ok(target) => format!("{} is a link to {}, which leads nowhere", path.display(), target.display()),
        Err(_) => format!("{} does not exist", path.display()),
    };
    let hint = "a path without a scheme is read on this machine; for a file in the image write local:///path";
    SubmitError::new(ErrorCode::InputMissing, what).because(error).hint(hint)
}

/// Linux' error number for a loop of links.
const ELOOP: i32 = 40;

fn file_kind(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::report::Failure;

    fn open_as_jar(path: PathBuf) -> Result<InspectedInput, SubmitError> {
        InspectedInput::open(MemberKind::Jar, "x.jar".into(), None, path)
    }

    #[test]
    fn f08_a_directory_and_a_device_are_no_files() {
        for path in ["/", "/dev/null"] {
            assert_eq!(open_as_jar(path.into()).unwrap_err().code(), ErrorCode::NotAFile);
        }
    }

    #[test]
    fn f09_dangling_links_and_loops_are_missing_and_name_their_target() {
        let folder = tempfile::tempdir().unwrap();
        for (link, target) in [("x.jar", "nope"), ("y.jar", "y.jar")] {
            let path = folder.path().join(link);
            std::os::unix::fs::symlink(target, &path).unwrap();
            let error = open_as_jar(path).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InputMissing);
            assert!(error.to_string().contains(target), "{error}");
        }
    }

    #[test]
    fn f11_a_missing_input_points_to_the_image() {
        let error = open_as_jar("/no/such.jar".into()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InputMissing);
        assert!(error.hints().iter().any(|hint| hint.contains("local://")));
    }
}
