//! Waiting for the driver: first until its server is up, with one limit for each phase and the kind of wait always said;
//! later until it has ended, for its exit code. States come from `pod_watch`, their meaning from `pod_state`.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::ListParams;
use shared::error_code::ErrorCode;
use tokio::time::{Instant, sleep, sleep_until};

use crate::cluster::Cluster;
use crate::driver::init_containers::injection_failed;
use crate::driver::pod_state::{Ended, PodState, StartPhase, pod_state, program_is_foreign, program_is_missing};
use crate::driver::pod_watch::{PodWatch, Seen};
use crate::error::SubmitError;
use crate::objects::driver_pod::DRIVER_CONTAINER;
use crate::progress::Progress;
use crate::settings::Deadlines;

/// How often events are read while the pod's status says nothing: only they tell a pull from a start.
const EVENTS_INTERVAL: Duration = Duration::from_secs(2);

/// Before the API server is asked again after it was away for longer than one call is repeated.
pub(crate) const TROUBLE_PAUSE: Duration = Duration::from_secs(1);

/// The pod that is waited for.
#[derive(Clone, Debug)]
pub struct DriverPod {
    /// Its name.
    pub name: String,
    /// Its uid: a pod of that name with another is another pod.
    pub uid: String,
}

/// The limits of the phases, and since when the present one runs.
struct PhaseClock<'a> {
    deadlines: &'a Deadlines,
    phase: Option<(StartPhase, Instant)>,
    fault: Option<(ErrorCode, String, Instant)>,
}

impl PhaseClock<'_> {
    fn limit(&self, phase: StartPhase) -> Duration {
        match phase {
            StartPhase::Schedule => self.deadlines.schedule,
            StartPhase::Pull => self.deadlines.pull,
            StartPhase::Start => self.deadlines.start,
        }
    }

    /// The pod waits in `phase`. A phase that moves on heals what went wrong before, and has a limit of its own.
    fn enter(&mut self, phase: StartPhase) {
        if self.phase.is_none_or(|(present, _)| present != phase) {
            (self.phase, self.fault) = (Some((phase, Instant::now())), None);
        }
    }

    /// A fault that may heal: the first one counts, however often its text changes.
    fn fault(&mut self, code: ErrorCode, text: String) {
        let since = self.fault.as_ref().map_or_else(Instant::now, |(_, _, since)| *since);
        self.fault = Some((code, text, since));
    }

    /// When the present phase or fault has lasted too long.
    fn end(&self) -> Instant {
        let fault = self.fault.as_ref().map(|(_, _, since)| *since + self.deadlines.fault);
        let phase = self.phase.map(|(phase, since)| since + self.limit(phase));
        let far = Instant::now() + self.deadlines.schedule;
        fault.into_iter().chain(phase).min().unwrap_or(far)
    }

    /// The failure at that moment; `seen` is the pod, and `text` what the cluster said last.
    fn expired(&self, pod: &str, seen: Option<&Pod>, text: &str) -> SubmitError {
        if let Some((code, text, since)) = &self.fault
            && since.elapsed() >= self.deadlines.fault
        {
            return start_failure(*code, pod, seen, text)
                .hint("watch such a fault for longer: --conf spark.airlock.timeout.fault=5m");
        }
        let phase = self.phase.map_or(StartPhase::Schedule, |(phase, _)| phase);
        let (name, limit, setting) = (phase.name(), self.limit(phase), phase.setting());
        let what = format!("pod {pod} was still in phase {name:?} after {} s", limit.as_secs());
        let error = SubmitError::new(ErrorCode::PhaseTimeout, what).hint(format!("wait longer: --conf {setting}=30m"));
        if text.is_empty() { error } else { error.because(text.to_owned()) }
    }
}

/// Waits until the driver server's container runs.
pub async fn await_server(
    cluster: &Cluster,
    driver: &DriverPod,
    deadlines: &Deadlines,
    progress: &Progress,
) -> Result<Pod, SubmitError> {
    let mut states = pin!(PodWatch::new(cluster, &driver.name, &driver.uid).states());
    let mut clock = PhaseClock { deadlines, phase: None, fault: None };
    let (mut seen, mut events, mut said) = (None, Vec::new(), String::new());
    let mut next_events = Instant::now() + EVENTS_INTERVAL / 4;
    loop {
        tokio::select! {
            Some(next) = states.next() => seen = Some(present(next?, &driver.name)?),
            () = sleep_until(next_events), if clock.phase.is_some_and(|(phase, _)| phase != StartPhase::Schedule) => {
                events = pod_events(cluster, driver).await;
                next_events = Instant::now() + EVENTS_INTERVAL;
            }
            () = sleep_until(clock.end()) => return Err(clock.expired(&driver.name, seen.as_ref(), &said)),
        }
        let Some(pod) = &seen else { continue };
        match pod_state(pod, &events) {
            PodState::Running => return Ok(pod.clone()),
            PodState::Waiting { phase, text } => {
                clock.enter(phase);
                progress.waiting(wait_text(phase, &text));
                said = text;
            }
            PodState::Fault { code, text, may_heal: true } => {
                progress.waiting(format!("waiting, this may heal: {text}"));
                clock.fault(code, text);
            }
            PodState::Fault { code, text, .. } => return Err(start_failure(code, &driver.name, Some(pod), &text)),
            PodState::Ended(ended) => return Err(ended_early(&driver.name, &ended)),
        }
    }
}

