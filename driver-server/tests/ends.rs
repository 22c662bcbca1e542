//! Every end that is not the launch: idle, full disk, and what is cleaned up then.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::bundle::{Bundle, gzip};
use common::certificates::Certificates;
use common::{Server, refused};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Stands for the API server: answers every request, and hands over its head.
async fn api_server(root: &Path) -> (u16, tokio::sync::mpsc::Receiver<String>) {
    let certificates = Certificates::new();
    fs::create_dir_all(root.join("account")).unwrap();
    fs::write(root.join("account/ca.crt"), &certificates.authority).unwrap();
    fs::write(root.join("account/token"), "TOKEN\n").unwrap();
    let chain = vec![CertificateDer::from_pem_slice(certificates.server.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(certificates.server.key.as_bytes()).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(shared::tls::crypto_provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, heads) = tokio::sync::mpsc::channel(10);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(socket).await else { continue };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            sender.send(String::from_utf8(head).unwrap()).await.unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").await.unwrap();
            let _ = stream.shutdown().await;
        }
    });
    (port, heads)
}

#[tokio::test]
async fn c01_nobody_uploads_so_the_server_ends_and_takes_its_objects_along() {
    let temporary = tempfile::tempdir().unwrap();
    let (port, mut heads) = api_server(temporary.path()).await;
    let account = format!("--service-account-directory={}", temporary.path().join("account").display());
    let arguments =
        ["--idle-timeout-seconds=1", "--namespace=spark", "--door-service=job-door", "--tls-secret=job-tls", &account];
    let server = Server::start_in(temporary, &arguments, |command| {
        // A proxy of the image is not for the API server.
        command.env("KUBERNETES_SERVICE_HOST", "127.0.0.1").env("KUBERNETES_SERVICE_PORT", port.to_string());
        command.env("HTTPS_PROXY", "http://127.0.0.1:9")
    });
    let started = Instant::now();
    let ended = tokio::task::spawn_blocking(move || server.wait()).await.unwrap();
    assert_eq!(ended.code(), 75);
    assert!(started.elapsed() < Duration::from_secs(4));
    assert!(
        ended.termination.starts_with("E_IDLE: ") && ended.termination.lines().count() == 1,
        "{}",
        ended.termination
    );
    assert!(ended.log.contains("  hint: the limit is spark.airlock.timeout.idle"), "{}", ended.log);
    assert!(!ended.log.contains("TOKEN"));
    let mut deleted = vec![heads.recv().await.unwrap(), heads.recv().await.unwrap()];
    deleted.sort();
    assert!(deleted[0].starts_with("DELETE /api/v1/namespaces/spark/secrets/job-tls HTTP/1.1\r\n"), "{deleted:?}");
    assert!(deleted[1].starts_with("DELETE /api/v1/namespaces/spark/services/job-door HTTP/1.1\r\n"), "{deleted:?}");
    assert!(deleted.iter().all(|head| head.to_lowercase().contains("authorization: bearer token")), "{deleted:?}");
}

#[tokio::test]
async fn c01_an_api_server_that_does_not_answer_delays_no_signal() {
    let temporary = tempfile::tempdir().unwrap();
    let (_, _heads) = api_server(temporary.path()).await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let account = format!("--service-account-directory={}", temporary.path().join("account").display());
    let arguments = ["--namespace=spark", "--door-service=job-door", &account];
    let server = Server::start_in(temporary, &arguments, |command| {
        command.env("KUBERNETES_SERVICE_HOST", "127.0.0.1").env("KUBERNETES_SERVICE_PORT", port)
    });
    let started = Instant::now();
    server.signal("TERM");
    let ended = server.wait();
    assert_eq!(ended.code(), 143);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(ended.log.contains("own objects are not deleted"), "{}", ended.log);
}

#[tokio::test]
async fn a08_after_the_idle_deadline_nothing_of_the_upload_is_left() {
    let server = Server::start_with(&["--idle-timeout-seconds=1"]);
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &[7; 2000])]);
    client.put(&bundle.manifest).await.unwrap();
    client.patch(0, gzip(&bundle.tar()[..512 + 700])).await.unwrap();
    assert_eq!(fs::metadata(server.path("airlock/staging/jars/a.jar")).unwrap().len(), 700);
    let staging = server.path("airlock/staging");
    let ended = server.wait();
    assert_eq!(ended.code(), 75);
    assert_eq!(fs::read_dir(staging).unwrap().count(), 0);
}

