//! Users' archives, good and hostile, unpacked into a working directory.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use shared::error_code::ErrorCode;
use shared::manifest::{Member, MemberKind};
use shared::report::Failure as _;
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::directory::Directory;
use crate::error::Refusal;
use crate::launch::archive::{Format, format_of};
use crate::launch::work_directory;
use crate::test_bundle::{Bundle, gzip, member};

/// The working directory of one archive with this name and content.
fn work_dir(name: &str, bytes: &[u8]) -> (TempDir, Result<(), Refusal>) {
    let archive = Member { alias: Some("env".into()), ..member(MemberKind::Archive, name) };
    let bundle = Bundle::new(vec![(archive, bytes.to_vec())]);
    let temporary = tempfile::tempdir().unwrap();
    let directory = Directory::claim(temporary.path()).unwrap();
    fs::create_dir_all(temporary.path().join("bundle/archives")).unwrap();
    fs::write(temporary.path().join("bundle/archives").join(name), bytes).unwrap();
    let result = work_directory::prepare(&directory, &bundle.manifest);
    (temporary, result)
}

fn entry(builder: &mut tar::Builder<Vec<u8>>, name: &str, kind: tar::EntryType, link: &str, bytes: &[u8]) {
    let mut header = tar::Header::new_gnu();
    // Written directly: the library itself refuses some of these names.
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_size(bytes.len() as u64);
    header.set_mode(if bytes.starts_with(b"#!") { 0o755 } else { 0o644 });
    header.set_cksum();
    builder.append(&header, bytes).unwrap();
}

