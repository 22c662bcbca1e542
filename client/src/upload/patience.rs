//! How long an upload is tried when nothing comes of it: counted in attempts that bring it no further, and in time. Both
//! begin anew with every byte that the driver server has more than before.

use std::time::Duration;

use tokio::time::Instant;

/// Attempts in a row that bring the upload no further before it is given up.
const FRUITLESS_ATTEMPTS: u32 = 8;
/// Pause before the second fruitless attempt; doubled for each further one up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What is left of it.
#[derive(Debug)]
pub struct Patience {
    limit: Duration,
    furthest: Option<u64>,
    since: Instant,
    fruitless: u32,
}

impl Patience {
    /// Ends after `limit` without progress.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { limit, furthest: None, since: Instant::now(), fruitless: 0 }
    }

    /// Notes the offset from which the next attempt begins.
    pub fn note(&mut self, offset: u64) {
        if self.furthest.is_none_or(|furthest| offset > furthest) {
            *self = Self { furthest: Some(offset), ..Self::new(self.limit) };
        } else {
            self.fruitless += 1;
        }
    }

    /// Whether another attempt is one too many.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.fruitless >= FRUITLESS_ATTEMPTS || (self.fruitless > 0 && self.since.elapsed() > self.limit)
    }

    /// How long to wait before the next attempt: not at all while the upload moves.
    #[must_use]
    pub fn pause(&self) -> Duration {
        let doublings = self.fruitless.checked_sub(1);
        doublings.map_or(Duration::ZERO, |doublings| (FIRST_PAUSE * 2_u32.saturating_pow(doublings)).min(LONGEST_PAUSE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u05_attempts_that_bring_nothing_are_bounded() {
        let mut patience = Patience::new(Duration::from_hours(1));
        patience.note(0);
        for _ in 0..FRUITLESS_ATTEMPTS {
            assert!(!patience.is_over());
            patience.note(0);
        }
        assert!(patience.is_over());
        assert_eq!(patience.pause(), LONGEST_PAUSE);
    }

    #[test]
    fn u05_progress_gives_all_patience_back() {
        let mut patience = Patience::new(Duration::ZERO);
        for offset in 0..100 {
            patience.note(offset);
            assert!(!patience.is_over());
            assert_eq!(patience.pause(), Duration::ZERO);
        }
    }
}
