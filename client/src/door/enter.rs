//! Through the doors of the plan, one after the other, until the bundle has arrived: each is opened, dialled, used, and
//! closed before the next is opened, so that never two of them are open. The driver server keeps what has arrived, so the
//! next door goes on where the last one broke.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use shared::error_code::ErrorCode;

use super::plan::plan;
use super::{Carrier, Door, Refusal, Site, Ways};
use crate::cleanup::{Created, Kind};
use crate::error::SubmitError;
use crate::upload::transfer::Transfer;

/// How long a door that is only a first try is dialled: node ports are up within seconds, even in large clusters.
const FIRST_TRY: Duration = Duration::from_secs(8);

/// A door that stays open until the launch.
pub struct OpenDoor {
    /// What was made for it.
    pub service: Option<Service>,
    /// What its closed port would mean.
    pub refusal: Refusal,
    /// How messages call it.
    pub name: &'static str,
    _carrier: Option<Carrier>,
}

/// What one entrance needs besides the site.
pub struct Entrance<'a, T: Transfer> {
    /// Where the doors lead.
    pub site: Site<'a>,
    /// The middle part of the submission.
    pub transfer: &'a T,
    /// The only name in the server's certificate.
    pub server_name: &'a str,
    /// What the client proves itself with.
    pub credentials: &'a T::Credentials,
    /// Remembers what is made.
    pub created: &'a Created<'a>,
    /// Owner of what is made.
    pub owner: &'a OwnerReference,
    /// The driver pod, running.
    pub pod: &'a Pod,
    /// For taking a door away again.
    pub removal_limit: Duration,
}

impl<T: Transfer> Entrance<'_, T> {
    /// Sends the bundle through the first door that leads to the driver server.
    pub async fn deliver(&self) -> Result<(T::Connection, OpenDoor), SubmitError> {
        let doors = plan(self.site.settings);
        let mut failures: Vec<(&'static str, SubmitError)> = Vec::new();
        for (index, door) in doors.iter().enumerate() {
            let next = doors.get(index + 1);
            let error = match self.deliver_through(*door, next.is_some()).await {
                Ok(delivered) => return Ok(delivered),
                Err(error) => error,
            };
            let (true, Some(next)) = (another_may_help(error.code()), next) else {
                return Err(with_earlier(error, &failures));
            };
            let left = self.created.remove(Kind::Door, self.removal_limit).await;
            // A second door beside one that cannot be closed would be one too many.
            if let Some(left) = left.first() {
                return Err(error.hint(format!("{} could not be removed: {}", left.what, left.why)));
            }
            self.site.progress.say(format!("{}: {error}; trying {}", door.name(), next.name()));
            failures.push((door.name(), error));
        }
        Err(SubmitError::new(ErrorCode::DriverUnreachable, "no door is left to try")
            .hint("spark.airlock.door.kinds names the doors that are tried"))
    }

    async fn deliver_through(
        &self,
        door: &'static dyn Door,
        has_next: bool,
    ) -> Result<(T::Connection, OpenDoor), SubmitError> {
        let Self { site, transfer, .. } = self;
        let service = match door.service(site.settings, site.names, site.context) {
            Some(mut service) => {
                service.metadata.owner_references = Some(vec![self.owner.clone()]);
                Some(self.created.create(Kind::Door, &service).await?)
            }
            None => None,
        };
        let Ways { candidates, port, carrier } = door.open(site, self.pod, service.as_ref()).await?;
        if let Some(port) = port {
            self.created.door_is_open(port);
        }
        let reach = site.deadlines.reach;
        let limit = if has_next && door.is_a_first_try() { reach.min(FIRST_TRY) } else { reach };
        let mut connection =
            transfer.reach(&candidates, self.server_name, self.credentials, limit, site.progress).await?;
        transfer.send(&mut connection, site.deadlines, site.progress).await?;
        let door = OpenDoor { service, refusal: door.refusal(), name: door.name(), _carrier: carrier };
        Ok((connection, door))
    }
}

/// Whether the failure is the door's, so that another one may lead in.
const fn another_may_help(code: ErrorCode) -> bool {
    use ErrorCode::{DriverUnreachable, Invalid, Policy, PortsExhausted, Quota, Rights, TlsPeerNotDriver};
    matches!(code, DriverUnreachable | TlsPeerNotDriver | PortsExhausted | Rights | Policy | Quota | Invalid)
}

/// The last failure, with what the doors before it said.
fn with_earlier(error: SubmitError, failures: &[(&'static str, SubmitError)]) -> SubmitError {
    failures.iter().fold(error, |error, (door, failure)| error.hint(format!("tried before, {door}: {failure}")))
}