fn tar(entries: &[(&str, tar::EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, link, bytes) in entries {
        entry(&mut builder, name, *kind, link, bytes);
    }
    builder.into_inner().unwrap()
}

const FILE: tar::EntryType = tar::EntryType::Regular;
const LINK: tar::EntryType = tar::EntryType::Symlink;
const HARD: tar::EntryType = tar::EntryType::Link;
const FOLDER: tar::EntryType = tar::EntryType::Directory;

#[test]
fn formats_are_those_of_spark() {
    assert_eq!(format_of("A.ZIP"), Some(Format::Zip));
    assert_eq!(format_of("a.jar"), Some(Format::Zip));
    assert_eq!(format_of("a.tgz"), Some(Format::TarGz));
    assert_eq!(format_of("a.tar.gz"), Some(Format::TarGz));
    assert_eq!(format_of("a.tar"), Some(Format::Tar));
    assert_eq!(format_of("a.tar.bz2"), None);
    assert_eq!(format_of("a.gz"), None);
}

#[test]
fn a02_a_file_that_is_a_folder_too_is_the_archives_fault() {
    let (_, result) = work_dir("x.tar", &tar(&[("a", FILE, "", b"1"), ("a/b", FILE, "", b"2")]));
    assert_eq!(result.unwrap_err().code(), ErrorCode::ArchiveFormat);
}

#[test]
fn an_environment_of_conda_pack_is_there_with_links_and_modes() {
    let stream = tar(&[
        ("./", FOLDER, "", b""),
        ("./bin/", FOLDER, "", b""),
        ("./bin/python3.sh", FILE, "", b"#!/bin/sh\n"),
        ("bin/python", LINK, "python3.sh", b""),
        ("bin/also", HARD, "bin/python3.sh", b""),
        ("lib64", LINK, "lib", b""),
        ("lib/x.py", FILE, "", b"x"),
        ("lib64/y.py", FILE, "", b"y"),
        ("system", LINK, "/usr/bin/env", b""),
        ("a\\x2d//b c", FILE, "", b"odd"),
    ]);
    for (name, bytes) in [("e.tar", stream.clone()), ("e.tar.gz", gzip(&stream)), ("e.tgz", gzip(&stream))] {
        let (temporary, result) = work_dir(name, &bytes);
        result.unwrap();
        let env = temporary.path().join("work-dir/env");
        assert_eq!(fs::read_link(env.join("bin/python")).unwrap(), Path::new("python3.sh"));
        assert_eq!(fs::metadata(env.join("bin/python")).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::read(env.join("bin/also")).unwrap(), b"#!/bin/sh\n");
        assert_eq!(fs::read(env.join("lib/y.py")).unwrap(), b"y");
        assert_eq!(fs::read(env.join("a\\x2d/b c")).unwrap(), b"odd");
        assert_eq!(fs::read_link(env.join("system")).unwrap(), Path::new("/usr/bin/env"));
    }
}

#[test]
fn a01_no_entry_of_a_users_archive_leaves_its_folder() {
    let outside = tempfile::tempdir().unwrap();
    let to = outside.path().to_str().unwrap();
    let cases: [(&str, Vec<u8>); 7] = [
        ("dots", tar(&[("../evil", FILE, "", b"x")])),
        ("absolute", tar(&[("/var/tmp/airlock-evil", FILE, "", b"x")])),
        ("through a link out", tar(&[("d", LINK, to, b""), ("d/evil", FILE, "", b"x")])),
        ("through a link up", tar(&[("d", LINK, "../../..", b""), ("d/evil", FILE, "", b"x")])),
        ("folder through a link", tar(&[("d", LINK, to, b""), ("d/evil/", FOLDER, "", b"")])),
        ("hard link to outside", tar(&[("d", HARD, "../../bundle/archives/e.tar", b"")])),
        ("hard link through a link", tar(&[("d", LINK, "/etc", b""), ("p", HARD, "d/passwd", b"")])),
    ];
    for (what, bytes) in cases {
        let (temporary, result) = work_dir("e.tar", &bytes);
        let refusal = result.unwrap_err();
        assert_eq!(refusal.code(), ErrorCode::ArchivePath, "{what}: {refusal}");
        assert!(refusal.to_string().contains("archives/e.tar"), "{what}: {refusal}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{what}");
        let left: Vec<_> = fs::read_dir(temporary.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left.len(), 3, "{what}: {left:?}");
    }
    assert!(!Path::new("/var/tmp/airlock-evil").exists());
}

#[test]
fn a02_a_file_takes_the_place_of_a_link_and_is_not_written_through_it() {
    let outside = tempfile::NamedTempFile::new().unwrap();
    let to = outside.path().to_str().unwrap();
    let (temporary, result) = work_dir("e.tar", &tar(&[("f", LINK, to, b""), ("f", FILE, "", b"x")]));
    result.unwrap();
    assert_eq!(fs::read(outside.path()).unwrap(), b"");
    assert_eq!(fs::read(temporary.path().join("work-dir/env/f")).unwrap(), b"x");
}

#[test]
fn a07_devices_in_a_users_archive_are_refused() {
    let (_temporary, result) = work_dir("e.tar", &tar(&[("fifo", tar::EntryType::Fifo, "", b"")]));
    assert_eq!(result.unwrap_err().code(), ErrorCode::ArchiveType);
}

#[test]
fn a10_a_cut_users_archive_is_refused() {
    let whole = gzip(&tar(&[("f", FILE, "", &[7; 5000])]));
    for bytes in [&whole[..whole.len() - 4], &whole[..30], b"no gzip"] {
        let (_temporary, result) = work_dir("e.tgz", bytes);
        assert_eq!(result.unwrap_err().code(), ErrorCode::ArchiveFormat);
    }
    let (_temporary, result) = work_dir("e.zip", b"PK no zip");
    assert_eq!(result.unwrap_err().code(), ErrorCode::ArchiveFormat);
}

#[test]
fn a_zip_keeps_modes_and_links() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("e.zip");
    let mut writer = ZipWriter::new(File::create(&path).unwrap());
    writer.add_directory("bin", SimpleFileOptions::default()).unwrap();
    writer.start_file("bin/run.sh", SimpleFileOptions::default().unix_permissions(0o755)).unwrap();
    writer.write_all(b"#!/bin/sh\n").unwrap();
    writer.add_symlink("run", "bin/run.sh", SimpleFileOptions::default()).unwrap();
    writer.finish().unwrap();
    let (temporary, result) = work_dir("e.zip", &fs::read(path).unwrap());
    result.unwrap();
    let run = temporary.path().join("work-dir/env/run");
    assert_eq!(fs::metadata(run).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn a01_no_entry_of_a_zip_leaves_its_folder() {
    for names in [&["../evil"][..], &["/var/tmp/airlock-evil"], &["d -> /var/tmp", "d/airlock-evil"]] {
        let mut bytes = std::io::Cursor::new(Vec::new());
        let mut writer = ZipWriter::new(&mut bytes);
        for name in names {
            match name.split_once(" -> ") {
                Some((name, target)) => writer.add_symlink(name, target, SimpleFileOptions::default()).unwrap(),
                None => writer.start_file(*name, SimpleFileOptions::default()).unwrap(),
            }
        }
        writer.finish().unwrap();
        let (_temporary, result) = work_dir("e.zip", bytes.get_ref());
        assert_eq!(result.unwrap_err().code(), ErrorCode::ArchivePath, "{names:?}");
    }
    assert!(!Path::new("/var/tmp/airlock-evil").exists());
}

#[test]
fn f01_files_are_links_into_the_bundle_and_unknown_archives_are_left_as_they_are() {
    let archive = Member { alias: Some("data".into()), ..member(MemberKind::Archive, "d.tar.bz2") };
    let files = [
        member(MemberKind::File, "a.conf"),
        member(MemberKind::PyFile, "m.py"),
        member(MemberKind::App, "main.py"),
        archive,
    ];
    let jar = member(MemberKind::Jar, "a.jar");
    let bundle = Bundle::new(files.into_iter().chain([jar]).map(|member| (member, b"x".to_vec())).collect());
    let temporary = tempfile::tempdir().unwrap();
    let directory = Directory::claim(temporary.path()).unwrap();
    work_directory::prepare(&directory, &bundle.manifest).unwrap();
    let target = |name: &str| fs::read_link(temporary.path().join("work-dir").join(name)).ok();
    assert_eq!(target("a.conf").as_deref(), Some(Path::new("../bundle/files/a.conf")));
    assert_eq!(target("m.py").as_deref(), Some(Path::new("../bundle/py-files/m.py")));
    assert_eq!(target("main.py").as_deref(), Some(Path::new("../bundle/app/main.py")));
    assert_eq!(target("data").as_deref(), Some(Path::new("../bundle/archives/d.tar.bz2")));
    assert!(!temporary.path().join("work-dir/a.jar").exists());
}

#[test]
fn a02_a_bundle_swapped_for_a_link_is_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let temporary = tempfile::tempdir().unwrap();
    let directory = Directory::claim(temporary.path()).unwrap();
    fs::create_dir(outside.path().join("archives")).unwrap();
    fs::write(outside.path().join("archives/e.tar"), tar(&[("f", FILE, "", b"x")])).unwrap();
    symlink(outside.path(), temporary.path().join("bundle")).unwrap();
    let bundle = Bundle::new(vec![(member(MemberKind::Archive, "e.tar"), b"x".to_vec())]);
    assert!(work_directory::prepare(&directory, &bundle.manifest).is_err());
}
