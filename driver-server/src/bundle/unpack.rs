//! The bundle as it comes: tar bytes are pushed in, in pieces of any size, and every one of them is either what the
//! manifest calls for at that place or a refusal. It can stop and go on at any byte, since all that it knows (offset,
//! open file, running hash) stays in memory. Decompression comes before it, showing the files comes after it.

use shared::bundle::{BundleLayout, Content, Segment};
use shared::error_code::ErrorCode;
use shared::manifest::{Manifest, Member};

use crate::bundle::staging::{Sha256Digest, StagedFile, Staging};
use crate::bundle::sums::SumsCheck;
use crate::bundle::tar_header::{self, BLOCK_SIZE, Block};
use crate::error::Refusal;

/// A receiver at some byte of the tar stream.
pub struct Unpacker {
    layout: BundleLayout,
    staging: Staging,
    offset: u64,
    /// The bytes that the current fixed segment must have.
    expected: Vec<u8>,
    /// What has come of the current block of a fixed segment.
    block: Block,
    file: Option<StagedFile>,
    digests: Vec<Sha256Digest>,
    sums: SumsCheck,
    sums_digest: Option<Sha256Digest>,
}

impl Unpacker {
    /// A receiver of the bundle of `manifest`, which writes to `staging`.
    #[must_use]
    pub fn new(manifest: &Manifest, staging: Staging) -> Self {
        Self {
            layout: BundleLayout::new(manifest),
            staging,
            offset: 0,
            expected: Vec::new(),
            block: [0; BLOCK_SIZE],
            file: None,
            digests: Vec::new(),
            sums: SumsCheck::default(),
            sums_digest: None,
        }
    }

    /// How many tar bytes have been received, written and hashed.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Length of the whole tar stream.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.layout.total()
    }

    /// Takes the next tar bytes. After a refusal the receiver is of no more use.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), Refusal> {
        while !bytes.is_empty() {
            let Some(segment) = self.layout.segment_at(self.offset) else { return Err(self.beyond_the_end()) };
            let room = usize::try_from(segment.end() - self.offset).unwrap_or(usize::MAX);
            let now = &bytes[..bytes.len().min(room)];
            let taken = match segment.content {
                Content::File(index) => self.take_file(segment, index, now)?,
                Content::Sums => {
                    self.sums.push(self.layout.members(), &self.digests, now);
                    now.len()
                }
                _ => self.take_fixed(segment, now)?,
            };
            self.offset += taken as u64;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// The SHA-256 of `SHA256SUMS`, once the whole stream has come and every file lies on disk with its size.
    pub fn verify(&self) -> Result<Sha256Digest, Refusal> {
        let Some(digest) = self.sums_digest.filter(|_| self.offset == self.total()) else {
            return Err(self.incomplete());
        };
        for member in self.layout.members() {
            self.staging.check(member)?;
        }
        Ok(digest)
    }

    fn incomplete(&self) -> Refusal {
        let detail = format!("the archive is not complete: {} of {} bytes have arrived", self.offset, self.total());
        Refusal::new(ErrorCode::Truncated, detail)
    }

    fn beyond_the_end(&self) -> Refusal {
        let detail = format!("the archive goes on after the {} bytes that the manifest calls for", self.total());
        Refusal::new(ErrorCode::Manifest, detail)
    }

    fn take_file(&mut self, segment: Segment, index: usize, bytes: &[u8]) -> Result<usize, Refusal> {
        let member = &self.layout.members()[index];
        let file = self.file.as_mut().ok_or_else(|| Refusal::bug("file bytes without an open file"))?;
        file.write(member, bytes)?;
        if self.offset + bytes.len() as u64 == segment.end() {
            self.finish_file(index)?;
        }
        Ok(bytes.len())
    }

    /// Takes bytes up to the end of the current block, and checks the block once it is complete.
    fn take_fixed(&mut self, segment: Segment, bytes: &[u8]) -> Result<usize, Refusal> {
        if self.offset == segment.start {
            self.expected = self.layout.fixed_bytes(segment).unwrap_or_default();
        }
        let place = usize::try_from(self.offset - segment.start).unwrap_or(usize::MAX);
        let start = place / self.block.len() * self.block.len();
        let length = self.block.len().min(self.expected.len() - start);
        let take = bytes.len().min(start + length - place);
        self.block[place - start..place - start + take].copy_from_slice(&bytes[..take]);
        if place + take == start + length {
            self.check_block(segment, start, length)?;
        }
        if self.offset + take as u64 == segment.end() {
            self.end_fixed(segment)?;
        }
        Ok(take)
    }

    fn check_block(&self, segment: Segment, start: usize, length: usize) -> Result<(), Refusal> {
        let members = self.layout.members();
        let expected = &self.expected[start..start + length];
        let found = &self.block[..length];
        let (holds, member) = match segment.content {
            // Between PAX header and ustar header lie the PAX records, which are no header.
            Content::Header(index) if start > 0 && start + length < self.expected.len() => {
                let holds = expected == found;
                return if holds { Ok(()) } else { Err(tar_header::diagnose_pax(&members[index], &self.block)) };
            }
            Content::Header(index) => (self.header_matches(expected), index),
            Content::SumsHeader => (self.header_matches(expected), members.len()),
            Content::Padding => {
                let refusal = || Refusal::new(ErrorCode::ArchiveFormat, "the padding behind a file is not zero");
                return if expected == found { Ok(()) } else { Err(refusal()) };
            }
            _ => (expected == found, members.len() + 1),
        };
        if holds { Ok(()) } else { Err(tar_header::diagnose(members, member, &self.block)) }
    }

    fn header_matches(&self, expected: &[u8]) -> bool {
        <&Block>::try_from(expected).is_ok_and(|expected| tar_header::matches(expected, &self.block))
    }

    fn end_fixed(&mut self, segment: Segment) -> Result<(), Refusal> {
        let index = match segment.content {
            Content::Header(index) => index,
            // Here and not behind the text, since a bundle without members has none.
            Content::End => {
                self.sums_digest = Some(std::mem::take(&mut self.sums).finish()?);
                return Ok(());
            }
            _ => return Ok(()),
        };
        let member: &Member = &self.layout.members()[index];
        self.file = Some(self.staging.create(member)?);
        if member.size == 0 { self.finish_file(index) } else { Ok(()) }
    }

    fn finish_file(&mut self, index: usize) -> Result<(), Refusal> {
        let file = self.file.take().ok_or_else(|| Refusal::bug("the end of a file that is not open"))?;
        self.digests.push(file.finish(&self.layout.members()[index])?);
        Ok(())
    }
}
