//! What is printed about a driver while it runs and at its end, as upstream prints it: tools read these lines. Airflow
//! looks for `pod name: …-driver` at a line's end, `spark-app-selector -> spark-…, `, and `exit code: N`. Plain functions.

use std::fmt::Write;

use k8s_openapi::api::core::v1::{ContainerState, ContainerStatus, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::driver::driver_container::driver_container;
use crate::driver::pod_state::state_name;
use crate::objects::driver_pod::APP_LABEL;

/// The application, as lines name it.
#[derive(Clone, Debug)]
pub struct Application {
    /// `spark.app.name`.
    pub name: String,
    /// `spark-<32 hex>`.
    pub id: String,
    /// The namespace.
    pub namespace: String,
    /// The driver pod.
    pub pod: String,
}

/// Before waiting.
#[must_use]
pub fn waiting(application: &Application) -> String {
    let Application { name, id, namespace, pod } = application;
    format!("Waiting for application {name} with application ID {id} and submission ID {namespace}:{pod} to finish...")
}

/// When nobody waits.
#[must_use]
pub fn deployed(application: &Application) -> String {
    let Application { name, id, namespace, pod } = application;
    format!(
        "Deployed Spark application {name} with application ID {id} and submission ID {namespace}:{pod} into Kubernetes"
    )
}

/// Each report interval.
#[must_use]
pub fn status(application: &Application, phase: &str) -> String {
    format!("Application status for {} (phase: {phase})", application.id)
}

/// At the end.
#[must_use]
pub fn finished(application: &Application) -> String {
    let Application { name, id, namespace, pod } = application;
    format!("Application {name} with application ID {id} and submission ID {namespace}:{pod} finished")
}

/// The pod's phase.
#[must_use]
pub fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Unknown")
}

/// The pod as a block of lines, for whenever it has changed.
#[must_use]
pub fn state_changed(pod: &Pod) -> String {
    format!("State changed, new state:{}", block(pod))
}

/// The pod as a block of lines, for whoever asked for it.
#[must_use]
pub fn status_asked_for(pod: &Pod) -> String {
    format!("Application status (driver): {}", block(pod))
}

/// What is known of the pod, each on a line of its own.
fn block(pod: &Pod) -> String {
    let spec = pod.spec.as_ref();
    let volumes = spec.and_then(|spec| spec.volumes.as_ref());
    let volumes = volumes.into_iter().flatten().map(|volume| volume.name.as_str()).collect::<Vec<_>>().join(", ");
    let status = pod.status.as_ref();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = write!(text, "\n\t {name}: {value}");
    };
    line("pod name", &pod.name_any());
    line("namespace", &pod.namespace().unwrap_or_default());
    line("labels", &labels(pod));
    line("pod uid", &pod.uid().unwrap_or_default());
    line("creation time", &time(pod.metadata.creation_timestamp.as_ref()));
    line("service account name", spec.and_then(|spec| spec.service_account_name.as_deref()).unwrap_or("N/A"));
    line("volumes", if volumes.is_empty() { "N/A" } else { &volumes });
    line("node name", spec.and_then(|spec| spec.node_name.as_deref()).unwrap_or("N/A"));
    line("start time", &time(status.and_then(|status| status.start_time.as_ref())));
    line("phase", status.and_then(|status| status.phase.as_deref()).unwrap_or("N/A"));
    let containers: Vec<_> = containers(pod).map(|container| container_lines(container, "\t\t ")).collect();
    line("container status", if containers.is_empty() { "N/A" } else { "" });
    text + &containers.join("\n\n")
}

/// How each container ended.
#[must_use]
pub fn final_statuses(pod: &Pod) -> String {
    let mut text = "Container final statuses:\n".to_owned();
    for container in containers(pod) {
        text.push_str(&container_lines(container, "\t "));
        text.push('\n');
    }
    text
}

