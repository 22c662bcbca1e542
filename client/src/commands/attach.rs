//! `airlock attach`: what submit does after its launch, for a driver that somebody launched earlier. One that has ended
//! already is the same, only shorter: its status comes at once.

use kube::ResourceExt;

use crate::cluster::Cluster;
use crate::commands::driver_name::{DriverName, find_one};
use crate::driver::attend::{application_of, attend};
use crate::driver::driver_container::driver_container;
use crate::driver::driver_watch::DriverPod;
use crate::driver::pod_state::Ended;
use crate::error::SubmitError;
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::settings::FollowSettings;

/// Follows the driver that `name` means to its end.
pub async fn attach(
    cluster: &Cluster,
    name: &DriverName,
    settings: &FollowSettings,
    interrupts: &mut Interrupts,
    progress: &Progress,
) -> Result<Ended, SubmitError> {
    let (cluster, pod) = find_one(cluster, name).await?;
    let driver = DriverPod { name: pod.name_any(), uid: pod.uid().unwrap_or_default() };
    let application = application_of(&pod);
    attend(&cluster, &driver, driver_container(&pod), &application, settings, interrupts, progress).await
}
