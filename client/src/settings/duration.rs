//! Lengths of time as Spark writes them (`1s`, `500ms`, `2min`, or a plain number in the key's own unit). What is waited
//! for is not known here.

use std::time::Duration;

/// What a number without a unit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

/// The text is no length of time.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("it must be a whole number above 0 with one of the units ms, s, m, min, h, d, as in 90s (no unit: {unit})")]
pub struct DurationError {
    unit: &'static str,
}

/// Reads `text`; `unit` counts where none is written. Zero is refused: no wait of ours may be without end or begin.
pub fn parse(text: &str, unit: Unit) -> Result<Duration, DurationError> {
    let default = match unit {
        Unit::Milliseconds => "ms",
        Unit::Seconds => "s",
    };
    parse_with(text, default).filter(|time| !time.is_zero()).ok_or(DurationError { unit: default })
}

/// The same, and zero: for a time that the cluster waits, not we.
pub fn parse_or_zero(text: &str, unit: Unit) -> Result<Duration, DurationError> {
    if text.trim() == "0" { Ok(Duration::ZERO) } else { parse(text, unit) }
}

fn parse_with(text: &str, default: &str) -> Option<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let seconds = |each: u64| number.checked_mul(each).filter(|total| *total < LIMIT).map(Duration::from_secs);
    match if digits == text.len() { default } else { &text[digits..] } {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => seconds(1),
        "m" | "min" => seconds(60),
        "h" => seconds(3600),
        "d" => seconds(86_400),
        _ => None,
    }
}

/// A hundred years in seconds: later arithmetic on points in time cannot overflow.
const LIMIT: u64 = 100 * 366 * 86_400;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_spark_reads() {
        let cases = [
            ("1s", 1000),
            ("500ms", 500),
            ("2min", 120_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("1d", 86_400_000),
            (" 10S ", 10_000),
            ("7", 7000),
        ];
        for (text, millis) in cases {
            assert_eq!(parse(text, Unit::Seconds), Ok(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(parse("10000", Unit::Milliseconds), Ok(Duration::from_secs(10)));
    }

    #[test]
    fn other_texts_and_zero_are_refused() {
        for text in ["", "s", "-1s", "1.5s", "1 s", "1w", "0", "0s", "99999999999999999999s", "999999999999d"] {
            assert!(parse(text, Unit::Seconds).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[0-9]{0,20}\\PC{0,4}") {
            let _ = parse(&text, Unit::Seconds);
        }
    }
}
