//! Copies this program to where another container of the pod starts it: the work of an init container whose image holds
//! nothing else, no shell and no `cp`. An init container may run twice, so a copy that is there already is good; anything
//! else at that path is somebody's and stays.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use shared::error_code::ErrorCode;

use crate::error::Refusal;

/// The running program, whatever its name, also when that has since been replaced.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Whoever the other container runs as may start it, and nobody change it.
const MODE: u32 = 0o555;
/// Added to the name while the copy is not whole.
const UNFINISHED: &str = ".part";

/// Copies this program to `path`, whole or not at all.
pub fn install(path: &Path) -> Result<(), Refusal> {
    copy(Path::new(THIS_PROGRAM), path)
}

fn copy(program: &Path, path: &Path) -> Result<(), Refusal> {
    let failed = |error: &io::Error| Refusal::io(format!("{} cannot be installed", path.display()), error);
    if !path.is_absolute() || path.file_name().is_none() {
        return Err(Refusal::new(ErrorCode::Usage, format!("{} is no absolute path of a file", path.display())));
    }
    let unfinished = unfinished(path);
    // Of an earlier run that was killed.
    remove(&unfinished).map_err(|error| failed(&error))?;
    let linked = write(program, &unfinished).and_then(|()| fs::hard_link(&unfinished, path));
    let removed = remove(&unfinished);
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => same(program, path)?,
        other => other.map_err(|error| failed(&error))?,
    }
    removed.map_err(|error| failed(&error))
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(UNFINISHED);
    name.into()
}

fn write(program: &Path, path: &Path) -> io::Result<()> {
    let mut from = File::open(program)?;
    let mut to = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    io::copy(&mut from, &mut to)?;
    // Not by `mode` above: the umask would have its say.
    to.set_permissions(Permissions::from_mode(MODE))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Refuses what stands at `path` unless it is a copy of `program` that can be started.
fn same(program: &Path, path: &Path) -> Result<(), Refusal> {
    let reason = match is_copy(program, path) {
        Ok(true) => return Ok(()),
        Ok(false) => "it exists and is not this program".to_owned(),
        Err(error) => format!("it exists and cannot be read: {error}"),
    };
    Err(Refusal::new(ErrorCode::Io, format!("{} cannot be installed: {reason}", path.display()))
        .hint("the path must be free: it is in a volume of the pod's own"))
}

fn is_copy(program: &Path, path: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() || found.permissions().mode() & 0o777 != MODE {
        return Ok(false);
    }
    let (program, path) = (File::open(program)?, File::open(path)?);
    if program.metadata()?.len() != path.metadata()?.len() {
        return Ok(false);
    }
    let mut pairs = BufReader::new(program).bytes().zip(BufReader::new(path).bytes());
    pairs.try_fold(true, |equal, (one, other)| Ok(equal && one? == other?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::report::Failure as _;

    fn folder_with_program() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (program, target) = (folder.path().join("program"), folder.path().join("target"));
        fs::write(&program, "x".repeat(100_000)).unwrap();
        (folder, program, target)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_copy_is_whole_and_may_be_started_by_anybody() {
        let (folder, program, target) = folder_with_program();
        copy(&program, &target).unwrap();
        assert_eq!(fs::read(&target).unwrap(), fs::read(&program).unwrap());
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o7777, 0o555);
        assert_eq!(names(folder.path()), ["program", "target"]);
    }

    #[test]
    fn a_second_run_finds_its_copy_and_what_a_killed_one_left() {
        let (folder, program, target) = folder_with_program();
        fs::write(folder.path().join("target.part"), "half").unwrap();
        copy(&program, &target).unwrap();
        copy(&program, &target).unwrap();
        assert_eq!(names(folder.path()), ["program", "target"]);
    }

    #[test]
    fn what_is_somebody_elses_stays_as_it_is() {
        for same_length in [true, false] {
            let (folder, program, target) = folder_with_program();
            let other = "y".repeat(if same_length { 100_000 } else { 3 });
            fs::write(&target, &other).unwrap();
            fs::set_permissions(&target, Permissions::from_mode(0o555)).unwrap();
            let refusal = copy(&program, &target).unwrap_err();
            assert!(refusal.to_string().contains("is not this program"), "{refusal}");
            assert_eq!(fs::read_to_string(&target).unwrap(), other);
            assert_eq!(names(folder.path()), ["program", "target"]);
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let (folder, program, target) = folder_with_program();
        std::os::unix::fs::symlink(&program, &target).unwrap();
        assert!(copy(&program, &target).is_err());
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), folder.path().join("target.part")).unwrap();
        let free = folder.path().join("free");
        copy(&program, &free).unwrap();
        assert!(!folder.path().join("elsewhere").exists());
    }

    #[test]
    fn a_path_that_cannot_be_written_is_named_with_the_reason() {
        let (_folder, program, _) = folder_with_program();
        let refusal = copy(&program, Path::new("/nonexistent/airlock-driver")).unwrap_err();
        assert!(refusal.to_string().contains("/nonexistent/airlock-driver cannot be installed: No such"), "{refusal}");
        for path in ["relative", "/"] {
            assert_eq!(copy(&program, Path::new(path)).unwrap_err().code(), ErrorCode::Usage);
        }
    }
}
