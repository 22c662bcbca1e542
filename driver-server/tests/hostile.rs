//! Peers without the client's certificate, and what they can take, move or see: nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::Server;
use common::bundle::Bundle;
use common::certificates::{Certificates, Leaf};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn bundle() -> Bundle {
    Bundle::of_jars(&[("a.jar", b"aa")])
}

/// A submission that must work within its usual time.
async fn normal_submission(server: Server) {
    let started = Instant::now();
    let client = server.client();
    client.upload(&bundle()).await;
    client.launch().await.unwrap();
    assert_eq!(server.wait().code(), 0);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}

#[tokio::test]
async fn u04_silent_and_trickling_connections_do_not_keep_the_client_out() {
    // More than there are places.
    let server = Server::start();
    let mut silent: Vec<_> = (0..700).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    for socket in silent.iter_mut().step_by(2) {
        // Those that have lost their place may have been closed already.
        let _ = socket.write_all(&[0x16, 3, 1]);
    }
    normal_submission(server).await;
    drop(silent);
}

#[tokio::test]
async fn u04_a_handshake_and_a_request_head_get_ten_seconds_in_all() {
    let server = Server::start();
    let own = &server.certificates.client;
    let mut silent = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let mut half_head = server.certificates.connect(server.address, Some(own)).await.unwrap();
    half_head.write_all(b"GET /v1/submission HTTP/1.1\r\nHo").await.unwrap();
    let mut no_head = server.certificates.connect(server.address, Some(own)).await.unwrap();
    let started = Instant::now();
    let trickle = async {
        // A byte of a head now and then prolongs nothing.
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            if half_head.write_all(b"s").await.is_err() || half_head.flush().await.is_err() {
                break;
            }
            let read = tokio::time::timeout(Duration::from_millis(10), half_head.read_u8()).await;
            if matches!(read, Ok(Err(_))) {
                break;
            }
        }
    };
    let mut buffer = [0];
    let (read_silent, read_idle, ()) = tokio::join!(silent.read(&mut buffer), no_head.read_u8(), trickle);
    assert!(matches!(read_silent, Ok(0) | Err(_)) && read_idle.is_err());
    let took = started.elapsed();
    assert!(took > Duration::from_secs(9) && took < Duration::from_secs(16), "{took:?}");
    server.client().get().await.unwrap();
}

#[tokio::test]
async fn u04_authenticated_connections_are_bounded_and_the_newest_gets_in() {
    let server = Server::start();
    let mut held = Vec::new();
    for _ in 0..40 {
        held.push(server.certificates.connect(server.address, Some(&server.certificates.client)).await.unwrap());
    }
    // The first ones are closed at once, not after their ten seconds.
    let first = tokio::time::timeout(Duration::from_secs(5), held[0].read_u8()).await.unwrap();
    assert!(first.is_err());
    normal_submission(server).await;
}

#[tokio::test]
async fn u04_strangers_move_no_deadline_and_fill_no_log() {
    let server = Server::start_with(&["--idle-timeout-seconds=2"]);
    let address = server.address;
    let started = Instant::now();
    let noise = std::thread::spawn(move || {
        let mut count = 0;
        while let Ok(mut socket) = TcpStream::connect(address) {
            let _ = socket.write_all(b"GET / HTTP/1.1\r\n\r\n");
            count += 1;
        }
        count
    });
    let ended = server.wait();
    assert_eq!(ended.code(), 75);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let (count, lines) = (noise.join().unwrap(), ended.log.lines().count());
    assert!(count > 100 && lines < 60, "{count} connections, {lines} lines");
}

#[tokio::test]
async fn t06_no_certificate_or_a_wrong_one_means_no_answer() {
    let server = Server::start();
    let stranger = Certificates::new();
    let own = &server.certificates;
    // None; one of another authority; the server's own, which is for servers.
    let leaves: [Option<&Leaf>; 3] = [None, Some(&stranger.client), Some(&own.server)];
    for leaf in leaves {
        // With TLS 1.3 the client's side of the handshake ends before the server has judged.
        let answer = async {
            let mut raw = own.connect(server.address, leaf).await?;
            raw.write_all(b"GET /v1/submission HTTP/1.1\r\nHost: x\r\n\r\n").await?;
            let mut answer = Vec::new();
            raw.read_to_end(&mut answer).await.map(|_| answer)
        };
        assert!(answer.await.is_err());
    }
    normal_submission(server).await;
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[tokio::test]
async fn t06_curl_and_openssl_get_no_answer_without_the_certificate() {
    let server = Server::start();
    std::fs::write(server.path("client.crt"), &server.certificates.client.certificate).unwrap();
    std::fs::write(server.path("client.key"), &server.certificates.client.key).unwrap();
    let path = |name: &str| server.path(name).display().to_string();
    let port = server.address.port();
    let plain = format!("http://127.0.0.1:{port}/v1/submission");
    let tls = format!("https://127.0.0.1:{port}/v1/submission");
    let (ca, certificate, key) = (path("tls/ca.crt"), path("client.crt"), path("client.key"));
    let curl = |arguments: &[&str]| {
        run(
            "curl",
            &[&["--silent", "--noproxy", "*", "--max-time", "10", "--write-out", "%{http_code}"], arguments].concat(),
        )
    };

    let cases: [&[&str]; 3] = [
        &[&plain],
        &["--insecure", &tls],
        &["--cacert", &ca, "--tls-max", "1.2", "--cert", &certificate, "--key", &key, &tls],
    ];
    for arguments in cases {
        let output = curl(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!output.status.success(), "{arguments:?}: {text}");
        assert!(text.ends_with("000") && !text.contains("HTTP") && !text.contains("state"), "{arguments:?}: {text}");
    }
    let address = format!("127.0.0.1:{port}");
    let old = run("openssl", &["s_client", "-connect", &address, "-tls1_2", "-cert", &certificate, "-key", &key]);
    assert!(!old.status.success());
    // And with it, a foreign client is served.
    let output = curl(&["--cacert", &ca, "--cert", &certificate, "--key", &key, &tls]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "{\"state\":\"waiting\",\"offset\":0}200");
    normal_submission(server).await;
}

#[tokio::test]
async fn t06_a_request_in_clear_gets_no_byte_of_http() {
    let server = Server::start();
    let mut socket = TcpStream::connect(server.address).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    // At most a TLS alert.
    assert!(answer.len() <= 7 && answer.first().is_none_or(|byte| *byte == 0x15), "{answer:?}");
}

#[tokio::test]
async fn a_probe_or_a_reset_ends_only_itself() {
    let server = Server::start();
    for _ in 0..200 {
        drop(TcpStream::connect(server.address).unwrap());
    }
    for bytes in [&b"\x16\x03\x01\xff\xff"[..], b"\0", &[0xff; 5000]] {
        let mut socket = TcpStream::connect(server.address).unwrap();
        let _ = socket.write_all(bytes);
    }
    normal_submission(server).await;
}
