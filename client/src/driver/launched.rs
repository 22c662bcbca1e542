//! Whether the driver was launched, found out and never guessed: the server's answer; if that is lost, the server's
//! state; if no server answers, the pod. Asking for the launch again is safe, since the server launches once.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use shared::error_code::ErrorCode;
use shared::protocol::SubmissionState;
use tokio::time::{Instant, sleep};

use crate::cluster::Cluster;
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

/// Launches, and finds out for `limit` at most whether that happened.
pub async fn settle<T: Transfer>(
    transfer: &T,
    connection: &mut T::Connection,
    cluster: &Cluster,
    driver: &DriverPod,
    limit: Duration,
) -> Launched {
    let end = Instant::now() + limit;
    loop {
        let lost = match transfer.launch(connection).await {
            LaunchAnswer::Launched => return Launched::Yes,
            LaunchAnswer::Refused(error) => return Launched::No(error),
            LaunchAnswer::Lost(error) => error,
        };
        // The server closes its port when it launches and when it ends: the pod tells which.
        match transfer.state(connection).await {
            Ok(SubmissionState::Launched) => return Launched::Yes,
            Ok(SubmissionState::Waiting | SubmissionState::Receiving) => return Launched::No(upload_lost(driver)),
            Ok(SubmissionState::Verified) => {}
            Err(silence) => {
                if let Some(settled) = ask_the_pod(cluster, driver, silence).await {
                    return settled;
                }
            }
        }
        if Instant::now() >= end {
            return Launched::Unknown(unknown(driver, lost));
        }
        sleep(LOOK_INTERVAL).await;
    }
}

/// What the pod says, read after the server was found silent. A container that runs behind a closed port has launched;
/// behind a way that may be broken it may be either.
async fn ask_the_pod(cluster: &Cluster, driver: &DriverPod, silence: Silence) -> Option<Launched> {
    let pod = cluster.find::<Pod>(&driver.name).await.ok()?;
    let Some(pod) = pod.filter(|pod| pod.uid().as_deref() == Some(&driver.uid)) else {
        let text = format!("pod {} is gone, and whether it was launched is not known", driver.name);
        return Some(Launched::Unknown(SubmitError::new(ErrorCode::DriverLost, text)));
    };
    match pod_state(&pod, &[]) {
        PodState::Ended(ended) if ended.stated_failure().is_some() => {
            Some(Launched::No(ended_early(&driver.name, &ended)))
        }
        PodState::Ended(_) => Some(Launched::Yes),
        PodState::Running if silence == Silence::Closed => Some(Launched::Yes),
        _ => None,
    }
}

fn upload_lost(driver: &DriverPod) -> SubmitError {
    SubmitError::new(ErrorCode::UploadLost, format!("pod {} has lost the bundle before the launch", driver.name))
}

fn unknown(driver: &DriverPod, lost: SubmitError) -> SubmitError {
    let pod = &driver.name;
    SubmitError::new(ErrorCode::DriverUnreachable, format!("the launch of pod {pod} was sent, and no answer came"))
        .because(lost)
        .hint(format!("the pod is left alone, as the driver may run: kubectl logs {pod}"))
        .hint("if it was not launched, it ends by itself after spark.airlock.timeout.idle")
}
