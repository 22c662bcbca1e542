//! Users' archives (`--archives`), unpacked into a folder that no entry can leave: whatever names and links an archive
//! holds, the folder's handle resolves them inside or not at all. Formats are those that Spark's `Utils.unpack` knows.
//!
//! Links are made as the archive states them, since environments made by conda-pack and venv-pack need theirs, some of
//! them to the image's own interpreter; but nothing is ever written through one to a place outside.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, OpenOptions};
use flate2::read::MultiGzDecoder;
use shared::error_code::ErrorCode;
use zip::ZipArchive;

use crate::error::Refusal;

/// Size in bytes of the read buffer, and of each copy.
const BUFFER: usize = 128 * 1024;
/// Longest target of a link in bytes (`PATH_MAX`).
const LINK_LIMIT: u64 = 4096;

/// A format of archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.zip` and `.jar`.
    Zip,
    /// `.tar`.
    Tar,
    /// `.tar.gz` and `.tgz`.
    TarGz,
}

/// The format that a file name states; none for those that are left as they are.
#[must_use]
pub fn format_of(name: &str) -> Option<Format> {
    let name = name.to_lowercase();
    let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
    if ends(&[".zip", ".jar"]) {
        Some(Format::Zip)
    } else if ends(&[".tar.gz", ".tgz"]) {
        Some(Format::TarGz)
    } else if ends(&[".tar"]) {
        Some(Format::Tar)
    } else {
        None
    }
}

/// Unpacks `file` into `folder`; `archive` is its name in refusals.
pub fn unpack(archive: &str, file: File, format: Format, folder: &Dir) -> Result<(), Refusal> {
    let target = Target { archive, folder };
    let buffered = BufReader::with_capacity(BUFFER, file);
    match format {
        Format::Zip => target.unpack_zip(buffered),
        Format::Tar => target.unpack_tar(buffered),
        Format::TarGz => target.unpack_tar(MultiGzDecoder::new(buffered)),
    }
}

struct Target<'a> {
    archive: &'a str,
    folder: &'a Dir,
}

