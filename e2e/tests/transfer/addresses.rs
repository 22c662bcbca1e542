//! Which of several addresses leads to the driver server, and what is said when none does.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use client::upload::reach::Dialer;
use shared::error_code::ErrorCode;
use shared::report::Failure as _;
use time::OffsetDateTime;

use crate::bundle::Bundle;
use crate::peers::{Dropping, Refusing};
use crate::server::{DriverServer, dialer};
use crate::way::{Rule, Way};
use crate::{DEADLINE, REACH, in_time, send};

/// What a bad address among good ones may cost, on a busy machine.
const EXTRA: Duration = Duration::from_secs(3);

async fn reached(dialer: &Dialer) -> SocketAddr {
    in_time(dialer.reach(REACH)).await.unwrap().0.candidate.address
}

#[tokio::test(flavor = "multi_thread")]
async fn t01_the_name_is_verified_whatever_address_is_dialled() {
    let server = DriverServer::start_with("[::]:0", OffsetDateTime::now_utc(), &[]).await;
    let (dropping, refusing) = (Dropping::start().await, Refusing::start());
    let port = server.address.port();
    let mut addresses: Vec<SocketAddr> =
        ["127.0.0.1", "127.0.0.2", "127.9.8.7"].map(|ip| SocketAddr::new(ip.parse().unwrap(), port)).into();
    // As the server itself, the test takes a machine without IPv6 as it is.
    addresses.extend(server.address.is_ipv6().then(|| SocketAddr::from((Ipv6Addr::LOCALHOST, port))));
    for good in addresses {
        let dialer = dialer(&server.credentials, &[dropping.address, refusing.address, good]);
        assert_eq!(reached(&dialer).await, good);
    }
    let last = dialer(&server.credentials, &[dropping.address, refusing.address, ([127, 0, 0, 2], port).into()]);
    send(&last, &Bundle::of_sizes(&[100_000])).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn r05_a_first_address_that_drops_packets_costs_little() {
    let (server, dropping) = (DriverServer::start().await, Dropping::start().await);
    let both = dialer(&server.credentials, &[dropping.address, server.address]);
    let started = Instant::now();
    assert_eq!(reached(&both).await, server.address);
    assert!(started.elapsed() < EXTRA, "{:?}", started.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn r06_without_a_way_in_each_address_has_its_own_result() {
    let server = DriverServer::start().await;
    let (first, second, refusing) = (Dropping::start().await, Dropping::start().await, Refusing::start());
    let dialer = dialer(&server.credentials, &[first.address, second.address, refusing.address]);
    let (limit, started) = (Duration::from_secs(4), Instant::now());
    let Err(error) = in_time(dialer.reach(limit)).await else { panic!("reached") };
    assert!(started.elapsed() < limit + Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(error.code(), ErrorCode::DriverUnreachable);
    let (text, hints) = (error.to_string(), error.hints().join("\n"));
    for dropping in [first.address, second.address] {
        assert!(text.contains(&format!("{dropping} (n")), "{text}");
    }
    assert_eq!(text.matches("no answer (packets are dropped on the way)").count(), 2, "{text}");
    assert!(text.contains(&format!("{} (n2): connection refused", refusing.address)), "{text}");
    assert!(hints.contains(&format!("open TCP port {}", first.address.port())), "{hints}");
}

/// An address becomes right while another one is tried in vain; the tries at that one are the clock.
async fn becomes_right(server: &DriverServer, bad: SocketAddr, open: impl FnOnce() -> Way) {
    let mut clock = Way::start(server.address, |_| Rule::Close);
    let dialer = dialer(&server.credentials, &[bad, clock.address]);
    let opening = async {
        clock.closed(6).await;
        (open(), Instant::now())
    };
    let (reached, (_way, opened)) = in_time(async { tokio::join!(dialer.reach(DEADLINE), opening) }).await;
    assert_eq!(reached.unwrap().0.candidate.address, bad);
    assert!(opened.elapsed() < EXTRA, "{:?}", opened.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn r08_an_address_that_drops_at_first_is_found_soon_after() {
    let (server, dropping) = (DriverServer::start().await, Dropping::start().await);
    becomes_right(&server, dropping.address, || Way::open(dropping.open(), server.address, |_| Rule::Pass)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r08_an_address_that_refuses_at_first_is_found_soon_after() {
    let (server, refusing) = (DriverServer::start().await, Refusing::start());
    becomes_right(&server, refusing.address, || Way::open(refusing.open(), server.address, |_| Rule::Pass)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r08_connections_that_are_closed_at_first_are_made_again() {
    let server = DriverServer::start().await;
    let way = Way::start(server.address, |index| if index < 8 { Rule::Close } else { Rule::Pass });
    assert_eq!(reached(&dialer(&server.credentials, &[way.address])).await, way.address);
    assert!(way.closed_so_far() >= 8);
}
