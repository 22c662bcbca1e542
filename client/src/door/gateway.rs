//! One address for all drivers of a cluster: a proxy that forwards by SNI to the headless Service and ends no TLS
//! (`deploy/gateway`). It needs no object, no key and no change when a driver comes; it can neither read nor alter a byte.

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Pod, Service};
use shared::error_code::ErrorCode;

use super::hosts::{Host, resolve};
use super::{Door, Site, Ways};
use crate::error::SubmitError;

/// Where TLS is expected when an address names no port.
const HTTPS_PORT: u16 = 443;

/// See above.
pub struct Gateway;

impl Door for Gateway {
    fn name(&self) -> &'static str {
        "gateway"
    }

    fn open<'a>(
        &'a self,
        site: &'a Site<'a>,
        _: &'a Pod,
        _: Option<&'a Service>,
    ) -> BoxFuture<'a, Result<Ways, SubmitError>> {
        async move {
            let hosts: Vec<_> = site.settings.gateway.iter().map(|text| Host::given(text)).collect();
            let candidates = resolve(&hosts, HTTPS_PORT, site.progress).await;
            if candidates.is_empty() {
                return Err(SubmitError::new(ErrorCode::DriverUnreachable, "there is no gateway to dial")
                    .hint("name it: --conf spark.airlock.door.gateway=HOST:PORT"));
            }
            Ok(Ways::to(candidates))
        }
        .boxed()
    }
}