/// The driver's container last: parsers keep the last exit code that they find.
fn containers(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let all = || pod.status.iter().flat_map(|status| status.container_statuses.iter().flatten());
    let driver = driver_container(pod);
    let is_driver = move |container: &&ContainerStatus| container.name == driver;
    all().filter(move |container| !is_driver(container)).chain(all().filter(is_driver))
}

/// `spark-app-selector -> …` first and never last: a comma follows it, which parsers look for.
fn labels(pod: &Pod) -> String {
    let first = pod.labels().iter().filter(|(key, _)| *key == APP_LABEL);
    let others = pod.labels().iter().filter(|(key, _)| *key != APP_LABEL);
    let pairs: Vec<_> = first.chain(others).map(|(key, value)| format!("{key} -> {value}")).collect();
    pairs.join(", ")
}

fn container_lines(container: &ContainerStatus, indent: &str) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = write!(text, "\n{indent}{name}: {value}");
    };
    line("container name", &container.name);
    line("container image", &container.image);
    let state = container.state.clone().unwrap_or_default();
    line("container state", if state == ContainerState::default() { "N/A" } else { state_name(&state) });
    if let Some(running) = &state.running {
        line("container started at", &time(running.started_at.as_ref()));
    }
    if let Some(waiting) = &state.waiting {
        line("pending reason", waiting.reason.as_deref().unwrap_or("N/A"));
    }
    if let Some(ended) = &state.terminated {
        line("container started at", &time(ended.started_at.as_ref()));
        line("container finished at", &time(ended.finished_at.as_ref()));
        line("exit code", &ended.exit_code.to_string());
        line("termination reason", ended.reason.as_deref().unwrap_or("N/A"));
    }
    text
}

fn time(time: Option<&Time>) -> String {
    time.map_or_else(|| "N/A".to_owned(), |time| time.0.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn application() -> Application {
        Application {
            name: "pi".into(),
            id: "spark-0123".into(),
            namespace: "team".into(),
            pod: "pi-abababababababab-driver".into(),
        }
    }

    fn container(name: &str, state: &serde_json::Value) -> serde_json::Value {
        json!({"name": name, "image": "spark:4", "imageID": "", "ready": false, "restartCount": 0, "state": state})
    }

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "pi-abababababababab-driver", "namespace": "team", "uid": "u-1",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app": "x", "spark-app-selector": "spark-0123", "spark-role": "driver"}},
            "spec": {"serviceAccountName": "spark", "nodeName": "node1", "containers": [],
                "volumes": [{"name": "spark-local-dir-1"}, {"name": "airlock"}]},
            "status": {"phase": "Failed", "startTime": "2026-01-01T00:00:01Z", "containerStatuses": [
                container("spark-kubernetes-driver", &json!({"terminated": {"exitCode": 3, "reason": "Error",
                    "startedAt": "2026-01-01T00:00:02Z", "finishedAt": "2026-01-01T00:00:09Z"}})),
                container("istio-proxy", &json!({"terminated": {"exitCode": 0, "reason": "Completed"}}))]},
        }))
        .unwrap()
    }

    #[test]
    fn lines_snapshot() {
        let lines = [
            waiting(&application()),
            status(&application(), "Running"),
            state_changed(&pod()),
            final_statuses(&pod()),
            finished(&application()),
            deployed(&application()),
        ];
        insta::assert_snapshot!(lines.join("\n"));
    }

    /// The three patterns that Airflow's hook searches for, written out by hand.
    #[test]
    fn airflow_finds_pod_application_and_exit_code() {
        let block = state_changed(&pod());
        let name = block.lines().find_map(|line| line.trim_start().strip_prefix("pod name: "));
        assert_eq!(name, Some("pi-abababababababab-driver"));
        let selector = block.split_once("spark-app-selector -> ").unwrap().1;
        assert_eq!(selector.split_once(", ").unwrap().0, "spark-0123");
        let end = final_statuses(&pod());
        let mut codes = end.lines().filter_map(|line| line.trim_start().strip_prefix("exit code: "));
        assert_eq!(codes.next_back(), Some("3"), "the last one counts, and is the driver's");
    }
}
