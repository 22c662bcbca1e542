//! Carries the body of an upload from its connection to a blocking thread, through a bounded channel. It ends when the
//! body does, when the connection is lost, when a newer upload takes over, when the idle deadline has passed, or when
//! the receiving side has refused.

use std::fmt;
use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;

use crate::error::Refusal;
use crate::submission::submission_state::{idle, superseded};
use crate::submission::turns::Turn;
use crate::submission::{Receiver, Submission};

/// Most pieces that wait for the disk. A piece is at most what hyper's buffer holds: 256 KiB.
const PIECES: usize = 4;

/// What a body brings.
#[derive(Debug)]
pub enum Piece {
    /// Some of its bytes.
    Bytes(Bytes),
    /// Its proper end. A channel that closes without it means that the body was cut.
    End,
}

/// How an upload ended, short of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With the body's proper end.
    Complete,
    /// In the middle of the body: what has come until then counts.
    Cut,
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Complete => "request complete",
            Self::Cut => "connection lost or taken over",
        })
    }
}

/// Why the body is read no more.
enum Stopped {
    Body,
    TurnLost,
    GivenUp,
    Refused,
}

/// Receives `body`. Should this be dropped, the blocking side keeps what it has and gives the receiver back.
pub async fn upload(
    submission: &Arc<Submission>,
    receiver: Receiver,
    turn: &mut Turn,
    body: &mut Body,
) -> Result<(), Refusal> {
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let job = Arc::clone(submission);
    let work = submission.tasks.spawn_blocking(move || job.receive(receiver, &mut pieces));
    let stopped = forward(submission, turn, body, &sender).await;
    drop(sender);
    let ended = work.await.map_err(|_| Refusal::bug("receiving the bundle failed"))?;
    match (ended?, stopped) {
        (_, Stopped::TurnLost) => Err(superseded()),
        (_, Stopped::GivenUp) => Err(idle()),
        _ => Ok(()),
    }
}

async fn forward(submission: &Submission, turn: &mut Turn, body: &mut Body, sender: &mpsc::Sender<Piece>) -> Stopped {
    loop {
        let frame = tokio::select! {
            biased;
            () = turn.lost() => return Stopped::TurnLost,
            () = submission.given_up.cancelled() => return Stopped::GivenUp,
            () = sender.closed() => return Stopped::Refused,
            frame = body.frame() => frame,
        };
        let piece = match frame {
            Some(Ok(frame)) => match frame.into_data() {
                Ok(bytes) => Piece::Bytes(bytes),
                Err(_trailers) => continue,
            },
            Some(Err(_lost)) => return Stopped::Body,
            None => Piece::End,
        };
        submission.activity.touch();
        let end = matches!(piece, Piece::End);
        if sender.send(piece).await.is_err() {
            return Stopped::Refused;
        }
        if end {
            return Stopped::Body;
        }
    }
}
