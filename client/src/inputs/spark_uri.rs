//! Names on their way through Spark: how a path in the pod becomes a URI that `spark-submit` reads back as the same path,
//! and which names it would read as something else. `spark-submit` takes list items apart at commas, expands them as
//! Hadoop patterns after decoding them, and puts their decoded fragment back unencoded; the driver hands its executors
//! lists with commas once more. All of this was seen with Spark 4.3, driver and executor.

use std::fmt::Write;

/// What is special to the lists or the pattern, even when it is percent-encoded. A colon makes Hadoop see a scheme.
const SPECIAL: [char; 9] = [',', ':', '*', '?', '[', ']', '{', '}', '\\'];

/// `file://` URI of the absolute `path`, everything but plain letters encoded.
#[must_use]
pub fn file_uri(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// Whether `name` survives as the last part of an item of a list; the reason if not.
pub fn check_list_name(name: &str) -> Result<(), &'static str> {
    if name.contains(SPECIAL) {
        Err("Spark would read one of , : * ? [ ] { } in it as list, URI or pattern")
    } else {
        Ok(())
    }
}

/// Whether `name` survives as the main resource, which is no pattern; the reason if not.
pub fn check_main_name(name: &str) -> Result<(), &'static str> {
    if name.contains(',') { Err("Spark would read the comma in it as a list") } else { Ok(()) }
}

/// Whether `alias` survives as a fragment; the reason if not.
pub fn check_alias(alias: &str) -> Result<(), &'static str> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '~' | '+' | '=' | '@');
    if alias.chars().all(plain) { Ok(()) } else { Err("Spark takes only letters, digits and . - _ ~ + = @ there") }
}

/// `name` with what does not survive replaced by `_`, for jars: they are found by the classpath, not by name.
#[must_use]
pub fn safe_name(name: &str) -> String {
    let safe = |c: char| if SPECIAL.contains(&c) || c.is_control() || matches!(c, '/' | '#' | '%') { '_' } else { c };
    name.chars().map(safe).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f10_every_letter_outside_the_plain_ones_is_encoded() {
        assert_eq!(file_uri("/var/a b#π%.jar"), "file:///var/a%20b%23%CF%80%25.jar");
        assert_eq!(safe_name("a,b[1].jar"), "a_b_1_.jar");
        assert!(check_list_name("a b#'\"π%;=.txt").is_ok() && check_main_name("a[1]:*.jar").is_ok());
        assert!(check_list_name("a,b").is_err() && check_list_name("a:b").is_err() && check_main_name("a,b").is_err());
    }
}
