//! `airlock-driver`: receives one submission's bundle in the driver container, verifies it, then becomes the driver.
//!
//! | module | what it does |
//! |---|---|
//! | [`cli`], [`life`], [`ending`] | command line; the server's life in order; every end but the launch |
//! | [`listen`], [`server`], [`connection`], [`admission`], [`read_ahead`], [`tls`], [`log_budget`] | sockets: who gets in, and what strangers may cost |
//! | [`handlers`], [`problem`], [`manifest_body`] | HTTP: the four requests, and refusals that arrive |
//! | [`submission`], [`submission_state`], [`turns`], [`activity`] | the one submission's state, whose turn it is, the idle deadline |
//! | [`receive`], [`inflate`], [`unpack`], [`sums`], [`staging`], [`received`] | from a body to proved files |
//! | [`directory`], [`work_directory`], [`archive`] | what lies where on disk |
//! | [`launch`], [`become_driver`], [`signals`] | the driver's command, and becoming it |
//! | [`own_objects`] | deletes own Kubernetes objects after a failure |

pub mod activity;
pub mod admission;
pub mod archive;
#[cfg(test)]
mod archive_tests;
pub mod become_driver;
pub mod cli;
pub mod connection;
pub mod directory;
pub mod ending;
pub mod error;
mod gzip_header;
pub mod handlers;
pub mod inflate;
pub mod launch;
pub mod life;
pub mod listen;
pub mod log_budget;
pub mod manifest_body;
pub mod own_objects;
pub mod problem;
pub mod read_ahead;
pub mod receive;
pub mod received;
pub mod server;
pub mod signals;
pub mod staging;
pub mod submission;
pub mod submission_state;
pub mod sums;
mod tar_header;
#[cfg(test)]
#[path = "../tests/common/bundle.rs"]
mod test_bundle;
pub mod tls;
pub mod turns;
pub mod unpack;
#[cfg(test)]
mod unpack_tests;
pub mod work_directory;

use std::panic::{self, AssertUnwindSafe};

use tokio_util::sync::CancellationToken;
use tracing::error;

use cli::Arguments;
use error::Refusal;

/// Serves one submission and becomes its driver. Returns only if that failed, with the exit status; a panic anywhere is
/// such a failure, and is cleaned up after like any other.
#[must_use]
pub fn run(arguments: &Arguments) -> u8 {
    let panicked = CancellationToken::new();
    report_panics(panicked.clone());
    let served = panic::catch_unwind(AssertUnwindSafe(|| life::serve(arguments, &panicked)));
    let failure = match served {
        Ok(Ok(command)) => become_driver::become_driver(&command),
        Ok(Err(refusal)) => refusal,
        Err(_) => Refusal::bug("the driver server panicked; its log says where"),
    };
    ending::fail(arguments, &failure)
}

/// Logs the place of every panic, and tells the server of it: a task that panics must not leave the others half dead.
pub fn report_panics(panicked: CancellationToken) {
    panic::set_hook(Box::new(move |panic| {
        // Only texts that stand in the source: one made at run time may hold what must not be logged.
        let text = panic.payload().downcast_ref::<&'static str>().copied().unwrap_or("panic");
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        error!("{place}: {text}");
        panicked.cancel();
    }));
}
