//! The header of one gzip member (RFC 1952), parsed byte by byte so that it may be cut anywhere. Nothing in it has a
//! meaning for us; it is read only to find where the compressed data begin. `inflate` decides what a refusal is called.

use crc32fast::Hasher;

const FHCRC: u8 = 1 << 1;
const FEXTRA: u8 = 1 << 2;
const FNAME: u8 = 1 << 3;
const FCOMMENT: u8 = 1 << 4;
const RESERVED: u8 = 0b1110_0000;
const DEFLATE: u8 = 8;
/// Longest header in bytes that is read: a full extra field, and 64 KiB for name and comment.
const HEADER_LIMIT: u32 = 128 * 1024;

/// What the next byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    /// Byte of the fixed part: magic, method, flags, time, extra flags, system.
    Fixed(u8),
    ExtraLength(u8),
    Extra,
    Name,
    Comment,
    HeaderCrc(u8),
    Done,
}

/// Why bytes are no gzip header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeaderFault {
    /// Not the magic, not deflate, or reserved flags.
    NotGzip,
    /// Its own checksum does not hold.
    Crc,
    /// Longer than any header needs to be.
    TooLong,
}

/// A parser at some byte of a header.
pub(crate) struct GzipHeader {
    field: Field,
    flags: u8,
    extra: u16,
    stated_crc: u16,
    length: u32,
    hasher: Hasher,
}

impl GzipHeader {
    pub(crate) fn new() -> Self {
        Self { field: Field::Fixed(0), flags: 0, extra: 0, stated_crc: 0, length: 0, hasher: Hasher::new() }
    }

    /// Whether no byte has come yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Takes the header's bytes off the front of `input`; true once it is complete.
    pub(crate) fn push(&mut self, input: &mut &[u8]) -> Result<bool, HeaderFault> {
        while self.field != Field::Done
            && let Some((&byte, rest)) = input.split_first()
        {
            *input = rest;
            self.length += 1;
            if self.length > HEADER_LIMIT {
                return Err(HeaderFault::TooLong);
            }
            self.take(byte)?;
        }
        Ok(self.field == Field::Done)
    }

    fn take(&mut self, byte: u8) -> Result<(), HeaderFault> {
        if let Field::HeaderCrc(index) = self.field {
            return self.take_header_crc(index, byte);
        }
        self.hasher.update(&[byte]);
        self.field = match self.field {
            Field::Fixed(index) => self.take_fixed(index, byte)?,
            Field::ExtraLength(0) => {
                self.extra = u16::from(byte);
                Field::ExtraLength(1)
            }
            Field::ExtraLength(_) => {
                self.extra |= u16::from(byte) << 8;
                if self.extra > 0 { Field::Extra } else { self.after_extra() }
            }
            Field::Extra => {
                self.extra -= 1;
                if self.extra > 0 { Field::Extra } else { self.after_extra() }
            }
            Field::Name if byte == 0 => self.after_name(),
            Field::Comment if byte == 0 => self.after_comment(),
            same => same,
        };
        Ok(())
    }

    fn take_fixed(&mut self, index: u8, byte: u8) -> Result<Field, HeaderFault> {
        let allowed = match index {
            0 => byte == 0x1f,
            1 => byte == 0x8b,
            2 => byte == DEFLATE,
            3 => byte & RESERVED == 0,
            _ => true,
        };
        if !allowed {
            return Err(HeaderFault::NotGzip);
        }
        if index == 3 {
            self.flags = byte;
        }
        Ok(match index {
            9 if self.has(FEXTRA) => Field::ExtraLength(0),
            9 => self.after_extra(),
            _ => Field::Fixed(index + 1),
        })
    }

    fn take_header_crc(&mut self, index: u8, byte: u8) -> Result<(), HeaderFault> {
        self.stated_crc |= u16::from(byte) << (8 * index);
        self.field = if index == 0 { Field::HeaderCrc(1) } else { Field::Done };
        let own = self.hasher.clone().finalize() & 0xffff;
        let holds = self.field != Field::Done || own == u32::from(self.stated_crc);
        if holds { Ok(()) } else { Err(HeaderFault::Crc) }
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn after_extra(&self) -> Field {
        if self.has(FNAME) { Field::Name } else { self.after_name() }
    }

    fn after_name(&self) -> Field {
        if self.has(FCOMMENT) { Field::Comment } else { self.after_comment() }
    }

    fn after_comment(&self) -> Field {
        if self.has(FHCRC) { Field::HeaderCrc(0) } else { Field::Done }
    }
}
