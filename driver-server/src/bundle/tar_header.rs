//! Compares a tar header with the one that must come, and says precisely what is wrong with another one: format, type,
//! name, or a difference from the manifest. A header is never obeyed, so nothing here needs to be lenient.

use std::ops::Range;

use shared::bundle::BLOCK;
use shared::error_code::ErrorCode;
use shared::manifest::{Member, SUMS_NAME};

use crate::error::Refusal;

/// One tar block.
pub(crate) type Block = [u8; BLOCK_SIZE];

/// [`BLOCK`], as lengths in memory are counted.
pub(crate) const BLOCK_SIZE: usize = 512;
const _: () = assert!(BLOCK_SIZE as u64 == BLOCK);

const NAME: Range<usize> = 0..100;
const SIZE: Range<usize> = 124..136;
const CHECKSUM: Range<usize> = 148..156;
const TYPE: usize = 156;
const MAGIC: Range<usize> = 257..263;
const PREFIX: Range<usize> = 345..500;
/// Mode, uid and gid; mtime; uname and gname: what senders say of these is taken for nothing.
const IGNORED: [Range<usize>; 3] = [100..124, 136..148, 265..329];

/// Whether `found` is `expected` but for mode, owner and time, and its checksum holds.
pub(crate) fn matches(expected: &Block, found: &Block) -> bool {
    let mut adapted = *expected;
    for field in IGNORED.into_iter().chain([CHECKSUM]) {
        adapted[field.clone()].copy_from_slice(&found[field]);
    }
    adapted == *found && stated_checksum(found) == Some(checksum(found))
}

/// Why `found` is not the header of the member with index `expected`; one index further is `SHA256SUMS`, then the end.
pub(crate) fn diagnose(members: &[Member], expected: usize, found: &Block) -> Refusal {
    let awaited = match members.get(expected) {
        Some(member) => member.path(),
        None if expected == members.len() => SUMS_NAME.to_owned(),
        None => "the end of the archive".to_owned(),
    };
    let format = |what: &str| Refusal::new(ErrorCode::ArchiveFormat, format!("where {awaited} should follow: {what}"));
    if found.iter().all(|byte| *byte == 0) {
        return Refusal::new(ErrorCode::Manifest, format!("the archive ends where {awaited} should follow"));
    }
    if stated_checksum(found) != Some(checksum(found)) {
        return format("no tar header, or one whose checksum does not hold");
    }
    let name = entry_name(found);
    match found[TYPE] {
        b'0' | 0 => {}
        b'x' | b'g' | b'X' => return format("a PAX extension that the manifest does not call for"),
        b'L' | b'K' => return format("a GNU extension for long names, which is not used here"),
        other => return refused_type(&name, other),
    }
    if let Err(reason) = checked_path(&name) {
        let shown = String::from_utf8_lossy(&name);
        return Refusal::new(ErrorCode::ArchivePath, format!("entry {shown:?} {reason}"));
    }
    let name = String::from_utf8_lossy(&name);
    if name != awaited {
        return refused_name(members, expected, &name, &awaited);
    }
    match (octal(&found[SIZE]), members.get(expected)) {
        (None, _) => format("a size that is no plain octal number"),
        (Some(size), Some(member)) if size != member.size => {
            let detail = format!("entry {name} has {size} bytes, and {} in the manifest", member.size);
            Refusal::new(ErrorCode::Manifest, detail)
        }
        _ if found[MAGIC] != *b"ustar\0" => format("a header that is not POSIX ustar"),
        _ => format("a header that is not in the agreed form"),
    }
}

