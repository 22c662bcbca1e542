//! gzip, decoded as it comes: compressed chunks are pushed in, plain slices go out to a sink through one fixed buffer.
//! Members are framed here and not by a library, because libraries differ in what they let pass: a second member, a cut
//! end, bytes behind the end. What the plain bytes are is the sink's matter.

use crc32fast::Hasher;
use flate2::{Decompress, FlushDecompress, Status};
use shared::error_code::ErrorCode;

use crate::bundle::gzip_header::{GzipHeader, HeaderFault};
use crate::error::Refusal;

/// Size in bytes of the buffer that plain bytes go through, so also the most that is decoded past a refusal.
const BUFFER: usize = 128 * 1024;
/// Size in bytes of a member's trailer: CRC-32 and length, both little-endian.
const TRAILER: usize = 8;

enum State {
    Header(Box<GzipHeader>),
    Data,
    Trailer { bytes: [u8; TRAILER], len: usize },
}

/// A decoder somewhere in a gzip stream of any number of members.
pub struct Inflater {
    state: State,
    members: u64,
    decompress: Decompress,
    crc: Hasher,
    buffer: Box<[u8]>,
}

impl Default for Inflater {
    fn default() -> Self {
        Self {
            state: State::Header(Box::new(GzipHeader::new())),
            members: 0,
            decompress: Decompress::new(false),
            crc: Hasher::new(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
        }
    }
}

impl Inflater {
    /// Decodes `input`, handing what it yields to `sink`. After an error the decoder is of no more use.
    pub fn push<F>(&mut self, mut input: &[u8], mut sink: F) -> Result<(), Refusal>
    where
        F: FnMut(&[u8]) -> Result<(), Refusal>,
    {
        while !input.is_empty() {
            match &mut self.state {
                State::Header(header) => match header.push(&mut input) {
                    Ok(true) => self.state = State::Data,
                    Ok(false) => {}
                    Err(fault) => return Err(self.header_refusal(fault)),
                },
                State::Data => self.inflate(&mut input, &mut sink)?,
                State::Trailer { bytes, len } => {
                    let take = input.len().min(TRAILER - *len);
                    bytes[*len..*len + take].copy_from_slice(&input[..take]);
                    *len += take;
                    input = &input[take..];
                    if *len == TRAILER {
                        let bytes = *bytes;
                        self.end_member(bytes)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Says whether the stream may end here: only behind a complete member.
    pub fn finish(&self) -> Result<(), Refusal> {
        match &self.state {
            State::Header(header) if header.is_empty() && self.members > 0 => Ok(()),
            _ => Err(Refusal::new(ErrorCode::Truncated, "the request has ended, but the gzip stream in it has not")),
        }
    }

    /// Decodes until `input` is used up and nothing more comes out of it, or until the member's data end.
    fn inflate<F>(&mut self, input: &mut &[u8], sink: &mut F) -> Result<(), Refusal>
    where
        F: FnMut(&[u8]) -> Result<(), Refusal>,
    {
        loop {
            let (in_before, out_before) = (self.decompress.total_in(), self.decompress.total_out());
            let result = self.decompress.decompress(input, &mut self.buffer, FlushDecompress::None);
            let status = result.map_err(|_| Refusal::new(ErrorCode::Crc, "the compressed data are damaged"))?;
            let read = usize::try_from(self.decompress.total_in() - in_before).unwrap_or(usize::MAX);
            let written = usize::try_from(self.decompress.total_out() - out_before).unwrap_or(usize::MAX);
            *input = &input[read..];
            let plain = &self.buffer[..written];
            self.crc.update(plain);
            if written > 0 {
                sink(plain)?;
            }
            if status == Status::StreamEnd {
                self.state = State::Trailer { bytes: [0; TRAILER], len: 0 };
                return Ok(());
            }
            // A full buffer may hide more plain bytes of what has been read already.
            if input.is_empty() && written < self.buffer.len() {
                return Ok(());
            }
            if read == 0 && written == 0 {
                return Err(Refusal::new(ErrorCode::Crc, "the compressed data lead nowhere"));
            }
        }
    }

    fn end_member(&mut self, trailer: [u8; TRAILER]) -> Result<(), Refusal> {
        let [c0, c1, c2, c3, l0, l1, l2, l3] = trailer;
        let own_crc = std::mem::take(&mut self.crc).finalize();
        if u32::from_le_bytes([c0, c1, c2, c3]) != own_crc {
            return Err(Refusal::new(ErrorCode::Crc, "the CRC-32 of a gzip member does not hold"));
        }
        // The field holds the length modulo 2^32.
        if u64::from(u32::from_le_bytes([l0, l1, l2, l3])) != self.decompress.total_out() & 0xffff_ffff {
            return Err(Refusal::new(ErrorCode::Crc, "the length field of a gzip member does not hold"));
        }
        self.members += 1;
        self.decompress.reset(false);
        self.state = State::Header(Box::new(GzipHeader::new()));
        Ok(())
    }

    fn header_refusal(&self, fault: HeaderFault) -> Refusal {
        match fault {
            HeaderFault::Crc => Refusal::new(ErrorCode::Crc, "the CRC of a gzip header does not hold"),
            HeaderFault::TooLong => Refusal::new(ErrorCode::ArchiveFormat, "a gzip header is longer than 128 KiB"),
            HeaderFault::NotGzip if self.members == 0 => Refusal::new(ErrorCode::ArchiveFormat, "the body is not gzip"),
            HeaderFault::NotGzip => {
                Refusal::new(ErrorCode::TrailingData, "bytes that are no gzip follow the end of the gzip stream")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use flate2::{Compression, GzBuilder};
    use proptest::prelude::*;
    use shared::report::Failure as _;
    use std::io::Write;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).unwrap();
        encoder.finish().unwrap()
    }

    fn decode(stream: &[u8], chunk: usize) -> Result<Vec<u8>, Refusal> {
        let (mut inflater, mut plain) = (Inflater::default(), Vec::new());
        for part in stream.chunks(chunk.max(1)) {
            inflater.push(part, |bytes| {
                plain.extend_from_slice(bytes);
                Ok(())
            })?;
        }
        inflater.finish().map(|()| plain)
    }

    fn code(stream: &[u8]) -> ErrorCode {
        decode(stream, 7).unwrap_err().code()
    }

    #[test]
    fn a09_all_members_are_read_empty_ones_too() {
        let stream = [gzip(b""), gzip(b"foo"), gzip(b""), gzip(b"bar")].concat();
        for chunk in [1, 2, 19, 20, 1000] {
            assert_eq!(decode(&stream, chunk).unwrap(), b"foobar");
        }
    }

    #[test]
    fn a09_optional_header_fields_are_skipped() {
        let builder = GzBuilder::new().filename("bundle.tar").comment("none").extra(vec![7; 300]).mtime(1);
        let mut encoder = builder.write(Vec::new(), Compression::fast());
        encoder.write_all(b"foo").unwrap();
        let stream = encoder.finish().unwrap();
        for chunk in [1, 11, 500] {
            assert_eq!(decode(&stream, chunk).unwrap(), b"foo");
        }
    }

    /// A header with FHCRC, which no library of ours writes.
    fn with_header_crc(plain: &[u8], spoil: u8) -> Vec<u8> {
        let mut header = gzip(plain)[..10].to_vec();
        header[3] |= 2;
        let crc = crc32fast::hash(&header);
        header.extend([crc.to_le_bytes()[0] ^ spoil, crc.to_le_bytes()[1]]);
        header.extend(&gzip(plain)[10..]);
        header
    }

    #[test]
    fn a10_the_crc_of_a_header_counts() {
        assert_eq!(decode(&with_header_crc(b"foo", 0), 3).unwrap(), b"foo");
        assert_eq!(code(&with_header_crc(b"foo", 1)), ErrorCode::Crc);
    }

    #[test]
    fn a10_a_cut_at_any_length_is_refused() {
        let stream = [gzip(b"foo"), gzip(&[7; 3000])].concat();
        let border = gzip(b"foo").len();
        for cut in (0..stream.len()).filter(|cut| *cut != border) {
            assert_eq!(code(&stream[..cut]), ErrorCode::Truncated, "cut at {cut}");
        }
    }

    #[test]
    fn a10_a_wrong_crc_a_wrong_length_and_damaged_data_are_refused() {
        let stream = gzip(&[7; 3000]);
        for back in 1..=8 {
            let mut spoilt = stream.clone();
            *spoilt.iter_mut().nth_back(back - 1).unwrap() ^= 1;
            assert_eq!(code(&spoilt), ErrorCode::Crc);
        }
        let mut spoilt = stream;
        spoilt[10] = 0x07; // The reserved block type.
        assert_eq!(code(&spoilt), ErrorCode::Crc);
    }

    #[test]
    fn a12_bytes_after_the_stream_are_refused() {
        for trailing in [vec![0; 512], b"x".to_vec(), vec![0x1f, 0x00], vec![0x1f, 0x8b, 0x07]] {
            assert_eq!(code(&[gzip(b"foo"), trailing].concat()), ErrorCode::TrailingData);
        }
    }

    #[test]
    fn a_body_that_is_no_gzip_is_refused() {
        assert_eq!(code(b"PK\x03\x04"), ErrorCode::ArchiveFormat);
        assert_eq!(code(&[0; 512]), ErrorCode::ArchiveFormat);
    }

    #[test]
    fn a11_a_refusal_of_the_sink_ends_the_decoding_within_one_buffer() {
        let stream = gzip(&vec![0; 4 << 20]);
        let mut decoded = 0;
        let result = Inflater::default().push(&stream, |bytes| {
            decoded += bytes.len();
            Err(Refusal::bug("stop"))
        });
        assert!(result.is_err() && decoded <= BUFFER);
    }

    #[test]
    fn a09_gzip_of_the_system_writes_what_is_read_here() {
        let mut child = std::process::Command::new("gzip")
            .args(["-9", "-c"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let plain: Vec<u8> = (0..400_000_u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
        let mut stdin = child.stdin.take().unwrap();
        let copy = plain.clone();
        let writer = std::thread::spawn(move || stdin.write_all(&copy));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        assert!(decode(&output.stdout, 4096).unwrap() == plain);
    }

    proptest! {
        #[test]
        fn a09_any_bytes_in_any_members_and_chunks_come_back(
            parts in prop::collection::vec(prop::collection::vec(0_u8..4, 0..3000), 1..5),
            level in 0_u32..=9,
            chunk in 1_usize..600,
        ) {
            let mut stream = Vec::new();
            for part in &parts {
                let mut encoder = GzEncoder::new(&mut stream, Compression::new(level));
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap();
            }
            prop_assert_eq!(decode(&stream, chunk).unwrap(), parts.concat());
        }
    }
}
