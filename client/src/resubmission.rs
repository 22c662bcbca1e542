//! A submission with a key, which is never made twice. A driver that stands under the key already is followed as if this
//! run had made it, or has ended and gives its status; one that was left behind before its launch makes room. The pod's
//! name is the lock (`settings::submission_key`); whoever comes second in a race finds it taken and follows the winner.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use shared::error_code::ErrorCode;
use tokio::time::{sleep, timeout};

use crate::driver::attend::{application_of, attend};
use crate::driver::driver_container::driver_container;
use crate::driver::driver_watch::DriverPod;
use crate::driver::phase_lines;
use crate::driver::pod_state::{PodState, pod_state};
use crate::driver::pod_watch::{PodWatch, Seen};
use crate::error::{Problems, SubmitError};
use crate::interrupt::Interrupts;
use crate::settings::submission_key::{SUBMISSION_KEY_ANNOTATION, SubmissionKey};
use crate::submit::{Outcome, Submission};
use crate::sweep::{CLOCK_TOLERANCE, lease_of};
use crate::upload::transfer::Transfer;

/// How often the place under a key is looked at anew: each time somebody else was there and left.
const TURNS: usize = 5;
/// How long a pod that is being deleted may take beyond its grace period.
const DELETION_MARGIN: Duration = Duration::from_mins(1);

/// Runs `submission`, unless a driver stands under `key`: then that one's end is its outcome.
pub async fn submit_once<T: Transfer>(
    submission: &Submission<'_, T>,
    key: &SubmissionKey,
    interrupts: &mut Interrupts,
) -> Result<Outcome, Problems> {
    let place = Place { submission, key };
    for _ in 0..TURNS {
        if let Some(pod) = place.occupant().await? {
            match place.join(&pod, interrupts).await? {
                Some(outcome) => return Ok(outcome),
                None => continue,
            }
        }
        match submission.run(interrupts).await {
            Err(problems) if problems.code() == ErrorCode::NameTaken && place.occupant().await?.is_some() => {}
            outcome => return outcome,
        }
    }
    let what = format!("submission key {}: its driver pod comes and goes", key.as_str());
    Err(SubmitError::new(ErrorCode::NameTaken, what).hint("see who else submits with this key").into())
}

/// The pod's name that belongs to a key.
struct Place<'a, T> {
    submission: &'a Submission<'a, T>,
    key: &'a SubmissionKey,
}

impl<T: Transfer> Place<'_, T> {
    /// The pod that has the name now.
    async fn occupant(&self) -> Result<Option<Pod>, SubmitError> {
        let (cluster, name) = (self.submission.cluster, self.submission.names.pod.as_str());
        let Some(pod) = cluster.find::<Pod>(name).await? else { return Ok(None) };
        if pod.annotations().contains_key(SUBMISSION_KEY_ANNOTATION) {
            return Ok(Some(pod));
        }
        let what =
            format!("{} exists, and was not made for submission key {}", cluster.what::<Pod>(name), self.key.as_str());
        Err(SubmitError::new(ErrorCode::NameTaken, what).hint("choose another spark.airlock.submissionKey"))
    }

    /// The outcome of the driver that is there; none when there is room for a new one.
    async fn join(&self, pod: &Pod, interrupts: &mut Interrupts) -> Result<Option<Outcome>, SubmitError> {
        let Submission { cluster, progress, .. } = self.submission;
        let what = cluster.what::<Pod>(&pod.name_any());
        if pod.metadata.deletion_timestamp.is_some() {
            progress.say(format!("waiting: {what} of the same submission key is being deleted"));
            self.until_gone(pod, interrupts).await?;
            return Ok(None);
        }
        if never_launched(pod) {
            progress.say(format!("removing {what}: the submission that made it ended before its launch"));
            cluster.delete::<Pod>(&pod.name_any(), &pod.uid().unwrap_or_default(), None).await?;
            return Ok(None);
        }
        progress.say(format!("{what} has this submission key already: nothing is submitted, it is followed"));
        if !self.submission.settings.follow.wait {
            progress.say(phase_lines::deployed(&application_of(pod)));
            return Ok(Some(Outcome::Deployed));
        }
        tokio::select! {
            outcome = self.follow(pod, interrupts) => outcome,
            () = until_lease_is_over(pod), if is_pending(pod) => Ok(None),
        }
    }

    async fn follow(&self, pod: &Pod, interrupts: &mut Interrupts) -> Result<Option<Outcome>, SubmitError> {
        let Submission { cluster, settings, progress, .. } = self.submission;
        let driver = DriverPod { name: pod.name_any(), uid: pod.uid().unwrap_or_default() };
        let (container, application) = (driver_container(pod), application_of(pod));
        let attended = attend(cluster, &driver, container, &application, &settings.follow, interrupts, progress).await;
        match attended {
            Ok(ended) => Ok(Some(Outcome::Ended(ended))),
            Err(error) => match cluster.find::<Pod>(&driver.name).await? {
                Some(now) if now.uid() == pod.uid() && never_launched(&now) => Ok(None),
                _ => Err(error),
            },
        }
    }

    async fn until_gone(&self, pod: &Pod, interrupts: &mut Interrupts) -> Result<(), SubmitError> {
        let grace = pod.metadata.deletion_grace_period_seconds.and_then(|grace| u64::try_from(grace).ok()).unwrap_or(0);
        let limit = Duration::from_secs(grace) + DELETION_MARGIN;
        let cluster = self.submission.cluster;
        let mut states = pin!(PodWatch::new(cluster, pod.name_any(), pod.uid().unwrap_or_default()).states());
        let gone = async {
            while let Some(seen) = states.next().await {
                if let Seen::Gone(_) = seen? {
                    return Ok(());
                }
            }
            Ok(())
        };
        let what = cluster.what::<Pod>(&pod.name_any());
        tokio::select! {
            gone = timeout(limit, gone) => gone.unwrap_or_else(|_| {
                let text = format!("{what} is being deleted since more than {} s", limit.as_secs());
                Err(SubmitError::new(ErrorCode::NameTaken, text).hint("its finalizers or its node keep it; see: airlock status"))
            }),
            interrupt = interrupts.next() => {
                Err(SubmitError::new(interrupt.code(), "interrupted before anything was created"))
            }
        }
    }
}

/// Whether the pod's driver was never started and will not be: the driver server said so at its end, or the pod pends
/// beyond its lease, so that its submission is dead.
fn never_launched(pod: &Pod) -> bool {
    match pod_state(pod, &[]) {
        PodState::Ended(ended) => ended.stated_failure().is_some(),
        _ => is_pending(pod) && rest_of_lease(pod).is_some_and(|rest| rest.is_zero()),
    }
}

fn is_pending(pod: &Pod) -> bool {
    phase_lines::phase(pod) == "Pending"
}

/// What is left of the lease on everybody's clock. None where there is no lease that can be read.
fn rest_of_lease(pod: &Pod) -> Option<SignedDuration> {
    let rest = lease_of(pod)?.duration_since(Timestamp::now()) + CLOCK_TOLERANCE;
    Some(rest.max(SignedDuration::ZERO))
}

async fn until_lease_is_over(pod: &Pod) {
    match rest_of_lease(pod).and_then(|rest| Duration::try_from(rest).ok()) {
        Some(rest) => sleep(rest).await,
        None => std::future::pending().await,
    }
}
