//! Slow uploads: only a lack of progress ends them, and what happens to an input meanwhile is seen.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Once;
use std::time::{Duration, Instant};

use client::upload::UploadEvent;
use shared::error_code::ErrorCode;
use time::OffsetDateTime;

use crate::bundle::Bundle;
use crate::server::{DriverServer, dialer};
use crate::way::{Rule, Way};
use crate::{IDLE, send_telling};

#[tokio::test(flavor = "multi_thread")]
async fn u09_an_upload_may_take_longer_than_the_idle_limit() {
    let idle = Duration::from_secs(6);
    let arguments = ["--idle-timeout-seconds=6"];
    let server = DriverServer::start_with("127.0.0.1:0", OffsetDateTime::now_utc(), &arguments).await;
    let way = Way::start(server.address, |_| Rule::Throttle(1_000_000));
    let bundle = Bundle::of_sizes(&[9_000_000]);
    let dialer = dialer(&server.credentials, &[way.address]);
    let started = Instant::now();
    let report = send_telling(&dialer, &bundle, idle, &|_| {}).await.unwrap();
    assert_eq!(report.resumed, 0, "it was slow, and taken for dead: {report:?}");
    assert!(started.elapsed() > idle, "it was no slow upload: {:?}", started.elapsed());
    bundle.assert_received(&server.path("airlock"));
}

#[tokio::test(flavor = "multi_thread")]
async fn f07_an_input_that_grows_during_the_upload_is_named() {
    let server = DriverServer::start().await;
    let way = Way::start(server.address, |_| Rule::Throttle(20_000_000));
    let (bundle, once) = (Bundle::of_sizes(&[40_000_000]), Once::new());
    let grow = || {
        let mut file = OpenOptions::new().append(true).open(bundle.path("part-0.jar")).unwrap();
        file.write_all(b"more").unwrap();
    };
    let tell = |event: UploadEvent<'_>| {
        if matches!(event, UploadEvent::Progress(1.., _)) {
            once.call_once(grow);
        }
    };
    let dialer = dialer(&server.credentials, &[way.address]);
    let error = send_telling(&dialer, &bundle, IDLE, &tell).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InputChanged, "{error}");
    assert!(error.to_string().contains("part-0.jar"), "{error}");
    assert!(!server.log().contains("verified"), "{}", server.log());
    assert_eq!(server.launches(), 0);
}
