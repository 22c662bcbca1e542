//! `airlock status` and `submit --status`: upstream's block of lines for each driver. That a driver has failed is an
//! answer, not a failure of ours; that there is none is one (X05).

use crate::cluster::Cluster;
use crate::commands::driver_name::{DriverName, find};
use crate::driver::phase_lines;
use crate::error::Problems;

/// Upstream's first line.
#[must_use]
pub fn request_line(id: &str, server: &str) -> String {
    format!("Submitting a request for the status of submission {id} in {server}.")
}

/// Shows all drivers that `names` mean, each by one call of `show`.
pub async fn status(cluster: &Cluster, names: &[DriverName], mut show: impl FnMut(&str)) -> Result<(), Problems> {
    let mut problems = Vec::new();
    for name in names {
        match find(cluster, name).await {
            Ok(found) => found.pods.iter().for_each(|pod| show(&phase_lines::status_asked_for(pod))),
            Err(error) => problems.push(error),
        }
    }
    Problems::check(problems)
}
