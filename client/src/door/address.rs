//! An address that somebody else provides: given by the user, or written by something in the cluster into an annotation of
//! the headless Service, as external load balancers and DNS controllers do. Nothing is made, and nothing taken away.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::ResourceExt;
use shared::driver_contract::UPLOAD_PORT;
use shared::error_code::ErrorCode;
use tokio::time::{sleep, timeout};

use super::hosts::{Host, resolve};
use super::{Door, Site, Ways};
use crate::error::SubmitError;
use crate::inputs::reference::split_list;

/// Between two looks at the annotation.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// See above.
pub struct Address;

impl Door for Address {
    fn name(&self) -> &'static str {
        "given address"
    }

    fn open<'a>(
        &'a self,
        site: &'a Site<'a>,
        _: &'a Pod,
        _: Option<&'a Service>,
    ) -> BoxFuture<'a, Result<Ways, SubmitError>> {
        async move {
            let mut texts = site.settings.address.clone();
            if let Some(annotation) = &site.settings.address_annotation {
                texts.extend(annotated(site, annotation).await?);
            }
            let hosts: Vec<_> = texts.iter().map(|text| Host::given(text)).collect();
            let candidates = resolve(&hosts, UPLOAD_PORT, site.progress).await;
            if candidates.is_empty() {
                return Err(SubmitError::new(ErrorCode::DriverUnreachable, "there is no given address to dial")
                    .hint("give one: --conf spark.airlock.door.address=HOST:PORT"));
            }
            Ok(Ways::to(candidates))
        }
        .boxed()
    }
}

/// The addresses in the annotation, once it is there.
async fn annotated(site: &Site<'_>, annotation: &str) -> Result<Vec<String>, SubmitError> {
    let (name, limit) = (site.names.headless_service.as_str(), site.deadlines.reach);
    let looking = async {
        loop {
            let service = site.cluster.find::<Service>(name).await?;
            let text = service.and_then(|service| service.annotations().get(annotation).cloned());
            if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
                return Ok(split_list(&text).into_iter().map(ToOwned::to_owned).collect());
            }
            site.progress.waiting(format!("waiting for annotation {annotation} of service {name}"));
            sleep(LOOK_INTERVAL).await;
        }
    };
    timeout(limit, looking).await.unwrap_or_else(|_| {
        let what = format!("nothing wrote annotation {annotation} of service {name} within {} s", limit.as_secs());
        Err(SubmitError::new(ErrorCode::DriverUnreachable, what)
            .hint("look whether what writes it runs, or wait longer: --conf spark.airlock.timeout.reach=5m"))
    })
}