impl Target<'_> {
    fn unpack_tar(&self, reader: impl Read) -> Result<(), Refusal> {
        let mut archive = tar::Archive::new(reader);
        for entry in archive.entries().map_err(|error| self.unreadable(&error))? {
            let mut entry = entry.map_err(|error| self.unreadable(&error))?;
            let name = entry.path_bytes().into_owned();
            let Some(name) = self.plain_name(&name)? else { continue };
            let mode = entry.header().mode().unwrap_or(0o644);
            let link = entry.link_name_bytes().unwrap_or_default().into_owned();
            match entry.header().entry_type() {
                tar::EntryType::Regular | tar::EntryType::Continuous | tar::EntryType::GNUSparse => {
                    self.write_file(&name, mode, &mut entry)?;
                }
                tar::EntryType::Directory => self.make_folder(&name)?,
                tar::EntryType::Symlink => self.make_link(&name, &link)?,
                tar::EntryType::Link => self.make_hard_link(&name, &link)?,
                tar::EntryType::XGlobalHeader => {}
                _ => return Err(self.refused_type(&name)),
            }
        }
        // Behind the end of the tar lies what proves the compressed stream.
        let rest = io::copy(&mut archive.into_inner(), &mut io::sink());
        rest.map(drop).map_err(|error| self.unreadable(&error))
    }

    fn unpack_zip(&self, reader: BufReader<File>) -> Result<(), Refusal> {
        let unreadable = |error: zip::result::ZipError| self.unreadable(&error.into());
        let mut archive = ZipArchive::new(reader).map_err(unreadable)?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).map_err(unreadable)?;
            let raw = entry.name_raw().to_vec();
            let Some(name) = self.plain_name(&raw)? else { continue };
            if entry.is_dir() {
                self.make_folder(&name)?;
            } else if entry.is_symlink() {
                let mut link = Vec::new();
                let read = entry.take(LINK_LIMIT).read_to_end(&mut link);
                read.map_err(|error| self.unreadable(&error))?;
                self.make_link(&name, &link)?;
            } else {
                let mode = entry.unix_mode().unwrap_or(0o644);
                self.write_file(&name, mode, &mut entry)?;
            }
        }
        Ok(())
    }

    /// The place of an entry below the folder; none for the folder itself. What would lead elsewhere is refused; `./a`,
    /// `a//b` and `a/` are not: many tools write them, and they name the same place. Any other name is the user's affair.
    fn plain_name(&self, raw: &[u8]) -> Result<Option<PathBuf>, Refusal> {
        let path = Path::new(OsStr::from_bytes(raw));
        let mut plain = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(part) if !raw.contains(&0) => plain.push(part),
                Component::CurDir => {}
                _ => return Err(self.leads_elsewhere(path)),
            }
        }
        Ok(Some(plain).filter(|plain| !plain.as_os_str().is_empty()))
    }

    fn make_folder(&self, name: &Path) -> Result<(), Refusal> {
        self.folder.create_dir_all(name).map_err(|error| self.failed(name, &error))
    }

    /// Room for an entry: its parents are there, and an earlier entry of that name is gone, as with every tar reader.
    fn make_room(&self, name: &Path) -> Result<(), Refusal> {
        if let Some(parent) = name.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            self.folder.create_dir_all(parent).map_err(|error| self.failed(name, &error))?;
        }
        match self.folder.remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed(name, &error)),
            _ => Ok(()),
        }
    }

    fn write_file(&self, name: &Path, mode: u32, content: &mut impl Read) -> Result<(), Refusal> {
        self.make_room(name)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let opened = self.folder.open_with(name, &options).map_err(|error| self.failed(name, &error))?;
        let mut file = opened.into_std();
        self.copy(name, content, &mut file)?;
        let mode = Permissions::from_mode(mode & 0o777 | 0o600);
        file.set_permissions(mode).map_err(|error| self.failed(name, &error))
    }

    /// Copies, telling a fault of the archive from one of the disk.
    fn copy(&self, name: &Path, content: &mut impl Read, file: &mut File) -> Result<(), Refusal> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = match content.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(|error| self.unreadable(&error))?,
            };
            if read == 0 {
                return Ok(());
            }
            io::Write::write_all(file, &buffer[..read]).map_err(|error| self.failed(name, &error))?;
        }
    }

    fn make_link(&self, name: &Path, target: &[u8]) -> Result<(), Refusal> {
        self.make_room(name)?;
        self.folder.symlink_contents(OsStr::from_bytes(target), name).map_err(|error| self.failed(name, &error))
    }

    fn make_hard_link(&self, name: &Path, target: &[u8]) -> Result<(), Refusal> {
        let Some(target) = self.plain_name(target)? else { return Err(self.refused_type(name)) };
        self.make_room(name)?;
        self.folder.hard_link(target, self.folder, name).map_err(|error| self.failed(name, &error))
    }

    fn refused_type(&self, name: &Path) -> Refusal {
        let detail = format!("{}: entry {} is neither file, directory nor link", self.archive, shown(name));
        Refusal::new(ErrorCode::ArchiveType, detail)
    }

    fn leads_elsewhere(&self, name: &Path) -> Refusal {
        let detail = format!("{}: entry {} leads out of its folder", self.archive, shown(name));
        Refusal::new(ErrorCode::ArchivePath, detail)
    }

    fn failed(&self, name: &Path, error: &io::Error) -> Refusal {
        // Making folders says "exists" of a link that leads out, so the way to the entry is looked at as well.
        let on_the_way = |part: &Path| self.folder.metadata(part).is_err_and(|error| leads_out(&error));
        if leads_out(error) || name.ancestors().any(on_the_way) {
            return self.leads_elsewhere(name);
        }
        // `AlreadyExists`: a folder is to be made where a file is.
        let contradicts = [io::ErrorKind::NotADirectory, io::ErrorKind::IsADirectory, io::ErrorKind::AlreadyExists];
        if contradicts.contains(&error.kind()) {
            let detail = format!("{}: entry {} is a file here and a folder there", self.archive, shown(name));
            return Refusal::new(ErrorCode::ArchiveFormat, detail);
        }
        Refusal::io(format!("{}: entry {} cannot be unpacked", self.archive, shown(name)), error)
    }

    fn unreadable(&self, error: &io::Error) -> Refusal {
        let detail = format!("{} cannot be unpacked: {error}", self.archive);
        Refusal::new(ErrorCode::ArchiveFormat, detail).hint("check that the archive opens with the usual tools")
    }
}

/// Whether the folder's handle has refused: with this kind, and no error of the kernel's.
fn leads_out(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}

/// A name as it is shown: quoted, with control characters escaped.
fn shown(name: &Path) -> String {
    format!("{:?}", name.to_string_lossy())
}
