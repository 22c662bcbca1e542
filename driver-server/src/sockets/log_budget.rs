//! Log lines that strangers can cause, bounded: the first few as they come, then one for each doubling of their number.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::info;

/// How many are logged one by one.
const FIRST: u64 = 8;
/// Longest text in characters that is logged of what a stranger caused.
const SHOWN: usize = 200;

/// Counts what would be logged.
#[derive(Debug, Default)]
pub struct LogBudget(AtomicU64);

impl LogBudget {
    /// Logs `what` with its cause, if its number is due.
    pub fn info(&self, what: &str, cause: &dyn Display) {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        if is_due(count) {
            let cause: String = cause.to_string().chars().take(SHOWN).collect();
            info!(count, "{what}: {cause:?}");
        }
    }
}

const fn is_due(count: u64) -> bool {
    count <= FIRST || count.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u04_a_million_failures_are_few_lines() {
        assert_eq!((1..=1_000_000).filter(|count| is_due(*count)).count(), 24);
    }
}
