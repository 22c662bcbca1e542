//! `airlock kill` and `submit --kill`: driver pods are deleted, each under the uid it was found with. Whatever was not
//! ended is named, and then the status is not 0 (X05).

use std::collections::HashSet;
use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use shared::error_code::ErrorCode;

use crate::cluster::{Cluster, Removal};
use crate::commands::driver_name::{DriverName, Found, find};
use crate::error::{Problems, SubmitError};
use crate::progress::Progress;

/// So many deletes at once: a busy API server is not helped by more.
const AT_ONCE: usize = 8;

/// Upstream's first line.
#[must_use]
pub fn request_line(id: &str, server: &str, grace: Option<Duration>) -> String {
    let grace = grace.map_or_else(|| "not set.".to_owned(), |grace| grace.as_secs().to_string());
    format!("Submitting a request to kill submission {id} in {server}. Grace period in secs: {grace}")
}

/// Ends all drivers that `names` mean. `grace` is the time that each has; its pod's own when absent.
pub async fn kill(
    cluster: &Cluster,
    names: &[DriverName],
    grace: Option<Duration>,
    progress: &Progress,
) -> Result<(), Problems> {
    let grace = grace.map(|grace| u32::try_from(grace.as_secs()).unwrap_or(u32::MAX));
    let (mut problems, mut targets, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for name in names {
        match find(cluster, name).await {
            Ok(found) => targets.push(found),
            Err(error) => problems.push(error),
        }
    }
    let pods = targets.iter().flat_map(|Found { cluster, pods }| pods.iter().map(move |pod| (cluster, pod)));
    // Two names may mean one pod, which is ended once.
    let pods: Vec<_> = pods.filter(|(_, pod)| seen.insert(pod.uid())).collect();
    let kills = stream::iter(pods).map(|(cluster, pod)| kill_one(cluster, pod, grace, progress));
    let failures: Vec<_> = kills.buffered(AT_ONCE).filter_map(async |outcome| outcome.err()).collect().await;
    problems.extend(failures);
    Problems::check(problems)
}

async fn kill_one(cluster: &Cluster, pod: &Pod, grace: Option<u32>, progress: &Progress) -> Result<(), SubmitError> {
    let (name, uid) = (pod.name_any(), pod.uid().unwrap_or_default());
    progress.say(format!("Deleting driver pod: {name}."));
    match cluster.remove::<Pod>(&name, &uid, grace).await? {
        Removal::Deleted => Ok(()),
        Removal::WasGone => {
            let what = format!("{} was gone before it could be deleted", cluster.what::<Pod>(&name));
            Err(SubmitError::new(ErrorCode::NotFound, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_line_is_upstreams() {
        let line = "Submitting a request to kill submission team:pi* in k8s://h:6443. Grace period in secs: ";
        assert_eq!(request_line("team:pi*", "k8s://h:6443", None), format!("{line}not set."));
        let grace = Some(Duration::from_mins(5));
        assert_eq!(request_line("team:pi*", "k8s://h:6443", grace), format!("{line}300"));
    }
}
