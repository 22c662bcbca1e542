//! What a pod's status means for its submission: still waiting, and for what; running; ended; or a fault, final or one
//! that may heal. A plain function of pod and events, so every state that a cluster was seen in is a line of a table.
//! Only the driver's container counts once it runs: what others inject may run on or fail as it likes.

use k8s_openapi::api::core::v1::{ContainerState, ContainerStateTerminated, ContainerStatus, Event, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use shared::error_code::ErrorCode;

use crate::driver::driver_container::driver_container;
use crate::driver::init_containers;

/// What is waited for until the driver server is up. Each has its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartPhase {
    /// A node.
    Schedule,
    /// The image and the volumes.
    Pull,
    /// The container.
    Start,
}

impl StartPhase {
    /// For people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "scheduling",
            Self::Pull => "pulling image",
            Self::Start => "starting",
        }
    }

    /// The setting that limits it.
    #[must_use]
    pub const fn setting(self) -> &'static str {
        match self {
            Self::Schedule => "spark.airlock.timeout.schedule",
            Self::Pull => "spark.airlock.timeout.pull",
            Self::Start => "spark.airlock.timeout.start",
        }
    }
}

/// How the driver's container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code: the driver's own, or 128 and the signal.
    pub exit_code: i32,
    /// `Completed`, `Error`, `OOMKilled`, ….
    pub reason: Option<String>,
    /// The termination message, where the process left one.
    pub message: Option<String>,
    /// When it began.
    pub started_at: Option<Time>,
    /// When it ended.
    pub finished_at: Option<Time>,
}

impl Ended {
    /// The failure that the driver server left as its last words: `E_CODE: text`. A driver that was launched leaves none.
    #[must_use]
    pub fn stated_failure(&self) -> Option<(ErrorCode, &str)> {
        stated_failure(self.message.as_deref()?)
    }
}

/// The same, of any last words.
pub(super) fn stated_failure(message: &str) -> Option<(ErrorCode, &str)> {
    message.match_indices("E_").find_map(|(start, _)| {
        let (code, text) = message[start..].split_once(':')?;
        Some((code.parse().ok()?, text.trim()))
    })
}

/// Whether a program is for machines of another architecture.
#[must_use]
pub fn program_is_foreign(message: &str) -> bool {
    message.to_lowercase().contains("exec format error")
}

/// Whether a runtime says so of a container whose program is not in its image: runc's words, or crun's.
#[must_use]
pub fn program_is_missing(message: &str) -> bool {
    let message = message.to_lowercase();
    (message.contains("exec: \"") && message.contains("no such file"))
        || (message.contains("executable file") && message.contains("not found"))
}

/// What a pod's status means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// Nothing is wrong, and the driver server is not up yet.
    Waiting {
        /// What is waited for.
        phase: StartPhase,
        /// What the cluster says about it.
        text: String,
    },
    /// The driver's container runs.
    Running,
    /// The driver's container has ended.
    Ended(Ended),
    /// The pod will not run.
    Fault {
        /// Which kind of fault.
        code: ErrorCode,
        /// What the cluster says.
        text: String,
        /// Whether it may go away by itself, as a first failed pull may.
        may_heal: bool,
    },
}

/// Reads `pod`; `events` are those about it, oldest first, and may be missing.
#[must_use]
pub fn pod_state(pod: &Pod, events: &[Event]) -> PodState {
    let Some(status) = &pod.status else { return waiting(StartPhase::Schedule, "") };
    let driver = driver_status(pod);
    let state = driver.and_then(|driver| driver.state.as_ref());
    if let Some(terminated) = state.and_then(|state| state.terminated.as_ref()) {
        return ended_or_evicted(pod, terminated);
    }
    if let Some(fault) = pod_fault(pod) {
        return fault;
    }
    if state.is_some_and(|state| state.running.is_some()) {
        return PodState::Running;
    }
    let inits = status.init_container_statuses.iter().flatten();
    if let Some(fault) = inits.chain(driver).find_map(container_fault) {
        return fault;
    }
    if let Some((code, text)) = init_containers::final_failure(pod) {
        return fault(code, text, false);
    }
    start_phase(pod, events)
}

/// The status of the driver's container, wherever in the list it stands.
#[must_use]
pub fn driver_status(pod: &Pod) -> Option<&ContainerStatus> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    let driver = driver_container(pod);
    statuses.iter().find(|status| status.name == driver)
}

fn ended_or_evicted(pod: &Pod, terminated: &ContainerStateTerminated) -> PodState {
    if let Some(evicted) = evicted(pod) {
        return evicted;
    }
    PodState::Ended(Ended {
        exit_code: terminated.exit_code,
        reason: terminated.reason.clone(),
        message: terminated.message.clone().filter(|message| !message.trim().is_empty()),
        started_at: terminated.started_at.clone(),
        finished_at: terminated.finished_at.clone(),
    })
}

