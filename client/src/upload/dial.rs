//! One request to the driver server at one address, and what its failure means. Every request has a connection of its
//! own: a handshake costs a millisecond, and a pooled connection can be closed by the other side at the moment of use.
//! Which addresses are tried, and how often, is decided in `reach`.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;

use reqwest::{Client, RequestBuilder, Response};
use rustls::{AlertDescription, CertificateError};
use shared::protocol::{Problem, SubmissionStatus};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::error::SubmitError;
use crate::settings::Candidate;
use crate::upload::certificates::ClientCredentials;

/// Longest wait for a TCP connection: a new attempt helps more than a long one, since what is missing (a node's rules, an
/// endpoint) comes a little later.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest wait for a connection that only shows whether one is accepted.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the kernel keeps a connection whose peer takes nothing: one that was given up must not linger.
const DEAD_PEER_TIMEOUT: Duration = Duration::from_secs(45);

/// One address of the driver server.
#[derive(Clone)]
pub struct Connection {
    client: Client,
    base: String,
    /// The address, and why it is one.
    pub candidate: Candidate,
}

/// Why a request got no answer, as far as the reader can act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialError {
    /// Nothing came back: packets are dropped on the way.
    Timeout,
    /// Connections are accepted, and nothing comes back on them.
    Silent,
    /// The address is there and the port is closed.
    Refused,
    /// The connection broke.
    Broken(String),
    /// Something answered that is not this submission's driver server; says what.
    NotDriver(String),
    /// The driver server finds our certificate expired or not yet valid.
    Clock,
}

impl fmt::Display for DialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => formatter.write_str("no answer (packets are dropped on the way)"),
            Self::Silent => formatter.write_str("it accepts connections and says nothing"),
            Self::Refused => formatter.write_str("connection refused"),
            Self::Broken(why) => write!(formatter, "connection broken: {why}"),
            Self::NotDriver(what) => write!(formatter, "not this driver: {what}"),
            Self::Clock => formatter.write_str("the driver's clock finds our certificate expired or not yet valid"),
        }
    }
}

/// A request that did not end in the status hoped for.
#[derive(Debug)]
pub enum RequestError {
    /// No answer: another attempt may help.
    NoAnswer(DialError),
    /// The driver server refused, with the reason.
    Refused(Box<Problem>),
}

impl Connection {
    /// Prepares to dial `candidate`. No packet is sent.
    pub fn new(candidate: Candidate, credentials: &ClientCredentials) -> Result<Self, SubmitError> {
        let client = Client::builder()
            .tls_backend_preconfigured(credentials.config.as_ref().clone())
            .resolve(&credentials.server_name, candidate.address)
            .http1_only()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .pool_max_idle_per_host(0)
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(DEAD_PEER_TIMEOUT)
            .build()
            .map_err(|error| SubmitError::bug("the upload's HTTP client could not be made").because(error))?;
        let base = format!("https://{}:{}", credentials.server_name, candidate.address.port());
        Ok(Self { client, base, candidate })
    }

    /// Whether the address accepts connections, whoever that is. Not a byte is sent.
    pub async fn is_open(&self) -> bool {
        let connecting = TcpStream::connect(self.candidate.address);
        matches!(timeout(PROBE_TIMEOUT, connecting).await, Ok(Ok(_)))
    }

    /// A request to be completed by the caller and given to [`answer`].
    pub fn request(&self, method: http::Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base))
    }
}

/// Reads the answer to a request: the server's status, or why there is none.
pub async fn answer(sent: Result<Response, reqwest::Error>) -> Result<SubmissionStatus, RequestError> {
    let response = sent.map_err(|error| RequestError::NoAnswer(classify(&error)))?;
    let (ok, status) = (response.status().is_success(), response.status());
    let body = response.bytes().await.map_err(|error| RequestError::NoAnswer(classify(&error)))?;
    let unreadable = |error: serde_json::Error| {
        RequestError::NoAnswer(DialError::NotDriver(format!("HTTP {status} with an unknown body ({error})")))
    };
    if ok {
        return serde_json::from_slice(&body).map_err(unreadable);
    }
    Err(RequestError::Refused(Box::new(serde_json::from_slice(&body).map_err(unreadable)?)))
}

/// Finds, in the chain of causes, the one that says what to do.
fn classify(error: &reqwest::Error) -> DialError {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    let mut last = error.to_string();
    while let Some(current) = cause {
        if let Some(found) = current.downcast_ref::<rustls::Error>().map(classify_tls).or_else(|| classify_io(current))
        {
            return found;
        }
        last = current.to_string();
        cause = current.source();
    }
    if error.is_timeout() { DialError::Timeout } else { DialError::Broken(last) }
}

fn classify_io(error: &(dyn StdError + 'static)) -> Option<DialError> {
    let error = error.downcast_ref::<io::Error>()?;
    // An `io::Error` hides what it wraps from `source`: TLS errors are found only here, and those of a handshake in a
    // second `io::Error` inside the first.
    if let Some(inner) = error.get_ref() {
        let tls = inner.downcast_ref::<rustls::Error>().map(classify_tls);
        if let Some(found) = tls.or_else(|| classify_io(inner)) {
            return Some(found);
        }
    }
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(DialError::Refused),
        io::ErrorKind::TimedOut => Some(DialError::Timeout),
        io::ErrorKind::Other => None,
        _ => Some(DialError::Broken(error.to_string())),
    }
}

fn classify_tls(error: &rustls::Error) -> DialError {
    match error {
        rustls::Error::AlertReceived(AlertDescription::CertificateExpired)
        | rustls::Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        ) => DialError::Clock,
        rustls::Error::InvalidCertificate(why) => {
            DialError::NotDriver(format!("its certificate is not of this submission ({why})"))
        }
        rustls::Error::AlertReceived(alert) => DialError::NotDriver(format!("it refused our certificate ({alert:?})")),
        rustls::Error::InvalidMessage(_) => DialError::NotDriver("it does not speak TLS".to_owned()),
        other => DialError::NotDriver(other.to_string()),
    }
}
