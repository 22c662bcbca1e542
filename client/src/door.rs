//! The door: opened when the driver server is up, closed as soon as its work is done, and the addresses by which it may
//! be reached from here. Dialling them is `upload`'s matter. Addresses are compared as addresses, never as text.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::ResourceExt;
use shared::error_code::ErrorCode;
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::error::SubmitError;
use crate::progress::Progress;
use crate::settings::{Candidate, DoorSettings, TrafficPolicy};

/// For one name: the door is open while we ask, and other addresses may do.
const RESOLVE_LIMIT: Duration = Duration::from_secs(3);
/// What a node's addresses are tried as, in this order.
const ADDRESS_TYPES: [&str; 3] = ["ExternalIP", "InternalIP", "Hostname"];

/// A host to dial, before names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    /// An address, or a name.
    text: String,
    /// A port of its own, where the user gave one.
    port: Option<u16>,
    /// For messages.
    origin: String,
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
pub async fn candidates(
    cluster: &Cluster,
    settings: &DoorSettings,
    pod: &Pod,
    port: u16,
    progress: &Progress,
) -> Result<Vec<Candidate>, SubmitError> {
    let hosts = if settings.addresses.is_empty() {
        node_hosts(pod, &nodes(cluster, progress).await?, settings.traffic_policy)
    } else {
        settings.addresses.iter().map(|text| given_host(text)).collect()
    };
    let found = resolve(&hosts, port, progress).await;
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

/// An address as a user writes it: `host`, `host:port`, `[v6]:port`, a bare `v6`.
fn given_host(text: &str) -> Host {
    let origin = format!("{text} (given)");
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Host { text: address.ip().to_string(), port: Some(address.port()), origin };
    }
    let bare = text.trim_matches(['[', ']']);
    if bare.parse::<IpAddr>().is_ok() {
        return Host { text: bare.to_owned(), port: None, origin };
    }
    match text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?))) {
        Some((host, port)) => Host { text: host.to_owned(), port: Some(port), origin },
        None => Host { text: text.to_owned(), port: None, origin },
    }
}

/// The pod's node first, then Ready and schedulable ones; with policy `Local` no other node forwards the port.
fn node_hosts(pod: &Pod, nodes: &[Node], policy: TrafficPolicy) -> Vec<Host> {
    let own = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
    let host_ip = pod.status.as_ref().and_then(|status| status.host_ip.clone());
    let origin = format!("{own} (the pod's node)");
    let mut hosts: Vec<_> =
        host_ip.into_iter().map(|host| Host { text: host, port: None, origin: origin.clone() }).collect();
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
    listed.filter(move |address| address.type_ == kind).map(move |address| Host {
        text: address.address.clone(),
        port: None,
        origin: format!("{} {kind}", node.name_any()),
    })
}

/// Ready, not cordoned, and not kept out of load balancers.
fn is_usable(node: &Node) -> bool {
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable).unwrap_or(false);
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready = conditions.filter(|condition| condition.type_ == "Ready").all(|condition| condition.status == "True");
    ready && !cordoned
}

/// Addresses of all hosts in their order, each once. A name that does not resolve is left out.
async fn resolve(hosts: &[Host], port: u16, progress: &Progress) -> Vec<Candidate> {
    let lookups = hosts.iter().map(|host| resolve_one(host, host.port.unwrap_or(port)));
    let mut found: Vec<Candidate> = Vec::new();
    for (host, addresses) in hosts.iter().zip(futures::future::join_all(lookups).await) {
        if addresses.is_empty() && host.origin.ends_with("(given)") {
            progress.say(format!("door address {} does not resolve", host.text));
        }
        for address in addresses {
            if found.iter().all(|candidate| candidate.address != address) {
                found.push(Candidate { address, origin: host.origin.clone() });
            }
        }
    }
    found
}

async fn resolve_one(host: &Host, port: u16) -> Vec<SocketAddr> {
    if let Ok(address) = host.text.parse::<IpAddr>() {
        return vec![SocketAddr::new(address, port)];
    }
    match timeout(RESOLVE_LIMIT, tokio::net::lookup_host((host.text.as_str(), port))).await {
        Ok(Ok(addresses)) => addresses.collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
