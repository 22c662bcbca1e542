//! SIGINT and SIGTERM as something to wait for. What an interrupt means depends on the step, so `submit` decides; here
//! is only which signal came.

use shared::error_code::ErrorCode;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::error::SubmitError;

/// The two signals that ask us to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// SIGINT: Ctrl-C.
    Int,
    /// SIGTERM: `kill`, or a scheduler.
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
    Process { int: Signal, term: Signal },
    Channel(mpsc::Receiver<Interrupt>),
}

/// Every interrupt from now on, one after the other.
pub struct Interrupts(Source);

impl Interrupts {
    /// Takes the two signals over from the system's default, which is to die at once.
    pub fn listen() -> Result<Self, SubmitError> {
        let listen = |kind| signal(kind).map_err(|error| SubmitError::bug("cannot listen for signals").because(error));
        let (int, term) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
        Ok(Self(Source::Process { int, term }))
    }

    /// Interrupts that a test sends.
    #[must_use]
    pub const fn scripted(receiver: mpsc::Receiver<Interrupt>) -> Self {
        Self(Source::Channel(receiver))
    }

    /// The next one. Never ends without one, and loses none when dropped half-way.
    pub async fn next(&mut self) -> Interrupt {
        match &mut self.0 {
            Source::Process { int, term } => tokio::select! {
                Some(()) = int.recv() => Interrupt::Int,
                Some(()) = term.recv() => Interrupt::Term,
                else => std::future::pending().await,
            },
            Source::Channel(receiver) => match receiver.recv().await {
                Some(interrupt) => interrupt,
                None => std::future::pending().await,
            },
        }
    }
}
