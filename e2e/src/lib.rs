//! What the end-to-end tests share. They see the product from outside only: its binaries, the objects in the cluster, the
//! packets on the wire. How the cluster was made is nobody's business here; any will do.
//!
//! | module | holds |
//! |---|---|
//! | [`environment`] | which cluster, image, binaries and Spark to use |
//! | [`namespace`] | a namespace of its own for each test, shown when the test fails, gone afterwards |
//! | [`airlock`] | runs the submit CLI as a user would |
//! | [`jobs`] | the Spark jobs that are submitted, compiled with the machine's JDK |
//! | [`faulty_proxy`] | a TCP proxy that breaks or stalls connections at chosen bytes |
//! | [`capture`] | packets, as an onlooker sees them |

// The harness is only ever called by tests: a failure of its own is a failed test.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc, clippy::print_stderr)]

pub mod airlock;
pub mod capture;
pub mod environment;
pub mod faulty_proxy;
pub mod jobs;
pub mod namespace;

/// A port of Kubernetes' default range for node ports, above those that it prefers for static use.
#[must_use]
pub fn random_node_port() -> u16 {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).expect("random bytes");
    30_100 + u16::from_be_bytes(bytes) % 2_600
}
