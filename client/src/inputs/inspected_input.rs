//! One local input that was opened and found usable, and how to know it again: between inspection and the last byte sent,
//! a file can grow, shrink, or be replaced. Which inputs there are is decided in `inputs`.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use shared::error_code::ErrorCode;
use shared::manifest::{Member, MemberKind};

use crate::error::SubmitError;

/// Linux' `O_NONBLOCK`: opening a FIFO that nobody writes to returns at once.
const O_NONBLOCK: i32 = 0o4000;
/// Linux' `O_NOCTTY`: a terminal that is opened does not become ours.
const O_NOCTTY: i32 = 0o400;

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
            return Err(not_a_file(&path, file_kind(&metadata)));
        }
        if metadata.size() == 0 && has_content(&file) {
            return Err(not_a_file(&path, "a file whose size the system does not know"));
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
    OpenOptions::new().read(true).custom_flags(O_NONBLOCK | O_NOCTTY).open(path)
}

/// Files of `/proc` say that they are empty and are not.
fn has_content(mut file: &File) -> bool {
    !matches!(file.read(&mut [0]), Ok(0))
}

fn cannot_open(path: &Path, error: io::Error) -> SubmitError {
    // A socket cannot be opened at all, nor can some devices: what it is says more than why.
    if let Some(found) = path.metadata().ok().filter(|metadata| !metadata.is_file()) {
        return not_a_file(path, file_kind(&found));
    }
    let is_missing = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    if !is_missing && error.raw_os_error() != Some(ELOOP) {
        return SubmitError::new(ErrorCode::InputUnreadable, format!("cannot open {}", path.display())).because(error);
    }
    let what = match broken_link(path) {
        Some((link, target)) if link == path => {
            format!("{} is a link to {}, which leads nowhere", path.display(), target.display())
        }
        Some((link, target)) => {
            let (link, target) = (link.display(), target.display());
            format!("{} does not exist: {link} is a link to {target}, which leads nowhere", path.display())
        }
        None => format!("{} does not exist", path.display()),
    };
    let hint = "a path without a scheme is read on this machine; for a file in the image write local:///path";
    SubmitError::new(ErrorCode::InputMissing, what).because(error).hint(hint)
}

/// The first link on `path` that leads nowhere, and its target: the path itself, or a folder on the way.
fn broken_link(path: &Path) -> Option<(&Path, PathBuf)> {
    let is_broken = |part: &&Path| part.is_symlink() && part.metadata().is_err();
    let link = path.ancestors().filter(is_broken).last()?;
    Some((link, link.read_link().ok()?))
}

fn not_a_file(path: &Path, found: &str) -> SubmitError {
    let what = format!("{} is {found}, not a file", path.display());
    SubmitError::new(ErrorCode::NotAFile, what).hint("name a regular file")
}

/// Linux' error number for a loop of links.
const ELOOP: i32 = 40;

fn file_kind(metadata: &Metadata) -> &'static str {
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
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, Instant};

    fn open_as_jar(path: PathBuf) -> Result<InspectedInput, SubmitError> {
        InspectedInput::open(MemberKind::Jar, "x.jar".into(), None, path)
    }

    #[test]
    fn f08_what_is_no_regular_file_is_said_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (fifo, socket) = (folder.path().join("p.jar"), folder.path().join("s.jar"));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let _listener = UnixListener::bind(&socket).unwrap();
        let begin = Instant::now();
        for (path, word) in [
            (folder.path(), "directory"),
            (fifo.as_path(), "FIFO"),
            (socket.as_path(), "socket"),
            (Path::new("/dev/null"), "device"),
            (Path::new("/dev/zero"), "device"),
            (Path::new("/proc/self/status"), "size"),
        ] {
            let error = open_as_jar(path.into()).unwrap_err();
            assert_eq!(error.code(), ErrorCode::NotAFile, "{error}");
            assert!(error.to_string().contains(word) && error.to_string().contains(path.to_str().unwrap()), "{error}");
        }
        assert!(begin.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn f09_a_link_is_its_target_and_a_dangling_one_is_named_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("v2.jar"), "xyz").unwrap();
        symlink("v2.jar", at("app.jar")).unwrap();
        let (link, target) = (open_as_jar(at("app.jar")).unwrap(), open_as_jar(at("v2.jar")).unwrap());
        assert_eq!(link.identity(), target.identity());
        for (link, target) in [("x.jar", "nope"), ("y.jar", "y.jar"), ("folder", "nowhere")] {
            symlink(target, at(link)).unwrap();
        }
        for (path, link, target) in
            [("x.jar", "x.jar", "nope"), ("y.jar", "y.jar", "y.jar"), ("folder/a.jar", "folder", "nowhere")]
        {
            let error = open_as_jar(at(path)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InputMissing);
            let expected = format!("{} is a link to {target}, which leads nowhere", at(link).display());
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }

    #[test]
    fn f11_missing_and_unreadable_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        for path in [folder.path().join("gone.jar"), file.join("below")] {
            let error = open_as_jar(path).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InputMissing);
            assert!(error.hints().iter().any(|hint| hint.contains("local://")));
        }
        // A test that runs as root cannot be refused a file, so the refusal is made by hand.
        let refused = cannot_open(&file, io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(refused.code(), ErrorCode::InputUnreadable);
    }

    #[test]
    fn f07_a_file_that_changed_is_named_with_how() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dep.jar");
        std::fs::write(&path, "one").unwrap();
        let first = open_as_jar(path.clone()).unwrap();
        assert!(first.reopen().is_ok());
        std::fs::write(&path, "three").unwrap();
        let grown = first.reopen().unwrap_err();
        assert_eq!(grown.code(), ErrorCode::InputChanged);
        assert!(grown.to_string().contains("dep.jar") && grown.to_string().contains("3 bytes and is 5"), "{grown}");
        let second = open_as_jar(path.clone()).unwrap();
        File::options().append(true).open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        assert!(second.reopen().unwrap_err().to_string().contains("written to"));
        let third = open_as_jar(path.clone()).unwrap();
        std::fs::write(folder.path().join("new"), "seven").unwrap();
        std::fs::rename(folder.path().join("new"), &path).unwrap();
        assert!(third.reopen().unwrap_err().to_string().contains("another file"));
        std::fs::remove_file(&path).unwrap();
        assert!(third.reopen().unwrap_err().to_string().contains("no longer be opened"));
    }
}