fn evicted(pod: &Pod) -> Option<PodState> {
    let status = pod.status.as_ref()?;
    let reason = status.reason.as_deref()?;
    let code = match reason {
        "Evicted" | "Preempting" | "Preempted" => ErrorCode::Evicted,
        _ => return None,
    };
    Some(fault(code, format!("{reason}: {}", status.message.as_deref().unwrap_or_default()), false))
}

/// A fault of the pod as a whole.
fn pod_fault(pod: &Pod) -> Option<PodState> {
    if let Some(evicted) = evicted(pod) {
        return Some(evicted);
    }
    let status = pod.status.as_ref()?;
    let failed = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
    if failed {
        let init = status.init_container_statuses.iter().flatten().find_map(init_containers::failure);
        let reason = status.reason.as_deref().unwrap_or("the pod has failed");
        let text =
            status.message.as_deref().map_or_else(|| reason.to_owned(), |message| format!("{reason}: {message}"));
        let (code, text) = init.unwrap_or((ErrorCode::PodNotStartable, text));
        return Some(fault(code, text, false));
    }
    let deleted = pod.metadata.deletion_timestamp.is_some() && driver_status(pod).is_none_or(|it| !is_running(it));
    deleted.then(|| fault(ErrorCode::DriverLost, "somebody deletes the pod".to_owned(), false))
}

fn is_running(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|state| state.running.is_some())
}

/// A fault that keeps one container from starting.
pub(super) fn container_fault(status: &ContainerStatus) -> Option<PodState> {
    let waiting = status.state.as_ref()?.waiting.as_ref()?;
    let reason = waiting.reason.as_deref()?;
    let message = waiting.message.as_deref().unwrap_or_default();
    let (code, may_heal) = match reason {
        "ErrImagePull" | "ImagePullBackOff" | "RegistryUnavailable" | "ImageInspectError" => (ErrorCode::Image, true),
        "InvalidImageName" | "ErrImageNeverPull" | "SignatureValidationFailed" => (ErrorCode::Image, false),
        "CreateContainerError" | "RunContainerError" if program_is_missing(message) => {
            (ErrorCode::PodNotStartable, false)
        }
        // The kubelet tries these again for ever: the missing Secret may be made, the runtime may recover.
        "CreateContainerConfigError" | "CreateContainerError" | "CreatePodSandboxError" | "RunContainerError" => {
            (ErrorCode::PodNotStartable, true)
        }
        // Restart policy Never: a driver container never waits in this state, an init container may.
        "CrashLoopBackOff" => (ErrorCode::PodNotStartable, true),
        _ => return None,
    };
    let image = if code == ErrorCode::Image { format!(" image {}", status.image) } else { String::new() };
    let text = format!("{reason}: container {}{image}: {message}", status.name);
    Some(fault(code, text.trim_end_matches(": ").to_owned(), may_heal))
}

/// Which phase a pod without fault is in.
fn start_phase(pod: &Pod, events: &[Event]) -> PodState {
    let assigned = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    if !assigned {
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let mut refused = conditions.filter(|it| it.type_ == "PodScheduled" && it.status == "False");
        let text = refused.next_back().and_then(|it| it.message.clone()).unwrap_or_default();
        // Not a fault: a cluster that grows on demand says this first, and the phase has its own limit.
        return waiting(StartPhase::Schedule, text);
    }
    if let Some((phase, text)) = init_containers::present_wait(pod) {
        return waiting(phase, text);
    }
    let last = events.iter().rev().find(|event| is_start_event(event));
    match last.and_then(|event| event.reason.as_deref()) {
        Some("Pulled" | "Created" | "Started") => waiting(StartPhase::Start, ""),
        Some("FailedMount" | "FailedAttachVolume" | "FailedCreatePodSandBox") => {
            waiting(StartPhase::Start, last.and_then(|event| event.message.clone()).unwrap_or_default())
        }
        // Nearly all of the time between node and container is the image, so without events that is what it is.
        _ => waiting(StartPhase::Pull, ""),
    }
}

fn is_start_event(event: &Event) -> bool {
    let known =
        ["Pulling", "Pulled", "Created", "Started", "FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"];
    event.reason.as_deref().is_some_and(|reason| known.contains(&reason))
}

fn waiting(phase: StartPhase, text: impl Into<String>) -> PodState {
    PodState::Waiting { phase, text: text.into() }
}

const fn fault(code: ErrorCode, text: String, may_heal: bool) -> PodState {
    PodState::Fault { code, text, may_heal }
}

/// What the container's state is, for people: `running`, `waiting`, `terminated`.
#[must_use]
pub fn state_name(state: &ContainerState) -> &'static str {
    match state {
        ContainerState { running: Some(_), .. } => "running",
        ContainerState { terminated: Some(_), .. } => "terminated",
        _ => "waiting",
    }
}

#[cfg(test)]
#[path = "pod_state_tests.rs"]
mod tests;
