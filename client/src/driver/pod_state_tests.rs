//! Statuses as clusters were seen to report them, one line each.

use super::*;
use crate::driver::init_containers::injection_failed;
use crate::objects::driver_pod::DRIVER_CONTAINER;
use serde_json::{Value, json};

#[expect(clippy::needless_pass_by_value, reason = "the tables read better")]
fn pod(status: Value) -> Pod {
    let on_node =
        json!({"metadata": {"name": "x-driver"}, "spec": {"nodeName": "node1", "containers": []}, "status": status});
    serde_json::from_value(on_node).unwrap()
}

fn driver(state: Value) -> Value {
    container(DRIVER_CONTAINER, state)
}

#[expect(clippy::needless_pass_by_value, reason = "the tables read better")]
fn container(name: &str, state: Value) -> Value {
    json!({"name": name, "image": "r/spark:9", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn pending(state: Value) -> Pod {
    pod(json!({"phase": "Pending", "containerStatuses": [driver(state)]}))
}

fn waits(reason: &str, message: &str) -> Value {
    json!({"waiting": {"reason": reason, "message": message}})
}

fn event(reason: &str, message: &str) -> Event {
    serde_json::from_value(json!({"metadata": {}, "involvedObject": {}, "reason": reason, "message": message})).unwrap()
}

fn assert_fault(pod: &Pod, expected: ErrorCode, heals: bool, part: &str) {
    match pod_state(pod, &[]) {
        PodState::Fault { code, text, may_heal } => {
            assert_eq!((code, may_heal), (expected, heals), "{text}");
            assert!(text.contains(part), "{text}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn c02_faults_of_the_drivers_container() {
    let table = [
        ("ErrImagePull", "not found", ErrorCode::Image, true),
        ("ImagePullBackOff", "Back-off pulling image \"r/spark:9\"", ErrorCode::Image, true),
        ("InvalidImageName", "couldn't parse image name", ErrorCode::Image, false),
        ("ErrImageNeverPull", "Container image is not present with pull policy of Never", ErrorCode::Image, false),
        ("CreateContainerConfigError", "secret \"db\" not found", ErrorCode::PodNotStartable, true),
        ("CreateContainerError", "context deadline exceeded", ErrorCode::PodNotStartable, true),
        ("RunContainerError", "exec: \"/opt/airlock/airlock-driver\": no such file", ErrorCode::PodNotStartable, false),
        ("CreateContainerError", "executable file `/x` not found: No such file", ErrorCode::PodNotStartable, false),
        ("CreateContainerError", "stat \"/mnt/data\": no such file or directory", ErrorCode::PodNotStartable, true),
    ];
    for (reason, message, code, heals) in table {
        assert_fault(&pending(waits(reason, message)), code, heals, message);
    }
}

#[test]
fn c02_image_faults_name_the_image() {
    assert_fault(&pending(waits("ErrImagePull", "not found")), ErrorCode::Image, true, "image r/spark:9");
}

#[test]
fn c02_an_init_container_that_fails() {
    let ended = json!({"terminated": {"exitCode": 1, "reason": "Error", "message": "no route"}});
    let failed = pod(json!({"phase": "Failed", "initContainerStatuses": [container("mesh-init", ended)],
        "containerStatuses": [driver(waits("PodInitializing", ""))]}));
    assert_fault(&failed, ErrorCode::PodNotStartable, false, "init container mesh-init ended with 1 (Error) no route");
    let pulling =
        pod(json!({"phase": "Pending", "initContainerStatuses": [container("mesh-init", waits("ErrImagePull", "x"))],
        "containerStatuses": [driver(waits("PodInitializing", ""))]}));
    assert_fault(&pulling, ErrorCode::Image, true, "container mesh-init");
}

#[test]
fn c02_the_injecting_container_says_its_code_and_others_do_not() {
    let failed = |name: &str| {
        let ended = json!({"terminated": {"exitCode": 74, "reason": "Error", "message": "E_DISK_FULL: no space left"}});
        pod(json!({"phase": "Failed", "initContainerStatuses": [container(name, ended)],
            "containerStatuses": [driver(waits("PodInitializing", ""))]}))
    };
    assert_fault(
        &failed("airlock-install"),
        ErrorCode::DiskFull,
        false,
        "init container airlock-install ended with 74",
    );
    assert!(injection_failed(&failed("airlock-install")));
    assert_fault(&failed("fetch"), ErrorCode::PodNotStartable, false, "init container fetch");
    let mut sooner = failed("fetch");
    sooner.status.as_mut().unwrap().phase = Some("Pending".to_owned());
    assert_fault(&sooner, ErrorCode::PodNotStartable, false, "init container fetch ended with 74");
    assert!(!injection_failed(&failed("fetch")));
}

#[test]
fn c06_the_init_container_whose_turn_it_is() {
    let runs = || json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let done = || json!({"terminated": {"exitCode": 0, "reason": "Completed"}});
    let table = [
        (waits("PodInitializing", ""), StartPhase::Pull, "init container airlock-install"),
        (runs(), StartPhase::Start, "init container airlock-install"),
        (done(), StartPhase::Pull, ""),
    ];
    for (state, phase, text) in table {
        let status = json!({"phase": "Pending", "initContainerStatuses": [container("airlock-install", state)],
            "containerStatuses": [driver(waits("PodInitializing", ""))]});
        assert_eq!(pod_state(&pod(status), &[]), PodState::Waiting { phase, text: text.into() });
    }
}

#[test]
fn c06_a_native_sidecar_that_is_up_is_not_waited_for() {
    let sidecar = |started: bool| {
        let mut status = container("proxy", json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
        status["started"] = json!(started);
        let status = json!({"phase": "Pending", "initContainerStatuses": [status],
            "containerStatuses": [driver(waits("PodInitializing", ""))]});
        let mut pod = pod(status);
        let init = json!([{"name": "proxy", "restartPolicy": "Always"}]);
        pod.spec.as_mut().unwrap().init_containers = serde_json::from_value(init).unwrap();
        pod_state(&pod, &[])
    };
    let waits_for = |text: &str, phase| PodState::Waiting { phase, text: text.into() };
    assert_eq!(sidecar(false), waits_for("init container proxy", StartPhase::Start));
    assert_eq!(sidecar(true), waits_for("", StartPhase::Pull));
}

#[test]
fn c02_a_driver_container_that_ends_before_the_upload() {
    let ended = pending(json!({"terminated": {"exitCode": 128, "reason": "StartError",
        "message": "exec: \"/opt/airlock/airlock-driver\": stat: no such file or directory"}}));
    let PodState::Ended(ended) = pod_state(&ended, &[]) else { panic!() };
    assert_eq!((ended.exit_code, ended.reason.as_deref()), (128, Some("StartError")));
}

#[test]
fn c03_evicted() {
    let message = "The node was low on resource: ephemeral-storage.";
    let status = json!({"phase": "Failed", "reason": "Evicted", "message": message});
    assert_fault(&pod(status), ErrorCode::Evicted, false, message);
    let with_container = json!({"phase": "Failed", "reason": "Evicted", "message": message,
        "containerStatuses": [driver(json!({"terminated": {"exitCode": 137, "reason": "Error"}}))]});
    assert_fault(&pod(with_container), ErrorCode::Evicted, false, message);
}

#[test]
fn a_pod_that_its_node_refuses() {
    let status = json!({"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough resource: cpu"});
    assert_fault(&pod(status), ErrorCode::PodNotStartable, false, "OutOfcpu: Node didn't have enough");
}

#[test]
fn a_pod_that_is_being_deleted_before_it_runs() {
    let mut deleted = pending(waits("ContainerCreating", ""));
    deleted.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
    assert_fault(&deleted, ErrorCode::DriverLost, false, "deletes");
}

#[test]
fn c06_the_kind_of_wait() {
    let creating = pending(waits("ContainerCreating", ""));
    let mut unscheduled = pod(json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "0/2 nodes are available: 2 Insufficient memory."}]}));
    unscheduled.spec.as_mut().unwrap().node_name = None;
    let table = [
        (&unscheduled, vec![], StartPhase::Schedule, "0/2 nodes are available: 2 Insufficient memory."),
        (&creating, vec![], StartPhase::Pull, ""),
        (&creating, vec![event("Scheduled", ""), event("Pulling", "")], StartPhase::Pull, ""),
        (&creating, vec![event("Pulling", ""), event("Pulled", "")], StartPhase::Start, ""),
        (
            &creating,
            vec![event("FailedMount", "configmap \"c\" not found")],
            StartPhase::Start,
            "configmap \"c\" not found",
        ),
        (&creating, vec![event("FailedMount", "x"), event("Pulling", "")], StartPhase::Pull, ""),
    ];
    for (pod, events, phase, text) in table {
        assert_eq!(pod_state(pod, &events), PodState::Waiting { phase, text: text.into() }, "{events:?}");
    }
}

#[test]
fn r09_only_the_drivers_container_counts() {
    let sidecar = container("istio-proxy", waits("ImagePullBackOff", "no"));
    let running = driver(json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
    let status = json!({"phase": "Pending", "containerStatuses": [sidecar, running]});
    assert_eq!(pod_state(&pod(status), &[]), PodState::Running);
    let runs_on = container("istio-proxy", json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
    let ended = driver(json!({"terminated": {"exitCode": 3, "reason": "Error"}}));
    let status = json!({"phase": "Running", "containerStatuses": [runs_on, ended]});
    assert!(matches!(pod_state(&pod(status), &[]), PodState::Ended(Ended { exit_code: 3, .. })));
}

#[test]
fn x01_a_running_driver_that_is_asked_to_end_still_runs() {
    let mut running = pending(json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}));
    running.metadata.deletion_timestamp = Some(Time(jiff::Timestamp::UNIX_EPOCH));
    assert_eq!(pod_state(&running, &[]), PodState::Running);
}
