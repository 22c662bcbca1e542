//! Spark's own spark-submit as judge of `--kill` and `--status`: the same server, the same words, the same lines on stderr
//! and the same calls. Only what matches nothing ends otherwise, on purpose.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::api::ApiServer;
use crate::command_lines::{airlock, server};

fn spark_home() -> String {
    let set = std::env::var("AIRLOCK_E2E_SPARK_HOME").ok();
    set.unwrap_or_else(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/spark-home");
        let output = Command::new(script).output().unwrap();
        assert!(output.status.success(), "this test needs Spark: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    })
}

/// Upstream's status, and what it says besides its logger.
async fn upstream(server: &ApiServer, words: &[&str]) -> (i32, String) {
    let master = format!("k8s://{}", server.url);
    let words: Vec<_> = words.iter().map(ToString::to_string).collect();
    let running = tokio::task::spawn_blocking(move || {
        let home = spark_home();
        let mut command = Command::new(format!("{home}/bin/spark-submit"));
        command.env("SPARK_HOME", home).env("KUBECONFIG", "/nonexistent").env_remove("SPARK_CONF_DIR");
        command.args(["--master", &master]).args(words).output().unwrap()
    });
    let output = running.await.unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let said = text.split_once("Submitting a request").map(|(_, rest)| format!("Submitting a request{rest}"));
    (output.status.code().unwrap(), said.unwrap_or(text))
}

/// Without the logger's own lines. Blanks at the end of a line and the order of labels are nobody's interface.
fn normal(text: &str) -> Vec<String> {
    let line = |line: &str| match line.split_once("labels: ") {
        Some((before, labels)) => {
            let mut labels: Vec<_> = labels.split(", ").collect();
            labels.sort_unstable();
            format!("{before}labels: {}", labels.join(", "))
        }
        None => line.trim_end().to_owned(),
    };
    text.lines().filter(|line| !line.contains(" WARN ")).map(line).collect()
}

fn calls(server: &ApiServer) -> Vec<String> {
    let call = |call: crate::api::Call| {
        let grace = &call.body["gracePeriodSeconds"];
        let propagation = &call.body["propagationPolicy"];
        format!("{} {} {} {} {grace} {propagation}", call.verb, call.namespace, call.resource, call.name)
    };
    server.calls().into_iter().map(call).collect()
}

#[tokio::test]
#[ignore = "needs Spark"]
async fn x05_kill_and_status_say_and_do_what_upstreams_do() {
    let grace = "spark.kubernetes.appKillPodDeletionGracePeriod=5m";
    for (words, ours) in [
        (&["--status", "team:pi-driver"][..], 0),
        (&["--status", "team:p*"], 0),
        (&["--kill", "team:pi-driver", "--conf", grace], 0),
        (&["--kill", "team:pi*"], 0),
        (&["--status", "team:no*"], 66),
        (&["--kill", "team:no*"], 66),
    ] {
        let (theirs_server, our_server) = (server().await, server().await);
        let (status, theirs) = upstream(&theirs_server, words).await;
        assert_eq!(status, 0, "{words:?}: {theirs}");
        let (status, _, said) = airlock(&our_server, &[&["submit"], words].concat()).await;
        assert_eq!(status, ours, "{words:?}: {said}");
        let said = said.split("airlock: E_").next().unwrap().replace(&our_server.url, &theirs_server.url);
        // Upstream names what it deletes only for a pattern.
        let (said, theirs) = (normal(&said), normal(&theirs));
        let extra = !theirs.iter().any(|line| line.starts_with("Deleting "));
        let said: Vec<_> = said.into_iter().filter(|line| !(extra && line.starts_with("Deleting "))).collect();
        assert_eq!(said, theirs, "{words:?}");
        assert_eq!(calls(&our_server), calls(&theirs_server), "{words:?}");
    }
}

/// Pods as they look at each moment of their lives, with sidecars and without.
fn pods_of_all_states(server: &ApiServer) {
    let container = |name: &str, state: serde_json::Value| json!({"name": name, "image": "spark:4", "imageID": "", "ready": false, "restartCount": 0, "state": state});
    let driver = |state| container("spark-kubernetes-driver", state);
    let ended = json!({"terminated": {"exitCode": 3, "reason": "Error", "message": "no",
        "startedAt": "2026-01-01T00:00:02Z", "finishedAt": "2026-01-01T00:00:09Z"}});
    let statuses = [
        json!({}),
        json!({"phase": "Pending"}),
        json!({"phase": "Pending", "containerStatuses": []}),
        json!({"phase": "Pending", "containerStatuses": [driver(json!({"waiting": {"reason": "ErrImagePull", "message": "no"}}))]}),
        json!({"phase": "Pending", "containerStatuses": [driver(json!({"waiting": {}}))]}),
        json!({"phase": "Pending", "containerStatuses": [driver(json!({}))]}),
        json!({"phase": "Running", "startTime": "2026-01-01T00:00:01Z", "containerStatuses": [
            container("istio-proxy", json!({"running": {}})), driver(json!({"running": {"startedAt": "2026-01-01T00:00:02Z"}}))]}),
        json!({"phase": "Failed", "reason": "Evicted", "containerStatuses": [
            container("istio-proxy", ended.clone()), driver(ended)]}),
        json!({"phase": "Failed", "containerStatuses": [driver(json!({"terminated": {"exitCode": 137}}))]}),
    ];
    for (number, status) in statuses.into_iter().enumerate() {
        let labels = json!({"spark-role": "driver", "spark-app-selector": format!("spark-0{number}")});
        let volumes = json!([{"name": "spark-local-dir-1"}, {"name": "airlock"}]);
        let spec = json!({"serviceAccountName": "spark", "volumes": volumes,
            "containers": [{"name": "spark-kubernetes-driver"}]});
        let metadata = json!({"name": format!("pi-{number}-driver"), "namespace": "team", "labels": labels});
        server.put("pods", json!({"metadata": metadata, "spec": spec, "status": status}));
    }
}

#[tokio::test]
#[ignore = "needs Spark"]
async fn the_block_is_upstreams_for_every_state() {
    let server = ApiServer::start().await;
    pods_of_all_states(&server);
    let words = ["--status", "team:pi-*"];
    let (_, theirs) = upstream(&server, &words).await;
    let (status, _, ours) = airlock(&server, &[&["submit"][..], &words].concat()).await;
    assert_eq!((status, normal(&ours).join("\n")), (0, normal(&theirs).join("\n")));
}

#[tokio::test]
#[ignore = "needs Spark"]
async fn x05_upstream_ends_what_is_no_driver_and_we_do_not() {
    for (theirs, command) in [(0, "upstream"), (77, "airlock")] {
        let server = ApiServer::start().await;
        server.put("pods", json!({"metadata": {"name": "coredns-x", "namespace": "kube-system"}}));
        let words = ["--kill", "kube-system:coredns-x"];
        let status = match command {
            "upstream" => upstream(&server, &words).await.0,
            _ => airlock(&server, &[&["submit"][..], &words].concat()).await.0,
        };
        assert_eq!((status, server.objects("pods").len()), (theirs, usize::from(theirs != 0)));
    }
}
