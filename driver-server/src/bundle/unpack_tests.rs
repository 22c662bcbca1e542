//! The archive cases: raw bytes against the unpacker.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use proptest::prelude::*;
use shared::error_code::ErrorCode;
use shared::manifest::{Member, MemberKind};
use shared::report::Failure as _;
use tempfile::TempDir;

use crate::bundle::inflate::Inflater;
use crate::bundle::received;
use crate::bundle::staging::{Staging, hex};
use crate::bundle::unpack::Unpacker;
use crate::directory::Directory;
use crate::error::Refusal;
use crate::test_bundle::{Bundle, gzip, member};

/// A receiver of `bundle`, and where it writes.
struct Rig {
    temporary: TempDir,
    directory: Directory,
    unpacker: Unpacker,
}

impl Rig {
    fn new(bundle: &Bundle) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let directory = Directory::claim(temporary.path()).unwrap();
        let staging = Staging::prepare(&directory, &bundle.manifest).unwrap();
        Self { temporary, directory, unpacker: Unpacker::new(&bundle.manifest, staging) }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.temporary.path().join(path)
    }
}

/// What becomes of `tar` under the manifest of `bundle`. Nothing may then lie outside, or under a final name.
fn refused(bundle: &Bundle, tar: &[u8]) -> Refusal {
    let mut rig = Rig::new(bundle);
    let refusal = rig.unpacker.push(tar).and_then(|()| rig.unpacker.verify().map(drop)).unwrap_err();
    rig.directory.empty_staging().unwrap();
    let left: Vec<_> = fs::read_dir(rig.temporary.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["staging"]);
    assert_eq!(fs::read_dir(rig.path("staging")).unwrap().count(), 0);
    refusal
}

/// A header block with a name and type of any kind, and a valid checksum.
fn header(name: &[u8], kind: u8, size: u64) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header.as_bytes().to_vec()
}

