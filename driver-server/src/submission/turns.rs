//! Whose turn it is to upload: the newest authenticated request's. An older one is told to end, because after a lost
//! connection it is the one that nobody stands behind any more.

use tokio::sync::watch;

/// Numbers the uploads.
#[derive(Debug)]
pub struct Turns(watch::Sender<u64>);

/// One upload's turn.
#[derive(Debug)]
pub struct Turn {
    number: u64,
    newest: watch::Receiver<u64>,
}

impl Default for Turns {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Turns {
    /// Takes the turn away from every earlier upload.
    #[must_use]
    pub fn take(&self) -> Turn {
        let mut number = 0;
        self.0.send_modify(|newest| {
            *newest += 1;
            number = *newest;
        });
        Turn { number, newest: self.0.subscribe() }
    }
}

impl Turn {
    /// Returns once a newer upload has taken the turn.
    pub async fn lost(&mut self) {
        let number = self.number;
        // An error means that the server is going down, which ends the turn as well.
        let _ = self.newest.wait_for(|newest| *newest != number).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    #[test]
    fn u08_only_the_newest_upload_keeps_its_turn() {
        let turns = Turns::default();
        let mut first = turns.take();
        assert!(first.lost().now_or_never().is_none());
        let (mut second, mut third) = (turns.take(), turns.take());
        assert!(first.lost().now_or_never().is_some());
        assert!(second.lost().now_or_never().is_some());
        assert!(third.lost().now_or_never().is_none());
    }
}
