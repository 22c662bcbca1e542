//! Peers that are no driver server: one that drops packets, one that refuses, one that says nothing, one that speaks plain
//! text. Each tells what it was sent.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Packets to it are dropped: its queue of connections is full, and nobody accepts them.
pub(crate) struct Dropping {
    pub(crate) address: SocketAddr,
    listener: TcpListener,
    _queue: Vec<TcpStream>,
}

impl Dropping {
    pub(crate) async fn start() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 3], 0).into()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        let mut queue = Vec::new();
        while let Ok(connected) = timeout(Duration::from_millis(200), TcpStream::connect(address)).await {
            queue.push(connected.unwrap());
        }
        Self { address, listener, _queue: queue }
    }

    /// The listener, to be served from now on.
    pub(crate) fn open(self) -> TcpListener {
        self.listener
    }
}

/// Refuses connections: the port is taken, and nothing listens at it.
pub(crate) struct Refusing {
    pub(crate) address: SocketAddr,
    socket: TcpSocket,
}

impl Refusing {
    pub(crate) fn start() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 4], 0).into()).unwrap();
        Self { address: socket.local_addr().unwrap(), socket }
    }

    /// Listens from now on.
    pub(crate) fn open(self) -> TcpListener {
        self.socket.listen(128).unwrap()
    }
}

/// Accepts, remembers what it is sent, and answers with a fixed text, if any.
pub(crate) struct Stranger {
    pub(crate) address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
    _accept: JoinSet<()>,
}

impl Stranger {
    /// Says nothing at all.
    pub(crate) async fn silent() -> Self {
        Self::start(None).await
    }

    /// Takes everything for plain-text HTTP.
    pub(crate) async fn plain_text() -> Self {
        Self::start(Some("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")).await
    }

    async fn start(answer: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (mut accept, memory) = (JoinSet::new(), Arc::clone(&heard));
        accept.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(listen(socket, answer, Arc::clone(&memory)));
            }
        });
        Self { address, heard, _accept: accept }
    }

    /// All bytes that it was sent, over all connections.
    pub(crate) fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap().clone()
    }
}

async fn listen(mut socket: TcpStream, answer: Option<&str>, heard: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = socket.read(&mut buffer).await {
        heard.lock().unwrap().extend_from_slice(&buffer[..read]);
        if let Some(answer) = answer {
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    }
}
