//! Two clocks, and one process that uses TLS in every way that the client does.

use std::process::Stdio;

use kube::api::{Api, ListParams};
use shared::error_code::ErrorCode;
use shared::protocol::{SubmissionState, SubmissionStatus};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};
use tokio::process::Command;

use crate::bundle::Bundle;
use crate::double::{Clock, Double};
use crate::server::{DriverServer, certificates, dialer};
use crate::{REACH, in_time, send};

fn waiting(_: &hyper::Method) -> SubmissionStatus {
    SubmissionStatus { state: SubmissionState::Waiting, offset: 0, digest: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn t02_clocks_ten_minutes_apart_make_no_difference() {
    for minutes in [-10, 10] {
        let now = OffsetDateTime::now_utc() + Duration::minutes(minutes);
        let server = DriverServer::start_with("127.0.0.1:0", now, &[]).await;
        send(&server.dialer(), &Bundle::of_sizes(&[10_000])).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t02_a_server_whose_clock_is_ten_minutes_off_accepts_us() {
    for minutes in [-10, 10] {
        let (server, credentials) = certificates(OffsetDateTime::now_utc());
        let double = Double::start(&server, Clock(minutes * 60), waiting).await;
        in_time(dialer(&credentials, &[double.address]).reach(REACH)).await.unwrap();
    }
}

/// Both directions: what differs is who refuses, the server (its alert comes behind our request) or the client.
#[tokio::test(flavor = "multi_thread")]
async fn t02_clocks_three_days_apart_are_named_with_both_times() {
    for days in [-3, 3] {
        let (certificate, credentials) = certificates(OffsetDateTime::now_utc());
        let double = Double::start(&certificate, Clock(days * 86_400), waiting).await;
        assert_clock(&dialer(&credentials, &[double.address]), credentials.validity).await;
        assert_eq!(double.requests(), 0);

        let now = OffsetDateTime::now_utc() + Duration::days(days);
        let server = DriverServer::start_with("127.0.0.1:0", now, &[]).await;
        assert_clock(&server.dialer(), server.credentials.validity).await;
    }
}

async fn assert_clock(dialer: &client::upload::reach::Dialer, validity: (OffsetDateTime, OffsetDateTime)) {
    let Err(error) = in_time(dialer.reach(REACH)).await else { panic!("reached") };
    let text = error.to_string();
    assert_eq!(error.code(), ErrorCode::Clock, "{text}");
    let today = OffsetDateTime::now_utc().date().to_string();
    for moment in [validity.0.format(&Rfc3339).unwrap(), validity.1.format(&Rfc3339).unwrap(), today] {
        assert!(text.contains(&moment), "no {moment}: {text}");
    }
}

/// What one process does with TLS. Providers are process-wide, so each order has a process of its own.
const STEPS: [&str; 3] = ["api", "upload", "plain-client"];
const ORDER: &str = "AIRLOCK_E2E_T04_ORDER";

#[tokio::test(flavor = "multi_thread")]
async fn t04_tls_in_any_order_does_not_panic() {
    let [a, b, c] = STEPS;
    for order in [[a, b, c], [b, a, c], [c, b, a]] {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "trust::t04_in_one_process", "--nocapture"])
            .env(ORDER, order.join(","))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = in_time(child).await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && text.contains("1 passed"), "{order:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t04_in_one_process() {
    let order = std::env::var(ORDER).unwrap_or_else(|_| STEPS.join(","));
    // As `main` does, first thing.
    shared::tls::install_crypto_provider();
    for step in order.split(',') {
        match step {
            "api" => call_api_server().await,
            "upload" => {
                let server = DriverServer::start().await;
                send(&server.dialer(), &Bundle::of_sizes(&[1000])).await.unwrap();
            }
            "plain-client" => drop(reqwest::Client::builder().build().unwrap()),
            other => panic!("no step {other}"),
        }
    }
}

/// Our double stands for an API server: a handshake that it refuses is one.
async fn call_api_server() {
    let (certificate, _) = certificates(OffsetDateTime::now_utc());
    let double = Double::start(&certificate, Clock(0), waiting).await;
    let config = kube::Config::new(format!("https://{}", double.address).parse().unwrap());
    let client = kube::Client::try_from(config).unwrap();
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::default_namespaced(client);
    let error = in_time(pods.list(&ListParams::default())).await.unwrap_err();
    assert!(format!("{error:?}").contains("UnknownIssuer"), "{error:?}");
}
