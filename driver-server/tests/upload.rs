//! Uploads over real TLS: cut, resumed, taken over, throttled, refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failed helper fails its test")]

mod common;

use std::fs;
use std::time::Duration;

use bytes::Bytes;
use common::bundle::{Bundle, gzip, member, sha256};
use common::{Server, answer, hand_fed, refused};
use proptest::prelude::*;
use reqwest::Method;
use shared::manifest::{Member, MemberKind};
use shared::protocol::{BUNDLE_PATH, SUBMISSION_PATH, SubmissionState, TAR_TYPE, UPLOAD_OFFSET};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Bytes that do not compress, the same every time.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    (0..len.div_ceil(8)).flat_map(|_| next()).take(len).collect()
}

#[tokio::test]
async fn a09_several_members_in_one_request_are_one_stream() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(100_000)), ("b.jar", b"bb")]);
    client.put(&bundle.manifest).await.unwrap();
    let members: Vec<u8> = bundle.tar().chunks(777).flat_map(gzip).collect();
    let status = client.patch(0, members).await.unwrap();
    assert_eq!(status.state, SubmissionState::Verified);
    assert_eq!(status.digest.as_deref(), Some(bundle.digest().as_str()));
}

#[tokio::test]
async fn a09_what_curl_sends_and_gzip_has_compressed_is_accepted() {
    let server = Server::start();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(3_000_000)), ("b.txt", &vec![7; 500_000])]);
    fs::write(server.path("bundle.tar"), bundle.tar()).unwrap();
    fs::write(server.path("manifest.json"), serde_json::to_vec(&bundle.manifest).unwrap()).unwrap();
    fs::write(
        server.path("client.pem"),
        format!("{}{}", server.certificates.client.certificate, server.certificates.client.key),
    )
    .unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let output =
            std::process::Command::new(program).args(arguments).current_dir(server.temporary.path()).output().unwrap();
        assert!(output.status.success(), "{program}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    run("gzip", &["-k", "bundle.tar"]);
    let url = |path: &str| format!("https://127.0.0.1:{}{path}", server.address.port());
    let curl = |arguments: &[&str]| {
        let common = ["-sS", "--fail-with-body", "--noproxy", "*", "--cacert", "tls/ca.crt", "--cert", "client.pem"];
        run("curl", &[&common, arguments].concat())
    };
    curl(&["-T", "manifest.json", &url(SUBMISSION_PATH)]);
    let kind = format!("content-type: {TAR_TYPE}");
    let status = curl(&[
        "-X",
        "PATCH",
        "-T",
        "bundle.tar.gz",
        "-H",
        &kind,
        "-H",
        "content-encoding: gzip",
        "-H",
        "upload-offset: 0",
        "-H",
        "expect: 100-continue",
        &url(BUNDLE_PATH),
    ]);
    assert!(status.contains("\"verified\"") && status.contains(&bundle.digest()), "{status}");
    curl(&["-X", "POST", &url(shared::protocol::LAUNCH_PATH)]);
    assert_eq!(server.wait().code(), 0);
}

#[tokio::test]
async fn u05_u08_a_cut_connection_is_no_refusal_and_the_upload_goes_on_at_the_stated_offset() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(300_000)), ("b.jar", &noise(5))]);
    let tar = bundle.tar();
    client.put(&bundle.manifest).await.unwrap();
    let mut offset = 0;
    for share in [30, 70] {
        let (feed, body) = hand_fed();
        let sent = gzip(&tar[offset..]);
        let end = sent.len() * share / 100;
        let request = tokio::spawn(client.patch_request(offset as u64).body(body).send());
        feed.send(Ok(Bytes::copy_from_slice(&sent[..end]))).await.unwrap();
        let before = offset as u64;
        client.wait_for(|status| status.offset > before).await;
        // An error in the body makes the client reset the request.
        let _ = feed.send(Err(std::io::Error::other("cut"))).await;
        assert!(request.await.unwrap().is_err());
        // What is asked for at a wrong offset writes nothing.
        let problem = client.patch(offset as u64 + 1, gzip(&tar[offset + 1..])).await.unwrap_err();
        assert_eq!((problem.status, problem.code.as_str()), (409, "E_OFFSET"));
        offset = usize::try_from(problem.offset.unwrap()).unwrap();
        assert_eq!(client.get().await.unwrap().offset, offset as u64);
        assert!(!server.path("airlock/bundle").exists());
    }
    let status = client.patch(offset as u64, gzip(&tar[offset..])).await.unwrap();
    assert_eq!(status.digest.as_deref(), Some(bundle.digest().as_str()));
    assert_eq!(sha256(&fs::read(server.path("airlock/bundle/jars/a.jar")).unwrap()), sha256(&bundle.files[0]));
    // Complete: nothing can be added.
    let problem = client.patch(0, bundle.gzip()).await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str(), problem.offset), (409, "E_OFFSET", Some(tar.len() as u64)));
}

