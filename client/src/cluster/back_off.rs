//! How long to wait before a call is repeated, and when to stop: delays that double up to a cap, with jitter so that
//! many clients do not come back together, never shorter than the server asked for, all within one limit.

use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_millis(100);
const CAP: Duration = Duration::from_secs(10);

/// The patience for one call.
#[derive(Debug)]
pub struct BackOff {
    started: Instant,
    limit: Duration,
    tries: u32,
}

impl BackOff {
    /// Gives up after `limit` in all.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        Self { started: Instant::now(), limit, tries: 0 }
    }

    /// Since the first try.
    #[must_use]
    pub fn spent(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits before the next try, at least `asked`. False, at once, if that would exceed the limit.
    pub async fn pause(&mut self, asked: Option<Duration>) -> bool {
        let delay = self.next_delay(asked);
        let in_time = self.spent() + delay < self.limit;
        if in_time {
            tokio::time::sleep(delay).await;
        }
        in_time
    }

    /// The next delay, for callers that wait themselves and have no limit.
    pub fn next_delay(&mut self, asked: Option<Duration>) -> Duration {
        let doubled = FIRST.saturating_mul(1 << self.tries.min(16)).min(CAP);
        self.tries += 1;
        jittered(doubled).max(asked.map_or(Duration::ZERO, |asked| asked + jittered(FIRST)))
    }

    /// Starts anew after a success.
    pub fn reset(&mut self) {
        *self = Self::new(self.limit);
    }
}

/// Between half of `delay` and all of it.
fn jittered(delay: Duration) -> Duration {
    // Without randomness the delay is merely the same for all.
    let byte = getrandom::u32().unwrap_or(u32::MAX) % 256;
    delay / 2 + delay / 2 * byte / 255
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_the_cap_and_obey_the_server() {
        let mut back_off = BackOff::new(Duration::from_mins(5));
        let delays: Vec<_> = (0..12).map(|_| back_off.next_delay(None)).collect();
        assert!(delays[0] >= FIRST / 2 && delays[0] <= FIRST, "{delays:?}");
        assert!(delays[11] >= CAP / 2 && delays[11] <= CAP, "{delays:?}");
        assert!(back_off.next_delay(Some(Duration::from_secs(20))) >= Duration::from_secs(20));
    }

    #[tokio::test(start_paused = true)]
    async fn k05_a_delay_beyond_the_limit_is_not_waited_for() {
        let mut back_off = BackOff::new(Duration::from_secs(5));
        assert!(back_off.pause(Some(Duration::from_secs(2))).await);
        assert!(!back_off.pause(Some(Duration::from_mins(1))).await);
        assert!(back_off.spent() < Duration::from_secs(3));
    }
}
