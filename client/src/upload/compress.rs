//! gzip for the wire: one member a piece, so that pieces are made on several cores and any `gzip -d` reads them back. A
//! dense piece (the inside of a jar, zip or gzip file) is stored, since deflating it again costs a core fifty times the
//! time and saves a few per cent; the rest is deflated. Which bytes form a piece is decided by `bundle_source`.

use std::sync::{Arc, Mutex, PoisonError};

use flate2::{Compress, Compression, FlushCompress, Status};

use crate::upload::buffers::{Buffer, Buffers};

/// Level for what is not dense: within 5 % of level 6 in size at twice its speed.
const LEVEL: u32 = 3;
/// Most bytes that one stored block of deflate holds: its length is a 16-bit number.
const STORED_BLOCK: usize = 65_535;
/// gzip header without optional fields (RFC 1952): magic, deflate, no flags, no time, no hint, unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
/// Files of these kinds have been compressed already. Of each: the first bytes.
const DENSE_MAGIC: &[&[u8]] = &[
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\xfd7zXZ\0",
    b"BZh",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
];
/// Above this many bits a byte (of 8), deflate finds nothing to remove.
const DENSE_ENTROPY: f64 = 7.5;
/// Fewest bytes whose entropy says anything.
const ENTROPY_SAMPLE: usize = 4096;

/// How a piece is put into gzip. A zip-aware encoding, which deflates only a jar's directory, has its place here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is, in stored blocks.
    Stored,
    /// Deflated.
    Deflated,
}

/// The encoding for a file that begins with `head`, decided by its bytes and never by its name.
#[must_use]
pub fn encoding_for(head: &[u8]) -> Encoding {
    let known = DENSE_MAGIC.iter().any(|magic| head.starts_with(magic));
    if known || (head.len() >= ENTROPY_SAMPLE && entropy(head) > DENSE_ENTROPY) {
        Encoding::Stored
    } else {
        Encoding::Deflated
    }
}

/// Order-0 entropy in bits a byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / total);
    shares.map(|share| -share * share.log2()).sum()
}

/// Turns pieces into gzip members. Clones share their compressors, which are costly to make.
#[derive(Clone, Default)]
pub struct Encoder {
    idle: Arc<Mutex<Vec<Compress>>>,
    buffers: Buffers,
}

impl Encoder {
    /// One whole gzip member that holds `piece`.
    #[must_use]
    pub fn member(&self, piece: &[u8], encoding: Encoding) -> Buffer {
        let mut member = self.buffers.take();
        member.clear();
        member.reserve(piece.len() + piece.len() / 1000 + 64);
        member.extend(HEADER);
        match encoding {
            Encoding::Stored => store(piece, &mut member),
            Encoding::Deflated => self.deflate(piece, &mut member),
        }
        member.extend(crc32fast::hash(piece).to_le_bytes());
        // RFC 1952: the size modulo 2^32.
        #[expect(clippy::cast_possible_truncation, reason = "modulo is what the format asks for")]
        member.extend((piece.len() as u32).to_le_bytes());
        member
    }

    fn deflate(&self, piece: &[u8], member: &mut Vec<u8>) {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut compress = idle.unwrap_or_else(|| Compress::new(Compression::new(LEVEL), false));
        compress.reset();
        let mut read = 0;
        loop {
            member.reserve(16 * 1024);
            let status = compress.compress_vec(&piece[read..], member, FlushCompress::Finish);
            read = usize::try_from(compress.total_in()).unwrap_or(usize::MAX).min(piece.len());
            if matches!(status, Ok(Status::StreamEnd) | Err(_)) {
                break;
            }
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(compress);
    }
}

fn store(piece: &[u8], member: &mut Vec<u8>) {
    let blocks = piece.chunks(STORED_BLOCK);
    let last = blocks.len().saturating_sub(1);
    for (index, block) in blocks.enumerate() {
        let len = u16::try_from(block.len()).unwrap_or(u16::MAX);
        member.push(u8::from(index == last));
        member.extend(len.to_le_bytes());
        member.extend((!len).to_le_bytes());
        member.extend(block);
    }
    if piece.is_empty() {
        member.extend([1, 0, 0, 0xff, 0xff]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    fn decoded(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut out).unwrap();
        out
    }

    proptest! {
        #[test]
        fn a09_members_in_a_row_decode_to_all_pieces(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..5), stored in any::<bool>()) {
            let encoder = Encoder::default();
            let encoding = if stored { Encoding::Stored } else { Encoding::Deflated };
            let wire: Vec<u8> = pieces.iter().flat_map(|piece| encoder.member(piece, encoding).to_vec()).collect();
            prop_assert_eq!(decoded(&wire), pieces.concat());
        }
    }

    #[test]
    fn a_piece_of_many_stored_blocks_decodes() {
        let piece: Vec<u8> = (0..STORED_BLOCK * 3 + 7).map(|i| u8::try_from(i % 251).unwrap()).collect();
        let member = Encoder::default().member(&piece, Encoding::Stored);
        assert_eq!(decoded(&member), piece);
        assert!(member.len() < piece.len() + 64);
    }

    #[test]
    fn text_shrinks() {
        let piece = b"spark.executor.instances=2\n".repeat(1000);
        assert!(Encoder::default().member(&piece, Encoding::Deflated).len() < piece.len() / 10);
    }

    #[test]
    fn jars_are_stored_and_text_is_deflated_whatever_they_are_called() {
        assert_eq!(encoding_for(b"PK\x03\x04rest"), Encoding::Stored);
        assert_eq!(encoding_for(&b"import sys\n".repeat(1000)), Encoding::Deflated);
        assert_eq!(encoding_for(b""), Encoding::Deflated);
    }

    #[test]
    fn random_bytes_of_no_known_kind_are_stored() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(16 * 1024)
        .collect();
        assert_eq!(encoding_for(&noise), Encoding::Stored);
    }
}
