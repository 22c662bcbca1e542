//! A TLS server of ours in the driver server's place: with certificates, a clock and answers as a test wants them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use client::objects::driver_objects::ServerCertificates;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::server::WebPkiClientVerifier;
use rustls::time_provider::TimeProvider;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use secrecy::ExposeSecret as _;
use shared::protocol::SubmissionStatus;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A running double; it ends when dropped.
pub(crate) struct Double {
    pub(crate) address: SocketAddr,
    requests: Arc<AtomicUsize>,
    _accept: JoinSet<()>,
}

type Answers = Arc<dyn Fn(&Method) -> SubmissionStatus + Send + Sync>;

impl Double {
    /// Proves itself with `certificates`; answers as `answers` says, once a request's body has come.
    pub(crate) async fn start(
        certificates: &ServerCertificates,
        clock: Clock,
        answers: impl Fn(&Method) -> SubmissionStatus + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server_config(certificates, clock)));
        let requests = Arc::new(AtomicUsize::new(0));
        let (mut accept, count, answers) = (JoinSet::new(), Arc::clone(&requests), Arc::new(answers) as Answers);
        accept.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                connections.spawn(serve(socket, acceptor.clone(), Arc::clone(&answers), Arc::clone(&count)));
            }
        });
        Self { address, requests, _accept: accept }
    }

    /// How many requests have come through its handshake.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

async fn serve(socket: TcpStream, acceptor: TlsAcceptor, answers: Answers, count: Arc<AtomicUsize>) {
    let Ok(stream) = acceptor.accept(socket).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        count.fetch_add(1, Ordering::SeqCst);
        let answers = Arc::clone(&answers);
        async move {
            let (parts, body) = request.into_parts();
            body.collect().await?;
            let text = serde_json::to_vec(&answers(&parts.method)).unwrap();
            Ok::<_, hyper::Error>(Response::new(Full::new(Bytes::from(text))))
        }
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// A clock that is ahead or behind by so many seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(pub(crate) i64);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs().checked_add_signed(self.0)?)))
    }
}

/// What the real server has: TLS 1.3, and only clients of the same authority.
fn server_config(certificates: &ServerCertificates, clock: Clock) -> ServerConfig {
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate(&certificates.ca_pem)).unwrap();
    let provider = shared::tls::crypto_provider();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let key = PrivateKeyDer::from_pem_slice(certificates.key_pem.expose_secret().as_bytes()).unwrap();
    ServerConfig::builder_with_details(provider, Arc::new(clock))
        .with_protocol_versions(shared::tls::PROTOCOL_VERSIONS)
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate(&certificates.certificate_pem)], key)
        .unwrap()
}
