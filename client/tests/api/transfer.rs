//! The middle part of a submission, scripted: what connects, what breaks, what hangs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::error::SubmitError;
use client::objects::driver_objects::ServerCertificates;
use client::progress::Progress;
use client::settings::{Candidate, Deadlines};
use client::upload::transfer::{LaunchAnswer, Silence, Transfer};
use shared::error_code::ErrorCode;
use shared::protocol::SubmissionState;
use tokio::sync::Notify;

/// How a step goes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Works,
    Fails(ErrorCode),
    Hangs,
}

/// A transfer whose every step goes as it is told.
pub(crate) struct FakeTransfer {
    pub(crate) reach: Step,
    pub(crate) send: Step,
    /// So many addresses lead nowhere before one does.
    pub(crate) dead_ends: Mutex<usize>,
    pub(crate) launch: Mutex<VecDeque<Option<LaunchAnswer>>>,
    pub(crate) state: Mutex<Result<SubmissionState, Silence>>,
    pub(crate) launches: Mutex<usize>,
    /// Told when the upload begins and when the launch is asked for.
    pub(crate) sending: Notify,
    pub(crate) launching: Notify,
    pub(crate) candidates: Mutex<Vec<Candidate>>,
    /// When set, the first launch waits for it.
    pub(crate) gate: Mutex<Option<Arc<Notify>>>,
}

impl Default for FakeTransfer {
    fn default() -> Self {
        Self {
            reach: Step::Works,
            send: Step::Works,
            dead_ends: Mutex::default(),
            launch: Mutex::default(),
            state: Mutex::new(Err(Silence::NoAnswer)),
            launches: Mutex::default(),
            sending: Notify::new(),
            launching: Notify::new(),
            candidates: Mutex::default(),
            gate: Mutex::default(),
        }
    }
}

impl FakeTransfer {
    /// The launches go so, one after the other, and then well; `None` hangs.
    pub(crate) fn launches(answers: Vec<Option<LaunchAnswer>>) -> Self {
        Self { launch: Mutex::new(answers.into()), ..Self::default() }
    }

    async fn step(step: Step) -> Result<(), SubmitError> {
        match step {
            Step::Works => Ok(()),
            Step::Fails(code) => Err(SubmitError::new(code, "scripted")),
            Step::Hangs => std::future::pending().await,
        }
    }
}

impl Transfer for FakeTransfer {
    type Credentials = ();
    type Connection = ();

    fn bundle_bytes(&self) -> u64 {
        1 << 20
    }

    fn issue(&self, _: &str, _: Duration) -> Result<(ServerCertificates, ()), SubmitError> {
        let certificates =
            ServerCertificates { ca_pem: "CA".into(), certificate_pem: "CERT".into(), key_pem: "KEY".into() };
        Ok((certificates, ()))
    }

    async fn reach(&self, found: &[Candidate], _: &str, (): &(), _: Duration, _: &Progress) -> Result<(), SubmitError> {
        *self.candidates.lock().unwrap() = found.to_vec();
        let dead_end = {
            let mut left = self.dead_ends.lock().unwrap();
            let any = *left > 0;
            *left = left.saturating_sub(1);
            any
        };
        if dead_end {
            return Self::step(Step::Fails(ErrorCode::DriverUnreachable)).await;
        }
        Self::step(self.reach).await
    }

    async fn send(&self, (): &mut (), _: &Deadlines, _: &Progress) -> Result<(), SubmitError> {
        self.sending.notify_one();
        Self::step(self.send).await
    }

    async fn launch(&self, (): &mut ()) -> LaunchAnswer {
        *self.launches.lock().unwrap() += 1;
        self.launching.notify_one();
        let gate = self.gate.lock().unwrap().take();
        if let Some(gate) = gate {
            gate.notified().await;
        }
        let next = self.launch.lock().unwrap().pop_front();
        match next {
            Some(Some(answer)) => answer,
            Some(None) => std::future::pending().await,
            None => LaunchAnswer::Launched,
        }
    }

    async fn state(&self, (): &mut ()) -> Result<SubmissionState, Silence> {
        *self.state.lock().unwrap()
    }
}
