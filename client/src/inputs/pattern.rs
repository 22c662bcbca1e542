//! Patterns in input lists (F02): `*`, `?`, `[…]` within one path component, `{a,b}` anywhere. As in Hadoop, so `*` also
//! matches names that begin with a dot. Matches come sorted: the order never depends on the file system.

use std::io;
use std::path::{Path, PathBuf};

/// Whether `text` could be a pattern.
#[must_use]
pub fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', '{'])
}

/// Each `{a,b}` written out, in order. What has no closing brace stays as it is.
#[must_use]
pub fn expand_braces(text: &str) -> Vec<String> {
    let Some((open, close)) = innermost_braces(text) else { return vec![text.to_owned()] };
    let (before, inside, after) = (&text[..open], &text[open + 1..close], &text[close + 1..]);
    inside.split(',').flat_map(|choice| expand_braces(&format!("{before}{choice}{after}"))).collect()
}

/// The first closing brace and the last opening one before it.
fn innermost_braces(text: &str) -> Option<(usize, usize)> {
    let mut open = None;
    for (index, c) in text.char_indices() {
        match (c, open) {
            ('{', _) => open = Some(index),
            ('}', Some(open)) => return Some((open, index)),
            _ => {}
        }
    }
    None
}

/// Whether a name without `/` fits `pattern`, braces included.
#[must_use]
pub fn fits_name(pattern: &str, name: &str) -> bool {
    let letters = |text: &str| text.chars().collect::<Vec<_>>();
    expand_braces(pattern).iter().any(|pattern| fits(&letters(pattern), &letters(name)))
}

/// The paths that `pattern`, without braces, matches; sorted.
pub fn matches(pattern: &str) -> io::Result<Vec<PathBuf>> {
    let root = if pattern.starts_with('/') { PathBuf::from("/") } else { PathBuf::new() };
    let mut paths = vec![root];
    for component in pattern.split('/').filter(|component| !component.is_empty()) {
        paths = if is_pattern(component) { descend(&paths, component)? } else { join(&paths, component) };
    }
    paths.retain(|path| path.symlink_metadata().is_ok());
    paths.sort();
    Ok(paths)
}

fn join(paths: &[PathBuf], component: &str) -> Vec<PathBuf> {
    paths.iter().map(|path| path.join(component)).collect()
}

fn descend(paths: &[PathBuf], pattern: &str) -> io::Result<Vec<PathBuf>> {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut found = Vec::new();
    for path in paths {
        for name in names_in(path)? {
            if fits(&pattern, &name.to_string_lossy().chars().collect::<Vec<_>>()) {
                found.push(path.join(name));
            }
        }
    }
    Ok(found)
}

fn names_in(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let here = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    match std::fs::read_dir(here) {
        Ok(entries) => entries.map(|entry| entry.map(|entry| entry.file_name())).collect(),
        // Part of the pattern that leads nowhere: no match, which the caller reports.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Whether `name` fits `pattern`, without `/`. On a dead end the last `*` takes one letter more, so time stays the product
/// of both lengths whatever the pattern.
fn fits(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
        } else if let Some(len) = fits_one(&pattern[p..], name[n]) {
            p += len;
            n += 1;
        } else if let Some((after, taken)) = star {
            star = Some((after, taken + 1));
            (p, n) = (after, taken + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// How many letters of the pattern stand for the one letter `c`, if they do.
fn fits_one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => match set_end(pattern) {
            Some(end) => in_set(&pattern[1..end], c).then_some(end + 1),
            None => (c == '[').then_some(1),
        },
        other => (*other == c).then_some(1),
    }
}

/// The index of the `]` that closes a set; a `]` right after the opening is a member.
fn set_end(pattern: &[char]) -> Option<usize> {
    let first = if matches!(pattern.get(1), Some('!' | '^')) { 2 } else { 1 };
    pattern.iter().skip(first + 1).position(|c| *c == ']').map(|index| index + first + 1)
}

fn in_set(set: &[char], c: char) -> bool {
    let (negated, set) = match set {
        ['!' | '^', rest @ ..] => (true, rest),
        _ => (false, set),
    };
    let mut rest = set;
    let mut found = false;
    while let [first, after @ ..] = rest {
        let (last, after) = if let ['-', last, after @ ..] = after { (last, after) } else { (first, after) };
        found |= (*first..=*last).contains(&c);
        rest = after;
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fits_text(pattern: &str, name: &str) -> bool {
        fits(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
    }

    #[test]
    fn f02_one_component() {
        for (pattern, name, expected) in [
            ("*.jar", "a.jar", true),
            ("*.jar", ".jar", true),
            ("*.jar", "a.jar.bak", false),
            ("a?c", "aπc", true),
            ("a[0-9]b", "a5b", true),
            ("a[!0-9]b", "a5b", false),
            ("a[^x]b", "ayb", true),
            ("a[]]b", "a]b", true),
            ("a[b", "a[b", true),
            ("**", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
        ] {
            assert_eq!(fits_text(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn f02_braces_are_written_out_in_order() {
        assert_eq!(expand_braces("l/{b,a}.{jar,zip}"), ["l/b.jar", "l/b.zip", "l/a.jar", "l/a.zip"]);
        assert_eq!(expand_braces("{a,{b,c}}"), ["a", "b", "a", "c"]);
        assert_eq!(expand_braces("a{b"), ["a{b"]);
    }

    #[test]
    fn f02_matches_are_sorted_and_cross_directories() {
        let directory = tempfile::tempdir().unwrap();
        for path in ["b/2.jar", "b/1.jar", "a/9.jar", "a/x.txt"] {
            std::fs::create_dir_all(directory.path().join(path).parent().unwrap()).unwrap();
            std::fs::write(directory.path().join(path), "x").unwrap();
        }
        let found = |pattern: &str| {
            let paths = matches(&format!("{}/{pattern}", directory.path().display())).unwrap();
            paths.iter().map(|p| p.strip_prefix(directory.path()).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("*/*.jar"), ["a/9.jar", "b/1.jar", "b/2.jar"]);
        assert_eq!(found("gone/*.jar"), [""; 0]);
        assert_eq!(found("*/9.jar"), ["a/9.jar"]);
    }

    proptest! {
        #[test]
        fn f02_a_name_fits_itself_and_every_star(name in "[a-z.π]{0,12}", cut in 0_usize..12) {
            prop_assert!(fits_text(&name, &name));
            let chars: Vec<char> = name.chars().collect();
            let head: String = chars.iter().take(cut).collect();
            let pattern = format!("{head}*");
            prop_assert!(fits_text(&pattern, &name));
        }

        #[test]
        fn f02_any_pattern_ends_quickly(pattern in "[a*?\\[\\]!^-]{0,40}", name in "a{0,200}") {
            fits_text(&pattern, &name);
        }
    }
}
