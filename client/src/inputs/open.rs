//! Opens an input and looks at what was opened (F08, F09, F11): a regular file, its identity and size. The file is closed
//! again, since ten thousand inputs must not need as many descriptors; whoever sends it opens it again and compares (F07).

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use shared::error_code::ErrorCode;

use crate::error::SubmitError;

/// What makes a file the same file with the same content, as far as the system tells without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content: seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl FileIdentity {
    /// Of an open file.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// What stays the same when the content changes: which file it is.
    #[must_use]
    pub const fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// A regular file, looked at.
#[derive(Clone, Copy, Debug)]
pub struct Inspected {
    /// Which file, and how it was.
    pub identity: FileIdentity,
    /// Its mode bits.
    pub mode: u32,
}

/// Opens `path` and looks at it; `name` is how messages call it.
pub fn inspect(path: &Path, name: &str) -> Result<Inspected, SubmitError> {
    let file = open(path).map_err(|error| open_error(path, name, error))?;
    let metadata = file.metadata().map_err(|error| unreadable(name, error))?;
    if !metadata.is_file() {
        return Err(not_a_file(name, kind_of(&metadata)));
    }
    if metadata.len() == 0 && has_content(&file) {
        return Err(not_a_file(name, "a file whose size the system does not know"));
    }
    Ok(Inspected { identity: FileIdentity::of(&metadata), mode: metadata.mode() })
}

/// Opens `path` again for sending: the same file in the same state as `seen`.
pub fn reopen(path: &Path, seen: &FileIdentity) -> Result<File, SubmitError> {
    let changed = |how: &str| {
        let what = format!("{} changed while it was being submitted: {how}", path.display());
        SubmitError::new(ErrorCode::InputChanged, what).hint("submit again when nothing writes to it any more")
    };
    let file = open(path).map_err(|error| changed("it cannot be opened any more").because(error))?;
    let metadata = file.metadata().map_err(|error| changed("it cannot be read any more").because(error))?;
    let now = FileIdentity::of(&metadata);
    if now.file() != seen.file() || !metadata.is_file() {
        Err(changed("another file has taken its place"))
    } else if now.size != seen.size {
        Err(changed(&format!("it had {} bytes and has {}", seen.size, now.size)))
    } else if now.modified != seen.modified {
        Err(changed("it was written to"))
    } else {
        Ok(file)
    }
}

/// Never blocks, whatever lies there: a FIFO without a writer opens at once, a terminal does not become ours.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// Files of `/proc` say that they are empty and are not.
fn has_content(mut file: &File) -> bool {
    !matches!(file.read(&mut [0]), Ok(0))
}

fn open_error(path: &Path, name: &str, error: io::Error) -> SubmitError {
    let metadata = path.metadata();
    match (error.kind(), metadata) {
        // Sockets cannot be opened at all, some devices neither.
        (_, Ok(metadata)) if !metadata.is_file() => not_a_file(name, kind_of(&metadata)),
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, _) => missing(path, name),
        _ if is_loop(&error) => missing(path, name),
        _ => unreadable(name, error),
    }
}

fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

fn missing(path: &Path, name: &str) -> SubmitError {
    let what = match first_link(path) {
        Some((link, target)) => {
            format!("{name} does not exist: the link {} points to {}", link.display(), target.display())
        }
        None => format!("{name} does not exist"),
    };
    SubmitError::new(ErrorCode::InputMissing, what)
}

/// The link on `path` that leads nowhere: the path itself, or a directory on the way.
fn first_link(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let broken = |part: &&Path| part.is_symlink() && part.metadata().is_err();
    path.ancestors().filter(broken).last().and_then(|link| Some((link.to_owned(), link.read_link().ok()?)))
}

fn unreadable(name: &str, error: io::Error) -> SubmitError {
    SubmitError::new(ErrorCode::InputUnreadable, format!("{name} cannot be read")).because(error)
}

fn not_a_file(name: &str, found: &str) -> SubmitError {
    SubmitError::new(ErrorCode::NotAFile, format!("{name} is {found}, not a regular file"))
}

fn kind_of(metadata: &Metadata) -> &'static str {
    let kind = metadata.file_type();
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::report::Failure;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, Instant};

    fn code(path: &Path) -> ErrorCode {
        inspect(path, &path.display().to_string()).unwrap_err().code()
    }

    #[test]
    fn f08_what_is_no_regular_file_is_said_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let (fifo, socket) = (directory.path().join("p.jar"), directory.path().join("s.jar"));
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let _listener = UnixListener::bind(&socket).unwrap();
        let begin = Instant::now();
        for (path, word) in [
            (directory.path(), "directory"),
            (fifo.as_path(), "FIFO"),
            (socket.as_path(), "socket"),
            (Path::new("/dev/null"), "device"),
            (Path::new("/dev/zero"), "device"),
            (Path::new("/proc/self/status"), "size"),
        ] {
            let error = inspect(path, "x.jar").unwrap_err();
            assert_eq!(error.code(), ErrorCode::NotAFile, "{}", path.display());
            assert!(error.to_string().contains(word) && error.to_string().contains("x.jar"), "{error}");
        }
        assert!(begin.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn f09_a_link_is_its_target_and_a_dangling_one_is_named_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        std::fs::write(at("v2.jar"), "xyz").unwrap();
        symlink("v2.jar", at("app.jar")).unwrap();
        symlink("nope", at("x.jar")).unwrap();
        symlink("y.jar", at("y.jar")).unwrap();
        symlink("nowhere", at("dir")).unwrap();
        assert_eq!(inspect(&at("app.jar"), "app.jar").unwrap().identity, inspect(&at("v2.jar"), "").unwrap().identity);
        for (path, link, target) in
            [("x.jar", "x.jar", "nope"), ("y.jar", "y.jar", "y.jar"), ("dir/a.jar", "dir", "nowhere")]
        {
            let error = inspect(&at(path), path).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InputMissing);
            let expected = format!("the link {} points to {target}", at(link).display());
            assert!(error.to_string().contains(&expected), "{error}");
        }
    }

    #[test]
    fn f11_missing_and_unreadable_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "x").unwrap();
        assert_eq!(code(&directory.path().join("gone.jar")), ErrorCode::InputMissing);
        assert_eq!(code(&file.join("below")), ErrorCode::InputMissing);
        // A test that runs as root cannot be refused a file, so the refusal is made by hand.
        let refused = open_error(&file, "dep.jar", io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!(refused.code(), ErrorCode::InputUnreadable);
    }

    #[test]
    fn f07_a_file_that_changed_is_not_sent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("dep.jar");
        let seen = || inspect(&path, "dep.jar").unwrap().identity;
        std::fs::write(&path, "one").unwrap();
        let first = seen();
        assert!(reopen(&path, &first).is_ok());
        std::fs::write(&path, "three").unwrap();
        let grown = reopen(&path, &first).unwrap_err();
        assert_eq!(grown.code(), ErrorCode::InputChanged);
        assert!(grown.to_string().contains("dep.jar") && grown.to_string().contains("3 bytes and has 5"), "{grown}");
        let second = seen();
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        assert!(reopen(&path, &second).unwrap_err().to_string().contains("written to"));
        let third = seen();
        std::fs::write(directory.path().join("new"), "seven").unwrap();
        std::fs::rename(directory.path().join("new"), &path).unwrap();
        assert!(reopen(&path, &third).unwrap_err().to_string().contains("another file"));
        std::fs::remove_file(&path).unwrap();
        assert!(reopen(&path, &third).unwrap_err().to_string().contains("cannot be opened"));
    }
}
