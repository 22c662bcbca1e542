//! When the authenticated peer last made progress. The idle deadline counts from there, never from the start: a slow
//! upload is no dead one. What happens when it runs out is decided in `life`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The moment of the last progress, and whether the server itself is at work.
#[derive(Debug)]
pub struct Activity {
    last: Mutex<Instant>,
    at_work: AtomicUsize,
}

impl Default for Activity {
    fn default() -> Self {
        Self { last: Mutex::new(Instant::now()), at_work: AtomicUsize::new(0) }
    }
}

impl Activity {
    /// Notes progress: a valid request, or bytes of one. Called only behind the TLS handshake.
    pub fn touch(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// While this is held the server is at work, and the time does not count against the peer.
    pub fn work(&self) -> Work<'_> {
        self.at_work.fetch_add(1, Ordering::SeqCst);
        Work(self)
    }

    /// Returns once nothing has happened for `limit`.
    pub async fn quiet_for(&self, limit: Duration) {
        loop {
            let quiet = self.quiet();
            if quiet >= limit {
                return;
            }
            tokio::time::sleep(limit.saturating_sub(quiet)).await;
        }
    }

    fn quiet(&self) -> Duration {
        if self.at_work.load(Ordering::SeqCst) > 0 {
            return Duration::ZERO;
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }
}

/// See [`Activity::work`].
#[derive(Debug)]
pub struct Work<'a>(&'a Activity);

impl Drop for Work<'_> {
    fn drop(&mut self) {
        // In this order: in between, the time must not count as quiet.
        self.0.touch();
        self.0.at_work.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u09_the_servers_own_work_does_not_count_as_quiet() {
        let activity = Activity::default();
        let work = activity.work();
        *activity.last.lock().unwrap() = Instant::now().checked_sub(Duration::from_secs(9)).unwrap();
        assert_eq!(activity.quiet(), Duration::ZERO);
        drop(work);
        assert!(activity.quiet() < Duration::from_secs(9));
    }

    #[tokio::test]
    async fn c01_quiet_ends_the_wait_and_progress_prolongs_it() {
        let activity = Activity::default();
        let started = Instant::now();
        let limit = Duration::from_millis(60);
        tokio::join!(activity.quiet_for(limit), async {
            tokio::time::sleep(Duration::from_millis(30)).await;
            activity.touch();
        });
        assert!(started.elapsed() >= Duration::from_millis(90));
    }
}
