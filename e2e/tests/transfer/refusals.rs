//! A refusal reaches the user as the server's reason, every time; and the client believes only digests that are its own.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use shared::error_code::ErrorCode;
use shared::protocol::{SubmissionState, SubmissionStatus};
use time::OffsetDateTime;

use crate::bundle::Bundle;
use crate::double::{Clock, Double};
use crate::send;
use crate::server::{DriverServer, certificates, dialer};
use crate::way::{Rule, Way};

/// Runs of each kind: a reason that is lost is lost in some runs only.
const RUNS: usize = 20;

async fn with_limit(bytes: u64) -> DriverServer {
    let limit = format!("--max-bundle-bytes={bytes}");
    DriverServer::start_with("127.0.0.1:0", OffsetDateTime::now_utc(), &[&limit]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn u02_a_bundle_over_the_limit_is_refused_as_that() {
    let bundle = Bundle::of_sizes(&[2_000_000]);
    for run in 0..RUNS {
        let server = with_limit(1_000_000).await;
        let error = send(&server.dialer(), &bundle).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::TooLarge, "run {run}: {error}");
        assert_eq!(server.launches(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u02_a_refusal_whose_answer_was_lost_is_asked_for_again() {
    let server = with_limit(1_000_000).await;
    let way = Way::start(server.address, |index| if index == 1 { Rule::LoseAnswer } else { Rule::Pass });
    let dialer = dialer(&server.credentials, &[way.address]);
    let error = send(&dialer, &Bundle::of_sizes(&[2_000_000])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u02_a_disk_that_is_too_small_is_refused_before_the_first_byte() {
    let server = DriverServer::start_on_disk(1 << 20).await;
    let error = send(&server.dialer(), &Bundle::of_sizes(&[2_000_000])).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::DiskFull, "{error}");
    assert!(!server.log().contains("upload begins"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn u02_a_disk_that_fills_up_during_the_upload_is_refused_as_that() {
    let bundle = Bundle::of_sizes(&[8_000_000]);
    for run in 0..RUNS {
        let server = DriverServer::start_on_disk(10_000_000).await;
        let directory = server.own_directory();
        let way = Way::start(server.address, move |index| {
            if index == 2 {
                fill_disk(&directory);
            }
            Rule::Pass
        });
        let error = send(&dialer(&server.credentials, &[way.address]), &bundle).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::DiskFull, "run {run}: {error}");
        assert_eq!(server.launches(), 0);
    }
}

/// Somebody else's bytes: all but some of the disk.
fn fill_disk(directory: &Path) {
    let mut file = File::create(directory.join("filler")).unwrap();
    file.write_all(&vec![1; 6_000_000]).unwrap();
}

/// The double says that it has everything, with these digests.
async fn sent_to_a_server_with(digest: Option<&str>) -> ErrorCode {
    let (certificate, credentials) = certificates(OffsetDateTime::now_utc());
    let digest = digest.map(ToOwned::to_owned);
    let answers = move |method: &hyper::Method| {
        let status = |state, digest| SubmissionStatus { state, offset: 0, digest };
        match method.as_str() {
            "PATCH" => status(SubmissionState::Verified, digest.clone()),
            "PUT" => status(SubmissionState::Receiving, None),
            _ => status(SubmissionState::Waiting, None),
        }
    };
    let double = Double::start(&certificate, Clock(0), answers).await;
    let error = send(&dialer(&credentials, &[double.address]), &Bundle::of_sizes(&[500_000])).await.unwrap_err();
    assert_eq!(double.requests(), 3);
    error.code()
}

#[tokio::test(flavor = "multi_thread")]
async fn u07_u08_a_server_with_other_digests_is_not_believed() {
    assert_eq!(sent_to_a_server_with(Some(&"0".repeat(64))).await, ErrorCode::Digest);
    assert_eq!(sent_to_a_server_with(None).await, ErrorCode::Digest);
}
