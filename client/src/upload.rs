//! Sends manifest and bundle, and goes on where the driver server says it is, however often the connection breaks. Ends
//! only with the server's word that every byte lies on its disk with the right digest, or with the reason why not.

pub mod buffers;
pub mod bundle_body;
pub mod bundle_source;
pub mod bundle_transfer;
pub mod certificates;
pub mod compress;
pub mod dial;
pub mod patience;
pub mod reach;
pub mod transfer;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::Method;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::Body;
use shared::error_code::ErrorCode;
use shared::manifest::Manifest;
use shared::protocol::{
    BUNDLE_PATH, LAUNCH_PATH, Problem, SUBMISSION_PATH, SubmissionState, SubmissionStatus, TAR_TYPE, UPLOAD_OFFSET,
};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use crate::error::SubmitError;
use crate::upload::bundle_body::{Counters, bundle_body};
use crate::upload::bundle_source::BundleSource;
use crate::upload::dial::{Connection, DialError, RequestError, answer};
use crate::upload::patience::Patience;
use crate::upload::reach::Dialer;

/// A connection on which nothing moves is replaced after this share of the idle limit, or after this time: a connection
/// that is dead on one side only looks just like that, and the server's own idle limit runs meanwhile.
const STALL_SHARE: u32 = 4;
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// How often a standstill is looked for, and progress told.
const TICK: Duration = Duration::from_millis(250);
/// The manifest and the launch are small: their answer takes a moment, or the connection is dead.
const SMALL_REQUEST: Duration = Duration::from_secs(30);

/// What there is to tell while bytes flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadEvent<'a> {
    /// So many of so many tar bytes have been handed to the connection.
    Progress(u64, u64),
    /// The connection broke after so many bytes, for this reason; the upload goes on from there.
    Resuming(u64, &'a DialError),
}

/// What an upload took.
#[derive(Clone, Debug, Default)]
pub struct UploadReport {
    /// Bytes of the tar stream.
    pub tar_bytes: u64,
    /// Compressed bytes sent, over all attempts.
    pub wire_bytes: u64,
    /// Connections that broke on the way.
    pub resumed: u32,
}

/// One submission's way to its driver server.
pub struct Upload<'a> {
    dialer: &'a Dialer,
    manifest: &'a Manifest,
    source: Arc<BundleSource>,
    idle: Duration,
    tell: &'a (dyn Fn(UploadEvent<'_>) + Sync),
    counters: Arc<Counters>,
}

/// How one attempt ended short of success.
enum Setback {
    /// The connection failed; another attempt goes on at the server's offset.
    Broken(DialError),
    /// No attempt can succeed.
    Final(SubmitError),
}

