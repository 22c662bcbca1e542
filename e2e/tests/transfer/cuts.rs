//! Connections that break: the upload goes on where the driver server says it is, and ends when nothing comes of it.

use std::sync::Mutex;
use std::time::Duration;

use client::upload::UploadEvent;
use client::upload::dial::answer;
use e2e::faulty_proxy::{Fault, FaultyProxy};
use hyper::Method;
use shared::error_code::ErrorCode;
use shared::protocol::{SUBMISSION_PATH, SubmissionState};
use shared::report::Failure as _;

use crate::bundle::Bundle;
use crate::server::{DriverServer, dialer};
use crate::way::{Rule, Way};
use crate::{IDLE, REACH, in_time, send, send_telling};

/// Numbers that look random and can be had again: splitmix64.
struct Numbers(u64);

impl Numbers {
    /// From a seed that is shown when the test fails.
    fn new() -> Self {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).unwrap();
        let seed = u64::from_le_bytes(seed);
        eprintln!("seed {seed}");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn u05_cuts_anywhere_are_mended_at_the_servers_offset() {
    let mut numbers = Numbers::new();
    let server = DriverServer::start().await;
    // In a handshake, in a question, and then in the bundle.
    let mut faults = vec![Fault::Cut(numbers.below(600)), Fault::Cut(600 + numbers.below(1000))];
    faults.extend((0..8).map(|_| Fault::Cut(20_000 + numbers.below(700_000))));
    let cuts = faults.len();
    let proxy = FaultyProxy::start(server.address, faults).await;
    let bundle = Bundle::of_sizes(&[5_000_000, 3_000_000, 4_000_000, 100, 0]);
    let report = send(&dialer(&server.credentials, &[proxy.address]), &bundle).await.unwrap();
    assert_eq!(proxy.faults_left(), 0);
    assert!((8..=u32::try_from(cuts).unwrap()).contains(&report.resumed), "{report:?}");
    bundle.assert_received(&server.path("airlock"));
    // Never from zero without need: what was sent twice was on its way when a connection was cut.
    assert!(proxy.forwarded() < report.tar_bytes + 2_000_000, "{} bytes", proxy.forwarded());
}

#[tokio::test(flavor = "multi_thread")]
async fn u05_cuts_in_the_manifest_are_mended() {
    let mut numbers = Numbers::new();
    let server = DriverServer::start().await;
    let faults = (0..3).map(|_| Fault::Cut(5_000 + numbers.below(35_000))).collect();
    let proxy = FaultyProxy::start(server.address, faults).await;
    let bundle = Bundle::with_large_manifest();
    let report = send(&dialer(&server.credentials, &[proxy.address]), &bundle).await.unwrap();
    assert_eq!((proxy.faults_left(), report.resumed), (0, 3));
    bundle.assert_received(&server.path("airlock"));
}

#[tokio::test(flavor = "multi_thread")]
async fn u05_lost_answers_to_manifest_and_bundle_are_asked_for_again() {
    let mut server = DriverServer::start().await;
    // 0: state, 1: manifest, 2: state, 3: bundle, 4: state.
    let lost = |index| if [1, 3].contains(&index) { Rule::LoseAnswer } else { Rule::Pass };
    let way = Way::start(server.address, lost);
    let (bundle, resumed) = (Bundle::of_sizes(&[900_000, 50_000]), Mutex::new(Vec::new()));
    let tell = |event: UploadEvent<'_>| {
        if let UploadEvent::Resuming(at, _) = event {
            resumed.lock().unwrap().push(at);
        }
    };
    let dialer = dialer(&server.credentials, &[way.address]);
    let report = send_telling(&dialer, &bundle, IDLE, &tell).await.unwrap();
    assert_eq!(*resumed.lock().unwrap(), [0, report.tar_bytes]);
    assert!(server.log_line("bundle verified").await.contains("digest"));
    assert_eq!(server.log().matches("upload begins").count(), 1, "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn u05_tries_that_bring_nothing_end() {
    let server = DriverServer::start().await;
    let proxy = FaultyProxy::start(server.address, vec![Fault::Cut(8_000); 100]).await;
    let dialer = dialer(&server.credentials, &[proxy.address]);
    let idle = Duration::from_secs(3);
    let error = send_telling(&dialer, &Bundle::with_large_manifest(), idle, &|_| {}).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::UploadStalled, "{error}");
    assert!(error.hints().join(" ").contains("spark.airlock.timeout.idle"));
    assert!(proxy.faults_left() > 80, "more than 20 tries");
    assert_eq!(server.launches(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn u09_a_connection_on_which_nothing_moves_is_replaced() {
    let server = DriverServer::start().await;
    let proxy = FaultyProxy::start(server.address, vec![Fault::Stall(3_000_000)]).await;
    let bundle = Bundle::of_sizes(&[20_000_000]);
    let dialer = dialer(&server.credentials, &[proxy.address]);
    let report = send_telling(&dialer, &bundle, Duration::from_secs(8), &|_| {}).await.unwrap();
    assert_eq!((proxy.faults_left(), report.resumed), (0, 1));
    bundle.assert_received(&server.path("airlock"));
}

#[tokio::test(flavor = "multi_thread")]
async fn u06_connections_that_were_closed_meanwhile_fail_no_request() {
    let server = DriverServer::start().await;
    let mut way = Way::start(server.address, |_| Rule::CloseAfterAnswer);
    let dialer = dialer(&server.credentials, &[way.address]);
    let (connection, _) = in_time(dialer.reach(REACH)).await.unwrap();
    for done in 1..=100 {
        way.closed(done).await;
        let status = answer(connection.request(Method::GET, SUBMISSION_PATH).send().await).await.unwrap();
        assert_eq!(status.state, SubmissionState::Waiting);
    }
}