#[tokio::test]
async fn u08_an_offset_that_is_one_too_high_or_too_low_writes_nothing() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(10_000))]);
    let tar = bundle.tar();
    client.put(&bundle.manifest).await.unwrap();
    client.patch(0, gzip(&tar[..700])).await.unwrap();
    for wrong in [699, 701, 0, u64::MAX] {
        let problem = client.patch(wrong, gzip(&tar[700..])).await.unwrap_err();
        assert_eq!((problem.status, problem.offset), (409, Some(700)));
    }
    assert_eq!(fs::metadata(server.path("airlock/staging/jars/a.jar")).unwrap().len(), 700 - 512);
    client.patch(700, gzip(&tar[700..])).await.unwrap();
}

#[tokio::test]
async fn u08_the_newer_upload_takes_over_from_one_that_nobody_stands_behind() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(10_000))]);
    let tar = bundle.tar();
    client.put(&bundle.manifest).await.unwrap();
    let (feed, body) = hand_fed();
    let older = tokio::spawn(client.patch_request(0).body(body).send());
    feed.send(Ok(gzip(&tar[..700]).into())).await.unwrap();
    client.wait_for(|status| status.offset == 700).await;
    // The older connection is half-open: it neither sends nor closes.
    let status = client.patch(700, gzip(&tar[700..])).await.unwrap();
    assert_eq!(status.digest.as_deref(), Some(bundle.digest().as_str()));
    let told = answer(older.await.unwrap().unwrap()).await;
    assert_eq!(refused(told), (409, "E_ALREADY_RUNNING".into()));
    drop(feed);
}

#[tokio::test]
async fn a08_a_connection_that_is_cut_behind_the_last_byte_has_delivered() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", b"aa")]);
    client.put(&bundle.manifest).await.unwrap();
    let (feed, body) = hand_fed();
    let request = tokio::spawn(client.patch_request(0).body(body).send());
    let sent = bundle.gzip();
    feed.send(Ok(Bytes::copy_from_slice(&sent[..sent.len() - 8]))).await.unwrap();
    let total = bundle.tar().len() as u64;
    client.wait_for(|status| status.offset == total).await;
    let _ = feed.send(Err(std::io::Error::other("cut"))).await;
    assert!(request.await.unwrap().is_err());
    let status = client.wait_for(|status| status.state == SubmissionState::Verified).await;
    assert_eq!(status.digest.as_deref(), Some(bundle.digest().as_str()));
}

#[tokio::test]
async fn a10_a_body_that_ends_properly_with_its_gzip_cut_is_refused_for_good() {
    let bundle = Bundle::of_jars(&[("a.jar", &noise(10_000))]);
    let sent = bundle.gzip();
    let crc = {
        let mut spoilt = sent.clone();
        let at = sent.len() - 8;
        spoilt[at] ^= 1;
        spoilt
    };
    let trailing = [sent.clone(), vec![0; 512]].concat();
    let cases = [
        (sent[..sent.len() - 1].to_vec(), "E_TRUNCATED"),
        (sent[..100].to_vec(), "E_TRUNCATED"),
        (vec![], "E_TRUNCATED"),
        (crc, "E_CRC"),
        (trailing, "E_TRAILING_DATA"),
        (bundle.tar(), "E_ARCHIVE_FORMAT"),
    ];
    for (body, code) in cases {
        let server = Server::start();
        let client = server.client();
        client.put(&bundle.manifest).await.unwrap();
        assert_eq!(refused(client.patch(0, body).await), (422, code.into()));
        // For good, with the same answer, and with nothing left.
        assert_eq!(refused(client.get().await), (422, code.into()));
        assert_eq!(refused(client.launch().await), (422, code.into()));
        assert_eq!(refused(client.put(&bundle.manifest).await), (422, code.into()));
        assert_eq!(fs::read_dir(server.path("airlock/staging")).unwrap().count(), 0);
        assert!(!server.path("airlock/bundle").exists());
    }
}

