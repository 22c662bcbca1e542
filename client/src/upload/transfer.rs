//! What a submission needs of its middle part: certificates, a connection to the driver server, the upload, the launch.
//! `submit` knows no more of it than this, so that the order of steps can be tested against a scripted API server alone.

use std::future::Future;
use std::time::Duration;

use shared::protocol::SubmissionState;

use crate::error::SubmitError;
use crate::objects::driver_objects::ServerCertificates;
use crate::progress::Progress;
use crate::settings::{Candidate, Deadlines};

/// What came of asking for the launch.
#[derive(Debug)]
pub enum LaunchAnswer {
    /// The server has said yes.
    Launched,
    /// The server has said no: nothing was started.
    Refused(SubmitError),
    /// No connection came about, so the request cannot have arrived.
    NotSent(SubmitError),
    /// The request may have arrived, and no answer came.
    Lost(SubmitError),
}

/// Why the driver server does not say how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Its port is closed. It closes it when it launches and when it ends; a door that is gone looks the same.
    Closed,
    /// Nothing came back, which may be the way's fault.
    NoAnswer,
}

/// The part of a submission between "server up" and "launched".
pub trait Transfer {
    /// What the client proves itself with.
    type Credentials;
    /// A way to the driver server that has proved itself.
    type Connection;

    /// Bytes of the bundle as it will lie on the driver's disk.
    fn bundle_bytes(&self) -> u64;

    /// One authority and two certificates for `server_name`; the authority's key is dropped.
    fn issue(
        &self,
        server_name: &str,
        lifetime: Duration,
    ) -> Result<(ServerCertificates, Self::Credentials), SubmitError>;

    /// Dials `candidates` until one proves to be the driver server, for `limit` at most.
    fn reach(
        &self,
        candidates: &[Candidate],
        server_name: &str,
        credentials: &Self::Credentials,
        limit: Duration,
        progress: &Progress,
    ) -> impl Future<Output = Result<Self::Connection, SubmitError>>;

    /// Sends manifest and bundle until the server has verified them.
    fn send(
        &self,
        connection: &mut Self::Connection,
        deadlines: &Deadlines,
        progress: &Progress,
    ) -> impl Future<Output = Result<(), SubmitError>>;

    /// Asks for the launch, once; asking again is safe.
    fn launch(&self, connection: &mut Self::Connection) -> impl Future<Output = LaunchAnswer>;

    /// How far the server is.
    fn state(&self, connection: &mut Self::Connection) -> impl Future<Output = Result<SubmissionState, Silence>>;
}
