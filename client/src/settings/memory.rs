//! Memory sizes in whole MiB: read as Spark writes them, printed as Kubernetes reads them. `512m` is 512 MiB to Spark and
//! half a byte to Kubernetes, so no text with a unit ever goes from one to the other. What a size is for is not known here.

use std::fmt;
use std::str::FromStr;

/// The least overhead that Spark adds, unless `spark.driver.minMemoryOverhead` says otherwise.
pub const MIN_OVERHEAD: Memory = Memory(384);

/// A size in whole MiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Memory(u64);

impl Memory {
    /// So many MiB.
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib)
    }

    /// In MiB.
    #[must_use]
    pub const fn mib(self) -> u64 {
        self.0
    }

    /// Memory beyond the heap by upstream's rule: `factor` of it, rounded down, but not less than `least`.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "upstream multiplies in floating point and cuts; sizes are checked to be far below 2^52 MiB"
    )]
    pub fn overhead(self, factor: f64, least: Self) -> Self {
        Self((self.0 as f64 * factor) as u64).max(least)
    }
}

/// As a Kubernetes quantity: `1408Mi`.
impl fmt::Display for Memory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}Mi", self.0)
    }
}

/// Why a text is no memory size.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MemoryError {
    /// No whole number with a unit of Spark's.
    #[error("it must be a whole number with one of the units k, m, g, t, p, as in 512m or 2g (no unit: MiB)")]
    Form,
    /// Less than one MiB.
    #[error("it is less than 1 MiB")]
    TooSmall,
    /// More than any machine has.
    #[error("it is more than 1 EiB")]
    TooLarge,
}

/// Spark's `JavaUtils.byteStringAsMb`: binary units, MiB without one, no fractions; parts of a MiB are cut.
impl FromStr for Memory {
    type Err = MemoryError;

    fn from_str(text: &str) -> Result<Self, MemoryError> {
        const LIMIT: u128 = 1 << 60;
        let text = text.trim().to_ascii_lowercase();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let number: u64 = text[..digits].parse().map_err(|_| MemoryError::Form)?;
        let bytes = u128::from(number) << shift(&text[digits..]).ok_or(MemoryError::Form)?;
        match u64::try_from(bytes >> 20) {
            Ok(0) => Err(MemoryError::TooSmall),
            Ok(mib) if bytes <= LIMIT => Ok(Self(mib)),
            _ => Err(MemoryError::TooLarge),
        }
    }
}

/// The power of two that a unit stands for.
fn shift(unit: &str) -> Option<u32> {
    Some(match unit {
        "b" => 0,
        "k" | "kb" | "ki" | "kib" => 10,
        "" | "m" | "mb" | "mi" | "mib" => 20,
        "g" | "gb" | "gi" | "gib" => 30,
        "t" | "tb" | "ti" | "tib" => 40,
        "p" | "pb" | "pi" | "pib" => 50,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_spark_reads_and_prints_what_kubernetes_reads() {
        let cases = [
            ("512m", "512Mi"),
            ("1g", "1024Mi"),
            ("2048", "2048Mi"),
            ("1048576k", "1024Mi"),
            ("2GB", "2048Mi"),
            ("1Gi", "1024Mi"),
            (" 1t ", "1048576Mi"),
            ("1536k", "1Mi"),
            ("1048576b", "1Mi"),
        ];
        for (text, quantity) in cases {
            assert_eq!(text.parse::<Memory>().unwrap().to_string(), quantity, "{text}");
        }
    }

    #[test]
    fn what_spark_refuses_is_refused() {
        for text in ["", "g", "1.5g", "-1g", "1 g", "1e", "1gg", "0x10m", "١g", "99999999999999999999"] {
            assert_eq!(text.parse::<Memory>(), Err(MemoryError::Form), "{text:?}");
        }
        assert_eq!("0".parse::<Memory>(), Err(MemoryError::TooSmall));
        assert_eq!("1023k".parse::<Memory>(), Err(MemoryError::TooSmall));
        assert_eq!("9999999p".parse::<Memory>(), Err(MemoryError::TooLarge));
    }

    #[test]
    fn overhead_is_a_part_but_not_less_than_the_least() {
        let of = |mib, factor| Memory::from_mib(mib).overhead(factor, MIN_OVERHEAD).mib();
        assert_eq!((of(1024, 0.1), of(8192, 0.1), of(1024, 0.4), of(4097, 0.1)), (384, 819, 409, 409));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,12}") {
            let _ = text.parse::<Memory>();
        }

        #[test]
        fn whole_mib_read_back(mib in 1_u64..1 << 39) {
            prop_assert_eq!(format!("{mib}m").parse(), Ok(Memory::from_mib(mib)));
        }
    }
}
