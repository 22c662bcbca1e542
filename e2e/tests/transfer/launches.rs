//! The launch over a way that loses the question or the answer: asked again, started once.

use std::time::Duration;

use client::progress::Progress;
use client::settings::{Candidate, Deadlines};
use client::upload::transfer::{LaunchAnswer, Silence, Transfer as _};
use shared::protocol::SubmissionState;

use crate::bundle::Bundle;
use crate::server::DriverServer;
use crate::way::{Rule, Way};
use crate::{IDLE, REACH, SERVER_NAME, in_time};

/// The connection that carries the launch: before it came state, manifest and bundle.
const LAUNCH: usize = 3;

fn deadlines() -> Deadlines {
    let any = Duration::from_mins(1);
    Deadlines {
        schedule: any,
        pull: any,
        start: any,
        reach: REACH,
        load_balancer: any,
        idle: IDLE,
        fault: any,
        api: any,
        lease: any,
    }
}

/// Uploads over a way with `rule` for the launch, and asks for the launch as `submit` does, until it is decided.
async fn launched_over(rule: Rule) -> (DriverServer, Vec<&'static str>) {
    let mut server = DriverServer::start().await;
    let way = Way::start(server.address, move |index| if index == LAUNCH { rule } else { Rule::Pass });
    let (bundle, (progress, _)) = (Bundle::of_sizes(&[300_000]), Progress::recording());
    let (transfer, mut seen) = (bundle.transfer(), Vec::new());
    let candidates = [Candidate { address: way.address, origin: "node".into() }];
    let credentials = server.credentials.clone();
    in_time(async {
        let mut reached = transfer.reach(&candidates, SERVER_NAME, &credentials, REACH, &progress).await.unwrap();
        transfer.send(&mut reached, &deadlines(), &progress).await.unwrap();
        for _ in 0..2 {
            match transfer.launch(&mut reached).await {
                LaunchAnswer::Launched => return seen.push("launched"),
                LaunchAnswer::Refused(error) => panic!("{error}"),
                LaunchAnswer::NotSent(_) => seen.push("not sent"),
                LaunchAnswer::Lost(_) => seen.push("lost"),
            }
            match transfer.state(&mut reached).await {
                Ok(SubmissionState::Verified) => seen.push("verified"),
                Ok(SubmissionState::Launched) | Err(Silence::Closed | Silence::NoAnswer) => return seen.push("gone"),
                Ok(state) => panic!("{state:?}"),
            }
        }
    })
    .await;
    server.ended().await;
    (server, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn u05_a_lost_answer_to_the_launch_starts_nothing_twice() {
    let (server, seen) = launched_over(Rule::LoseAnswer).await;
    assert_eq!(seen, ["lost", "gone"]);
    assert_eq!(server.launches(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn u05_a_launch_that_never_arrived_is_asked_for_again() {
    let (server, seen) = launched_over(Rule::Close).await;
    assert_eq!(seen, ["not sent", "verified", "launched"]);
    assert_eq!(server.launches(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn u05_a_launch_over_a_good_way_starts_once() {
    let (server, seen) = launched_over(Rule::Pass).await;
    assert_eq!(seen, ["launched"]);
    assert_eq!(server.launches(), 1);
}
