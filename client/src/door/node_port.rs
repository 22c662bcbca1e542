//! The usual door: a node port, open on the pod's own node alone first, which shows the fewest hosts a port and the driver
//! the submitter's own address; where that leads nowhere, on every node. Without the right to list nodes, the pod's own
//! node is known from the pod.

use futures::FutureExt;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::ResourceExt;
use shared::error_code::ErrorCode;

use super::hosts::{Host, resolve};
use super::{Door, Refusal, Site, Ways};
use crate::cluster::Cluster;
use crate::error::SubmitError;
use crate::objects::driver_objects::door_service;
use crate::objects::driver_pod::PodContext;
use crate::progress::Progress;
use crate::settings::names::SubmissionNames;
use crate::settings::{Candidate, DoorSettings, TrafficPolicy};

/// The port on the pod's own node.
pub static LOCAL: NodePort = NodePort(TrafficPolicy::Local);
/// The port on every node.
pub static CLUSTER: NodePort = NodePort(TrafficPolicy::Cluster);
/// What a node's addresses are tried as, in this order.
const ADDRESS_TYPES: [&str; 3] = ["ExternalIP", "InternalIP", "Hostname"];

/// A node port with a traffic policy.
pub struct NodePort(TrafficPolicy);

impl Door for NodePort {
    fn name(&self) -> &'static str {
        match self.0 {
            TrafficPolicy::Local => "node port on the pod's node",
            TrafficPolicy::Cluster => "node port",
        }
    }

    fn service(&self, settings: &DoorSettings, names: &SubmissionNames, context: &PodContext) -> Option<Service> {
        Some(door_service(settings, self.0, names, context))
    }

    fn open<'a>(
        &'a self,
        site: &'a Site<'a>,
        pod: &'a Pod,
        service: Option<&'a Service>,
    ) -> BoxFuture<'a, Result<Ways, SubmitError>> {
        async move {
            let port = service.map_or_else(|| Err(SubmitError::bug("a node port without a service")), node_port)?;
            let candidates = candidates(site, self.0, pod, port).await?;
            Ok(Ways { candidates, port: Some(port), carrier: None })
        }
        .boxed()
    }

    fn refusal(&self) -> Refusal {
        Refusal::Servers
    }

    fn is_a_first_try(&self) -> bool {
        self.0 == TrafficPolicy::Local
    }

    fn traffic_policy(&self) -> Option<TrafficPolicy> {
        Some(self.0)
    }
}

/// The node port that the API server gave the door.
pub fn node_port(door: &Service) -> Result<u16, SubmitError> {
    let mut ports = door.spec.iter().flat_map(|spec| spec.ports.iter().flatten());
    let port = ports.find_map(|port| port.node_port).and_then(|port| u16::try_from(port).ok());
    port.filter(|port| *port != 0).ok_or_else(|| {
        SubmitError::new(ErrorCode::PortsExhausted, format!("door {} was made without a node port", door.name_any()))
    })
}

/// Every address to dial for `port`, best first: those of the settings, or the pod's own node and then the others.
async fn candidates(
    site: &Site<'_>,
    policy: TrafficPolicy,
    pod: &Pod,
    port: u16,
) -> Result<Vec<Candidate>, SubmitError> {
    let given = &site.settings.addresses;
    let hosts = if given.is_empty() {
        node_hosts(pod, &nodes(site.cluster, site.progress).await?, policy)
    } else {
        given.iter().map(|text| Host::given(text)).collect()
    };
    let found = resolve(&hosts, port, site.progress).await;
    if found.is_empty() {
        let names: Vec<_> = hosts.iter().map(|host| host.text.as_str()).collect();
        return Err(SubmitError::new(ErrorCode::DriverUnreachable, "there is no address to reach the driver at")
            .because(format!("none of these can be resolved: {}", names.join(", ")))
            .hint("name one: --conf spark.airlock.door.addresses=HOST"));
    }
    Ok(found)
}

/// The cluster's nodes; none where we may not list them, since the pod's own node does as well.
async fn nodes(cluster: &Cluster, progress: &Progress) -> Result<Vec<Node>, SubmitError> {
    match cluster.list_all::<Node>().await {
        Ok(nodes) => Ok(nodes),
        Err(error) if matches!(error.code(), ErrorCode::Rights | ErrorCode::Policy) => {
            progress.say(
                "no right to list nodes: only the pod's own node is tried (spark.airlock.door.addresses names others)",
            );
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}

/// The pod's node first, then Ready and schedulable ones; with policy `Local` no other node forwards the port.
fn node_hosts(pod: &Pod, nodes: &[Node], policy: TrafficPolicy) -> Vec<Host> {
    let own = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
    let host_ip = pod.status.as_ref().and_then(|status| status.host_ip.clone());
    let origin = format!("{own} (the pod's node)");
    let mut hosts: Vec<_> = host_ip.into_iter().map(|host| Host::found(host, origin.clone())).collect();
    let (mine, others): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| node.name_any() == own);
    let others = others.into_iter().filter(|node| policy == TrafficPolicy::Cluster && is_usable(node));
    let ordered: Vec<_> = mine.into_iter().chain(others).collect();
    for kind in ADDRESS_TYPES {
        hosts.extend(ordered.iter().flat_map(|node| addresses(node, kind)));
    }
    hosts
}

fn addresses<'a>(node: &'a Node, kind: &'a str) -> impl Iterator<Item = Host> + 'a {
    let listed = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    listed
        .filter(move |address| address.type_ == kind)
        .map(move |address| Host::found(address.address.clone(), format!("{} {kind}", node.name_any())))
}

/// Ready, not cordoned, and not kept out of load balancers.
fn is_usable(node: &Node) -> bool {
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.filter(|condition| condition.type_ == "Ready").all(|condition| condition.status == "True");
    ready && !cordoned
}

#[cfg(test)]
#[path = "node_port_tests.rs"]
mod tests;
