//! Init containers in front of the driver's: ours that brings the driver server, and those of a template or a webhook. Which
//! one's turn it is, and which has failed for good. Plain functions for `pod_state`.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use shared::error_code::ErrorCode;

use crate::driver::pod_state::{StartPhase, container_fault, driver_status, stated_failure};
use crate::objects::driver_injection::INJECTING_CONTAINER;

/// Code and text of an init container that has failed. Only our own one's words are read for a code.
pub(super) fn failure(status: &ContainerStatus) -> Option<(ErrorCode, String)> {
    let ended = status.state.as_ref()?.terminated.as_ref().filter(|ended| ended.exit_code != 0)?;
    let message = ended.message.as_deref().unwrap_or_default();
    let reason = ended.reason.as_deref().unwrap_or("Error");
    let text = format!("init container {} ended with {} ({reason}) {message}", status.name, ended.exit_code);
    let stated = stated_failure(message).filter(|_| status.name == INJECTING_CONTAINER);
    Some((stated.map_or(ErrorCode::PodNotStartable, |(code, _)| code), text.trim_end().to_owned()))
}

/// Whether the init container that brings the driver server is what keeps the pod from starting.
#[must_use]
pub fn injection_failed(pod: &Pod) -> bool {
    let mut inits = pod.status.iter().flat_map(|status| status.init_container_statuses.iter().flatten());
    let ours = inits.find(|status| status.name == INJECTING_CONTAINER);
    ours.is_some_and(|status| failure(status).is_some() || container_fault(status).is_some())
}

/// The failure of the init container whose turn it is, if nothing starts it again. The pod's restart policy is Never, so the
/// pod's own phase follows in a moment.
pub(super) fn final_failure(pod: &Pod) -> Option<(ErrorCode, String)> {
    present(pod).filter(|init| restart_policy(pod, &init.name).is_none()).and_then(failure)
}

/// What is waited for while an init container has its turn.
pub(super) fn present_wait(pod: &Pod) -> Option<(StartPhase, String)> {
    let init = present(pod).filter(|_| driver_waits_for_init(pod))?;
    let phase = if init.state.as_ref()?.running.is_some() { StartPhase::Start } else { StartPhase::Pull };
    Some((phase, format!("init container {}", init.name)))
}

/// The init container whose turn it is. One that may run beside the driver (a native sidecar) has had its turn once it is
/// up.
fn present(pod: &Pod) -> Option<&ContainerStatus> {
    let is_sidecar = |status: &ContainerStatus| restart_policy(pod, &status.name) == Some("Always");
    let is_done =
        |status: &ContainerStatus| if is_sidecar(status) { status.started == Some(true) } else { ended_well(status) };
    pod.status.as_ref()?.init_container_statuses.iter().flatten().find(|status| !is_done(status))
}

/// An init container's own restart policy, instead of the pod's.
fn restart_policy<'a>(pod: &'a Pod, init: &str) -> Option<&'a str> {
    let mut inits = pod.spec.as_ref()?.init_containers.iter().flatten();
    inits.find(|container| container.name == init)?.restart_policy.as_deref()
}

fn ended_well(status: &ContainerStatus) -> bool {
    let ended = status.state.as_ref().and_then(|state| state.terminated.as_ref());
    ended.is_some_and(|ended| ended.exit_code == 0)
}

fn driver_waits_for_init(pod: &Pod) -> bool {
    let waiting = driver_status(pod).and_then(|driver| driver.state.as_ref()?.waiting.as_ref());
    waiting.is_none_or(|waiting| waiting.reason.as_deref().is_none_or(|reason| reason == "PodInitializing"))
}
