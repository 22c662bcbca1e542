//! Who the binary is to the API server, and whom it believes: credential helpers and tokens that run out, tokens and
//! authorities that the settings name, certificates for another name (K02, K03).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::json;
use tempfile::TempDir;

use crate::api::{ApiServer, Fault, Rule};
use crate::pods::{ended, running};

/// A folder with a kubeconfig, a credential helper, and whatever a case puts there.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// A kubeconfig with one cluster, whose fields are `cluster`, and one user, whose fields are `user`.
    fn kubeconfig(&self, cluster: &serde_json::Value, user: &serde_json::Value) -> PathBuf {
        let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": user}]});
        self.write("kubeconfig", &text.to_string())
    }

    /// A user whose credentials come from the shell script `text`.
    fn helper(&self, text: &str) -> serde_json::Value {
        let path = self.write("helper", &format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        json!({"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": path,
            "interactiveMode": "IfAvailable"}})
    }

    /// A helper that gives `token-1`, `token-2` and so on, without saying how long each is good.
    fn counting_helper(&self) -> serde_json::Value {
        let count = self.0.path().join("count");
        let credential = r#"{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "token-%s"}}"#;
        self.helper(&format!("echo x >> '{0}'; printf '{credential}' \"$(grep -c x '{0}')\"", count.display()))
    }

    fn helper_runs(&self) -> usize {
        std::fs::read_to_string(self.0.path().join("count")).map_or(0, |text| text.lines().count())
    }
}

/// A driver that has ended with 3.
fn put_driver(server: &ApiServer) {
    let labels = json!({"spark-role": "driver", "spark-app-selector": "spark-01", "spark-app-name": "pi"});
    let metadata = json!({"name": "pi-driver", "namespace": "team", "labels": labels});
    server.put("pods", json!({"metadata": metadata, "spec": {"containers": [{"name": "spark-kubernetes-driver"}]}}));
    server.change("pods", &running());
}

async fn airlock(kubeconfig: Option<&Path>, words: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("airlock").unwrap();
    command.env_clear().env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin").args(words);
    command.timeout(Duration::from_secs(30));
    if let Some(file) = kubeconfig {
        command.env("KUBECONFIG", file);
    }
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

#[tokio::test]
async fn k02_a_helper_is_asked_again_when_its_token_runs_out_in_a_long_wait() {
    let (server, place) = (ApiServer::start().await, Place::new());
    put_driver(&server);
    server.demand_token("token-", 3);
    server.script(Rule::new("watch", "pods", 3, Fault::Close));
    let kubeconfig = place.kubeconfig(&json!({"server": server.url}), &place.counting_helper());
    let attach = airlock(Some(&kubeconfig), &["attach", "pi-driver"]);
    let ending = async {
        // The fourth call is refused with the first token, so this one comes with the second.
        while server.count("watch", "pods") < 4 {
            tokio::task::yield_now().await;
        }
        server.change("pods", &ended(3, "Error", ""));
    };
    let ((code, _, stderr), ()) = tokio::join!(attach, ending);
    assert_eq!(code, 3, "{stderr}");
    assert!(place.helper_runs() > 1, "the helper ran {} times", place.helper_runs());
}

#[tokio::test]
async fn k02_credentials_that_never_worked_are_not_asked_for_again() {
    let (server, place) = (ApiServer::start().await, Place::new());
    server.demand_token("another-", 3);
    let kubeconfig = place.kubeconfig(&json!({"server": server.url}), &place.counting_helper());
    let (code, _, stderr) = airlock(Some(&kubeconfig), &["list"]).await;
    // The library asks up to three times for one client; a second client would double that.
    assert!(code == 78 && place.helper_runs() <= 3, "{} runs, {code}: {stderr}", place.helper_runs());
    assert!(stderr.contains("E_KUBE_AUTH"), "{stderr}");
}

#[tokio::test]
async fn k02_the_words_of_a_helper_that_asks_a_question_reach_the_user() {
    let (server, place) = (ApiServer::start().await, Place::new());
    let user = place.helper("echo 'login again?' >&2; read answer");
    let kubeconfig = place.kubeconfig(&json!({"server": server.url}), &user);
    let (code, _, stderr) = airlock(Some(&kubeconfig), &["list"]).await;
    assert_eq!(code, 78, "{stderr}");
    assert!(stderr.contains("E_KUBE_AUTH") && stderr.contains("login again?"), "{stderr}");
}

#[tokio::test]
async fn k03_the_name_in_the_certificate_may_be_the_kubeconfigs_tls_server_name() {
    let (place, (server, authority)) = (Place::new(), ApiServer::start_tls("api.example").await);
    put_driver(&server);
    let file = place.write("ca.pem", &authority);
    let cluster = |name| json!({"server": server.url, "certificate-authority": file, "tls-server-name": name});
    let good = place.kubeconfig(&cluster("api.example"), &json!({}));
    let (code, stdout, stderr) = airlock(Some(&good), &["list"]).await;
    assert!(code == 0 && stdout.contains("pi-driver"), "{code} {stderr}");
    let bad = place.kubeconfig(&cluster("another.example"), &json!({}));
    let (code, _, stderr) = airlock(Some(&bad), &["list"]).await;
    assert_eq!(code, 76, "{stderr}");
    for text in ["E_TLS_API_SERVER", "another.example", "api.example"] {
        assert!(stderr.contains(text), "{text} is not in {stderr}");
    }
}

#[tokio::test]
async fn k02_settings_alone_say_who_submits_as_with_spark_submit() {
    let (place, (server, authority)) = (Place::new(), ApiServer::start_tls("127.0.0.1").await);
    put_driver(&server);
    server.demand_token("from-file", 9);
    let master = format!("k8s://{}", server.url);
    let conf = |key: &str, path: &Path| format!("spark.kubernetes.authenticate.submission.{key}={}", path.display());
    let authority = conf("caCertFile", &place.write("ca.pem", &authority));
    let token = conf("oauthTokenFile", &place.write("token", "from-file\n"));
    let words = ["list", "--master", &master, "-n", "team", "-c", &authority, "-c", &token];
    let (code, stdout, stderr) = airlock(None, &words).await;
    assert!(code == 0 && stdout.contains("pi-driver"), "{code} {stderr}");
}
