//! The binary with the commands for drivers, as a user or a script runs it against a cluster: statuses and streams.

use assert_cmd::Command;
use serde_json::json;

use crate::api::{ApiServer, Fault, Rule, status};
use crate::pods::{ended, running};

pub(crate) async fn server() -> ApiServer {
    let server = ApiServer::start().await;
    let labels = json!({"spark-role": "driver", "spark-app-selector": "spark-01", "spark-app-name": "pi"});
    server.put(
        "pods",
        json!({"metadata": {"name": "pi-driver", "namespace": "team", "labels": labels},
        "spec": {"containers": [{"name": "spark-kubernetes-driver"}]}}),
    );
    server.change("pods", &running());
    server
}

/// `airlock` with `words`, without this machine's Spark and clusters, on `server`: status, stdout, stderr.
pub(crate) async fn airlock(server: &ApiServer, words: &[&str]) -> (i32, String, String) {
    let (master, words): (_, Vec<_>) =
        (format!("k8s://{}", server.url), words.iter().map(ToString::to_string).collect());
    let running = tokio::task::spawn_blocking(move || {
        let mut command = Command::cargo_bin("airlock").unwrap();
        command.env_clear().env("HOME", "/nonexistent");
        let (name, rest) = words.split_first().unwrap();
        command.arg(name).args(["--master", &master]).args(rest).output().unwrap()
    });
    let output = running.await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn x05_submit_kill_has_upstreams_lines_and_ends_the_driver() {
    let server = server().await;
    let grace = "spark.kubernetes.appKillPodDeletionGracePeriod=5m";
    let (code, stdout, stderr) = airlock(&server, &["submit", "--kill", "team:pi*", "--conf", grace]).await;
    let request = format!("Submitting a request to kill submission team:pi* in k8s://{}.", server.url);
    let expected = format!("{request} Grace period in secs: 300\nDeleting driver pod: pi-driver.\n");
    assert_eq!((code, stdout.as_str(), stderr), (0, "", expected));
    assert!(server.objects("pods").is_empty());
}

#[tokio::test]
async fn x05_submit_kill_and_status_of_nothing_are_66() {
    let server = server().await;
    for (word, id, line) in [
        ("--kill", "team:nope", "Application not found."),
        ("--kill", "team:no*", "No applications found."),
        ("--status", "team:nope", "Application not found."),
        ("--status", "team:no*", "No applications found."),
    ] {
        let (code, stdout, stderr) = airlock(&server, &["submit", word, id]).await;
        assert_eq!((code, stdout.as_str()), (66, ""), "{stderr}");
        assert!(stderr.contains(&format!("\n{line}\nairlock: E_NOT_FOUND: ")), "{stderr}");
    }
}

#[tokio::test]
async fn a_status_goes_where_it_was_asked_for() {
    let server = server().await;
    let (code, stdout, stderr) = airlock(&server, &["submit", "--status", "team:pi-driver"]).await;
    assert_eq!((code, stdout.as_str()), (0, ""));
    assert!(stderr.starts_with("Submitting a request for the status of submission team:pi-driver in k8s://"));
    let block = stderr.split_once('\n').unwrap().1;
    assert!(
        block.starts_with("Application status (driver): \n\t pod name: pi-driver\n\t namespace: team\n"),
        "{block}"
    );
    let own = airlock(&server, &["status", "-n", "team", "pi-driver"]).await;
    assert_eq!(own, (0, block.to_owned(), String::new()), "the same block, on stdout and nothing else");
}

#[tokio::test]
async fn namespaces_come_from_the_name_then_the_flag_then_the_properties() {
    let server = server().await;
    let conf = "spark.kubernetes.namespace=team";
    for (words, expected) in [
        (&["status", "team:pi-driver", "-n", "other"][..], 0),
        (&["status", "pi-driver", "--namespace", "team", "-c", "spark.kubernetes.namespace=other"], 0),
        (&["status", "pi-driver", "-c", conf], 0),
        (&["submit", "--status", "pi-driver", "-c", conf], 0),
        (&["status", "pi-driver", "-n", "other", "-c", conf], 66),
        (&["status", "pi-driver"], 66),
    ] {
        let (code, _, stderr) = airlock(&server, words).await;
        assert_eq!(code, expected, "{words:?}: {stderr}");
    }
}

#[tokio::test]
async fn lists_and_logs_go_to_stdout() {
    let server = server().await;
    server.log(vec!["2026-01-01T00:00:00.000000000Z hello".to_owned()]);
    let (code, stdout, _) = airlock(&server, &["list", "-A", "-o", "json"]).await;
    let list: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &list[0]["name"], &list[0]["phase"]), (0, &json!("pi-driver"), &json!("Running")));
    assert_eq!(airlock(&server, &["logs", "team:spark-01"]).await, (0, "hello\n".to_owned(), String::new()));
}

#[tokio::test]
async fn x01_attach_exits_as_the_driver_did_and_shows_its_log_on_stdout() {
    let server = server().await;
    server.log(vec!["2026-01-01T00:00:00.000000000Z hello".to_owned()]);
    server.change("pods", &ended(3, "Error", ""));
    let (code, stdout, stderr) = airlock(&server, &["attach", "team:pi-driver", "--logs"]).await;
    assert_eq!((code, stdout.as_str()), (3, "hello\n"), "{stderr}");
    assert!(stderr.contains("exit code: 3") && !stderr.contains("airlock: E_"), "{stderr}");
}

#[tokio::test]
async fn k07_a_missing_right_is_77_and_named_with_its_owner() {
    let server = server().await;
    let text = "pods \"pi-driver\" is forbidden: User \"ann\" cannot delete resource \"pods\" in API group \"\"";
    server.script(Rule::new("delete", "pods", 9, Fault::Refuse(status((403, "Forbidden", text)))));
    let (code, _, stderr) = airlock(&server, &["kill", "team:pi-driver"]).await;
    assert_eq!(code, 77);
    assert!(stderr.contains("E_RIGHTS: cannot delete pod team/pi-driver: the right is missing"), "{stderr}");
    assert!(stderr.contains("User \"ann\" cannot delete resource \"pods\""), "{stderr}");
}
