//! The bundle's bytes from any tar offset on: files are opened when their turn comes, read once, and hashed in that same
//! pass. What has been hashed stays hashed over reconnects, so that resuming reads nothing twice but what must be sent
//! again. Compressing and sending are others' work.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use shared::bundle::{BundleLayout, Content, Segment};
use shared::error_code::ErrorCode;
use shared::manifest::Manifest;

use crate::error::SubmitError;
use crate::inputs::inspected_input::InspectedInput;
use crate::upload::buffers::{Buffer, Buffers};
use crate::upload::compress::{Encoding, encoding_for};

/// Bytes of one piece: large enough that a piece's overhead vanishes, small enough that a dozen in flight are nothing.
const PIECE: usize = 256 * 1024;
/// Files smaller than this share a piece with their neighbours, whatever they hold.
const OWN_PIECE: u64 = 64 * 1024;
/// Bytes looked at to choose the encoding.
const HEAD: usize = 16 * 1024;

/// A run of tar bytes that is compressed as one.
#[derive(Debug)]
pub struct Piece {
    /// The bytes.
    pub bytes: Buffer,
    /// How they go into gzip.
    pub encoding: Encoding,
}

/// The local inputs as one tar stream.
pub struct BundleSource {
    layout: BundleLayout,
    inputs: Vec<InspectedInput>,
    digests: Mutex<Vec<MemberDigest>>,
    buffers: Buffers,
}

/// What is known of a member's SHA-256.
enum MemberDigest {
    Hashing { hasher: Box<Sha256>, hashed: u64 },
    Done(String),
}

impl MemberDigest {
    fn begin(size: u64) -> Self {
        // An empty file has no bytes in the stream, so nothing would ever end it.
        if size == 0 {
            Self::Done(hex(&Sha256::digest(b"")))
        } else {
            Self::Hashing { hasher: Box::new(Sha256::new()), hashed: 0 }
        }
    }
}

impl BundleSource {
    /// The bundle of `manifest`, whose members are `inputs` in the same order.
    #[must_use]
    pub fn new(manifest: &Manifest, inputs: Vec<InspectedInput>) -> Self {
        let digests = inputs.iter().map(|input| MemberDigest::begin(input.member.size)).collect();
        Self { layout: BundleLayout::new(manifest), inputs, digests: Mutex::new(digests), buffers: Buffers::default() }
    }

    /// Length of the tar stream in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.layout.total()
    }

    /// The SHA-256 of the `SHA256SUMS` text; none before every member has been read to its end.
    #[must_use]
    pub fn digest(&self) -> Option<String> {
        self.sums().map(|text| hex(&Sha256::digest(text)))
    }

    /// Reads from tar byte `offset` to the end and hands each piece to `sink`; ends early, without an error, when the
    /// sink answers that nobody wants more. Blocks on the disk.
    pub fn read(&self, offset: u64, sink: &mut dyn FnMut(Piece) -> bool) -> Result<(), SubmitError> {
        let mut pieces = Pieces::new(&self.buffers, sink);
        let mut at = offset;
        while let Some(segment) = self.layout.segment_at(at) {
            let skip = at - segment.start;
            match segment.content {
                Content::File(index) => self.read_file(index, segment, skip, &mut pieces)?,
                _ => pieces.append(&self.small_segment(segment)?[usize::try_from(skip).unwrap_or(usize::MAX)..]),
            }
            if !pieces.wanted {
                return Ok(());
            }
            at = segment.end();
        }
        pieces.flush();
        Ok(())
    }

    fn small_segment(&self, segment: Segment) -> Result<Vec<u8>, SubmitError> {
        let known = self.layout.fixed_bytes(segment);
        known
            .or_else(|| self.sums().map(String::into_bytes))
            .ok_or_else(|| SubmitError::bug("the bundle's sums were asked for before all files had been read"))
    }

    fn sums(&self) -> Option<String> {
        let digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        let done = |digest: &MemberDigest| match digest {
            MemberDigest::Done(hex) => Some(hex.clone()),
            MemberDigest::Hashing { .. } => None,
        };
        let done: Option<Vec<_>> = digests.iter().map(done).collect();
        Some(self.layout.sums_text(done?.iter().map(String::as_str)))
    }

    fn read_file(&self, index: usize, segment: Segment, skip: u64, pieces: &mut Pieces<'_>) -> Result<(), SubmitError> {
        let input = &self.inputs[index];
        let mut file = input.reopen()?;
        if segment.len >= OWN_PIECE {
            pieces.switch(file_encoding(&mut file, input)?);
        }
        file.seek(SeekFrom::Start(skip)).map_err(|error| unreadable(input, error))?;
        let mut at = skip;
        while at < segment.len && pieces.wanted {
            let space = pieces.space();
            let wanted = usize::try_from(segment.len - at).map_or(space.len(), |left| left.min(space.len()));
            let read = read_some(&mut file, &mut space[..wanted]).map_err(|error| unreadable(input, error))?;
            if read == 0 {
                return Err(input.changed("it became shorter while it was read"));
            }
            self.hash(index, at, &space[..read]);
            pieces.filled(read);
            at += read as u64;
        }
        if at == segment.len {
            input.check_unchanged(&file)?;
            self.finish(index);
        }
        Ok(())
    }

    /// Hashes the part of `bytes`, which begin at `at` in the file, that has not been hashed before.
    fn hash(&self, index: usize, at: u64, bytes: &[u8]) {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let MemberDigest::Hashing { hasher, hashed } = &mut digests[index] {
            let known = usize::try_from(*hashed - at.min(*hashed)).unwrap_or(usize::MAX).min(bytes.len());
            hasher.update(&bytes[known..]);
            *hashed = (*hashed).max(at + bytes.len() as u64);
        }
    }

    fn finish(&self, index: usize) {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        if let MemberDigest::Hashing { hasher, .. } = &digests[index] {
            digests[index] = MemberDigest::Done(hex(&hasher.as_ref().clone().finalize()));
        }
    }
}

