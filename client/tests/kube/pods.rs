//! Pod statuses, as patches that the scripted server plays.

use serde_json::{Value, json};

const DRIVER: &str = "spark-kubernetes-driver";

fn driver(state: &Value) -> Value {
    json!({"name": DRIVER, "image": "spark:9", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn on_node(phase: &str, state: &Value) -> Value {
    json!({"spec": {"nodeName": "node1"}, "status": {"phase": phase, "hostIP": "127.0.0.1", "containerStatuses": [driver(state)]}})
}

pub(crate) fn unschedulable() -> Value {
    json!({"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/2 nodes are available"}]}})
}

pub(crate) fn waiting(reason: &str) -> Value {
    on_node("Pending", &json!({"waiting": {"reason": reason, "message": format!("kubelet says {reason}")}}))
}

pub(crate) fn running() -> Value {
    on_node("Running", &json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}))
}

pub(crate) fn ended(code: i32, reason: &str, message: &str) -> Value {
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    on_node(phase, &json!({"running": null, "terminated": {"exitCode": code, "reason": reason, "message": message}}))
}

/// The init container that brings the driver server is in `state`.
pub(crate) fn initializing(phase: &str, state: &Value) -> Value {
    let mut pod = on_node(phase, &json!({"waiting": {"reason": "PodInitializing"}}));
    pod["status"]["initContainerStatuses"] = json!([{"name": "airlock-install", "image": "r/d:1", "imageID": "",
        "ready": false, "restartCount": 0, "state": state}]);
    pod
}

/// The driver has ended; another container has not.
pub(crate) fn beside_a_sidecar(code: i32) -> Value {
    let mut pod = ended(code, "Error", "");
    pod["status"]["phase"] = json!("Running");
    let runs = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let proxy =
        json!({"name": "proxy", "image": "p:1", "imageID": "", "ready": true, "restartCount": 0, "state": runs});
    pod["status"]["containerStatuses"].as_array_mut().unwrap().insert(0, proxy);
    pod
}
