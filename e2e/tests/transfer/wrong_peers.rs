//! Someone else answers: a bad address, and no reason for a weaker check. What the wrong one hears is TLS, never HTTP.

use std::time::{Duration, Instant};

use shared::error_code::ErrorCode;
use shared::protocol::{SubmissionState, SubmissionStatus};
use time::OffsetDateTime;

use crate::bundle::Bundle;
use crate::double::{Clock, Double};
use crate::peers::Stranger;
use crate::server::{DriverServer, certificates, dialer};
use crate::{in_time, send};

/// One of each kind.
struct WrongPeers {
    other_driver: Double,
    plain_text: Stranger,
    silent: Stranger,
}

impl WrongPeers {
    async fn start() -> Self {
        let (others, _) = certificates(OffsetDateTime::now_utc());
        let waiting = |_: &_| SubmissionStatus { state: SubmissionState::Waiting, offset: 0, digest: None };
        let other_driver = Double::start(&others, Clock(0), waiting).await;
        Self { other_driver, plain_text: Stranger::plain_text().await, silent: Stranger::silent().await }
    }

    fn addresses(&self) -> [std::net::SocketAddr; 3] {
        [self.other_driver.address, self.plain_text.address, self.silent.address]
    }

    fn assert_no_http_heard(&self) {
        assert_eq!(self.other_driver.requests(), 0);
        for heard in [self.plain_text.heard(), self.silent.heard()] {
            assert!(!heard.is_empty(), "it was never tried");
            for word in [&b"HTTP"[..], b"/v1/"] {
                assert!(!heard.windows(word.len()).any(|window| window == word), "it heard HTTP");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t07_the_right_server_wins_and_the_wrong_ones_hear_no_http() {
    let (server, wrong) = (DriverServer::start().await, WrongPeers::start().await);
    let [first, second, third] = wrong.addresses();
    let dialer = dialer(&server.credentials, &[first, second, third, server.address]);
    let (connection, _) = in_time(dialer.reach(crate::REACH)).await.unwrap();
    assert_eq!(connection.candidate.address, server.address);
    let bundle = Bundle::of_sizes(&[1_000_000]);
    send(&dialer, &bundle).await.unwrap();
    bundle.assert_received(&server.path("airlock"));
    wrong.assert_no_http_heard();
}

#[tokio::test(flavor = "multi_thread")]
async fn t07_when_all_are_wrong_each_is_named_with_what_it_said() {
    let wrong = WrongPeers::start().await;
    let (_, credentials) = certificates(OffsetDateTime::now_utc());
    let (limit, started) = (Duration::from_secs(12), Instant::now());
    let Err(error) = in_time(dialer(&credentials, &wrong.addresses()).reach(limit)).await else { panic!("reached") };
    assert!(started.elapsed() < limit + Duration::from_secs(3), "{:?}", started.elapsed());
    let text = error.to_string();
    assert_eq!(error.code(), ErrorCode::TlsPeerNotDriver, "{text}");
    let said = ["its certificate is not of this submission", "it does not speak TLS", "says nothing"];
    for (index, (address, said)) in wrong.addresses().into_iter().zip(said).enumerate() {
        let line = text.split("; ").find(|line| line.contains(&format!("{address} (n{index})")));
        assert!(line.is_some_and(|line| line.contains(said)), "{address}: {text}");
    }
    wrong.assert_no_http_heard();
}