/// Fills `space` as far as the file goes on; 0 only at its end.
fn read_some(file: &mut File, space: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < space.len() {
        match file.read(&mut space[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn file_encoding(file: &mut File, input: &InspectedInput) -> Result<Encoding, SubmitError> {
    let mut head = vec![0; HEAD];
    file.seek(SeekFrom::Start(0)).map_err(|error| unreadable(input, error))?;
    let read = read_some(file, &mut head).map_err(|error| unreadable(input, error))?;
    Ok(encoding_for(&head[..read]))
}

fn unreadable(input: &InspectedInput, error: std::io::Error) -> SubmitError {
    SubmitError::new(ErrorCode::InputUnreadable, format!("cannot read {}", input.path.display())).because(error)
}

/// Lower-case hex.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A buffer of a piece's length.
fn empty(buffers: &Buffers) -> Buffer {
    let mut buffer = buffers.take();
    buffer.resize(PIECE, 0);
    buffer
}

/// Pieces under construction.
struct Pieces<'a> {
    buffers: &'a Buffers,
    buffer: Buffer,
    len: usize,
    encoding: Encoding,
    sink: &'a mut dyn FnMut(Piece) -> bool,
    wanted: bool,
}

impl<'a> Pieces<'a> {
    fn new(buffers: &'a Buffers, sink: &'a mut dyn FnMut(Piece) -> bool) -> Self {
        Self { buffers, buffer: empty(buffers), len: 0, encoding: Encoding::Deflated, sink, wanted: true }
    }

    fn append(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.wanted {
            let space = self.space();
            let len = bytes.len().min(space.len());
            space[..len].copy_from_slice(&bytes[..len]);
            self.filled(len);
            bytes = &bytes[len..];
        }
    }

    /// Room for the next bytes, never empty; [`Self::filled`] says how many of them came.
    fn space(&mut self) -> &mut [u8] {
        &mut self.buffer[self.len..]
    }

    fn filled(&mut self, len: usize) {
        self.len += len;
        if self.len == PIECE {
            self.flush();
        }
    }

    fn switch(&mut self, encoding: Encoding) {
        if encoding != self.encoding {
            self.flush();
            self.encoding = encoding;
        }
    }

    fn flush(&mut self) {
        if self.len > 0 && self.wanted {
            let mut bytes = std::mem::replace(&mut self.buffer, empty(self.buffers));
            bytes.truncate(self.len);
            self.len = 0;
            self.wanted = (self.sink)(Piece { bytes, encoding: self.encoding });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared::manifest::{Launch, MemberKind};
    use std::collections::BTreeMap;
    use std::io::Write;

    fn manifest(inputs: &[InspectedInput]) -> Manifest {
        let launch = Launch {
            main_class: "M".into(),
            resource: "spark-internal".into(),
            arguments: vec![],
            properties: BTreeMap::new(),
            options: vec![],
        };
        Manifest::new(inputs.iter().map(|input| input.member.clone()).collect(), launch).unwrap()
    }

    fn input(folder: &std::path::Path, name: &str, bytes: &[u8]) -> InspectedInput {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        InspectedInput::open(MemberKind::Jar, name.to_owned(), None, path).unwrap()
    }

    fn source(inputs: Vec<InspectedInput>) -> BundleSource {
        BundleSource::new(&manifest(&inputs), inputs)
    }

    fn read_all(source: &BundleSource, offset: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        source
            .read(offset, &mut |piece| {
                bytes.extend_from_slice(&piece.bytes);
                true
            })
            .unwrap();
        bytes
    }

    #[test]
    fn the_stream_is_a_tar_with_sums_that_hold() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = vec![input(folder.path(), "a.jar", b"PK\x03\x04 a"), input(folder.path(), "empty", b"")];
        let source = source(inputs);
        let bytes = read_all(&source, 0);
        assert_eq!(bytes.len() as u64, source.total());
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut entries = archive.entries().unwrap();
        let mut first = Vec::new();
        entries.next().unwrap().unwrap().read_to_end(&mut first).unwrap();
        assert_eq!(first, b"PK\x03\x04 a");
        let mut sums = String::new();
        entries.nth(1).unwrap().unwrap().read_to_string(&mut sums).unwrap();
        assert!(sums.contains("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  jars/empty\n"));
        assert_eq!(source.digest(), Some(hex(&Sha256::digest(sums))));
    }

    #[test]
    fn f07_a_file_that_grows_is_named_after_its_first_size_was_sent() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = vec![input(folder.path(), "dep.jar", b"1234567")];
        let source = source(inputs);
        let mut file = std::fs::OpenOptions::new().append(true).open(folder.path().join("dep.jar")).unwrap();
        file.write_all(b"8").unwrap();
        let error = source.read(0, &mut |_| true).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InputChanged);
        assert!(error.to_string().contains("dep.jar"), "{error}");
    }

    #[test]
    fn f07_a_file_that_shrinks_or_is_replaced_is_named() {
        let folder = tempfile::tempdir().unwrap();
        for change in [&b"123"[..], &b"7654321"[..]] {
            let inputs = vec![input(folder.path(), "dep.jar", b"1234567")];
            let source = source(inputs);
            std::fs::remove_file(folder.path().join("dep.jar")).unwrap();
            std::fs::write(folder.path().join("dep.jar"), change).unwrap();
            assert_eq!(source.read(0, &mut |_| true).unwrap_err().code(), ErrorCode::InputChanged);
        }
    }

    #[test]
    fn u01_a_sparse_file_of_nine_gib_has_offsets_beyond_32_bits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("big.bin");
        std::fs::File::create(&path).unwrap().set_len(9 << 30).unwrap();
        let inputs = vec![InspectedInput::open(MemberKind::File, "big.bin".into(), None, path).unwrap()];
        let source = source(inputs);
        let mut first = None;
        let sink = &mut |piece: Piece| {
            first = Some(piece.bytes.len());
            false
        };
        source.read((9 << 30) - 1024, sink).unwrap();
        assert!(first.is_some());
        assert!(source.total() > 9 << 30);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn u08_any_offset_gives_the_rest_of_the_same_stream(sizes in prop::collection::vec(0_usize..200_000, 1..4), cut in any::<prop::sample::Index>()) {
            let folder = tempfile::tempdir().unwrap();
            let inputs: Vec<_> = sizes
                .iter()
                .enumerate()
                .map(|(i, size)| input(folder.path(), &format!("{i}.jar"), &vec![u8::try_from(i).unwrap(); *size]))
                .collect();
            let source = source(inputs);
            let whole = read_all(&source, 0);
            let offset = cut.index(whole.len());
            prop_assert_eq!(&read_all(&source, offset as u64)[..], &whole[offset..]);
        }
    }
}
