//! The door of a submitter that is a pod of the cluster itself: none at all. The driver is dialled by the headless
//! Service's name, and by its own address while that name is not yet known to the cluster's DNS.

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Pod, Service};
use shared::driver_contract::UPLOAD_PORT;
use shared::error_code::ErrorCode;

use super::hosts::{Host, resolve};
use super::{Door, Refusal, Site, Ways};
use crate::error::SubmitError;

/// See above.
pub struct InCluster;

impl Door for InCluster {
    fn name(&self) -> &'static str {
        "the pod's own address"
    }

    fn open<'a>(
        &'a self,
        site: &'a Site<'a>,
        pod: &'a Pod,
        _: Option<&'a Service>,
    ) -> BoxFuture<'a, Result<Ways, SubmitError>> {
        async move {
            let candidates = resolve(&hosts(site, pod), UPLOAD_PORT, site.progress).await;
            if candidates.is_empty() {
                return Err(SubmitError::new(ErrorCode::DriverUnreachable, "the driver pod has no address yet"));
            }
            Ok(Ways::to(candidates))
        }
        .boxed()
    }

    // Nothing is in between: the port is the server's own.
    fn refusal(&self) -> Refusal {
        Refusal::Servers
    }

    fn is_a_first_try(&self) -> bool {
        true
    }
}

fn hosts(site: &Site<'_>, pod: &Pod) -> Vec<Host> {
    let status = pod.status.as_ref();
    let first = status.and_then(|status| status.pod_ip.clone());
    let others = status.and_then(|status| status.pod_ips.clone()).unwrap_or_default();
    let addresses = first.into_iter().chain(others.into_iter().map(|address| address.ip));
    let name = format!("{}.{}.svc", site.names.headless_service, site.cluster.namespace());
    let named = Host::found(name, "headless service");
    addresses.map(|address| Host::found(address, "the pod's address")).chain([named]).collect()
}
