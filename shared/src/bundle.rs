//! The bundle as a tar stream that is a pure function of the manifest: which byte of it is a header, which belongs to
//! which file. The client can therefore begin at any offset, and the driver server knows each header before it comes.
//! Reading files, compressing and writing to disk are the two sides' own matters.
//!
//! The format is POSIX ustar. A member whose path is longer than 100 bytes or whose size needs more than 11 octal digits
//! is preceded by one PAX record; GNU extensions never occur, since archives that mix both are read differently by
//! different tools.

use crate::manifest::{Manifest, Member, SUMS_NAME};

/// Size of a tar block in bytes.
pub const BLOCK: u64 = 512;
/// Largest size in bytes that the ustar field holds: 11 octal digits.
const USTAR_SIZE_LIMIT: u64 = (1 << 33) - 1;
/// Longest path in bytes that the ustar field holds.
const USTAR_PATH_LIMIT: usize = 100;
/// Hex digits of a SHA-256, and the two blanks that `sha256sum` puts after it.
const SUMS_LINE_PREFIX: usize = 64 + 2;

/// What a run of bytes in the tar stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The header blocks of the member with this index.
    Header(usize),
    /// The bytes of the member with this index.
    File(usize),
    /// The header block of `SHA256SUMS`.
    SumsHeader,
    /// The text of `SHA256SUMS`, over all members.
    Sums,
    /// Zero bytes up to the next block.
    Padding,
    /// The two zero blocks that end an archive.
    End,
}

/// A run of bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First tar byte.
    pub start: u64,
    /// Length in bytes, never 0.
    pub len: u64,
    /// What it is.
    pub content: Content,
}

impl Segment {
    /// The tar byte after the last one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.len
    }
}

/// Every byte's place in the tar stream.
#[derive(Clone, Debug)]
pub struct BundleLayout {
    members: Vec<Member>,
    segments: Vec<Segment>,
    sums_len: u64,
}

impl BundleLayout {
    /// Lays `manifest` out.
    #[must_use]
    pub fn new(manifest: &Manifest) -> Self {
        let members = manifest.members().to_vec();
        let sums_len = members.iter().map(|member| (SUMS_LINE_PREFIX + member.path().len() + 1) as u64).sum();
        let mut segments = Segments::default();
        for (index, member) in members.iter().enumerate() {
            segments.push(member_header(member).len() as u64, Content::Header(index));
            segments.push(member.size, Content::File(index));
            segments.pad();
        }
        segments.push(BLOCK, Content::SumsHeader);
        segments.push(sums_len, Content::Sums);
        segments.pad();
        segments.push(2 * BLOCK, Content::End);
        Self { members, segments: segments.list, sums_len }
    }

    /// Length of the whole tar stream in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.segments.last().map_or(0, Segment::end)
    }

    /// The members, in order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The segment that holds tar byte `offset`; none at or after the end.
    #[must_use]
    pub fn segment_at(&self, offset: u64) -> Option<Segment> {
        let index = self.segments.partition_point(|segment| segment.end() <= offset);
        self.segments.get(index).copied()
    }

    /// The bytes of a segment that is the same whatever the files hold; none for file contents and `SHA256SUMS`.
    #[must_use]
    pub fn fixed_bytes(&self, segment: Segment) -> Option<Vec<u8>> {
        match segment.content {
            Content::Header(index) => Some(member_header(&self.members[index])),
            Content::SumsHeader => Some(header_block(SUMS_NAME.as_bytes(), self.sums_len, 0o644, b'0')),
            Content::Padding | Content::End => Some(vec![0; usize::try_from(segment.len).unwrap_or(usize::MAX)]),
            Content::File(_) | Content::Sums => None,
        }
    }

    /// The text of `SHA256SUMS`, as `sha256sum -c` reads it, from one lower-case hex digest a member.
    #[must_use]
    pub fn sums_text<'a>(&self, digests: impl IntoIterator<Item = &'a str>) -> String {
        let mut text = String::new();
        for (member, digest) in self.members.iter().zip(digests) {
            text.extend([digest, "  ", &member.path(), "\n"]);
        }
        text
    }
}

#[derive(Default)]
struct Segments {
    list: Vec<Segment>,
    end: u64,
}

impl Segments {
    fn push(&mut self, len: u64, content: Content) {
        if len > 0 {
            self.list.push(Segment { start: self.end, len, content });
            self.end += len;
        }
    }

    fn pad(&mut self) {
        self.push(self.end.next_multiple_of(BLOCK) - self.end, Content::Padding);
    }
}

