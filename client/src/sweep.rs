//! A submit that passes by removes doors whose lease ended long ago: their submissions died before launch, and ports are
//! scarce. One list call, and nothing that a missing right or a busy server could spoil.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt;
use kube::api::ListParams;

use crate::cluster::Cluster;
use crate::objects::driver_pod::{LEASE_ANNOTATION, MANAGED_BY_LABEL};
use crate::progress::Progress;

/// How far two clocks may differ: a live submission must never look expired.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(10);

/// Removes expired doors of the namespace.
pub async fn sweep_doors(cluster: &Cluster, progress: &Progress) {
    let (key, value) = MANAGED_BY_LABEL;
    let listed = cluster.api::<Service>().list(&ListParams::default().labels(&format!("{key}={value}"))).await;
    let services = listed.map(|list| list.items).unwrap_or_default();
    for door in expired_doors(&services, Timestamp::now()) {
        let (name, uid) = (door.name_any(), door.uid().unwrap_or_default());
        if cluster.delete::<Service>(&name, &uid, None).await.is_ok() {
            progress.say(format!("removed door {name}, left behind by an earlier submission"));
        }
    }
}

/// Those that hold a node port and whose lease is over for everyone's clock. Without a readable lease nothing is ours.
fn expired_doors(services: &[Service], now: Timestamp) -> impl Iterator<Item = &Service> {
    services.iter().filter(move |service| {
        let is_door = service.spec.as_ref().is_some_and(|spec| spec.type_.as_deref() == Some("NodePort"));
        let lease = service.annotations().get(LEASE_ANNOTATION).and_then(|text| text.parse::<Timestamp>().ok());
        is_door && lease.is_some_and(|lease| now.duration_since(lease) > CLOCK_TOLERANCE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::driver_objects::{door_service, headless_service};
    use crate::test_settings::{context, names, settings};

    #[test]
    fn t02_a_lease_is_over_only_when_it_is_over_on_every_clock() {
        let lease = context().lease_until;
        let mut unreadable = door_service(&settings(), &names(), &context(), None);
        unreadable.annotations_mut().insert(LEASE_ANNOTATION.into(), "soon".into());
        let services = [
            door_service(&settings(), &names(), &context(), None),
            headless_service(&settings(), &names(), &context(), None),
            unreadable,
        ];
        let count = |minutes: i64| expired_doors(&services, lease + SignedDuration::from_mins(minutes)).count();
        assert_eq!([count(-60), count(0), count(10), count(11)], [0, 0, 0, 1]);
    }
}
