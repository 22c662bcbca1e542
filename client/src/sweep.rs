//! A submit that passes by removes what earlier ones left behind before their launch, once the lease on it is long over:
//! doors, since ports are scarce, and what pods mount, since a submit that dies right after making it leaves it without
//! an owner. A list call for each, and nothing that a missing right or a busy server could spoil.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Secret, Service};
use kube::ResourceExt;
use kube::api::ListParams;

use crate::cluster::{Cluster, Namespaced};
use crate::objects::driver_pod::{LEASE_ANNOTATION, MANAGED_BY_LABEL};
use crate::progress::Progress;
use crate::settings::names::TLS_SUFFIX;

/// How far two clocks may differ: a live submission must never look expired.
pub(crate) const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(10);

/// Removes expired doors, keys of driver servers, and what no pod has come to own, in the namespace.
pub async fn sweep(cluster: &Cluster, progress: &Progress) {
    tokio::join!(
        sweep_kind::<Service>(cluster, progress, "door", is_door),
        sweep_kind::<Secret>(cluster, progress, "secret", |secret| is_key(secret) || is_nobodys(secret)),
        sweep_kind::<ConfigMap>(cluster, progress, "configmap", is_nobodys),
        sweep_kind::<PersistentVolumeClaim>(cluster, progress, "persistentvolumeclaim", is_nobodys),
    );
}

async fn sweep_kind<K: Namespaced>(cluster: &Cluster, progress: &Progress, word: &str, ours: impl Fn(&K) -> bool) {
    let (key, value) = MANAGED_BY_LABEL;
    let listed = cluster.api::<K>().list(&ListParams::default().labels(&format!("{key}={value}"))).await;
    let now = Timestamp::now();
    for object in listed.map(|list| list.items).unwrap_or_default() {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        if ours(&object) && lease_is_over(&object, now) && cluster.delete::<K>(&name, &uid, None).await.is_ok() {
            progress.say(format!("removed {word} {name}, left behind by an earlier submission"));
        }
    }
}

/// Whether it holds a node port; the headless Service lives with its driver, whatever its lease.
fn is_door(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| spec.type_.as_deref() == Some("NodePort"))
}

/// Whether it holds a driver server's key, which means nothing after the launch.
fn is_key(secret: &Secret) -> bool {
    secret.name_any().ends_with(TLS_SUFFIX)
}

/// Whether it has no owner: what a pod mounts lives with the pod, whatever its lease.
fn is_nobodys(object: &impl ResourceExt) -> bool {
    object.owner_references().is_empty()
}

/// Whether its lease is over on everyone's clock. Without a readable lease it is not ours to remove.
fn lease_is_over(object: &impl ResourceExt, now: Timestamp) -> bool {
    lease_of(object).is_some_and(|lease| now.duration_since(lease) > CLOCK_TOLERANCE)
}

/// The end of its lease, if it has one that can be read.
pub(crate) fn lease_of(object: &impl ResourceExt) -> Option<Timestamp> {
    object.annotations().get(LEASE_ANNOTATION)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::driver_objects::{door_service, headless_service};
    use crate::settings::TrafficPolicy;
    use crate::test_settings::{context, names, settings};

    #[test]
    fn t02_a_lease_is_over_only_when_it_is_over_on_every_clock() {
        let lease = context().lease_until;
        let door = door_service(&settings().door, TrafficPolicy::Cluster, &names(), &context());
        let over = |minutes: i64| lease_is_over(&door, lease + SignedDuration::from_mins(minutes));
        assert_eq!([over(-60), over(0), over(10), over(11)], [false, false, false, true]);
    }

    #[test]
    fn t02_a_lease_that_cannot_be_read_is_never_over() {
        let mut door = door_service(&settings().door, TrafficPolicy::Cluster, &names(), &context());
        door.annotations_mut().insert(LEASE_ANNOTATION.into(), "soon".into());
        assert!(!lease_is_over(&door, Timestamp::MAX));
    }

    #[test]
    fn d02_the_headless_service_is_no_door() {
        assert!(is_door(&door_service(&settings().door, TrafficPolicy::Cluster, &names(), &context())));
        assert!(!is_door(&headless_service(&settings(), &names(), &context(), None)));
    }
}
