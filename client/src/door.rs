//! The doors: every way from here to the driver server, behind one interface. All carry the same wire, certificates and
//! checks; a door only says what must be made for it, and which addresses to dial then. Which doors are tried, and in
//! which order, is `plan`'s matter; opening and closing them, `enter`'s. A new door is a file here and a line in [`DOORS`].

pub mod address;
pub mod enter;
pub mod gateway;
pub mod hosts;
pub mod in_cluster;
pub mod load_balancer;
pub mod node_port;
pub mod plan;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::{Pod, Service};

use crate::cluster::Cluster;
use crate::error::SubmitError;
use crate::objects::driver_pod::PodContext;
use crate::progress::Progress;
use crate::settings::names::SubmissionNames;
use crate::settings::{Candidate, Deadlines, DoorSettings, TrafficPolicy};

/// Every door by the name that it has in `spark.airlock.door.kinds`. One name may be several doors, tried in this order.
pub static DOORS: &[(&str, &[&'static dyn Door])] = &[
    ("in-cluster", &[&in_cluster::InCluster]),
    ("address", &[&address::Address]),
    ("gateway", &[&gateway::Gateway]),
    ("node-port", &[&node_port::LOCAL, &node_port::CLUSTER]),
    ("load-balancer", &[&load_balancer::LoadBalancer]),
];

/// One way in.
pub trait Door: Sync {
    /// How messages call it.
    fn name(&self) -> &'static str;

    /// The Service to be made for it, owned by nobody yet; none where nothing is made.
    fn service(&self, _: &DoorSettings, _: &SubmissionNames, _: &PodContext) -> Option<Service> {
        None
    }

    /// The addresses to dial now that `service` is made, or why there are none.
    fn open<'a>(
        &'a self,
        site: &'a Site<'a>,
        pod: &'a Pod,
        service: Option<&'a Service>,
    ) -> BoxFuture<'a, Result<Ways, SubmitError>>;

    /// What a refused connection means once the driver server has been reached through it.
    fn refusal(&self) -> Refusal {
        Refusal::Unclear
    }

    /// Whether the next door is tried rather sooner than at the end of `spark.airlock.timeout.reach`.
    fn is_a_first_try(&self) -> bool {
        false
    }

    /// For doors with a node port, which nodes forward it.
    fn traffic_policy(&self) -> Option<TrafficPolicy> {
        None
    }
}

/// What a closed port says about the driver server behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The server has closed it, as long as the door's Service is in place.
    Servers,
    /// Something in between may refuse as well.
    Unclear,
}

/// Where a door leads from and to: what all of them may use.
#[derive(Clone, Copy)]
pub struct Site<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// The settings of doors.
    pub settings: &'a DoorSettings,
    /// The limits of waits.
    pub deadlines: &'a Deadlines,
    /// The names.
    pub names: &'a SubmissionNames,
    /// What objects depend on besides.
    pub context: &'a PodContext,
    /// Where to say what goes on.
    pub progress: &'a Progress,
}

/// Addresses that lead to the driver server, as long as this lives.
pub struct Ways {
    /// Best first; never empty.
    pub candidates: Vec<Candidate>,
    /// The node port, where there is one: how long it was open is said.
    pub port: Option<u16>,
    /// What carries the bytes on this machine, where something must.
    pub carrier: Option<Carrier>,
}

impl Ways {
    /// Ways that need nothing to be kept alive.
    #[must_use]
    pub const fn to(candidates: Vec<Candidate>) -> Self {
        Self { candidates, port: None, carrier: None }
    }
}

/// A task of this process that a door needs; it ends when this is dropped.
pub struct Carrier(tokio::task::JoinHandle<()>);

impl Carrier {
    /// Ties `task` to what is returned.
    #[must_use]
    pub const fn new(task: tokio::task::JoinHandle<()>) -> Self {
        Self(task)
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        self.0.abort();
    }
}