#[tokio::test]
async fn c01_an_upload_that_stands_still_is_told_why() {
    let server = Server::start_with(&["--idle-timeout-seconds=1"]);
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &[7; 2000])]);
    client.put(&bundle.manifest).await.unwrap();
    let (feed, body) = common::hand_fed();
    let uploading = tokio::spawn(client.patch_request(0).body(body).send());
    feed.send(Ok(gzip(&bundle.tar()[..700]).into())).await.unwrap();
    let told = common::answer(uploading.await.unwrap().unwrap()).await;
    assert_eq!(refused(told), (408, "E_IDLE".into()));
    assert_eq!(server.wait().code(), 75);
}

#[test]
fn t04_a_panic_anywhere_is_the_end_of_the_server() {
    let temporary = tempfile::tempdir().unwrap();
    common::prepare(temporary.path());
    let command = common::command(temporary.path());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let Ok(driver_server::cli::Task::Serve(arguments)) = driver_server::cli::parse_from(words) else { panic!() };
    let panicked = tokio_util::sync::CancellationToken::new();
    let task = panicked.clone();
    let failing = std::thread::spawn(move || task.cancel());
    let failure = driver_server::life::serve(&arguments, &panicked).unwrap_err();
    failing.join().unwrap();
    assert_eq!(shared::report::Failure::code(&failure), shared::error_code::ErrorCode::Bug);
    assert_eq!(driver_server::ending::fail(&arguments, &failure), 70);
    assert!(fs::read_to_string(temporary.path().join("termination-log")).unwrap().starts_with("E_BUG: "));
}

#[tokio::test]
async fn a_refusal_that_nothing_follows_is_the_reason_of_the_end() {
    let server = Server::start_with(&["--idle-timeout-seconds=1"]);
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", b"aa")]);
    client.put(&bundle.manifest).await.unwrap();
    assert!(client.patch(0, gzip(&[0; 512])).await.is_err());
    let ended = server.wait();
    assert_eq!(ended.code(), 65);
    assert!(ended.termination.starts_with("E_MANIFEST: "), "{}", ended.termination);
}

/// A small file system, unmounted when dropped. Needs root: without it the test fails and says so.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: PathBuf, options: &str) -> Self {
        fs::create_dir_all(&path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).status().unwrap();
        assert!(mounted.success(), "this test mounts a tmpfs, which needs root");
        Self(path)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn server_on(options: &str) -> (SmallDisk, Server) {
    let temporary = tempfile::tempdir().unwrap();
    let disk = SmallDisk::mount(temporary.path().join("airlock"), options);
    (disk, Server::start_in(temporary, &[], |command| command))
}

#[tokio::test]
async fn c03_what_does_not_fit_is_refused_at_the_manifest() {
    let (_disk, server) = server_on("size=1m");
    let bundle = Bundle::of_jars(&[("a.jar", &vec![7; 1_500_000])]);
    let problem = server.client().put(&bundle.manifest).await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (507, "E_DISK_FULL"));
    assert!(!problem.hints.is_empty(), "{problem:?}");
}

#[tokio::test]
async fn c03_inodes_count_too() {
    let (_disk, server) = server_on("size=10m,nr_inodes=50");
    let files: Vec<_> = (0..60).map(|n| format!("{n}.jar")).collect();
    let jars: Vec<(&str, &[u8])> = files.iter().map(|name| (name.as_str(), &b"x"[..])).collect();
    let problem = server.client().put(&Bundle::of_jars(&jars).manifest).await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (507, "E_DISK_FULL"));
    assert!(problem.detail.contains("inodes"), "{}", problem.detail);
}

#[tokio::test]
async fn c03_a_disk_that_others_fill_in_mid_upload_is_told_and_freed() {
    let (_disk, server) = server_on("size=1m");
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &vec![7; 700_000])]);
    client.put(&bundle.manifest).await.unwrap();
    fs::write(server.path("airlock/other"), vec![1; 600_000]).unwrap();
    assert_eq!(refused(client.patch(0, bundle.gzip()).await), (507, "E_DISK_FULL".into()));
    assert_eq!(refused(client.launch().await), (507, "E_DISK_FULL".into()));
    assert_eq!(fs::read_dir(server.path("airlock/staging")).unwrap().count(), 0);
}

#[test]
fn a_secret_that_is_unusable_says_which_file() {
    let temporary = tempfile::tempdir().unwrap();
    let certificates = common::prepare(temporary.path());
    fs::write(temporary.path().join("tls/tls.key"), "CANARY").unwrap();
    let ended = common::run_to_end(temporary, certificates);
    assert_eq!(ended.code(), 76);
    assert!(ended.termination.contains("tls.key") && !ended.termination.contains("CANARY"), "{}", ended.termination);
}