/// Watches a pod that should run on, and ends with the reason once it does not: for beside an upload.
pub async fn until_ended(cluster: &Cluster, driver: &DriverPod) -> SubmitError {
    let mut states = pin!(PodWatch::new(cluster, &driver.name, &driver.uid).states());
    while let Some(seen) = states.next().await {
        let pod = match seen.and_then(|seen| present(seen, &driver.name)) {
            Ok(pod) => pod,
            // The API server's trouble is not the upload's: while the driver server answers, it goes on.
            Err(error) if api_trouble(&error) => {
                sleep(TROUBLE_PAUSE).await;
                continue;
            }
            Err(error) => return error,
        };
        match pod_state(&pod, &[]) {
            PodState::Ended(ended) => return ended_early(&driver.name, &ended),
            PodState::Fault { code, text, may_heal: false } => {
                return start_failure(code, &driver.name, Some(&pod), &text);
            }
            _ => {}
        }
    }
    SubmitError::bug("the watch on the pod has ended")
}

/// Whether the API server, not the driver, is at fault.
pub(crate) fn api_trouble(error: &SubmitError) -> bool {
    matches!(error.code(), ErrorCode::ApiBusy | ErrorCode::ApiTimeout | ErrorCode::ApiUnreachable)
}

fn present(seen: Seen, name: &str) -> Result<Pod, SubmitError> {
    match seen {
        Seen::Pod(pod) => Ok(*pod),
        Seen::Gone(_) => {
            Err(SubmitError::new(ErrorCode::DriverLost, format!("pod {name} is gone: somebody deleted or replaced it")))
        }
    }
}

fn wait_text(phase: StartPhase, text: &str) -> String {
    if text.is_empty() { phase.name().to_owned() } else { format!("{}: {text}", phase.name()) }
}

fn start_failure(code: ErrorCode, name: &str, pod: Option<&Pod>, text: &str) -> SubmitError {
    let error = SubmitError::new(code, format!("pod {name} does not start")).because(text.to_owned());
    let by_injection = pod.is_some_and(injection_failed);
    match code {
        ErrorCode::Image if by_injection => {
            error.hint("check --conf spark.airlock.driver.image and spark.kubernetes.container.image.pullSecrets")
        }
        ErrorCode::Image => {
            error.hint("check --conf spark.kubernetes.container.image and spark.kubernetes.container.image.pullSecrets")
        }
        _ if program_is_foreign(text) => error.hint(FOREIGN_HINT),
        _ if program_is_missing(text) && by_injection => error.hint(INJECTOR_HINT),
        _ if program_is_missing(text) => missing_server(error),
        _ => error.hint(format!("look at it while it is there: kubectl describe pod {name}")),
    }
}

const FOREIGN_HINT: &str = "take an image for the node's architecture, or nodes for the image's: \
                            --conf spark.kubernetes.driver.node.selector.kubernetes.io/arch=amd64";

const INJECTOR_HINT: &str = "spark.airlock.driver.image must be an image that holds /airlock-driver";

fn missing_server(error: SubmitError) -> SubmitError {
    error
        .hint("bring it into any image: --conf spark.airlock.driver.inject=always --conf spark.airlock.driver.image=IMAGE")
        .hint("or say where the image has it: --conf spark.airlock.driver.command=/path/in/image")
}

/// The driver server ended before it launched anything. It leaves its reason as termination message: `E_CODE: text`.
pub(crate) fn ended_early(pod: &str, ended: &Ended) -> SubmitError {
    let message = ended.message.as_deref().unwrap_or_default().trim();
    if let Some((code, text)) = ended.stated_failure() {
        // Its signal is not ours: whoever ended the pod has not interrupted this submission.
        let interrupted = matches!(code, ErrorCode::Interrupted | ErrorCode::Terminated);
        let code = if interrupted { ErrorCode::DriverLost } else { code };
        return SubmitError::new(code, format!("pod {pod} ended before the launch")).because(text.to_owned());
    }
    let reason = ended.reason.as_deref().unwrap_or("no reason given");
    let missing = program_is_missing(message);
    let what = if missing {
        format!("pod {pod} does not start: its image has no driver server ({reason})")
    } else {
        format!("pod {pod} ended before the launch with exit code {} ({reason})", ended.exit_code)
    };
    let error = SubmitError::new(ErrorCode::PodNotStartable, what);
    if program_is_foreign(message) {
        return error.because(message.to_owned()).hint(FOREIGN_HINT);
    }
    let error = if message.is_empty() { error } else { error.because(message.to_owned()) };
    if missing {
        return missing_server(error);
    }
    error.hint("the image must hold the driver server: --conf spark.airlock.driver.command=/path/in/image")
}

/// What the cluster has reported about the pod, oldest first; nothing if we may not read it.
async fn pod_events(cluster: &Cluster, driver: &DriverPod) -> Vec<Event> {
    let fields = format!("involvedObject.name={},involvedObject.uid={}", driver.name, driver.uid);
    let (api, params) = (cluster.api::<Event>(), ListParams::default().fields(&fields));
    let listed = tokio::time::timeout(cluster.request_timeout(), api.list(&params)).await;
    let mut events: Vec<_> = listed.ok().and_then(Result::ok).map(|list| list.items).unwrap_or_default();
    let ours = format!("spec.containers{{{DRIVER_CONTAINER}}}");
    events.retain(|event| event.involved_object.field_path.as_ref().is_none_or(|path| *path == ours));
    events.sort_by_key(event_time);
    events
}

fn event_time(event: &Event) -> Option<jiff::Timestamp> {
    let last = event.last_timestamp.as_ref().map(|time| time.0);
    last.or_else(|| event.event_time.as_ref().map(|time| time.0)).or(event.first_timestamp.as_ref().map(|time| time.0))
}