#[tokio::test]
async fn a01_a02_a03_a07_the_answer_to_a_hostile_archive_arrives() {
    let bundle = Bundle::of_jars(&[("a.jar", b"aa")]);
    let entry = |name: &str, kind: u8| {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(tar::EntryType::new(kind));
        header.set_size(0);
        header.set_mode(0o644);
        header.set_cksum();
        header.as_bytes().to_vec()
    };
    let cases = [
        (entry("../evil.jar", b'0'), "E_ARCHIVE_PATH"),
        (entry("d", b'2'), "E_ARCHIVE_TYPE"),
        (entry("log4j2.xml", b'0'), "E_MANIFEST"),
        (entry("PaxHeader", b'x'), "E_ARCHIVE_FORMAT"),
    ];
    for (tar, code) in cases {
        let server = Server::start();
        let client = server.client();
        client.put(&bundle.manifest).await.unwrap();
        assert_eq!(refused(client.patch(0, gzip(&tar)).await), (422, code.into()));
    }
}

#[tokio::test]
async fn a03_a_second_manifest_is_accepted_only_if_it_is_the_first() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", b"aa")]);
    assert_eq!(refused(client.patch(0, bundle.gzip()).await), (400, "E_PROTOCOL".into()));
    client.put(&bundle.manifest).await.unwrap();
    client.patch(0, gzip(&bundle.tar()[..512])).await.unwrap();
    let other = Bundle::of_jars(&[("b.jar", b"aa")]);
    assert_eq!(refused(client.put(&other.manifest).await), (422, "E_MANIFEST".into()));
    let status = client.put(&bundle.manifest).await.unwrap();
    assert_eq!((status.state, status.offset), (SubmissionState::Receiving, 512));
}

#[tokio::test]
async fn a12_u03_manifests_of_any_allowed_size_and_nothing_behind_them() {
    let server = Server::start();
    let client = server.client();
    let many: Vec<_> = (0..20_000).map(|n| (member(MemberKind::File, &format!("{n:0>100}")), vec![])).collect();
    let bundle = Bundle::new(many);
    let text = serde_json::to_vec(&bundle.manifest).unwrap();
    assert!(text.len() > 2 * 1024 * 1024);
    let put = |body: Vec<u8>| client.request(Method::PUT, SUBMISSION_PATH).body(body).send();
    let trailing = [text.clone(), b"{}".to_vec()].concat();
    assert_eq!(refused(answer(put(trailing).await.unwrap()).await), (422, "E_TRAILING_DATA".into()));
    assert_eq!(refused(answer(put(b"{\"version\":1".to_vec()).await.unwrap()).await), (422, "E_MANIFEST".into()));
    let huge = vec![b' '; shared::protocol::MANIFEST_LIMIT + 1];
    assert_eq!(refused(answer(put(huge).await.unwrap()).await), (413, "E_TOO_LARGE".into()));
    assert_eq!(answer(put(text).await.unwrap()).await.unwrap().state, SubmissionState::Receiving);
    let status = client.patch(0, bundle.gzip()).await.unwrap();
    assert_eq!(status.state, SubmissionState::Verified);
}

#[tokio::test]
async fn another_encoding_type_method_or_path_is_refused_as_such() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", b"aa")]);
    client.put(&bundle.manifest).await.unwrap();
    let patch = |kind: &str, encoding: &str, offset: &str| {
        let request = client.request(Method::PATCH, BUNDLE_PATH).header("content-type", kind.to_owned());
        request
            .header("content-encoding", encoding.to_owned())
            .header(UPLOAD_OFFSET, offset.to_owned())
            .body(bundle.gzip())
            .send()
    };
    for (kind, encoding) in [(TAR_TYPE, "zstd"), (TAR_TYPE, "identity"), ("application/zip", "gzip")] {
        assert_eq!(refused(answer(patch(kind, encoding, "0").await.unwrap()).await).0, 415);
    }
    for offset in ["-1", "+0", "", "x", "99999999999999999999"] {
        assert_eq!(refused(answer(patch(TAR_TYPE, "gzip", offset).await.unwrap()).await).0, 400, "{offset}");
    }
    let other = |method, path: &'static str| client.request(method, path).send();
    assert_eq!(refused(answer(other(Method::GET, "/").await.unwrap()).await).0, 404);
    assert_eq!(refused(answer(other(Method::DELETE, SUBMISSION_PATH).await.unwrap()).await).0, 405);
    assert_eq!(client.get().await.unwrap().offset, 0);
    assert_eq!(client.patch(0, bundle.gzip()).await.unwrap().state, SubmissionState::Verified);
}

/// A body of 50 MB in pieces, endless in patience: it is sent as fast as the server reads.
fn fifty_megabytes(first: Vec<u8>) -> reqwest::Body {
    let piece = Bytes::from(noise(1 << 20));
    let pieces = std::iter::once(Bytes::from(first)).chain(std::iter::repeat_n(piece, 50));
    reqwest::Body::wrap_stream(futures::stream::iter(pieces.map(Ok::<_, std::io::Error>)))
}

