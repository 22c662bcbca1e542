//! The client's half of a transfer joined with the real `airlock-driver`, without a cluster: real sockets, real TLS, ways
//! that cut, stall and drop. Needs no cluster; only the disk that fills up needs a mount of its own.
//!
//! | module | holds |
//! |---|---|
//! | `server`, `bundle`, `way`, `peers`, `double` | the real server; files to send; a faulty way; wrong peers; a TLS server of ours |
//! | `addresses`, `wrong_peers` | which of several addresses leads to the driver server |
//! | `trust`, `foreign_stacks` | clocks, providers; what OpenSSL and Java say to the certificates |
//! | `cuts`, `launches`, `slow` | broken and slow connections |
//! | `refusals` | the server's reasons, and its digests |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failed helper fails its test"
)]

mod addresses;
mod bundle;
mod cuts;
mod double;
mod foreign_stacks;
mod launches;
mod peers;
mod refusals;
mod server;
mod slow;
mod trust;
mod way;
mod wrong_peers;

use std::time::Duration;

use client::error::SubmitError;
use client::upload::reach::Dialer;
use client::upload::{Upload, UploadEvent, UploadReport};

use bundle::Bundle;

/// The driver server's only name.
const SERVER_NAME: &str = "job-0123456789abcdef-driver-svc.default.svc";
/// No wait of a test is longer.
const DEADLINE: Duration = Duration::from_secs(40);
/// How long an address is looked for, where that is not the matter of the test.
const REACH: Duration = Duration::from_secs(20);
/// Longest time without progress, where that is not the matter of the test.
const IDLE: Duration = Duration::from_mins(1);

/// `work`, which must end before the deadline.
async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, work).await.expect("the test's deadline has passed")
}

/// Reaches the driver server and sends `bundle`; `tell` hears how it goes.
async fn send_telling(
    dialer: &Dialer,
    bundle: &Bundle,
    idle: Duration,
    tell: &(dyn Fn(UploadEvent<'_>) + Sync),
) -> Result<UploadReport, SubmitError> {
    in_time(async {
        let first = dialer.reach(REACH).await?;
        Upload::new(dialer, &bundle.manifest, bundle.source(), idle, tell).send(first).await
    })
    .await
}

/// Reaches the driver server and sends `bundle`.
async fn send(dialer: &Dialer, bundle: &Bundle) -> Result<UploadReport, SubmitError> {
    send_telling(dialer, bundle, IDLE, &|_| {}).await
}
