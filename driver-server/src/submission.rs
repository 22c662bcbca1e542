//! The one submission of this server: waiting → receiving → verified → launched, or refused for good. Every transition is
//! made here, under one lock that is never held over work. Work on files is done on blocking threads and outlives the
//! request that asked for it. HTTP is not known here.

pub mod activity;
pub mod receive;
pub mod submission_state;
pub mod turns;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::error_code::ErrorCode;
use shared::manifest::Manifest;
use shared::protocol::{SubmissionState, SubmissionStatus};
use shared::report::Failure as _;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info};

use crate::bundle::inflate::Inflater;
use crate::bundle::received;
use crate::bundle::staging::{Staging, hex};
use crate::bundle::unpack::Unpacker;
use crate::directory::Directory;
use crate::error::Refusal;
use crate::launch::work_directory;
use crate::launch::{self, DriverCommand};
use crate::submission::activity::Activity;
use crate::submission::receive::{Ended, Piece};
use crate::submission::submission_state::{Proved, State, superseded};
use crate::submission::turns::{Turn, Turns};

/// The receiver, held by the upload whose turn it is.
pub type Receiver = OwnedMutexGuard<Option<Unpacker>>;

/// The submission, shared by all requests.
pub struct Submission {
    directory: Directory,
    max_bytes: u64,
    /// When the peer last made progress.
    pub activity: Activity,
    /// Every task and blocking job of the server, so that its end can wait for them.
    pub tasks: TaskTracker,
    /// Cancelled once the launch is decided.
    pub launched: CancellationToken,
    /// Cancelled once the idle deadline has passed: whoever is in the middle of a request is told.
    pub given_up: CancellationToken,
    state: Mutex<State>,
    offset: AtomicU64,
    first_manifest: Mutex<()>,
    receiver: Arc<AsyncMutex<Option<Unpacker>>>,
    turns: Turns,
    preparation: Mutex<Option<watch::Receiver<bool>>>,
}

impl Submission {
    /// A submission that waits for its manifest.
    #[must_use]
    pub fn new(directory: Directory, max_bytes: u64) -> Self {
        Self {
            directory,
            max_bytes,
            activity: Activity::default(),
            tasks: TaskTracker::new(),
            launched: CancellationToken::new(),
            given_up: CancellationToken::new(),
            state: Mutex::new(State::default()),
            offset: AtomicU64::new(0),
            first_manifest: Mutex::new(()),
            receiver: Arc::new(AsyncMutex::new(None)),
            turns: Turns::default(),
            preparation: Mutex::new(None),
        }
    }

    /// What the server holds, or why it has refused the submission.
    pub fn status(&self) -> Result<SubmissionStatus, Refusal> {
        self.state().status(self.offset.load(Ordering::SeqCst))
    }

    /// Why the submission has been refused for good, if it has.
    pub fn refusal(&self) -> Option<Refusal> {
        self.status().err()
    }

    /// Accepts `manifest` as the submission's only one. Blocks.
    pub fn offer(&self, manifest: Manifest) -> Result<SubmissionStatus, Refusal> {
        let _work = self.activity.work();
        // Two first manifests at once: the second one waits, and is then compared with the first.
        let _first = self.first_manifest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let earlier = self.state().manifest();
        match earlier {
            Some(earlier) if *earlier == manifest => self.status(),
            Some(_) => Err(Refusal::new(ErrorCode::Manifest, "this server has accepted another manifest before")),
            None => self.accept(manifest),
        }
    }

    fn accept(&self, manifest: Manifest) -> Result<SubmissionStatus, Refusal> {
        let total = self.check(&manifest).map_err(|refusal| self.refuse(refusal))?;
        let staging = Staging::prepare(&self.directory, &manifest).map_err(|refusal| self.refuse(refusal))?;
        let unpacker = Unpacker::new(&manifest, staging);
        // Nobody uploads before the first manifest has been accepted, so nobody holds it.
        let Ok(mut receiver) = self.receiver.try_lock() else { return Err(Refusal::bug("the receiver is in use")) };
        *receiver = Some(unpacker);
        info!(members = manifest.members().len(), bytes = total, "manifest accepted");
        *self.state() = State::Receiving(Arc::new(manifest));
        drop(receiver);
        self.status()
    }

    /// Checks everything that can be checked before a byte of a file comes; returns the bundle's length.
    fn check(&self, manifest: &Manifest) -> Result<u64, Refusal> {
        launch::check(manifest.launch())?;
        let total = shared::bundle::BundleLayout::new(manifest).total();
        if total > self.max_bytes {
            let detail = format!("the bundle has {total} bytes, more than the limit of {}", self.max_bytes);
            let hint = "raise spark.airlock.upload.maxBytes, or leave large inputs where the driver can fetch them";
            return Err(Refusal::new(ErrorCode::TooLarge, detail).hint(hint));
        }
        self.directory.check_space(manifest)?;
        Ok(total)
    }

    /// Takes the turn to upload away from any earlier request.
    pub fn take_turn(&self) -> Turn {
        self.turns.take()
    }

