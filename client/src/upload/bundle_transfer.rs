//! The middle part of a submission for real: certificates, dialling, upload and launch behind the interface that `submit`
//! knows. It joins the pieces and decides nothing.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use shared::bundle::BundleLayout;
use shared::error_code::ErrorCode;
use shared::manifest::Manifest;
use shared::protocol::{SUBMISSION_PATH, SubmissionState, SubmissionStatus};
use time::OffsetDateTime;

use crate::error::SubmitError;
use crate::inputs::inspected_input::InspectedInput;
use crate::objects::driver_objects::ServerCertificates;
use crate::progress::Progress;
use crate::settings::{Candidate, Deadlines};
use crate::upload::bundle_source::BundleSource;
use crate::upload::certificates::{self, ClientCredentials};
use crate::upload::dial::{Connection, DialError, RequestError, answer};
use crate::upload::reach::Dialer;
use crate::upload::transfer::{LaunchAnswer, Silence, Transfer};
use crate::upload::{self, Upload, UploadEvent};

/// How long the server is looked for after a lost answer to the launch: by then it has closed its port for good.
const LOST_ANSWER: Duration = Duration::from_secs(5);

/// The bundle of one submission, ready to be sent.
pub struct BundleTransfer {
    manifest: Manifest,
    source: Arc<BundleSource>,
}

/// A driver server that has proved itself, and the other ways to it.
pub struct Reached {
    dialer: Dialer,
    connection: Connection,
    status: SubmissionStatus,
}

impl BundleTransfer {
    /// The transfer of `inputs`, the members of `manifest` in the same order.
    #[must_use]
    pub fn new(manifest: Manifest, inputs: Vec<InspectedInput>) -> Self {
        let source = Arc::new(BundleSource::new(&manifest, inputs));
        Self { manifest, source }
    }
}

impl Transfer for BundleTransfer {
    type Credentials = ClientCredentials;
    type Connection = Reached;

    fn bundle_bytes(&self) -> u64 {
        BundleLayout::new(&self.manifest).total()
    }

    fn issue(
        &self,
        server_name: &str,
        lifetime: Duration,
    ) -> Result<(ServerCertificates, ClientCredentials), SubmitError> {
        certificates::issue(server_name, OffsetDateTime::now_utc(), lifetime)
    }

    async fn reach(
        &self,
        candidates: &[Candidate],
        _server_name: &str,
        credentials: &ClientCredentials,
        limit: Duration,
        progress: &Progress,
    ) -> Result<Reached, SubmitError> {
        let dialer = Dialer::new(candidates.to_vec(), credentials.clone())?;
        let (connection, status) = dialer.reach(limit).await?;
        let Candidate { address, origin } = &connection.candidate;
        progress.say(format!("reached the driver server at {address} ({origin})"));
        Ok(Reached { dialer, connection, status })
    }

    async fn send(&self, reached: &mut Reached, deadlines: &Deadlines, progress: &Progress) -> Result<(), SubmitError> {
        let tell = |event: UploadEvent<'_>| match event {
            UploadEvent::Progress(done, total) => progress.transfer(done, total),
            UploadEvent::Resuming(at, why) => progress.say(format!("{why}; the upload goes on at byte {at}")),
        };
        let first = (reached.connection.clone(), reached.status.clone());
        let upload = Upload::new(&reached.dialer, &self.manifest, Arc::clone(&self.source), deadlines.idle, &tell);
        let report = upload.send(first).await?;
        progress.say(format!(
            "uploaded and verified {} bytes, {} on the wire, {} reconnects",
            report.tar_bytes, report.wire_bytes, report.resumed
        ));
        Ok(())
    }

    async fn launch(&self, reached: &mut Reached) -> LaunchAnswer {
        let lost = || SubmitError::new(ErrorCode::DriverUnreachable, "the answer to the launch was lost");
        match upload::launch(&reached.connection).await {
            Ok(Some(_)) => LaunchAnswer::Launched,
            Ok(None) => LaunchAnswer::Lost(lost()),
            Err(upload::LaunchError::NotSent(why)) => LaunchAnswer::NotSent(
                SubmitError::new(ErrorCode::DriverUnreachable, "the driver server can no longer be reached")
                    .because(why.to_string()),
            ),
            Err(upload::LaunchError::Refused(error)) => LaunchAnswer::Refused(error),
        }
    }

    async fn state(&self, reached: &mut Reached) -> Result<SubmissionState, Silence> {
        if let Ok((connection, status)) = reached.dialer.reach(LOST_ANSWER).await {
            reached.connection = connection;
            return Ok(status.state);
        }
        // The address that led to the server a moment ago: refused there means that the server closed its port.
        let request = reached.connection.request(Method::GET, SUBMISSION_PATH).timeout(LOST_ANSWER);
        match answer(request.send().await).await {
            Ok(status) => Ok(status.state),
            Err(RequestError::NoAnswer(DialError::Refused)) => Err(Silence::Closed),
            Err(_) => Err(Silence::NoAnswer),
        }
    }
}