#[tokio::test]
async fn u02_a_refusal_in_mid_body_always_arrives() {
    // A changed byte in a file of 50 MB is found out at the sums; a wrong header at once.
    let bundle = Bundle::of_jars(&[("a.jar", &vec![7; 50 << 20])]);
    for run in 0..10 {
        let server = Server::start();
        let client = server.client();
        client.put(&bundle.manifest).await.unwrap();
        let response = client.patch_request(0).body(fifty_megabytes(gzip(&[0; 512]))).send().await;
        assert_eq!(
            refused(answer(response.unwrap_or_else(|error| panic!("run {run}: {error:?}"))).await),
            (422, "E_MANIFEST".into())
        );
    }
}

#[tokio::test]
async fn u02_a_refusal_always_arrives_100_of_100() {
    let server = Server::start_with(&["--max-bundle-bytes=1000000"]);
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &vec![7; 50 << 20])]);
    let problem = client.put(&bundle.manifest).await.unwrap_err();
    assert_eq!((problem.status, problem.code.as_str()), (413, "E_TOO_LARGE"));
    assert!(
        problem.detail.contains("1000000") && problem.hints[0].contains("spark.airlock.upload.maxBytes"),
        "{problem:?}"
    );
    for run in 0..100 {
        let response = client.patch_request(0).body(fifty_megabytes(vec![])).send().await;
        let response = response.unwrap_or_else(|error| panic!("run {run}: {error:?}"));
        assert_eq!(response.headers()["connection"], "close");
        assert_eq!(refused(answer(response).await), (413, "E_TOO_LARGE".into()), "run {run}");
    }
}

#[tokio::test]
async fn u02_a_client_that_reads_only_after_its_last_byte_gets_the_answer() {
    let bundle = Bundle::of_jars(&[("a.jar", b"aa")]);
    let server = Server::start();
    server.client().put(&bundle.manifest).await.unwrap();
    let body = [gzip(&[0; 512]), noise(50 << 20)].concat();
    for run in 0..20 {
        let mut raw = server.certificates.connect(server.address, Some(&server.certificates.client)).await.unwrap();
        let head = format!(
            "PATCH {BUNDLE_PATH} HTTP/1.1\r\nHost: x\r\n{UPLOAD_OFFSET}: 0\r\nContent-Type: {TAR_TYPE}\r\n\
             Content-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        raw.write_all(head.as_bytes()).await.unwrap();
        raw.write_all(&body).await.unwrap_or_else(|error| panic!("run {run}: {error}"));
        let mut answer = Vec::new();
        raw.read_to_end(&mut answer).await.unwrap_or_else(|error| panic!("run {run}: {error}"));
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 422 ") && answer.contains("E_MANIFEST"), "run {run}: {answer}");
    }
}

#[tokio::test]
async fn u06_requests_with_pauses_on_one_connection_and_on_fresh_ones() {
    let server = Server::start();
    let client = server.client();
    for _ in 0..200 {
        client.get().await.unwrap();
    }
    // A fresh client each time: a connection of its own each time.
    for _ in 0..50 {
        server.client().get().await.unwrap();
    }
}

#[tokio::test]
async fn u07_a_file_that_loses_its_end_on_disk_is_found_out() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(9000)), ("b.jar", b"bb")]);
    let tar = bundle.tar();
    client.put(&bundle.manifest).await.unwrap();
    client.patch(0, gzip(&tar[..tar.len() - 1024])).await.unwrap();
    let file = fs::OpenOptions::new().write(true).open(server.path("airlock/staging/jars/a.jar")).unwrap();
    file.set_len(9000 - 4096).unwrap();
    let problem = client.patch(tar.len() as u64 - 1024, gzip(&[0; 1024])).await.unwrap_err();
    assert_eq!(problem.code, "E_SHORT_TRANSFER");
    assert!(problem.detail.contains("jars/a.jar"), "{}", problem.detail);
    assert!(client.launch().await.is_err());
}

#[tokio::test]
async fn u09_a_slow_upload_is_no_dead_one() {
    let server = Server::start_with(&["--idle-timeout-seconds=1"]);
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(30_000))]);
    client.put(&bundle.manifest).await.unwrap();
    let pieces: Vec<_> = bundle.gzip().chunks(1000).map(Bytes::copy_from_slice).collect();
    assert!(pieces.len() >= 30);
    // 100 ms a piece: three times the idle limit in all.
    let throttled = futures::stream::unfold(pieces.into_iter(), |mut pieces| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some((Ok::<_, std::io::Error>(pieces.next()?), pieces))
    });
    let status = client.patch(0, reqwest::Body::wrap_stream(throttled)).await.unwrap();
    assert_eq!(status.state, SubmissionState::Verified);
}