    /// Waits for the receiver, and checks that the upload begins where the last one ended.
    pub async fn begin_upload(&self, begin: u64, turn: &mut Turn) -> Result<Receiver, Refusal> {
        let receiver = tokio::select! {
            biased;
            () = turn.lost() => return Err(superseded()),
            receiver = Arc::clone(&self.receiver).lock_owned() => receiver,
        };
        let status = self.status()?;
        match status.state {
            SubmissionState::Waiting => {
                Err(Refusal::new(ErrorCode::Protocol, "the manifest must come before the bundle"))
            }
            SubmissionState::Receiving if begin == status.offset => Ok(receiver),
            SubmissionState::Receiving => {
                let detail = format!("the upload begins at byte {begin}, and byte {} is next", status.offset);
                Err(Refusal::new(ErrorCode::Offset, detail).at_offset(status.offset))
            }
            SubmissionState::Verified | SubmissionState::Launched => {
                Err(Refusal::new(ErrorCode::Offset, "the bundle is complete already").at_offset(status.offset))
            }
        }
    }

    /// Decodes, checks and stores what `pieces` brings. Blocks until they end; what has come until then stays valid.
    pub fn receive(&self, mut receiver: Receiver, pieces: &mut mpsc::Receiver<Piece>) -> Result<Ended, Refusal> {
        let Some(unpacker) = receiver.as_mut() else { return Err(Refusal::bug("there is no receiver")) };
        let begin = unpacker.offset();
        info!(offset = begin, total = unpacker.total(), "upload begins");
        let ended = self.receive_pieces(unpacker, pieces).map_err(|refusal| self.refuse(refusal))?;
        let complete = unpacker.offset() == unpacker.total();
        info!(offset = unpacker.offset(), total = unpacker.total(), complete, "upload ends: {ended}");
        // With every byte proved by its digest, a connection that is lost behind the last one takes nothing away.
        if complete {
            let _work = self.activity.work();
            self.verify(unpacker).map_err(|refusal| self.refuse(refusal))?;
            *receiver = None;
        }
        Ok(ended)
    }

    fn receive_pieces(&self, unpacker: &mut Unpacker, pieces: &mut mpsc::Receiver<Piece>) -> Result<Ended, Refusal> {
        let mut inflater = Inflater::default();
        while let Some(piece) = pieces.blocking_recv() {
            let _work = self.activity.work();
            match piece {
                Piece::Bytes(bytes) => inflater.push(&bytes, |plain| unpacker.push(plain))?,
                Piece::End => return inflater.finish().map(|()| Ended::Complete),
            }
            self.offset.store(unpacker.offset(), Ordering::SeqCst);
        }
        Ok(Ended::Cut)
    }

    fn verify(&self, unpacker: &Unpacker) -> Result<(), Refusal> {
        let digest = hex(&unpacker.verify()?);
        let manifest = self.state().manifest().ok_or_else(|| Refusal::bug("verified without a manifest"))?;
        received::publish(&self.directory, manifest.launch())?;
        info!(%digest, "bundle verified");
        *self.state() = State::Verified(Proved { manifest, digest });
        Ok(())
    }

    /// Decides the launch, once however often it is asked, and returns when it is prepared. The preparation goes on when
    /// the request that asked for it is dropped.
    pub async fn launch(self: &Arc<Self>) -> Result<SubmissionStatus, Refusal> {
        let status = self.status()?;
        if matches!(status.state, SubmissionState::Waiting | SubmissionState::Receiving) {
            let detail = format!("the archive is not complete: {} bytes have arrived", status.offset);
            return Err(Refusal::new(ErrorCode::Truncated, detail));
        }
        let mut prepared = self.preparation();
        // An error means that the preparation panicked, which ends the server.
        prepared.wait_for(|done| *done).await.map_err(|_| Refusal::bug("the launch could not be prepared"))?;
        self.status()
    }

    fn preparation(self: &Arc<Self>) -> watch::Receiver<bool> {
        let mut preparation = self.preparation.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || {
            let (done, prepared) = watch::channel(false);
            let submission = Arc::clone(self);
            self.tasks.spawn_blocking(move || {
                submission.prepare_launch();
                let _ = done.send(true);
            });
            prepared
        };
        preparation.get_or_insert_with(start).clone()
    }

    fn prepare_launch(&self) {
        let _work = self.activity.work();
        let Some(proved) = self.state().proved() else { return };
        match work_directory::prepare(&self.directory, &proved.manifest) {
            Ok(()) => {
                info!("launch decided");
                *self.state() = State::Launched(proved);
                self.launched.cancel();
            }
            Err(refusal) => {
                self.refuse(refusal);
            }
        }
    }

    /// What to become, once launched.
    pub fn driver_command(&self, entry_point: &Path) -> Option<DriverCommand> {
        let launched = self.launched.is_cancelled().then(|| self.state().proved()).flatten()?;
        Some(launch::driver_command(launched.manifest.launch(), entry_point, self.directory.path()))
    }

    /// Refuses the submission for good, and frees what has been staged. Blocks.
    fn refuse(&self, refusal: Refusal) -> Refusal {
        error!(code = %refusal.code(), "refused: {refusal}");
        *self.state() = State::Refused(refusal.clone());
        self.empty_staging();
        refusal
    }

    /// Frees what has been staged. Blocks.
    pub fn empty_staging(&self) {
        if let Err(error) = self.directory.empty_staging() {
            error!("the staging directory cannot be emptied: {error}");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
