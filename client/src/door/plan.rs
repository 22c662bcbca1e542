//! Which doors are tried, in which order. Pure: the settings say what is wanted, and where this process runs.

use k8s_openapi::api::core::v1::Service;

use super::{DOORS, Door};
use crate::objects::driver_pod::PodContext;
use crate::settings::names::SubmissionNames;
use crate::settings::{DoorKinds, DoorSettings, TrafficPolicy};

/// The doors to try, best first; never empty.
#[must_use]
pub fn plan(settings: &DoorSettings) -> Vec<&'static dyn Door> {
    let names: Vec<&str> = match &settings.kinds {
        DoorKinds::Auto => automatic(settings),
        DoorKinds::These(names) => names.iter().map(String::as_str).collect(),
    };
    let doors = names.iter().filter_map(|name| doors_of(name)).flatten();
    doors.copied().filter(|door| fits(*door, settings)).collect()
}

/// The Services that the plan's doors would make, one of each type; none for a door that makes nothing.
#[must_use]
pub fn door_services(settings: &DoorSettings, names: &SubmissionNames, context: &PodContext) -> Vec<Option<Service>> {
    let kind = |service: &Option<Service>| service.as_ref()?.spec.as_ref()?.type_.clone();
    let mut services: Vec<_> = plan(settings).iter().map(|door| door.service(settings, names, context)).collect();
    services.dedup_by_key(|service| kind(service));
    services
}

/// Whether `name` is a door's.
#[must_use]
pub fn is_known(name: &str) -> bool {
    doors_of(name).is_some()
}

/// Every name, for messages.
#[must_use]
pub fn names() -> String {
    DOORS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

fn doors_of(name: &str) -> Option<&'static [&'static dyn Door]> {
    DOORS.iter().find(|(known, _)| *known == name).map(|(_, doors)| *doors)
}

/// What was set up on purpose first, and what needs nothing of the cluster before what takes a port.
fn automatic(settings: &DoorSettings) -> Vec<&'static str> {
    let mut names = Vec::new();
    if settings.in_pod {
        names.push("in-cluster");
    }
    if !settings.address.is_empty() || settings.address_annotation.is_some() {
        names.push("address");
    }
    if !settings.gateway.is_empty() {
        names.push("gateway");
    }
    names.push("node-port");
    names
}

/// The two doors with a node port stand for the two traffic policies. Given hosts need not be the pod's node, so only
/// the policy with which every node forwards leads anywhere from them.
fn fits(door: &dyn Door, settings: &DoorSettings) -> bool {
    let wanted = match settings.traffic_policy {
        None if settings.addresses.is_empty() => return true,
        None => TrafficPolicy::Cluster,
        Some(policy) => policy,
    };
    door.traffic_policy().is_none_or(|policy| policy == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_of(settings: &DoorSettings) -> Vec<&'static str> {
        plan(settings).iter().map(|door| door.name()).collect()
    }

    #[test]
    fn a_node_port_is_open_on_the_pods_node_alone_before_it_is_on_all() {
        assert_eq!(names_of(&DoorSettings::default()), ["node port on the pod's node", "node port"]);
        let given = DoorSettings { addresses: vec!["h".into()], ..DoorSettings::default() };
        assert_eq!(names_of(&given), ["node port"]);
        let local = DoorSettings { traffic_policy: Some(TrafficPolicy::Local), ..given };
        assert_eq!(names_of(&local), ["node port on the pod's node"]);
    }

    #[test]
    fn what_was_set_up_on_purpose_comes_first() {
        let settings = DoorSettings { gateway: vec!["g:443".into()], in_pod: true, ..DoorSettings::default() };
        assert_eq!(names_of(&settings)[..2], ["the pod's own address", "gateway"]);
    }

    #[test]
    fn what_was_asked_for_is_all_that_is_tried() {
        let kinds = DoorKinds::These(vec!["load-balancer".into(), "gateway".into()]);
        assert_eq!(names_of(&DoorSettings { kinds, ..DoorSettings::default() }), ["load balancer", "gateway"]);
    }

    #[test]
    fn every_door_is_known_by_its_name() {
        assert!(DOORS.iter().all(|(name, doors)| is_known(name) && !doors.is_empty()));
        assert!(!is_known("window"));
    }
}