/// Why the records of a PAX header are not the ones that the member's path and size call for.
pub(crate) fn diagnose_pax(member: &Member, found: &Block) -> Refusal {
    let text = String::from_utf8_lossy(found);
    let value = |key: &str| text.split_once(key).and_then(|(_, rest)| rest.split('\n').next()).map(str::to_owned);
    let path = member.path();
    match value(" path=") {
        Some(name) if name != path => match checked_path(name.as_bytes()) {
            Err(reason) => Refusal::new(ErrorCode::ArchivePath, format!("entry {name:?} {reason}")),
            Ok(()) => Refusal::new(ErrorCode::Manifest, format!("entry {name} comes where {path} should follow")),
        },
        _ => Refusal::new(ErrorCode::ArchiveFormat, format!("the PAX records of {path} are not in the agreed form")),
    }
}

fn refused_type(name: &[u8], kind: u8) -> Refusal {
    let kind = match kind {
        b'1' => "a hard link".to_owned(),
        b'2' => "a symbolic link".to_owned(),
        b'3' => "a character device".to_owned(),
        b'4' => "a block device".to_owned(),
        b'5' => "a directory".to_owned(),
        b'6' => "a FIFO".to_owned(),
        b'7' => "a contiguous file".to_owned(),
        b'S' => "a sparse file".to_owned(),
        b'V' => "a volume name".to_owned(),
        other => format!("of unknown type {:?}", char::from(other)),
    };
    let name = String::from_utf8_lossy(name);
    Refusal::new(ErrorCode::ArchiveType, format!("entry {name:?} is {kind}; only regular files are accepted"))
}

fn refused_name(members: &[Member], expected: usize, name: &str, awaited: &str) -> Refusal {
    let place = members.iter().position(|member| member.path() == name);
    let detail = match place {
        Some(place) if place < expected => format!("entry {name} comes twice"),
        Some(_) => format!("entry {name} comes where {awaited} should follow"),
        None if expected >= members.len() => format!("entry {name} comes after all entries of the manifest"),
        None => format!("entry {name} is not in the manifest, or not here; {awaited} should follow"),
    };
    Refusal::new(ErrorCode::Manifest, detail)
}

/// The name of an entry: prefix and name joined, up to the last byte that is not NUL.
fn entry_name(block: &Block) -> Vec<u8> {
    let trimmed = |field: Range<usize>| {
        let bytes = &block[field];
        let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes[..end].to_vec()
    };
    let (prefix, name) = (trimmed(PREFIX), trimmed(NAME));
    // Only POSIX ustar has a prefix there; GNU keeps times in the same place.
    if prefix.is_empty() || block[MAGIC] != *b"ustar\0" { name } else { [prefix, vec![b'/'], name].concat() }
}

/// Whether `name` could be letter for letter a path of some manifest.
fn checked_path(name: &[u8]) -> Result<(), &'static str> {
    let Ok(text) = std::str::from_utf8(name) else { return Err("has a name that is not UTF-8") };
    if text.is_empty() {
        Err("has no name")
    } else if text.starts_with('/') {
        Err("has an absolute path")
    } else if text.ends_with('/') {
        Err("ends in a slash")
    } else if text.contains('\\') {
        Err("has a backslash in its name")
    } else if text.chars().any(char::is_control) {
        Err("has a NUL or control character in its name")
    } else {
        let bad = |part: &str| matches!(part, "" | "." | "..");
        if text.split('/').any(bad) { Err("has a path that is not in its plain form") } else { Ok(()) }
    }
}

/// The sum over all bytes, with the checksum field itself taken as blanks.
fn checksum(block: &Block) -> u32 {
    let blanks = u32::from(b' ') * 8;
    let field: u32 = block[CHECKSUM].iter().map(|byte| u32::from(*byte)).sum();
    block.iter().map(|byte| u32::from(*byte)).sum::<u32>() - field + blanks
}

fn stated_checksum(block: &Block) -> Option<u32> {
    octal(&block[CHECKSUM]).and_then(|sum| u32::try_from(sum).ok())
}

/// A number as tar fields hold it: octal digits, then NUL or blank. Base-256, signs and anything else are no number.
fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let digits = text.trim_start_matches(' ').trim_end_matches(['\0', ' ']);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    if plain { u64::from_str_radix(digits, 8).ok() } else { None }
}
