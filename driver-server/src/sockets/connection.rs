//! One connection, from the first byte to the last: handshake within a fixed time, then requests, then a close that lets
//! the last answer arrive. Whatever goes wrong here ends this connection and nothing else.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::sockets::admission::Admission;
use crate::sockets::log_budget::LogBudget;
use crate::sockets::read_ahead::ReadAhead;

/// Time for a handshake, and for the head of a request, in all: silent peers hold no place for longer.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Largest buffer of hyper in bytes: request heads, and pieces of bodies. Larger ones gain nothing: each is made anew, and
/// clearing its pages costs more than the reads that it saves.
const HTTP_BUFFER: usize = 256 * 1024;
/// Time for the peer to read the last answer and close.
const LINGER_TIME: Duration = Duration::from_secs(1);
/// Most bytes that are read and thrown away meanwhile.
const LINGER_BYTES: u64 = 16 * 1024 * 1024;
/// Most connections whose peer is not authenticated yet.
const STRANGERS: usize = 512;
/// Most connections whose peer is.
const PEERS: usize = 16;

type Stream = TlsStream<ReadAhead<TcpStream>>;

/// What all connections share.
#[derive(Clone)]
pub struct Connections {
    tls: TlsAcceptor,
    router: Router,
    strangers: Admission,
    peers: Admission,
    failures: Arc<LogBudget>,
    stop: CancellationToken,
}

impl Connections {
    /// Connections that are served by `router` until `stop`.
    #[must_use]
    pub fn new(tls: TlsAcceptor, router: Router, stop: CancellationToken) -> Self {
        let (strangers, peers) = (Admission::new(STRANGERS), Admission::new(PEERS));
        Self { tls, router, strangers, peers, failures: Arc::default(), stop }
    }

    /// Serves `socket` to its end. The place among the strangers is taken at once, in the order of arrival.
    pub fn serve(&self, socket: TcpStream) -> impl Future<Output = ()> + use<> {
        let place = self.strangers.admit();
        let this = self.clone();
        async move {
            let stranger = tokio::select! {
                () = this.stop.cancelled() => return,
                () = place.evicted() => return,
                handshake = timeout(HEAD_TIME, this.handshake(socket)) => handshake,
            };
            let stream = match stranger {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return this.failures.info("a TLS handshake failed", &error),
                Err(_) => return this.failures.info("a TLS handshake failed", &"no handshake within 10 s"),
            };
            let peer = this.peers.admit();
            drop(place);
            tokio::select! {
                () = peer.evicted() => debug!("connection given up for a newer one"),
                () = this.requests(stream) => {}
            }
        }
    }

    async fn handshake(&self, socket: TcpStream) -> io::Result<Stream> {
        socket.set_nodelay(true)?;
        let mut stream = self.tls.accept(ReadAhead::new(socket)).await?;
        stream.get_mut().0.enlarge();
        Ok(stream)
    }

    async fn requests(&self, stream: Stream) {
        let router = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let answer: Pin<Box<dyn Future<Output = Result<Response<Body>, std::convert::Infallible>> + Send>> =
                Box::pin(router.call(request));
            answer
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HTTP_BUFFER)
            .serve_connection(TokioIo::new(stream), service);
        let mut stopping = false;
        let result = loop {
            tokio::select! {
                result = &mut connection => break result,
                () = self.stop.cancelled(), if !stopping => {
                    stopping = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
            }
        };
        if let Err(error) = result {
            debug!("connection ended: {error}");
        }
        let stream = connection.into_parts().io.into_inner();
        // An error means that the peer has gone, which is what this waits for.
        let _ = timeout(LINGER_TIME, linger(stream)).await;
    }
}

/// Closes our side, then waits for the peer's: a socket that is closed with unread bytes in it resets the connection,
/// and the last answer may be lost with it.
async fn linger(mut stream: Stream) -> io::Result<()> {
    // Done already, unless the connection ended with an error.
    let _ = stream.shutdown().await;
    let (socket, _) = stream.get_mut();
    let mut rest = socket.take(LINGER_BYTES);
    tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
    Ok(())
}
