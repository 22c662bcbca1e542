//! After the launch: the driver is followed to its end, with upstream's lines on the way, and its exit code is ours. An
//! API server that is away for a while ends nothing: the driver runs on meanwhile, and its status is what counts.

use std::pin::pin;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use shared::error_code::ErrorCode;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use crate::cluster::Cluster;
use crate::driver::driver_watch::{DriverPod, TROUBLE_PAUSE, api_trouble};
use crate::driver::phase_lines::{self, Application};
use crate::driver::pod_state::{Ended, PodState, driver_status, pod_state};
use crate::driver::pod_watch::{PodWatch, Seen};
use crate::error::SubmitError;
use crate::progress::Progress;
use crate::settings::FollowSettings;

/// Follows the driver until its container has ended.
pub async fn follow(
    cluster: &Cluster,
    driver: &DriverPod,
    application: &Application,
    settings: &FollowSettings,
    progress: &Progress,
) -> Result<Ended, SubmitError> {
    progress.say(phase_lines::waiting(application));
    let mut states = pin!(PodWatch::new(cluster, &driver.name, &driver.uid).states());
    let mut report = interval_at(Instant::now() + settings.report_interval, settings.report_interval);
    report.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut block, mut last) = (String::new(), None);
    loop {
        tokio::select! {
            Some(seen) = states.next() => match seen {
                Ok(Seen::Pod(pod)) => {
                    show_change(&pod, &mut block, progress);
                    if let Some(ended) = ended(&pod, false) {
                        return conclude(&pod, ended, application, progress);
                    }
                    last = Some(pod);
                }
                Ok(Seen::Gone(gone)) => return conclude_gone(driver, gone.or(last), application, progress),
                Err(error) if api_trouble(&error) => {
                    progress.waiting(format!("still following: {error}"));
                    sleep(TROUBLE_PAUSE).await;
                }
                Err(error) => return Err(error),
            },
            _ = report.tick() => {
                let phase = last.as_ref().map_or("Unknown", |pod| phase_lines::phase(pod));
                progress.say(phase_lines::status(application, phase));
            }
        }
    }
}

fn show_change(pod: &Pod, block: &mut String, progress: &Progress) {
    let now = phase_lines::state_changed(pod);
    if now != *block {
        progress.say(&now);
        *block = now;
    }
}

/// How the driver's container ended, if it has. One whose pod was evicted has a status of its own and that is it; a pod
/// that is `gone`, or has failed as a whole, and left no status has none.
fn ended(pod: &Pod, gone: bool) -> Option<Result<Ended, String>> {
    let terminated = driver_status(pod).and_then(|driver| driver.state.as_ref()?.terminated.as_ref());
    if let Some(terminated) = terminated {
        let why = pod.status.as_ref().and_then(|status| status.reason.clone());
        return Some(Ok(Ended {
            exit_code: terminated.exit_code,
            reason: why.or_else(|| terminated.reason.clone()),
            message: terminated.message.clone(),
            started_at: terminated.started_at.clone(),
            finished_at: terminated.finished_at.clone(),
        }));
    }
    match pod_state(pod, &[]) {
        PodState::Fault { text, may_heal: false, .. } if !still_running(pod) || gone => Some(Err(text)),
        _ if gone => Some(Err("it was deleted, or its node is gone".to_owned())),
        _ => None,
    }
}

/// A pod that is being deleted may still run for its grace period.
fn still_running(pod: &Pod) -> bool {
    let phase = phase_lines::phase(pod);
    phase == "Running" || phase == "Pending"
}

fn conclude(
    pod: &Pod,
    ended: Result<Ended, String>,
    application: &Application,
    progress: &Progress,
) -> Result<Ended, SubmitError> {
    let ended = ended.map_err(|text| lost(&application.pod, text))?;
    progress.say(phase_lines::final_statuses(pod));
    progress.say(phase_lines::finished(application));
    if let Some(text) = runs_on(pod) {
        progress.say(text);
    }
    Ok(ended)
}

/// An ordinary container beside the driver keeps the pod, and what it holds, alive; nobody would notice.
fn runs_on(pod: &Pod) -> Option<String> {
    let statuses = pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let running = statuses.filter(|status| status.state.as_ref().is_some_and(|state| state.running.is_some()));
    let names: Vec<_> = running.map(|status| status.name.as_str()).collect();
    let advice = "a sidecar that shall end with the driver is an init container with restartPolicy Always";
    (!names.is_empty()).then(|| format!("the pod runs on with container {}: {advice}", names.join(", ")))
}

fn conclude_gone(
    driver: &DriverPod,
    last: Option<Box<Pod>>,
    application: &Application,
    progress: &Progress,
) -> Result<Ended, SubmitError> {
    let Some(pod) = last else { return Err(lost(&driver.name, "it was deleted, or its node is gone".to_owned())) };
    let outcome = ended(&pod, true).unwrap_or_else(|| Err("it was deleted".to_owned()));
    conclude(&pod, outcome, application, progress)
}

fn lost(pod: &str, why: String) -> SubmitError {
    SubmitError::new(ErrorCode::DriverLost, format!("pod {pod} is gone and left no exit status")).because(why)
}
