//! The accept loop: takes connections as they come and hands each to a task of its own. An error in accepting is waited
//! out; a connection's own trouble never gets here.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::sockets::connection::Connections;
use crate::sockets::log_budget::LogBudget;

/// Pause after a failed accept: descriptors or memory may be free again then.
const PAUSE: Duration = Duration::from_millis(50);

/// Accepts until `stop`, then closes the listener.
pub async fn accept(listener: TcpListener, connections: Connections, tasks: TaskTracker, stop: CancellationToken) {
    let failures = LogBudget::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((socket, _address)) => {
                tasks.spawn(connections.serve(socket));
            }
            Err(error) => {
                failures.info("a connection could not be accepted", &error);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
