//! What OpenSSL and Java say to the certificates that the client makes, in real handshakes: as clients of the real server
//! they check the server's leaf; as servers they demand the client's. The client's key never leaves its configuration.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use shared::protocol::SubmissionState;
use time::OffsetDateTime;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::server::{DriverServer, certificates, dialer, write_certificates};
use crate::{REACH, SERVER_NAME, in_time};

const ANSWER: &str = r#"{"state":"waiting","offset":0}"#;

/// Runs to its end: stdout and stderr, and whether it went well.
async fn output(command: &mut Command) -> (String, bool) {
    let output = in_time(command.stdin(Stdio::null()).kill_on_drop(true).output()).await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (text.into_owned(), output.status.success())
}

/// A foreign server; the address comes behind `prefix` in its first such line.
async fn foreign_server(command: &mut Command, prefix: &str) -> (Child, SocketAddr) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("it is installed");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = in_time(async {
        loop {
            let line = lines.next_line().await.unwrap().expect("it says where it listens");
            if let Some(address) = line.strip_prefix(prefix) {
                return address.trim().parse().unwrap();
            }
        }
    });
    let address = address.await;
    // What it says later must not block it.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (child, address)
}

/// Our client dials a foreign server that has the driver server's certificate and demands the client's.
async fn reach_foreign(command: impl FnOnce(&Path) -> (Command, &'static str)) {
    let folder = tempfile::tempdir().unwrap();
    let (server, credentials) = certificates(OffsetDateTime::now_utc());
    write_certificates(&server, folder.path());
    let (mut command, prefix) = command(folder.path());
    let (_child, address) = foreign_server(command.current_dir(folder.path()), prefix).await;
    let (_, status) = in_time(dialer(&credentials, &[address]).reach(REACH)).await.unwrap();
    assert_eq!(status.state, SubmissionState::Waiting);
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_openssl_accepts_the_servers_leaf() {
    let server = DriverServer::start().await;
    let ca = server.path("tls/ca.crt");
    let mut command = Command::new("openssl");
    command.args(["s_client", "-connect", &server.address.to_string(), "-tls1_3", "-x509_strict", "-CAfile"]);
    command.arg(ca).args(["-purpose", "sslserver", "-verify_return_error"]);
    let (text, _) = output(command.args(["-verify_hostname", SERVER_NAME, "-servername", SERVER_NAME])).await;
    assert!(text.contains("Verify return code: 0 (ok)") && text.contains("TLSv1.3"), "{text}");
    assert!(text.contains(&format!("Verified peername: {SERVER_NAME}")), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_openssl_accepts_the_clients_leaf() {
    reach_foreign(|folder| {
        let path = folder.join("v1/submission");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", ANSWER.len());
        fs::write(path, head + ANSWER).unwrap();
        let mut command = Command::new("openssl");
        command.args(["s_server", "-accept", "127.0.0.1:0", "-tls1_3", "-HTTP", "-x509_strict"]);
        command.args(["-cert", "tls.crt", "-key", "tls.key", "-CAfile", "ca.crt"]);
        command.args(["-Verify", "1", "-verify_return_error", "-purpose", "sslclient"]);
        (command, "ACCEPT ")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_java_accepts_the_servers_leaf() {
    let server = DriverServer::start().await;
    let port = server.address.port().to_string();
    let tls = server.path("tls");
    let mut command = Command::new("java");
    let (text, ok) = output(command.arg(java()).arg("client").arg(tls).args([&port, SERVER_NAME])).await;
    assert!(ok && text.contains("TLSv1.3 CN=airlock driver server"), "{text}");
    let mut command = Command::new("java");
    let tls = server.path("tls");
    let (text, ok) = output(command.arg(java()).arg("client").arg(tls).args([&port, "another.default.svc"])).await;
    assert!(!ok && text.contains("another.default.svc"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_java_accepts_the_clients_leaf() {
    reach_foreign(|folder| {
        let mut command = Command::new("java");
        command.arg(java()).arg("server").arg(folder).arg(ANSWER);
        (command, "listening at ")
    })
    .await;
}

/// The source of the foreign peer: the JDK compiles and runs it in one step.
fn java() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfer/TlsPeer.java")
}
