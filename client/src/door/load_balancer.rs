//! A load balancer of the cluster's provider, made for one transfer and taken away like a node port. Its address comes a
//! while after the Service.

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
use crate::objects::driver_objects::load_balancer_service;
use crate::objects::driver_pod::PodContext;
use crate::settings::names::SubmissionNames;
use crate::settings::{Candidate, DoorSettings};

/// Between two looks at the Service.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// See above.
pub struct LoadBalancer;

impl Door for LoadBalancer {
    fn name(&self) -> &'static str {
        "load balancer"
    }

    fn service(&self, settings: &DoorSettings, names: &SubmissionNames, context: &PodContext) -> Option<Service> {
        Some(load_balancer_service(settings, names, context))
    }

    fn open<'a>(
        &'a self,
        site: &'a Site<'a>,
        _: &'a Pod,
        service: Option<&'a Service>,
    ) -> BoxFuture<'a, Result<Ways, SubmitError>> {
        async move {
            let name = service.map(ResourceExt::name_any).unwrap_or_default();
            let limit = site.deadlines.load_balancer;
            let candidates = timeout(limit, await_addresses(site, &name)).await.unwrap_or_else(|_| {
                let what = format!("load balancer {name} had no address after {} s", limit.as_secs());
                Err(SubmitError::new(ErrorCode::DriverUnreachable, what)
                    .hint("look whether the cluster has load balancers: kubectl describe service")
                    .hint("wait longer: --conf spark.airlock.timeout.loadBalancer=10m"))
            })?;
            Ok(Ways::to(candidates))
        }
        .boxed()
    }
}

/// Names of load balancers may take a while until they resolve, too.
async fn await_addresses(site: &Site<'_>, name: &str) -> Result<Vec<Candidate>, SubmitError> {
    loop {
        let Some(service) = site.cluster.find::<Service>(name).await? else {
            return Err(SubmitError::new(ErrorCode::DriverUnreachable, format!("somebody removed the door {name}")));
        };
        let candidates = resolve(&hosts(&service), UPLOAD_PORT, site.progress).await;
        if !candidates.is_empty() {
            return Ok(candidates);
        }
        site.progress.waiting("waiting for the load balancer's address");
        sleep(LOOK_INTERVAL).await;
    }
}

fn hosts(service: &Service) -> Vec<Host> {
    let status = service.status.as_ref().and_then(|status| status.load_balancer.as_ref());
    let ingress = status.and_then(|status| status.ingress.as_ref());
    let texts = ingress.into_iter().flatten().filter_map(|point| point.ip.clone().or_else(|| point.hostname.clone()));
    texts.map(|text| Host::found(text, "load balancer")).collect()
}
