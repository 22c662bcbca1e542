//! What one item of an input list means: a path here, a path in the image, or a remote URI (F03, F04). Only the text is
//! looked at; `inspect` opens the files.
//!
//! | scheme | main resource, jars, files, py-files, archives |
//! |---|---|
//! | none, or one letter (`C:\…`) | a path on this machine, sent |
//! | `file:/…`, `file:///…`, `file://localhost/…` | the same, percent-decoded |
//! | `local:` | a path in the image, passed on |
//! | `http https ftp s3a hdfs gs abfs …` | remote, passed on |
//! | any other | refused |

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use shared::error_code::ErrorCode;
use shared::manifest::{MemberKind, check_name};

use super::spark_uri;
use crate::error::SubmitError;
use crate::settings::{InputPlace, InputReference};

/// What upstream calls a main resource that is no file: the class lies in the image.
pub const NO_RESOURCE: &str = "spark-internal";

/// Schemes that Spark or Hadoop reads itself.
const REMOTE_SCHEMES: [&str; 23] = [
    "http", "https", "ftp", "hdfs", "webhdfs", "swebhdfs", "viewfs", "har", "s3", "s3a", "s3n", "gs", "abfs", "abfss",
    "wasb", "wasbs", "adl", "oss", "obs", "cosn", "ofs", "o3fs", "alluxio",
];

/// How messages call a kind of input.
#[must_use]
pub const fn kind_word(kind: MemberKind) -> &'static str {
    match kind {
        MemberKind::App => "main resource",
        MemberKind::Jar => "jar",
        MemberKind::File => "file",
        MemberKind::PyFile => "py-file",
        MemberKind::Archive => "archive",
        MemberKind::Conf => "conf file",
    }
}

/// The items of a comma list: trimmed, empty ones left out (P07). A comma inside closed braces belongs to a pattern (F02).
#[must_use]
pub fn split_list(list: &str) -> Vec<&str> {
    let (mut items, mut start, mut open) = (Vec::new(), 0, false);
    for (index, c) in list.char_indices() {
        match c {
            '{' => open = list[index..].contains('}'),
            '}' => open = false,
            ',' if !open => {
                items.push(&list[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items.into_iter().map(str::trim).filter(|item| !item.is_empty()).collect()
}

/// Reads `text` as an input of `kind`.
pub fn parse(kind: MemberKind, text: &str) -> Result<InputReference, SubmitError> {
    if kind == MemberKind::App && text == NO_RESOURCE {
        return Ok(reference(kind, text, InputPlace::Elsewhere(text.to_owned()), None));
    }
    let (target, alias) = split_alias(kind, text)?;
    let place = place(kind, text, target)?;
    Ok(reference(kind, text, place, alias))
}

fn reference(kind: MemberKind, text: &str, place: InputPlace, alias: Option<String>) -> InputReference {
    InputReference { kind, text: text.to_owned(), place, alias }
}

/// At the last `#`, for the kinds that users find by name. A jar or main resource has no alias, so there it is a letter.
fn split_alias(kind: MemberKind, text: &str) -> Result<(&str, Option<String>), SubmitError> {
    let has_alias = matches!(kind, MemberKind::File | MemberKind::PyFile | MemberKind::Archive);
    match text.rsplit_once('#') {
        Some((target, alias)) if has_alias => {
            check_alias(alias).map_err(|reason| bad_alias(kind, text, &reason))?;
            Ok((target, Some(alias.to_owned())))
        }
        _ => Ok((text, None)),
    }
}

fn check_alias(alias: &str) -> Result<(), String> {
    check_name(alias).map_err(|error| error.to_string())?;
    spark_uri::check_alias(alias).map_err(ToOwned::to_owned)
}

fn bad_alias(kind: MemberKind, text: &str, reason: &str) -> SubmitError {
    SubmitError::new(ErrorCode::Usage, format!("{} {text:?}: bad name after '#': {reason}", kind_word(kind)))
        .hint("write path#name; a '#' that belongs to the path is %23 in a file: URI")
}

fn place(kind: MemberKind, text: &str, target: &str) -> Result<InputPlace, SubmitError> {
    let Some((scheme, rest)) = scheme(target) else { return Ok(InputPlace::Here(target.into())) };
    let scheme = scheme.to_ascii_lowercase();
    if scheme == "file" {
        return file_uri(rest).map(InputPlace::Here).map_err(|reason| refuse(kind, text, reason));
    }
    if scheme != "local" && !REMOTE_SCHEMES.contains(&scheme.as_str()) {
        let reason = format!("scheme {scheme}: is not one that can be used");
        return Err(refuse(kind, text, &reason).hint(format!("a file of that name is written ./{target}")));
    }
    // A comma or blank would break the list that Spark reads.
    if target.contains([',', ' ']) {
        return Err(refuse(kind, text, "a URI has no blanks or commas; write %20 and %2C"));
    }
    Ok(InputPlace::Elsewhere(format!("{scheme}:{rest}")))
}

fn refuse(kind: MemberKind, text: &str, reason: &str) -> SubmitError {
    SubmitError::new(ErrorCode::Scheme, format!("{} {text:?}: {reason}", kind_word(kind)))
        .hint("here: PATH or file:///PATH; in the image: local:///PATH; remote: https, s3a, hdfs, gs, abfs, …")
}

/// Scheme and rest, where the text has one. One letter is a drive of Windows on every system (F03).
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
    let is_scheme =
        scheme.len() > 1 && scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(letters);
    is_scheme.then_some((scheme, rest))
}

fn file_uri(rest: &str) -> Result<PathBuf, &'static str> {
    let path = match rest.strip_prefix("//") {
        Some(authority) => authority.strip_prefix("localhost").unwrap_or(authority),
        None => rest,
    };
    if !path.starts_with('/') {
        return Err("a file: URI names no host and has an absolute path, as file:///PATH");
    }
    decode(path).map(|bytes| OsString::from_vec(bytes).into())
}

/// Percent-decoding.
fn decode(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.next().zip(rest.next()).and_then(|(high, low)| Some(hex(high)? * 16 + hex(low)?));
        match digits {
            None => return Err("a '%' in a file: URI begins two hex digits; a real '%' is %25"),
            Some(0) => return Err("%00 is in no path"),
            Some(byte) => bytes.push(byte),
        }
    }
    Ok(bytes)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
#[path = "reference_tests.rs"]
mod tests;
