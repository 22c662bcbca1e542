//! A bounded number of places for connections. When all are taken, the newcomer gets the place of the one that has had
//! it longest: silent peers can take every place, but cannot keep the one who means it out.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The places of one kind of connection.
#[derive(Clone, Debug)]
pub struct Admission {
    limit: usize,
    places: Arc<Mutex<VecDeque<CancellationToken>>>,
}

/// One connection's place, free again when dropped.
#[derive(Debug)]
pub struct Place {
    evicted: CancellationToken,
    admission: Admission,
}

impl Admission {
    /// `limit` places.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, places: Arc::default() }
    }

    /// Takes a place, if need be that of the oldest.
    #[must_use]
    pub fn admit(&self) -> Place {
        let evicted = CancellationToken::new();
        let mut places = self.places();
        if places.len() >= self.limit
            && let Some(oldest) = places.pop_front()
        {
            oldest.cancel();
        }
        places.push_back(evicted.clone());
        Place { evicted, admission: self.clone() }
    }

    fn places(&self) -> MutexGuard<'_, VecDeque<CancellationToken>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Returns once the place has been given to a newcomer.
    pub async fn evicted(&self) {
        self.evicted.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Whoever was evicted is in the list no more; whoever was not is found by its own token.
        if !self.evicted.is_cancelled() {
            self.evicted.cancel();
            self.admission.places().retain(|place| !place.is_cancelled());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u04_the_oldest_makes_room_and_the_freed_place_is_used_first() {
        let admission = Admission::new(2);
        let (first, second) = (admission.admit(), admission.admit());
        let third = admission.admit();
        assert!(first.evicted.is_cancelled() && !second.evicted.is_cancelled());
        drop(second);
        let fourth = admission.admit();
        assert!(!third.evicted.is_cancelled() && !fourth.evicted.is_cancelled());
        drop((first, third, fourth));
        assert!(admission.places().is_empty());
    }
}