fn entry(name: &[u8], kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut entry = header(name, kind, bytes.len() as u64);
    entry.extend(bytes);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

fn one_jar() -> Bundle {
    Bundle::of_jars(&[("a.jar", b"content")])
}

#[test]
fn a01_names_that_are_no_manifest_path_are_refused() {
    let names: [&[u8]; 14] = [
        b"../evil.jar",
        b"jars/../../evil.jar",
        b"..",
        b"/var/evil.jar",
        b"./jars/a.jar",
        b"jars//a.jar",
        b"jars/./a.jar",
        b"jars/a.jar/",
        b"",
        b"jars/a\0b.jar",
        b"jars\\a.jar",
        b"jars/a\xff.jar",
        b"jars/a\n.jar",
        b"jars/",
    ];
    for name in names {
        let refusal = refused(&one_jar(), &entry(name, b'0', b"content"));
        assert_eq!(refusal.code(), ErrorCode::ArchivePath, "{:?}: {refusal}", String::from_utf8_lossy(name));
    }
}

#[test]
fn a02_a_link_is_refused_before_anything_can_go_through_it() {
    let mut link = tar::Header::new_ustar();
    link.as_old_mut().name[..1].copy_from_slice(b"d");
    link.set_entry_type(tar::EntryType::Symlink);
    link.set_link_name("/var/outside").unwrap();
    link.set_size(0);
    link.set_cksum();
    let refusal = refused(&one_jar(), &[link.as_bytes().to_vec(), entry(b"d/evil.jar", b'0', b"x")].concat());
    assert_eq!(refusal.code(), ErrorCode::ArchiveType);
    assert!(refusal.to_string().contains("\"d\" is a symbolic link"), "{refusal}");
}

#[test]
fn a02_a_folder_swapped_for_a_link_leads_nowhere() {
    let outside = tempfile::tempdir().unwrap();
    let bundle = one_jar();
    let mut rig = Rig::new(&bundle);
    fs::rename(rig.path("staging/jars"), rig.path("staging/moved")).unwrap();
    symlink(outside.path(), rig.path("staging/jars")).unwrap();
    rig.unpacker.push(&bundle.tar()).unwrap();
    assert_eq!(rig.unpacker.verify().unwrap_err().code(), ErrorCode::ShortTransfer);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a02_a_file_that_lies_there_already_is_not_written_through() {
    let outside = tempfile::tempdir().unwrap();
    let bundle = one_jar();
    let mut rig = Rig::new(&bundle);
    symlink(outside.path().join("evil.jar"), rig.path("staging/jars/a.jar")).unwrap();
    assert_eq!(rig.unpacker.push(&bundle.tar()).unwrap_err().code(), ErrorCode::Io);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a03_every_difference_from_the_manifest_is_refused_and_named() {
    let bundle = Bundle::of_jars(&[("a.jar", b"aa"), ("b.jar", b"bb")]);
    let jar = |name: &str| entry(format!("jars/{name}").as_bytes(), b'0', b"aa");
    let cases = [
        ("extra, first", [jar("log4j2.xml"), jar("a.jar")].concat(), "jars/log4j2.xml"),
        ("extra, between", [jar("a.jar"), entry(b"log4j2.xml", b'0', b"")].concat(), "log4j2.xml"),
        ("twice", [jar("a.jar"), jar("a.jar")].concat(), "jars/a.jar comes twice"),
        ("other order", jar("b.jar"), "jars/b.jar comes where jars/a.jar should follow"),
        ("missing", [jar("a.jar"), vec![0; 1024]].concat(), "ends where jars/b.jar should follow"),
        ("other size", entry(b"jars/a.jar", b'0', b"aaa"), "3 bytes, and 2 in the manifest"),
        ("other letter case", jar("A.jar"), "jars/A.jar"),
        ("a child of a file", [jar("a.jar"), jar("a.jar/child")].concat(), "jars/a.jar/child"),
        ("sums too early", [jar("a.jar"), entry(b"SHA256SUMS", b'0', b"")].concat(), "SHA256SUMS"),
    ];
    for (what, tar, named) in cases {
        let refusal = refused(&bundle, &tar);
        assert_eq!(refusal.code(), ErrorCode::Manifest, "{what}: {refusal}");
        assert!(refusal.to_string().contains(named), "{what}: {refusal}");
    }
}

#[test]
fn a03_an_entry_after_the_sums_is_refused_and_named() {
    let bundle = one_jar();
    let mut tar = bundle.tar();
    tar.truncate(tar.len() - 1024);
    tar.extend(entry(b"log4j2.xml", b'0', b"x"));
    let refusal = refused(&bundle, &tar);
    assert_eq!(refusal.code(), ErrorCode::Manifest);
    assert!(refusal.to_string().contains("log4j2.xml"), "{refusal}");
}

#[test]
fn a03_another_unicode_form_is_another_name() {
    let bundle = Bundle::of_jars(&[("\u{e9}.jar", b"aa")]);
    let refusal = refused(&bundle, &entry("jars/e\u{301}.jar".as_bytes(), b'0', b"aa"));
    assert_eq!(refusal.code(), ErrorCode::Manifest);
}

#[test]
fn a03_a_long_name_in_a_pax_record_is_compared_too() {
    let long = "n".repeat(200);
    let bundle = Bundle::of_jars(&[(&long, b"aa")]);
    let tar = bundle.tar();
    let at = tar.windows(3).position(|window| window == b"nnn").unwrap();
    for (byte, code) in [(b'm', ErrorCode::Manifest), (b'/', ErrorCode::ArchivePath), (b'\\', ErrorCode::ArchivePath)] {
        let mut spoilt = tar.clone();
        spoilt[at..at + 2].fill(byte);
        assert_eq!(refused(&bundle, &spoilt).code(), code);
    }
    let mut spoilt = tar;
    spoilt[512] = b'9';
    assert_eq!(refused(&bundle, &spoilt).code(), ErrorCode::ArchiveFormat);
}

#[test]
fn a04_a_pax_record_then_a_gnu_long_name_is_refused() {
    let tar = [
        entry(b"PaxHeader", b'x', b"13 size=2048\n"),
        entry(b"././@LongLink", b'L', b"longname.txt\0"),
        entry(b"file_a", b'0', &[b'a'; 16]),
        entry(b"file_b", b'0', &[b'b'; 16]),
    ];
    assert_eq!(refused(&one_jar(), &tar.concat()).code(), ErrorCode::ArchiveFormat);
}

#[test]
fn a04_what_two_readers_may_read_differently_is_refused() {
    let jar = |change: &dyn Fn(&mut [u8])| {
        let mut block = header(b"jars/a.jar", b'0', 7);
        change(&mut block);
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes().copy_from_slice(&block);
        header.set_cksum();
        header.as_bytes().to_vec()
    };
    let mut bad_checksum = header(b"jars/a.jar", b'0', 7);
    bad_checksum[150] ^= 1;
    let cases = [
        ("global PAX", entry(b"pax_global_header", b'g', b"10 a=bcde\n")),
        ("PAX of Sun", entry(b"PaxHeader", b'X', b"10 a=bcde\n")),
        ("GNU long link", entry(b"././@LongLink", b'K', b"x\0")),
        ("bad checksum", bad_checksum),
        ("no tar at all", vec![b'x'; 512]),
        ("base-256 size", jar(&|block| block[124] = 0x80)),
        ("negative size", jar(&|block| block[124..127].copy_from_slice(b"-07"))),
        ("no digits", jar(&|block| block[124..136].fill(0))),
        ("GNU magic", jar(&|block| block[257..265].copy_from_slice(b"ustar  \0"))),
        ("old type letter", jar(&|block| block[156] = 0)),
        ("a link name", jar(&|block| block[157] = b'x')),
        ("bytes at the end", jar(&|block| block[511] = b'x')),
    ];
    for (what, tar) in cases {
        let refusal = refused(&one_jar(), &tar);
        assert_eq!(refusal.code(), ErrorCode::ArchiveFormat, "{what}: {refusal}");
    }
}

#[test]
fn a04_a_prefix_that_names_another_place_is_refused() {
    let mut block = tar::Header::new_ustar();
    let ustar = block.as_ustar_mut().unwrap();
    ustar.name[..10].copy_from_slice(b"jars/a.jar");
    ustar.prefix[..2].copy_from_slice(b"..");
    block.set_size(7);
    block.set_mode(0o644);
    block.set_cksum();
    assert_eq!(refused(&one_jar(), block.as_bytes()).code(), ErrorCode::ArchivePath);
}

#[test]
fn a04_padding_that_is_not_zero_is_refused() {
    let bundle = one_jar();
    let mut tar = bundle.tar();
    tar[512 + 7] = 1;
    assert_eq!(refused(&bundle, &tar).code(), ErrorCode::ArchiveFormat);
}

#[test]
fn a05_a_directory_entry_is_refused() {
    let tar = [header(b"d/", b'5', 0), entry(b"d/a.jar", b'0', b"content")].concat();
    assert_eq!(refused(&one_jar(), &tar).code(), ErrorCode::ArchiveType);
}

#[test]
fn a05_mode_owner_and_time_of_the_sender_count_for_nothing() {
    let bundle = Bundle::new(vec![
        (Member { mode: 0o6755, ..member(MemberKind::App, "run.sh") }, b"#!".to_vec()),
        (Member { mode: 0, ..member(MemberKind::File, "secret") }, b"s".to_vec()),
    ]);
    let mut tar = bundle.tar();
    for start in [0, 1024] {
        let mut block = tar::Header::new_ustar();
        block.as_mut_bytes().copy_from_slice(&tar[start..start + 512]);
        block.set_mode(0o6777);
        block.set_uid(1000);
        block.set_mtime(1_700_000_000);
        block.set_username("mallory").unwrap();
        block.set_cksum();
        tar[start..start + 512].copy_from_slice(block.as_bytes());
    }
    let mut rig = Rig::new(&bundle);
    rig.unpacker.push(&tar).unwrap();
    rig.unpacker.verify().unwrap();
    let mode = |path: &str| fs::metadata(rig.path(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("staging/app/run.sh"), 0o755);
    assert_eq!(mode("staging/files/secret"), 0o400);
    assert_eq!(mode("staging/app"), 0o755);
}

#[test]
fn a06_a_cut_between_two_entries_is_progress_and_no_end() {
    let bundle = Bundle::of_jars(&[("a.jar", b"aa"), ("b.jar", b"bb")]);
    let mut rig = Rig::new(&bundle);
    rig.unpacker.push(&bundle.tar()[..1024]).unwrap();
    assert_eq!(rig.unpacker.offset(), 1024);
    assert_eq!(rig.unpacker.verify().unwrap_err().code(), ErrorCode::Truncated);
    rig.unpacker.push(&bundle.tar()[1024..]).unwrap();
    rig.unpacker.verify().unwrap();
}

#[test]
fn a06_missing_end_blocks_are_no_end() {
    let bundle = one_jar();
    let tar = bundle.tar();
    assert_eq!(refused(&bundle, &tar[..tar.len() - 1]).code(), ErrorCode::Truncated);
}

#[test]
fn a07_every_type_but_the_regular_file_is_refused_and_named() {
    for kind in *b"1234567SVMDNZ!" {
        let refusal = refused(&one_jar(), &entry(b"jars/a.jar", kind, b"content"));
        assert_eq!(refusal.code(), ErrorCode::ArchiveType, "{}: {refusal}", char::from(kind));
        assert!(refusal.to_string().contains("jars/a.jar"), "{refusal}");
    }
}

#[test]
fn a08_a_partial_file_has_no_final_name() {
    let bundle = Bundle::of_jars(&[("a.jar", &[7; 2000])]);
    let mut rig = Rig::new(&bundle);
    rig.unpacker.push(&bundle.tar()[..512 + 700]).unwrap();
    assert!(!rig.path("bundle").exists());
    assert_eq!(fs::metadata(rig.path("staging/jars/a.jar")).unwrap().len(), 700);
    rig.directory.empty_staging().unwrap();
    assert!(!rig.path("staging/jars").exists());
}

#[test]
fn a11_the_first_byte_beyond_the_total_is_refused() {
    let bundle = one_jar();
    let tar = [bundle.tar(), vec![0]].concat();
    assert_eq!(refused(&bundle, &tar).code(), ErrorCode::Manifest);
    assert_eq!(refused(&bundle, &[0; 512]).code(), ErrorCode::Manifest);
}

#[test]
fn u07_a_file_that_lost_its_end_on_disk_is_named() {
    let bundle = Bundle::of_jars(&[("a.jar", &[7; 9000]), ("b.jar", b"b")]);
    let mut rig = Rig::new(&bundle);
    let tar = bundle.tar();
    rig.unpacker.push(&tar[..tar.len() - 1024]).unwrap();
    let lost = fs::OpenOptions::new().write(true).open(rig.path("staging/jars/a.jar")).unwrap();
    lost.set_len(9000 - 4096).unwrap();
    rig.unpacker.push(&tar[tar.len() - 1024..]).unwrap();
    let refusal = rig.unpacker.verify().unwrap_err();
    assert_eq!(refusal.code(), ErrorCode::ShortTransfer);
    assert!(refusal.to_string().contains("jars/a.jar") && refusal.to_string().contains("4904"), "{refusal}");
}

#[test]
fn u08_every_file_whose_digest_differs_is_named() {
    let bundle = Bundle::of_jars(&[("a.jar", b"aa"), ("b.jar", b"bb"), ("c.jar", b"cc")]);
    let mut tar = bundle.tar();
    tar[512] ^= 1;
    tar[512 + 2048] ^= 1;
    let refusal = refused(&bundle, &tar);
    assert_eq!(refusal.code(), ErrorCode::Digest);
    let text = refusal.to_string();
    assert!(text.contains("jars/a.jar, jars/c.jar") && !text.contains("b.jar"), "{text}");
}

#[test]
fn c03_a_full_disk_has_its_own_code() {
    let error = std::io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
    assert_eq!(Refusal::io("x", &error).code(), ErrorCode::DiskFull);
    let error = std::io::Error::from_raw_os_error(rustix::io::Errno::DQUOT.raw_os_error());
    assert_eq!(Refusal::io("x", &error).code(), ErrorCode::DiskFull);
}

#[test]
fn what_is_published_has_the_properties_that_java_reads() {
    let bundle = one_jar();
    let mut rig = Rig::new(&bundle);
    rig.unpacker.push(&bundle.tar()).unwrap();
    let digest = rig.unpacker.verify().unwrap();
    received::publish(&rig.directory, bundle.manifest.launch()).unwrap();
    assert_eq!(hex(&digest), bundle.digest());
    assert!(!rig.path("staging").exists());
    assert_eq!(fs::read(rig.path("bundle/jars/a.jar")).unwrap(), b"content");
    let properties = fs::read_to_string(rig.path("bundle/conf/spark.properties")).unwrap();
    assert_eq!(properties, "spark.app.name=a \\= b\n");
}

#[test]
fn a04_gnu_tar_and_sha256sum_read_what_is_accepted_here() {
    let bundle = Bundle::of_jars(&[("a.jar", &[7; 2000]), (&"n".repeat(250), b"long"), ("empty", b"")]);
    let mut rig = Rig::new(&bundle);
    rig.unpacker.push(&bundle.tar()).unwrap();
    rig.unpacker.verify().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("bundle.tar"), bundle.tar()).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program).args(arguments).current_dir(outside.path()).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let listed = run("tar", &["-tf", "bundle.tar"]);
    let expected: Vec<String> =
        bundle.manifest.members().iter().map(Member::path).chain(["SHA256SUMS".into()]).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
    run("tar", &["-xf", "bundle.tar"]);
    run("sha256sum", &["--check", "--strict", "SHA256SUMS"]);
}

fn read(root: &Path, bundle: &Bundle) -> Vec<Vec<u8>> {
    bundle.manifest.members().iter().map(|member| fs::read(root.join("staging").join(member.path())).unwrap()).collect()
}

prop_compose! {
    fn any_bundle()(
        files in prop::collection::btree_map("[a-z]{1,6}|[a-zé ]{105,125}", prop::collection::vec(any::<u8>(), 0..1500), 0..6),
        kinds in prop::collection::vec(0_usize..4, 6),
    ) -> Bundle {
        let kind = |index: usize| [MemberKind::Jar, MemberKind::File, MemberKind::PyFile, MemberKind::Conf][kinds[index]];
        let files = files.into_iter().enumerate().map(|(index, (name, bytes))| (member(kind(index), &name), bytes));
        Bundle::new(files.collect())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every request is a gzip stream of its own from the stated offset on, cut at any of its bytes.
    #[test]
    fn u08_any_files_cut_anywhere_any_number_of_times_arrive_as_they_are(
        bundle in any_bundle(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 1_usize..700), 0..6),
        chunk in 1_usize..900,
    ) {
        let tar = bundle.tar();
        let mut rig = Rig::new(&bundle);
        for (cut, member_size) in cuts {
            let offset = usize::try_from(rig.unpacker.offset()).unwrap();
            let members: Vec<u8> = tar[offset..].chunks(member_size).flat_map(gzip).collect();
            let mut inflater = Inflater::default();
            let sent = if members.is_empty() { &[][..] } else { &members[..cut.index(members.len())] };
            for part in sent.chunks(chunk) {
                inflater.push(part, |plain| rig.unpacker.push(plain)).unwrap();
            }
        }
        let offset = usize::try_from(rig.unpacker.offset()).unwrap();
        let mut inflater = Inflater::default();
        inflater.push(&gzip(&tar[offset..]), |plain| rig.unpacker.push(plain)).unwrap();
        inflater.finish().unwrap();
        prop_assert_eq!(hex(&rig.unpacker.verify().unwrap()), bundle.digest());
        prop_assert_eq!(read(rig.temporary.path(), &bundle), bundle.files);
    }

    /// Whatever a hostile sender changes in the stream, it is accepted only if no file and no name differs for it.
    #[test]
    fn a03_a_changed_byte_is_refused_or_changes_nothing(
        bundle in any_bundle(),
        at in any::<prop::sample::Index>(),
        mask in 1_u8..,
    ) {
        let mut tar = bundle.tar();
        let at = at.index(tar.len());
        tar[at] ^= mask;
        let mut rig = Rig::new(&bundle);
        let accepted = rig.unpacker.push(&tar).and_then(|()| rig.unpacker.verify());
        // Mode, owner and time are covered by the header's checksum, so no single changed byte passes.
        prop_assert!(accepted.is_err());
    }

    /// The same inside the compression: only what gzip itself ignores may change.
    #[test]
    fn a10_a_changed_byte_on_the_wire_is_refused_or_changes_nothing(
        bundle in any_bundle(),
        at in any::<prop::sample::Index>(),
        mask in 1_u8..,
    ) {
        let mut sent = bundle.gzip();
        let at = at.index(sent.len());
        sent[at] ^= mask;
        let (mut rig, mut inflater) = (Rig::new(&bundle), Inflater::default());
        let pushed = inflater.push(&sent, |plain| rig.unpacker.push(plain));
        if pushed.and_then(|()| inflater.finish()).and_then(|()| rig.unpacker.verify()).is_ok() {
            prop_assert_eq!(read(rig.temporary.path(), &bundle), bundle.files);
        }
    }

    #[test]
    fn a04_no_bytes_whatever_make_it_fall_over(
        bundle in any_bundle(),
        start in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let _ = Inflater::default().push(&bytes, |_| Ok(()));
        let _ = Inflater::default().push(&[&gzip(b"x")[..10], &bytes].concat(), |_| Ok(()));
        let tar = bundle.tar();
        let mut rig = Rig::new(&bundle);
        rig.unpacker.push(&tar[..start.index(tar.len())]).unwrap();
        let _ = rig.unpacker.push(&bytes).and_then(|()| rig.unpacker.push(&bytes));
        let _ = crate::http::manifest_body::parse(&bytes);
    }
}
