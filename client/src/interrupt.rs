//! SIGINT, SIGTERM and SIGHUP as something to wait for. What an interrupt means depends on the step, so `submit` decides; here
//! is only which signal came.

use shared::error_code::ErrorCode;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::error::SubmitError;

/// What asks us to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// SIGINT: Ctrl-C.
    Int,
    /// SIGTERM: `kill`, or a scheduler; or SIGHUP: the terminal is gone.
    Term,
}

impl Interrupt {
    /// The code, and with it the status 130 or 143.
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Int => ErrorCode::Interrupted,
            Self::Term => ErrorCode::Terminated,
        }
    }
}

enum Source {
    Process { int: Signal, term: Signal, hangup: Option<Signal> },
    Channel(mpsc::Receiver<Interrupt>),
}

/// Every interrupt from now on, one after the other.
pub struct Interrupts(Source);

impl Interrupts {
    /// Takes the signals over from the system's default, which is to die at once.
    pub fn listen() -> Result<Self, SubmitError> {
        let listen = |kind| signal(kind).map_err(|error| SubmitError::bug("cannot listen for signals").because(error));
        let (int, term) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        // A terminal that is closed takes nobody by surprise who said so beforehand: `nohup` ignores the signal.
        let hangup = if hangup_is_ignored() { None } else { Some(listen(SignalKind::hangup())?) };
        Ok(Self(Source::Process { int, term, hangup }))
    }

    /// Interrupts that a test sends.
    #[must_use]
    pub const fn scripted(receiver: mpsc::Receiver<Interrupt>) -> Self {
        Self(Source::Channel(receiver))
    }

    /// The next one. Never ends without one, and loses none when dropped half-way.
    pub async fn next(&mut self) -> Interrupt {
        match &mut self.0 {
            Source::Process { int, term, hangup } => tokio::select! {
                Some(()) = int.recv() => Interrupt::Int,
                Some(()) = term.recv() => Interrupt::Term,
                Some(()) = next_of(hangup) => Interrupt::Term,
                else => std::future::pending().await,
            },
            Source::Channel(receiver) => match receiver.recv().await {
                Some(interrupt) => interrupt,
                None => std::future::pending().await,
            },
        }
    }
}

async fn next_of(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => None,
    }
}

/// Whether whoever started us wants SIGHUP to be ignored. SIGHUP is number 1, so bit 0 of the mask.
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}
