//! `airlock logs`: a driver's log on stdout, what there is or to its end. Unlike submit, which shows the log by the way, the
//! log is all that was asked for here: a log that cannot be had is a failure.

use std::io::Write;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use shared::error_code::ErrorCode;

use crate::cluster::Cluster;
use crate::commands::driver_name::{DriverName, find_one};
use crate::driver::attend::application_of;
use crate::driver::driver_container::driver_container;
use crate::driver::driver_log::{DriverLog, HalfLine};
use crate::driver::driver_watch::DriverPod;
use crate::driver::follow::follow;
use crate::driver::phase_lines;
use crate::driver::pod_state::driver_status;
use crate::error::SubmitError;
use crate::progress::Progress;
use crate::settings::FollowSettings;

/// Shows the log of the driver that `name` means; until the driver has ended when `to_the_end`. `limit` is for tries that
/// bring nothing.
pub async fn logs(
    cluster: &Cluster,
    name: &DriverName,
    to_the_end: bool,
    limit: Duration,
    output: impl Write,
) -> Result<(), SubmitError> {
    let (cluster, pod) = find_one(cluster, name).await?;
    let (name, container) = (pod.name_any(), driver_container(&pod));
    let mut log = DriverLog::new(&cluster, &name, container, output);
    match (has_begun(&pod), to_the_end) {
        (true, true) => log.show(HalfLine::Later, limit).await?,
        (true, false) => return log.show(HalfLine::Last, limit).await,
        (false, false) => return Err(not_begun(&cluster, &pod)),
        (false, true) => {}
    }
    tokio::select! {
        ended = until_ended(&cluster, &pod) => ended?,
        // Nobody reads any more.
        () = log.follow() => return Ok(()),
    }
    log.finish().await;
    Ok(())
}

/// Whether the driver's container has ever run; before that, the API server has only an error for those who ask.
fn has_begun(pod: &Pod) -> bool {
    let state = driver_status(pod).and_then(|status| status.state.as_ref());
    state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
}

fn not_begun(cluster: &Cluster, pod: &Pod) -> SubmitError {
    let (name, namespace) = (pod.name_any(), cluster.namespace());
    let is_over = matches!(phase_lines::phase(pod), "Failed" | "Succeeded");
    let why = if is_over { "no log: its container never began" } else { "no log yet: its container has not begun" };
    let error = SubmitError::new(ErrorCode::NotFound, format!("{} has {why}", cluster.what::<Pod>(&name)))
        .hint(format!("see why: airlock status {namespace}:{name}"));
    if is_over { error } else { error.hint(format!("wait for it: airlock logs --follow {namespace}:{name}")) }
}

/// Waits for the end of the driver, quietly.
async fn until_ended(cluster: &Cluster, pod: &Pod) -> Result<(), SubmitError> {
    let driver = DriverPod { name: pod.name_any(), uid: pod.uid().unwrap_or_default() };
    let settings = FollowSettings { wait: true, report_interval: Duration::from_hours(1), ..FollowSettings::default() };
    follow(cluster, &driver, &application_of(pod), &settings, &Progress::stderr(true)).await.map(drop)
}
