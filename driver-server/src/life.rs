//! The server's life in order: claim the directory, listen, serve until one of five things ends it, close everything.
//! Each step is the matter of its own module; the ends are decided here.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::cli::Arguments;
use crate::directory::Directory;
use crate::error::Refusal;
use crate::http::handlers;
use crate::launch::DriverCommand;
use crate::launch::become_driver;
use crate::signals::Signals;
use crate::sockets::connection::Connections;
use crate::sockets::{listen, server, tls};
use crate::submission::Submission;
use crate::submission::submission_state::idle;

/// Threads for connections: the bytes of one upload keep one busy with TLS, and a second answers meanwhile.
const WORKERS: usize = 2;
/// Threads for work on files: one upload or launch, and manifests.
const BLOCKING_THREADS: usize = 8;
/// At the launch: time for the last answers to arrive.
const LAUNCH_GRACE: Duration = Duration::from_secs(2);
/// At any other end.
const END_GRACE: Duration = Duration::from_millis(300);
/// Time for blocking work to notice that nobody wants it any more.
const THREAD_GRACE: Duration = Duration::from_millis(300);

/// Serves one submission. Returns what to become, or why that will not be.
pub fn serve(arguments: &Arguments, panicked: &CancellationToken) -> Result<DriverCommand, Refusal> {
    become_driver::check_entry_point(&arguments.entry_point)?;
    let tls = TlsAcceptor::from(tls::server_config(&arguments.tls_directory)?);
    let directory = Directory::claim(&arguments.directory)?;
    let submission = Arc::new(Submission::new(directory, arguments.max_bundle_bytes));
    let runtime = runtime().map_err(|error| Refusal::io("threads cannot be started", &error))?;
    let ended = runtime.block_on(serve_until_ended(arguments, tls, &submission, panicked));
    runtime.shutdown_timeout(THREAD_GRACE);
    if let Err(end) = ended {
        // After a signal there is no time for it, and the volume goes with the pod.
        if end.leaves_time {
            submission.empty_staging();
        }
        return Err(end.reason);
    }
    let command = submission.driver_command(&arguments.entry_point);
    command.ok_or_else(|| Refusal::bug("launched without a command"))
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_name("airlock")
        .enable_all()
        .build()
}

/// An end that is not the launch.
struct End {
    reason: Refusal,
    leaves_time: bool,
}

impl End {
    fn by_itself(reason: Refusal) -> Self {
        Self { reason, leaves_time: true }
    }

    fn by_signal(reason: Refusal) -> Self {
        Self { reason, leaves_time: false }
    }
}

async fn serve_until_ended(
    arguments: &Arguments,
    tls: TlsAcceptor,
    submission: &Arc<Submission>,
    panicked: &CancellationToken,
) -> Result<(), End> {
    let mut signals = Signals::install().map_err(End::by_itself)?;
    let listener = listen::bind(arguments.listen).map_err(End::by_itself)?;
    if let Ok(address) = listener.local_addr() {
        info!("listening at {address}");
    }
    let stop = CancellationToken::new();
    let connections = Connections::new(tls, handlers::router(Arc::clone(submission)), stop.clone());
    let tasks = submission.tasks.clone();
    tasks.spawn(server::accept(listener, connections, tasks.clone(), stop.clone()));

    let launched = tokio::select! {
        biased;
        () = panicked.cancelled() => Err(End::by_itself(panic())),
        reason = signals.next() => Err(End::by_signal(reason)),
        () = submission.launched.cancelled() => Ok(()),
        () = submission.activity.quiet_for(arguments.idle_timeout()) => {
            submission.given_up.cancel();
            // A refusal that nothing has followed is the true reason.
            Err(End::by_itself(submission.refusal().unwrap_or_else(idle)))
        }
    };
    stop.cancel();
    tasks.close();
    let grace = if launched.is_ok() { LAUNCH_GRACE } else { END_GRACE };
    tokio::select! {
        biased;
        () = panicked.cancelled() => launched.and(Err(End::by_itself(panic()))),
        reason = signals.next() => launched.and(Err(End::by_signal(reason))),
        _ = tokio::time::timeout(grace, tasks.wait()) => {
            launched?;
            signals.hand_over().await.map_err(End::by_signal)
        }
    }
}

fn panic() -> Refusal {
    Refusal::bug("the driver server panicked; its log says where")
}