impl<'a> Upload<'a> {
    /// An upload of `source`, the files of `manifest`. `idle` is the longest time without progress.
    pub fn new(
        dialer: &'a Dialer,
        manifest: &'a Manifest,
        source: Arc<BundleSource>,
        idle: Duration,
        tell: &'a (dyn Fn(UploadEvent<'_>) + Sync),
    ) -> Self {
        Self { dialer, manifest, source, idle, tell, counters: Arc::default() }
    }

    /// Sends everything, beginning on a connection that `reach` found.
    pub async fn send(&self, first: (Connection, SubmissionStatus)) -> Result<UploadReport, SubmitError> {
        let mut report = UploadReport { tar_bytes: self.source.total(), ..UploadReport::default() };
        let (mut reached, mut patience) = (first, Patience::new(self.idle));
        loop {
            patience.note(reached.1.offset);
            match self.attempt(&reached.0, &reached.1).await {
                Ok(status) => {
                    self.check_digest(&status)?;
                    report.wire_bytes = self.counters.wire.load(Ordering::Relaxed);
                    return Ok(report);
                }
                Err(Setback::Final(error)) => return Err(error),
                Err(Setback::Broken(why)) if patience.is_over() => return Err(self.stalled(&why)),
                Err(Setback::Broken(why)) => {
                    report.resumed += 1;
                    sleep(patience.pause()).await;
                    reached = self.dialer.reach(self.idle).await?;
                    (self.tell)(UploadEvent::Resuming(reached.1.offset, &why));
                }
            }
        }
    }

    async fn attempt(&self, connection: &Connection, at: &SubmissionStatus) -> Result<SubmissionStatus, Setback> {
        match at.state {
            SubmissionState::Waiting => {
                let accepted = self.put_manifest(connection).await?;
                // A server that has everything already, or is further than a fresh one, goes its own way next time.
                self.patch(connection, accepted.offset).await
            }
            SubmissionState::Receiving => self.patch(connection, at.offset).await,
            SubmissionState::Verified | SubmissionState::Launched => Ok(at.clone()),
        }
    }

    async fn put_manifest(&self, connection: &Connection) -> Result<SubmissionStatus, Setback> {
        let request = connection.request(Method::PUT, SUBMISSION_PATH).json(self.manifest).timeout(SMALL_REQUEST);
        answer(request.send().await).await.map_err(setback)
    }

    async fn patch(&self, connection: &Connection, offset: u64) -> Result<SubmissionStatus, Setback> {
        let stop = CancellationToken::new();
        let (source, counters) = (Arc::clone(&self.source), Arc::clone(&self.counters));
        let (body, reader) = bundle_body(source, offset, counters, stop.clone());
        let request = connection
            .request(Method::PATCH, BUNDLE_PATH)
            .header(UPLOAD_OFFSET, offset)
            .header(CONTENT_TYPE, TAR_TYPE)
            .header(CONTENT_ENCODING, "gzip")
            .body(Body::wrap_stream(body));
        let outcome = tokio::select! {
            sent = request.send() => answer(sent).await.map_err(setback),
            why = self.watch_progress(connection) => Err(Setback::Broken(why)),
        };
        // Whatever came of the request, nobody wants more pieces. An error of the reader is the true reason.
        stop.cancel();
        match reader.await {
            Ok(Err(error)) => Err(Setback::Final(error)),
            Err(panic) => {
                Err(Setback::Final(SubmitError::bug("the thread that reads the inputs failed").because(panic)))
            }
            Ok(Ok(())) => outcome,
        }
    }

    /// Tells progress; ends when so little was made that the connection is better replaced by a new one. Handed over is not
    /// arrived: a slow way takes long to empty the kernel's buffer. So a standstill is one only when the server, asked
    /// twice, has no byte more the second time.
    async fn watch_progress(&self, connection: &Connection) -> DialError {
        let look = (self.idle / STALL_SHARE).min(STALL_LIMIT) / 2;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut last, mut since, mut held) = (None, Instant::now(), None);
        loop {
            ticks.tick().await;
            let tar = self.counters.tar.load(Ordering::Relaxed);
            if last != Some(tar) {
                (last, since, held) = (Some(tar), Instant::now(), None);
                (self.tell)(UploadEvent::Progress(tar, self.source.total()));
            } else if since.elapsed() > look {
                let request = connection.request(Method::GET, SUBMISSION_PATH).timeout(look);
                let now = answer(request.send().await).await.map_or(0, |status| status.offset);
                if held.is_some_and(|before| now <= before) {
                    return DialError::Timeout;
                }
                (held, since) = (Some(now), Instant::now());
            }
        }
    }

    /// The server's own list of digests must be ours: both sides vouch.
    fn check_digest(&self, status: &SubmissionStatus) -> Result<(), SubmitError> {
        if status.digest.is_some() && status.digest == self.source.digest() {
            return Ok(());
        }
        let what = format!("the driver server's digests ({:?}) are not those of the inputs", status.digest);
        Err(SubmitError::new(ErrorCode::Digest, what).hint("submit again; if it happens twice, report it"))
    }

    fn stalled(&self, why: &DialError) -> SubmitError {
        let sent = self.counters.tar.load(Ordering::Relaxed);
        let what = format!("the upload makes no progress: {sent} of {} bytes sent, then {why}", self.source.total());
        SubmitError::new(ErrorCode::UploadStalled, what)
            .hint("submit again; spark.airlock.timeout.idle allows longer standstills")
    }
}

/// Why a launch did not happen.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No connection came about: the server has not heard of it.
    #[error("the launch was not sent: {0}")]
    NotSent(DialError),
    /// The server said no.
    #[error(transparent)]
    Refused(SubmitError),
}

/// Asks for the launch. None when the answer was lost: the driver may have been launched.
pub async fn launch(connection: &Connection) -> Result<Option<SubmissionStatus>, LaunchError> {
    let sent = connection.request(Method::POST, LAUNCH_PATH).timeout(SMALL_REQUEST).send().await;
    let connected = sent.as_ref().err().is_none_or(|error| !error.is_connect());
    match answer(sent).await {
        Ok(status) => Ok(Some(status)),
        Err(RequestError::Refused(problem)) => Err(LaunchError::Refused(refusal(&problem))),
        Err(RequestError::NoAnswer(why)) if !connected => Err(LaunchError::NotSent(why)),
        Err(RequestError::NoAnswer(_)) => Ok(None),
    }
}

fn setback(error: RequestError) -> Setback {
    match error {
        RequestError::NoAnswer(why) => Setback::Broken(why),
        // Two views of the offset: the next attempt asks for the server's.
        RequestError::Refused(problem) if problem.error_code() == ErrorCode::Offset => {
            Setback::Broken(DialError::Broken(problem.detail))
        }
        RequestError::Refused(problem) => Setback::Final(refusal(&problem)),
    }
}

/// The server's reason, as the submission's.
fn refusal(problem: &Problem) -> SubmitError {
    let error = SubmitError::new(problem.error_code(), format!("the driver server refused: {}", problem.detail));
    problem.hints.iter().fold(error, |error, hint| error.hint(hint.clone()))
}
