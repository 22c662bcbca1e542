//! Rules of the API server for texts inside objects: labels, annotations, names of variables, quantities. Names of objects
//! are in `names`.

use crate::settings::names::ObjectName;

/// Longest value or name part of a label.
const LABEL_LIMIT: usize = 63;
/// Spark writes the application's id there, so a value is checked as it will be.
const APP_ID: (&str, &str) = ("{{APP_ID}}", "spark-00000000000000000000000000000000");

/// A label: `[prefix/]name` and a short value.
pub fn label(name: &str, value: &str) -> Result<(), &'static str> {
    annotation(name, value)?;
    let value = value.replace(APP_ID.0, APP_ID.1).replace("{{EXECUTOR_ID}}", "");
    let fits = value.is_empty() || is_plain_word(&value);
    if fits {
        Ok(())
    } else {
        Err("a label's value has at most 63 letters, digits, '-', '_' or '.', no sign at its ends")
    }
}

/// An annotation: named like a label, the value is free.
pub fn annotation(name: &str, _value: &str) -> Result<(), &'static str> {
    let fits = match name.split_once('/') {
        Some((prefix, name)) => ObjectName::subdomain(prefix).is_ok() && is_plain_word(name),
        None => is_plain_word(name),
    };
    if fits { Ok(()) } else { Err("its name must be [DOMAIN/]NAME of at most 63 letters, digits, '-', '_' or '.'") }
}

fn is_plain_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let edge = |c: char| c.is_ascii_alphanumeric();
    (1..=LABEL_LIMIT).contains(&text.len()) && text.bytes().all(inner) && text.starts_with(edge) && text.ends_with(edge)
}

/// The name of an environment variable, as every version of Kubernetes takes it.
pub fn env_name(name: &str) -> Result<(), &'static str> {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let fits = !name.is_empty() && name.bytes().all(inner) && !name.starts_with(|c: char| c.is_ascii_digit());
    if fits { Ok(()) } else { Err("a variable's name has letters, digits, '_', '-' and '.', no digit first") }
}

/// A number of CPUs: `2`, `0.5`, `500m`.
pub fn cpu_quantity(text: &str) -> Result<String, &'static str> {
    let number = text.strip_suffix('m').unwrap_or(text);
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.len() <= 9 && text.bytes().all(|b| b.is_ascii_digit());
    let is_number = digits(whole) && digits(part) && number.bytes().any(|b| matches!(b, b'1'..=b'9'));
    if is_number { Ok(text.to_owned()) } else { Err("it must be a number of CPUs above 0, as 2, 0.5 or 500m") }
}

/// An amount as Kubernetes writes it: `5Gi`, `500M`, `1.5`.
pub fn quantity(text: &str) -> Result<String, &'static str> {
    const SUFFIXES: [&str; 15] = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi"];
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_number = number.parse::<f64>().is_ok_and(|amount| amount.is_finite() && amount >= 0.0);
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let fits = is_number && is_plain && SUFFIXES.contains(&&text[number.len()..]);
    if fits { Ok(text.to_owned()) } else { Err("has a size that is no quantity, as 500Mi or 5Gi") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_annotations() {
        assert!(label("team", "").is_ok() && label("a.b/c_d", "x-1.y").is_ok() && label("id", "{{APP_ID}}").is_ok());
        for (name, value) in
            [("", "x"), ("a/", "x"), ("/a", "x"), ("A.b/c", "x"), ("a b", "x"), ("a", "x y"), ("a", "-x"), ("a", "π")]
        {
            assert!(label(name, value).is_err(), "{name}={value}");
        }
        assert!(label("a", &"x".repeat(64)).is_err() && label(&"x".repeat(64), "a").is_err());
        assert!(annotation("a/b", "any text, {\"json\": 1}\n").is_ok());
    }

    #[test]
    fn quantities() {
        for good in ["1", "5Gi", "0.5k", "500M"] {
            assert!(quantity(good).is_ok(), "{good}");
        }
        for bad in ["", "Gi", "5gb", "-1", "1e3", "5 Gi", "1Zi", "inf"] {
            assert!(quantity(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn variables_and_cpus() {
        assert!(
            env_name("A_b-c.d").is_ok() && env_name("1A").is_err() && env_name("A=B").is_err() && env_name("").is_err()
        );
        for good in ["1", "0.5", "500m", "1.5", "0.1m"] {
            assert!(cpu_quantity(good).is_ok(), "{good}");
        }
        for bad in ["", "0", "0.0", "-1", "1.", ".5", "1g", "m", "1e3", "+1", "0m"] {
            assert!(cpu_quantity(bad).is_err(), "{bad}");
        }
    }
}