#[tokio::test]
async fn a11_bombs_are_refused_at_once_and_memory_stays_flat() {
    let server = Server::start_with(&["--max-bundle-bytes=2147483648"]);
    let client = server.client();
    let huge = Member { size: 100 << 30, ..member(MemberKind::Jar, "a.jar") };
    let manifest = shared::manifest::Manifest::new(vec![huge], common::bundle::launch()).unwrap();
    assert_eq!(refused(client.put(&manifest).await), (413, "E_TOO_LARGE".into()));

    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &vec![0; 1 << 20])]);
    client.put(&bundle.manifest).await.unwrap();
    let mut tar = bundle.tar();
    tar.truncate(512);
    // A file that goes on as zeros for 4 GiB, a thousand times smaller on the wire.
    let zeros = Bytes::from(gzip(&vec![0; 64 << 20]));
    let pieces = std::iter::once(Bytes::from(gzip(&tar))).chain(std::iter::repeat_n(zeros, 64));
    let body = reqwest::Body::wrap_stream(futures::stream::iter(pieces.map(Ok::<_, std::io::Error>)));
    let (status, code) = refused(client.patch(0, body).await);
    assert_eq!(status, 422);
    assert!(code == "E_MANIFEST" || code == "E_DIGEST" || code == "E_ARCHIVE_FORMAT", "{code}");
    assert!(server.peak_memory() < 48 * 1024, "{} KiB", server.peak_memory());
}

#[tokio::test]
async fn u01_memory_stays_flat_over_a_large_upload() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(200 << 20))]);
    client.upload(&bundle).await;
    assert!(server.peak_memory() < 48 * 1024, "{} KiB", server.peak_memory());
}

#[tokio::test]
#[ignore = "measures; run it alone and with --release"]
async fn throughput_of_300_mb_stored() {
    let server = Server::start();
    let client = server.client();
    let bundle = Bundle::of_jars(&[("a.jar", &noise(300 << 20))]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut encoder, &bundle.tar()).unwrap();
    let sent = encoder.finish().unwrap();
    client.put(&bundle.manifest).await.unwrap();
    let started = std::time::Instant::now();
    client.patch(0, sent).await.unwrap();
    let seconds = started.elapsed().as_secs_f64();
    println!("{:.0} MB/s, peak {} KiB", f64::from(300 << 20) / 1e6 / seconds, server.peak_memory());
    println!("cpu: {}", fs::read_to_string(format!("/proc/{}/stat", server.pid())).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn u08_any_cuts_of_the_connection_yield_the_same_files(
        sizes in prop::collection::vec(0_usize..50_000, 1..5),
        cuts in prop::collection::vec(1_usize..100, 0..4),
    ) {
        let files: Vec<_> = sizes.iter().enumerate().map(|(n, size)| (member(MemberKind::File, &n.to_string()), noise(*size))).collect();
        let bundle = Bundle::new(files);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let digest = runtime.block_on(async {
            let server = Server::start();
            let client = server.client();
            client.put(&bundle.manifest).await.unwrap();
            for share in cuts {
                let status = client.get().await.unwrap();
                if status.state == SubmissionState::Verified {
                    break;
                }
                let (feed, body) = hand_fed();
                let sent = gzip(&bundle.tar()[usize::try_from(status.offset).unwrap()..]);
                let request = tokio::spawn(client.patch_request(status.offset).body(body).send());
                feed.send(Ok(Bytes::copy_from_slice(&sent[..sent.len() * share / 100]))).await.unwrap();
                let _ = feed.send(Err(std::io::Error::other("cut"))).await;
                // The earlier cut may still be at work behind the offset that was stated: then this one is refused, not broken.
                if let Ok(response) = request.await.unwrap() {
                    assert_eq!(response.status(), 409);
                }
            }
            // Asks until the cut request has ended on the other side too.
            let mut offset = client.get().await.unwrap().offset;
            loop {
                let tar = bundle.tar();
                match client.patch(offset, gzip(&tar[usize::try_from(offset).unwrap()..])).await {
                    Ok(status) => break status.digest,
                    Err(problem) if problem.offset == Some(tar.len() as u64) => break client.get().await.unwrap().digest,
                    Err(problem) => offset = problem.offset.unwrap(),
                }
            }
        });
        prop_assert_eq!(digest, Some(bundle.digest()));
    }
}
