//! The signals that end the server before the launch. As process 1 of a container it would be deaf to each of them
//! without a handler. Since all four have one, exec gives all four their default action again, even those that whoever
//! started us had set to be ignored.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use shared::error_code::ErrorCode;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;

use crate::error::Refusal;

/// Installed handlers.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    quit: Signal,
}

impl Signals {
    /// Installs the handlers.
    pub fn install() -> Result<Self, Refusal> {
        let install = |kind| -> io::Result<Signal> { signal(kind) };
        let failed = |error| Refusal::io("signal handlers cannot be installed", &error);
        Ok(Self {
            terminate: install(SignalKind::terminate()).map_err(failed)?,
            interrupt: install(SignalKind::interrupt()).map_err(failed)?,
            hangup: install(SignalKind::hangup()).map_err(failed)?,
            quit: install(SignalKind::quit()).map_err(failed)?,
        })
    }

    /// Waits for the next one; returns why the server ends.
    pub async fn next(&mut self) -> Refusal {
        let (code, name) = tokio::select! {
            _ = self.terminate.recv() => (ErrorCode::Terminated, "SIGTERM"),
            _ = self.interrupt.recv() => (ErrorCode::Interrupted, "SIGINT"),
            _ = self.hangup.recv() => (ErrorCode::Terminated, "SIGHUP"),
            _ = self.quit.recv() => (ErrorCode::Terminated, "SIGQUIT"),
        };
        Refusal::new(code, format!("{name} ended the driver server before the launch"))
    }

    /// From here to exec a signal ends the process at once: the runtime, which would have noticed it, is on its way out,
    /// and a signal that nobody notices would be lost to the driver. Returns why the server ends if one came before.
    pub async fn hand_over(&mut self) -> Result<(), Refusal> {
        for (signal, code) in [
            (SIGTERM, ErrorCode::Terminated),
            (SIGINT, ErrorCode::Interrupted),
            (SIGHUP, ErrorCode::Terminated),
            (SIGQUIT, ErrorCode::Terminated),
        ] {
            let always = Arc::new(AtomicBool::new(true));
            register_conditional_shutdown(signal, i32::from(code.exit_status()), always)
                .map_err(|error| Refusal::io("signal handlers cannot be installed", &error))?;
        }
        match timeout(NOTICE_TIME, self.next()).await {
            Ok(ended) => Err(ended),
            Err(_) => Ok(()),
        }
    }
}

/// Time for the runtime to notice a signal that has come already.
const NOTICE_TIME: Duration = Duration::from_millis(5);
