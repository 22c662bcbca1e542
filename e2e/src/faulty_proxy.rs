//! A TCP proxy on loopback that breaks or stalls connections at chosen bytes, and counts what passed. What it forwards it
//! does not understand: all of it is TLS.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What happens to the first connection that carries so many bytes from the client.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It is closed.
    Cut(u64),
    /// It stays open, and nothing passes any more.
    Stall(u64),
}

/// A running proxy; it ends when dropped.
pub struct FaultyProxy {
    /// Where it listens.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    _accept: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    faults: Mutex<VecDeque<Fault>>,
    forwarded: AtomicU64,
    stalled: Notify,
}

impl FaultyProxy {
    /// Forwards to `target`. Each fault happens once, in order.
    pub async fn start(target: SocketAddr, faults: Vec<Fault>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(Shared { faults: Mutex::new(faults.into()), ..Shared::default() });
        let mut accept = JoinSet::new();
        accept.spawn(serve(listener, target, Arc::clone(&shared)));
        Self { address, shared, _accept: accept }
    }

    /// Bytes that passed from client to server, over all connections.
    #[must_use]
    pub fn forwarded(&self) -> u64 {
        self.shared.forwarded.load(Ordering::Relaxed)
    }

    /// Faults that have not happened yet.
    #[must_use]
    pub fn faults_left(&self) -> usize {
        self.shared.faults.lock().expect("no test thread panicked").len()
    }

    /// Waits until a connection stalls.
    pub async fn stalled(&self) {
        self.shared.stalled.notified().await;
    }
}

async fn serve(listener: TcpListener, target: SocketAddr, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        connections.spawn(forward(client, target, Arc::clone(&shared)));
        while connections.try_join_next().is_some() {}
    }
}

async fn forward(client: TcpStream, target: SocketAddr, shared: Arc<Shared>) {
    let Ok(server) = TcpStream::connect(target).await else { return };
    let (client_read, mut client_write) = client.into_split();
    let (mut server_read, server_write) = server.into_split();
    tokio::select! {
        _ = tokio::io::copy(&mut server_read, &mut client_write) => {}
        () = to_server(client_read, server_write, &shared) => {}
    }
}

/// Ends only when the connection is to be closed.
async fn to_server(mut client: OwnedReadHalf, mut server: OwnedWriteHalf, shared: &Shared) {
    let (mut buffer, mut passed) = (vec![0; 16 * 1024], 0_u64);
    while let Ok(read @ 1..) = client.read(&mut buffer).await {
        let fault = shared.faults.lock().expect("no test thread panicked").front().copied();
        let limit = fault.map_or(u64::MAX, |fault| match fault {
            Fault::Cut(at) | Fault::Stall(at) => at,
        });
        let allowed = limit.saturating_sub(passed).min(read as u64);
        let part = usize::try_from(allowed).expect("no more than the buffer");
        if server.write_all(&buffer[..part]).await.is_err() {
            return;
        }
        passed += allowed;
        shared.forwarded.fetch_add(allowed, Ordering::Relaxed);
        if passed >= limit {
            shared.faults.lock().expect("no test thread panicked").pop_front();
            if matches!(fault, Some(Fault::Cut(_))) {
                return;
            }
            shared.stalled.notify_one();
            break;
        }
    }
    // The client is done, or its bytes go nowhere: what the server says still passes, until it closes.
    std::future::pending::<()>().await;
}
