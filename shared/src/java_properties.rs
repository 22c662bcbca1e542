//! The syntax of `java.util.Properties`, as its documentation of `load(Reader)` states it: the client reads users' files,
//! the driver server writes the driver's. What the keys mean is not known here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

/// A `\u` escape that has no four hex digits: the one thing that Java refuses.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: malformed \\u escape")]
pub struct PropertiesError {
    /// Line of the file, counted from 1, on which the logical line begins.
    pub line: usize,
}

/// Reads `text`. Pairs are in the file's order and may repeat a key: in Java the last one wins. Half of a surrogate pair,
/// which no text of ours can hold, becomes U+FFFD.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, PropertiesError> {
    let mut pairs = Vec::new();
    for (line, logical) in logical_lines(text) {
        let (key, value) = split_pair(&logical);
        let unescaped = (unescape(key), unescape(value));
        let (Some(key), Some(value)) = unescaped else { return Err(PropertiesError { line }) };
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Writes `properties` so that Java reads the same pairs back. Pure ASCII: the reader's charset cannot matter.
#[must_use]
pub fn write(properties: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (key, value) in properties {
        escape(key, true, &mut text);
        text.push('=');
        escape(value, false, &mut text);
        text.push('\n');
    }
    text
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0c')
}

/// Natural lines joined where an odd number of backslashes ends them; comments and blank lines left out.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = natural_lines(text).enumerate().peekable();
    let mut logical = Vec::new();
    'next: while let Some((index, (first, terminator))) = lines.next() {
        let first = first.trim_start_matches(is_blank);
        if first.is_empty() || first.starts_with(['#', '!']) {
            continue;
        }
        let mut line = first.to_owned();
        while line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1 {
            line.pop();
            // Java's reader takes a line that is nothing but a continuation for none at all, so that a comment may follow;
            // only where the text ends right there is it an empty pair.
            if line.is_empty() && (lines.peek().is_some() || terminator == "\r\n") {
                continue 'next;
            }
            let Some((_, (next, _))) = lines.next() else { break };
            line.push_str(next.trim_start_matches(is_blank));
        }
        logical.push((index + 1, line));
    }
    logical
}

/// Lines, each with the LF, CR or CR LF that ends it; nothing ends the last one of a text that does not end so.
fn natural_lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let terminator = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        let next = (end + terminator).min(rest.len());
        let line = (!rest.is_empty()).then(|| (&rest[..end], &rest[end..next]));
        rest = &rest[next..];
        line
    })
}

/// Key and value, still escaped: the key ends at the first `=`, `:` or blank that is not escaped.
fn split_pair(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && (is_blank(c) || matches!(c, '=' | ':'));
        escaped = c == '\\' && !escaped;
        ends
    });
    let Some(end) = end else { return (line, "") };
    let after = line[end..].trim_start_matches(is_blank);
    let value = after.strip_prefix(['=', ':']).unwrap_or(after);
    (&line[..end], value.trim_start_matches(is_blank))
}

fn unescape(text: &str) -> Option<String> {
    let mut utf16 = Vec::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next_if_eq(&'u').is_some() {
            utf16.push(unicode_escape(&mut chars)?);
        } else {
            let c = if c == '\\' { unescape_one(chars.next()) } else { c };
            utf16.extend(c.encode_utf16(&mut [0; 2]).iter());
        }
    }
    Some(String::from_utf16_lossy(&utf16))
}

/// What a backslash and `next` mean together. A backslash at the end never comes here: it joins two lines.
fn unescape_one(next: Option<char>) -> char {
    match next {
        Some('t') => '\t',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('f') => '\x0c',
        Some(other) => other,
        None => '\\',
    }
}

fn unicode_escape(chars: &mut Peekable<Chars<'_>>) -> Option<u16> {
    let digits: String = chars.by_ref().take(4).collect();
    (digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
        .then(|| u16::from_str_radix(&digits, 16).ok())
        .flatten()
}

fn escape(text: &str, is_key: bool, out: &mut String) {
    for (index, c) in text.chars().enumerate() {
        match c {
            ' ' if is_key || index == 0 => out.push_str("\\ "),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\x0c' => out.push_str("\\f"),
            '\\' | '=' | ':' | '#' | '!' => out.extend(['\\', c]),
            ' '..='~' => out.push(c),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04X}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn separators_blanks_and_comments() {
        let text = "# c\n! c\n\n a = b \nc:d\ne f\ng\n\th\t=\ti\\\n   j\r\nk=l=m\r";
        let expected =
            [pair("a", "b "), pair("c", "d"), pair("e", "f"), pair("g", ""), pair("h", "ij"), pair("k", "l=m")];
        assert_eq!(pairs(text), expected);
    }

    #[test]
    fn a_windows_path_in_a_comment_is_only_a_comment() {
        assert_eq!(pairs("# C:\\users\\me\nspark.a=1"), [pair("spark.a", "1")]);
    }

    #[test]
    fn a_malformed_unicode_escape_names_its_line() {
        assert_eq!(parse("a=1\nb=\\u12"), Err(PropertiesError { line: 2 }));
    }

    #[test]
    fn p06_line_ends_in_values_survive() {
        assert_eq!(
            pairs("d1=\\nblah\nd2=blah\\r\nd3=\\ blah\\f"),
            [pair("d1", "\nblah"), pair("d2", "blah\r"), pair("d3", " blah\x0c")]
        );
    }

    proptest! {
        #[test]
        fn p05_what_is_written_reads_back(map in prop::collection::btree_map("\\PC{1,8}|[ =:#!\\\\\n\r\t]{1,4}", "(?s).{0,12}", 0..5)) {
            let read: BTreeMap<_, _> = pairs(&write(&map)).into_iter().collect();
            prop_assert_eq!(read, map);
        }
    }
}