/// Header of `member`: one block, or PAX header, PAX records and block.
fn member_header(member: &Member) -> Vec<u8> {
    let path = member.path();
    let mut records = Vec::new();
    if path.len() > USTAR_PATH_LIMIT {
        records.extend(pax_record("path", &path));
    }
    if member.size > USTAR_SIZE_LIMIT {
        records.extend(pax_record("size", &member.size.to_string()));
    }
    let short_path = &path.as_bytes()[..path.len().min(USTAR_PATH_LIMIT)];
    let size_field = if member.size > USTAR_SIZE_LIMIT { 0 } else { member.size };
    let block = header_block(short_path, size_field, member.file_mode(), b'0');
    if records.is_empty() {
        return block;
    }
    let mut header = header_block(b"PaxHeader", records.len() as u64, 0o644, b'x');
    header.extend(&records);
    header.resize(header.len().next_multiple_of(512), 0);
    header.extend(block);
    header
}

fn header_block(path: &[u8], size: u64, mode: u32, kind: u8) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    if let Some(ustar) = header.as_ustar_mut() {
        // Written directly: the library's own setter would split a path between two fields.
        ustar.name[..path.len()].copy_from_slice(path);
    }
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_cksum();
    header.as_bytes().to_vec()
}

/// One record of POSIX `pax`: its own length in decimal, a blank, `key=value`, a newline.
fn pax_record(key: &str, value: &str) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut len = rest;
    while len.to_string().len() + rest != len {
        len = len.to_string().len() + rest;
    }
    format!("{len} {key}={value}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Launch, MemberKind};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn manifest(members: Vec<Member>) -> Manifest {
        let launch = Launch {
            main_class: "M".into(),
            resource: "spark-internal".into(),
            arguments: vec![],
            properties: BTreeMap::new(),
            options: vec![],
        };
        Manifest::new(members, launch).unwrap()
    }

    fn jar(name: &str, size: u64) -> Member {
        Member { kind: MemberKind::Jar, name: name.into(), size, mode: 0o644, alias: None }
    }

    /// The whole stream with file bytes all `x`, as a tar reader sees it.
    fn stream(layout: &BundleLayout) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some(segment) = layout.segment_at(bytes.len() as u64) {
            assert_eq!(segment.start, bytes.len() as u64);
            let filler = || vec![b'x'; usize::try_from(segment.len).unwrap()];
            bytes.extend(layout.fixed_bytes(segment).unwrap_or_else(filler));
        }
        bytes
    }

    #[test]
    fn a_tar_reader_finds_every_member_and_the_sums_last() {
        let long = "n".repeat(251) + ".jar";
        let layout = BundleLayout::new(&manifest(vec![jar("a.jar", 700), jar("empty", 0), jar(&long, 512)]));
        let bytes = stream(&layout);
        assert_eq!(bytes.len() as u64, layout.total());
        let mut archive = tar::Archive::new(bytes.as_slice());
        let found: Vec<_> = archive
            .entries()
            .unwrap()
            .map(|entry| entry.map(|entry| (entry.path().unwrap().display().to_string(), entry.size())).unwrap())
            .collect();
        let sums = layout.sums_text(["0".repeat(64).as_str(); 3]).len() as u64;
        let expected = [("jars/a.jar".to_owned(), 700), ("jars/empty".to_owned(), 0), (format!("jars/{long}"), 512)];
        assert_eq!(found[..3], expected);
        assert_eq!(found[3], (SUMS_NAME.to_owned(), sums));
    }

    #[test]
    fn u01_sizes_beyond_the_octal_field_are_in_a_pax_record() {
        for size in [USTAR_SIZE_LIMIT, USTAR_SIZE_LIMIT + 1, 9 << 30, 1 << 40] {
            let layout = BundleLayout::new(&manifest(vec![jar("big.bin", size)]));
            let header = layout.fixed_bytes(layout.segment_at(0).unwrap()).unwrap();
            let mut archive = tar::Archive::new(header.as_slice());
            let entry = archive.entries().unwrap().next().unwrap().unwrap();
            assert_eq!(entry.size(), size);
            assert!(layout.total() > size);
        }
    }

    proptest! {
        #[test]
        fn every_offset_belongs_to_the_segment_that_holds_it(sizes in prop::collection::vec(0_u64..2000, 0..6)) {
            let members = sizes.iter().enumerate().map(|(i, size)| jar(&format!("{i}.jar"), *size)).collect();
            let layout = BundleLayout::new(&manifest(members));
            for offset in 0..layout.total() {
                let segment = layout.segment_at(offset).unwrap();
                prop_assert!(segment.start <= offset && offset < segment.end());
            }
            prop_assert_eq!(layout.segment_at(layout.total()), None);
        }

        #[test]
        fn f10_pax_records_state_their_own_length(value in "[a-z]{1,300}") {
            let record = pax_record("path", &value);
            let text = String::from_utf8(record.clone()).unwrap();
            prop_assert_eq!(text.split(' ').next().unwrap().parse::<usize>().unwrap(), record.len());
        }
    }
}
