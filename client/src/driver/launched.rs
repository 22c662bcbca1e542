//! Whether the driver was launched, found out and never guessed: the server's answer; if that is lost, the server's
//! state; if no server answers, the pod. Asking for the launch again is safe, since the server launches once.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use shared::error_code::ErrorCode;
use shared::protocol::SubmissionState;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
use crate::door::Refusal;
use crate::door::enter::OpenDoor;
use crate::driver::driver_watch::{DriverPod, ended_early};
use crate::driver::pod_state::{PodState, pod_state};
use crate::error::SubmitError;
use crate::upload::transfer::{LaunchAnswer, Silence, Transfer};

/// Between two looks.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Whether the driver was launched.
#[derive(Debug)]
pub enum Launched {
    /// It was.
    Yes,
    /// It was not, and will not be.
    No(SubmitError),
    /// Nobody could be asked. The pod stays: it may be the running driver, and if not, its idle deadline ends it.
    Unknown(SubmitError),
}

/// What a launch is asked of, and what its silence is judged by.
pub struct LaunchTarget<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The pod with the driver server.
    pub driver: &'a DriverPod,
    /// The way to it.
    pub door: &'a OpenDoor,
}

/// Launches, and finds out whether that happened: for `limit` at most after the server was last heard of.
pub async fn settle<T: Transfer>(
    transfer: &T,
    connection: &mut T::Connection,
    target: &LaunchTarget<'_>,
    limit: Duration,
) -> Launched {
    let (mut end, mut sent) = (Instant::now() + limit, false);
    loop {
        let silent = match transfer.launch(connection).await {
            LaunchAnswer::Launched => return Launched::Yes,
            LaunchAnswer::Refused(error) => return Launched::No(error),
            LaunchAnswer::NotSent(error) => error,
            LaunchAnswer::Lost(error) => {
                sent = true;
                error
            }
        };
        match transfer.state(connection).await {
            Ok(SubmissionState::Launched) => return Launched::Yes,
            Ok(SubmissionState::Waiting | SubmissionState::Receiving) => return Launched::No(target.upload_lost()),
            // It unpacks archives, which takes as long as it takes.
            Ok(SubmissionState::Verified) => end = Instant::now() + limit,
            Err(silence) => {
                if let Some(settled) = target.judge(silence, sent).await {
                    return settled;
                }
            }
        }
        if Instant::now() >= end {
            return if sent { Launched::Unknown(target.unknown(silent)) } else { Launched::No(silent) };
        }
        sleep(LOOK_INTERVAL).await;
    }
}

impl LaunchTarget<'_> {
    /// What the cluster says, asked after the server was found silent. `sent`: a launch may have arrived. None: ask again.
    async fn judge(&self, silence: Silence, sent: bool) -> Option<Launched> {
        let pod = self.cluster.find::<Pod>(&self.driver.name).await.ok()?;
        let Some(pod) = pod.filter(|pod| pod.uid().as_deref() == Some(&self.driver.uid)) else {
            let gone = SubmitError::new(ErrorCode::DriverLost, format!("pod {} is gone", self.driver.name));
            return Some(if sent { Launched::Unknown(gone) } else { Launched::No(gone) });
        };
        match pod_state(&pod, &[]) {
            PodState::Ended(ended) if !sent || ended.stated_failure().is_some() => {
                Some(Launched::No(ended_early(&self.driver.name, &ended)))
            }
            PodState::Ended(_) => Some(Launched::Yes),
            PodState::Running if silence == Silence::Closed => self.judge_closed_port(sent).await,
            _ => None,
        }
    }

    /// The container runs behind a port that refuses. With the door in place, the server has closed it: it has become the
    /// driver. Without the door it would refuse just the same, and that proves nothing.
    async fn judge_closed_port(&self, sent: bool) -> Option<Launched> {
        if self.door.refusal == Refusal::Unclear {
            return None;
        }
        let in_place = match &self.door.service {
            Some(made) => is_in_place(made, self.cluster.find::<Service>(&made.name_any()).await.ok()?),
            None => true,
        };
        match (in_place, sent) {
            (true, true) => Some(Launched::Yes),
            (true, false) => None,
            (false, true) => Some(Launched::Unknown(self.unknown(self.door_gone()))),
            (false, false) => Some(Launched::No(self.door_gone())),
        }
    }

    fn door_gone(&self) -> SubmitError {
        let name = self.door.service.as_ref().map(ResourceExt::name_any).unwrap_or_default();
        let what = format!("somebody removed the door {name} before the launch");
        SubmitError::new(ErrorCode::DriverUnreachable, what).hint("submit again; look who deletes Services of Airlock")
    }

    fn upload_lost(&self) -> SubmitError {
        let what = format!("pod {} has lost the bundle before the launch", self.driver.name);
        SubmitError::new(ErrorCode::UploadLost, what)
    }

    fn unknown(&self, lost: SubmitError) -> SubmitError {
        let pod = &self.driver.name;
        SubmitError::new(ErrorCode::DriverUnreachable, format!("the launch of pod {pod} was sent, and no answer came"))
            .because(lost)
            .hint(format!("the pod is left alone, as the driver may run: kubectl logs {pod}"))
            .hint("if it was not launched, it ends by itself after spark.airlock.timeout.idle")
    }
}

/// Whether the Service that was made is the one that is there.
fn is_in_place(made: &Service, found: Option<Service>) -> bool {
    found.is_some_and(|found| found.uid() == made.uid() && found.metadata.deletion_timestamp.is_none())
}
