//! A way to the driver server with a rule for each connection. Since every request of the client has a connection of its
//! own, the rules speak of requests: 0 asks for the state, 1 sends the manifest, 2 the bundle. `e2e::faulty_proxy` cuts
//! at chosen bytes instead, whichever connection carries them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::in_time;

/// More bytes than a client hello has, and fewer than it has sent when its handshake is complete. The driver server sends
/// no session tickets: what it says later than this is its answer.
const HANDSHAKE: u64 = 600;

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// All passes.
    Pass,
    /// It is accepted and closed at once.
    Close,
    /// The request passes, its answer does not: when the server speaks, or closes, the connection is cut.
    LoseAnswer,
    /// It is closed as soon as the answer has passed.
    CloseAfterAnswer,
    /// So many bytes a second pass to the server.
    Throttle(u32),
}

/// A running way; it ends when dropped.
pub(crate) struct Way {
    pub(crate) address: SocketAddr,
    closed: watch::Receiver<usize>,
    _accept: JoinSet<()>,
}

impl Way {
    /// Leads to `target`, with the rule that `rule` has for the connection's number.
    pub(crate) fn start(target: SocketAddr, rule: impl Fn(usize) -> Rule + Send + 'static) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // A slow way is one that holds little: with the kernel's usual buffers, a small upload would be over at once.
        socket.set_recv_buffer_size(64 * 1024).unwrap();
        socket.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Self::open(socket.listen(128).unwrap(), target, rule)
    }

    /// The same at a `listener` that is there already.
    pub(crate) fn open(
        listener: TcpListener,
        target: SocketAddr,
        rule: impl Fn(usize) -> Rule + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let (count, closed) = watch::channel(0);
        let mut accept = JoinSet::new();
        accept.spawn(async move {
            let (count, mut connections, mut index) = (Arc::new(count), JoinSet::new(), 0);
            while let Ok((client, _)) = listener.accept().await {
                let (rule, count) = (rule(index), Arc::clone(&count));
                index += 1;
                connections.spawn(async move {
                    forward(client, target, rule).await;
                    count.send_modify(|count| *count += 1);
                });
            }
        });
        Self { address, closed, _accept: accept }
    }

    /// Waits until so many connections have come and gone.
    pub(crate) async fn closed(&mut self, connections: usize) {
        in_time(self.closed.wait_for(|count| *count >= connections)).await.unwrap();
    }

    /// How many connections have come and gone.
    pub(crate) fn closed_so_far(&self) -> usize {
        *self.closed.borrow()
    }
}

async fn forward(client: TcpStream, target: SocketAddr, rule: Rule) {
    if matches!(rule, Rule::Close) {
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else { return };
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let passed = AtomicU64::new(0);
    tokio::select! {
        () = to_client(server_read, client_write, rule, &passed) => {}
        () = to_server(client_read, server_write, rule, &passed) => {}
    }
}

/// Ends when the connection is to be closed.
async fn to_client(mut server: OwnedReadHalf, mut client: OwnedWriteHalf, rule: Rule, passed: &AtomicU64) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = server.read(&mut buffer).await {
        let answer = passed.load(Ordering::SeqCst) > HANDSHAKE;
        if answer && matches!(rule, Rule::LoseAnswer) {
            return;
        }
        if client.write_all(&buffer[..read]).await.is_err() || answer && matches!(rule, Rule::CloseAfterAnswer) {
            return;
        }
    }
}

async fn to_server(mut client: OwnedReadHalf, mut server: OwnedWriteHalf, rule: Rule, passed: &AtomicU64) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = client.read(&mut buffer).await {
        // Counted before it is sent: the answer may be quicker than the next line.
        passed.fetch_add(read as u64, Ordering::SeqCst);
        if server.write_all(&buffer[..read]).await.is_err() {
            return;
        }
        if let Rule::Throttle(rate) = rule {
            sleep(Duration::from_secs(1) * u32::try_from(read).unwrap() / rate).await;
        }
    }
    // The client is done: what the server says still passes, until it closes.
    std::future::pending::<()>().await;
}
