//! `airlock-driver`: receives one submission's bundle in the driver container, verifies it, then becomes the driver.
//!
//! | module | what it does |
//! |---|---|
//! | [`cli`], [`life`], [`ending`], [`signals`] | command line; the server's life in order; every end but the launch |
//! | [`sockets`] | who gets in, and what strangers may cost |
//! | [`http`] | the four requests, and refusals that arrive |
//! | [`submission`] | the one submission's state, whose turn it is, the idle deadline |
//! | [`bundle`] | from a body to proved files |
//! | [`directory`] | what lies where on disk |
//! | [`launch`] | the driver's command, its working directory, and becoming it |
//! | [`own_objects`] | deletes own Kubernetes objects after a failure |
//! | [`install`] | copies the program to where another container starts it |

pub mod bundle;
pub mod cli;
pub mod directory;
pub mod ending;
pub mod error;
pub mod http;
pub mod install;
pub mod launch;
pub mod life;
pub mod own_objects;
pub mod signals;
pub mod sockets;
pub mod submission;
#[cfg(test)]
#[path = "../tests/common/bundle.rs"]
mod test_bundle;

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
        Ok(Ok(command)) => launch::become_driver::become_driver(&command),
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
