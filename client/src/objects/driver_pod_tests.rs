//! The pod in full as a snapshot, and the rules that a snapshot alone does not explain.

use super::*;
use crate::settings::driver_volume::{DriverVolume, VolumeSource};
use crate::test_settings::{context, names, settings};
use kube::ResourceExt;

#[test]
fn driver_pod_snapshot() {
    insta::assert_yaml_snapshot!(driver_pod(&settings(), &names(), &context()));
}

#[test]
fn d06_restricted_in_all_but_the_user_unless_the_namespace_demands_it() {
    let context_of = |pod: Pod| pod.spec.unwrap().containers[0].security_context.clone().unwrap();
    let plain = context_of(driver_pod(&settings(), &names(), &context()));
    assert_eq!(plain.run_as_non_root, None);
    assert_eq!(plain.allow_privilege_escalation, Some(false));
    assert_eq!(plain.capabilities.unwrap().drop.unwrap(), ["ALL"]);
    assert_eq!(plain.seccomp_profile.unwrap().type_, "RuntimeDefault");
    let strict = PodContext { non_root: true, ..context() };
    assert_eq!(context_of(driver_pod(&settings(), &names(), &strict)).run_as_non_root, Some(true));
}

#[test]
fn c03_scratch_space_is_requested_for_the_bundle() {
    let pod = driver_pod(&settings(), &names(), &context());
    let requests = pod.spec.unwrap().containers[0].resources.clone().unwrap().requests.unwrap();
    assert_eq!(requests["ephemeral-storage"].0, "4Mi");
}

#[test]
fn labels_that_objects_are_found_by_cannot_be_set_by_users() {
    let mut settings = settings();
    settings.driver.labels.insert("spark-app-selector".into(), "mine".into());
    let pod = driver_pod(&settings, &names(), &context());
    assert_eq!(pod.labels()["spark-app-selector"], names().app_id);
    assert_eq!(pod.labels()["team"], "x");
}

#[test]
fn what_the_user_mounts_stands_beside_what_airlock_needs() {
    let mut settings = settings();
    settings.driver.secret_mounts = [("db".into(), "/etc/db".into())].into();
    settings.driver.local_dirs = vec!["/a".into(), "/b".into()];
    settings.driver.local_dirs_in_memory = true;
    settings.driver.scheduler = Some("own".into());
    settings.driver.resources = [("nvidia.com/gpu".into(), 2)].into();
    let spec = driver_pod(&settings, &names(), &context()).spec.unwrap();
    let volumes: Vec<_> = spec.volumes.unwrap().into_iter().map(|volume| volume.name).collect();
    assert_eq!(volumes, ["spark-local-dir-1", "spark-local-dir-2", "airlock", "airlock-tls", "db-volume"]);
    let container = &spec.containers[0];
    let mounts: Vec<_> = container.volume_mounts.iter().flatten().map(|mount| mount.mount_path.as_str()).collect();
    assert_eq!(mounts, ["/a", "/b", "/var/airlock", "/var/run/airlock/tls", "/etc/db"]);
    let value = |name: &str| container.env.iter().flatten().find(|it| it.name == name).and_then(|it| it.value.clone());
    assert_eq!(value("SPARK_LOCAL_DIRS").as_deref(), Some("/a,/b"));
    assert_eq!(container.resources.as_ref().unwrap().limits.as_ref().unwrap()["nvidia.com/gpu"].0, "2");
    assert_eq!(spec.scheduler_name.as_deref(), Some("own"));
}

#[test]
fn a_volume_of_that_name_takes_the_place_of_the_scratch_space() {
    let mut settings = settings();
    settings.driver.volumes = vec![DriverVolume {
        name: "spark-local-dir-x".into(),
        path: "/fast".into(),
        read_only: false,
        sub_path: None,
        sub_path_expr: None,
        source: VolumeSource::HostPath { path: "/mnt/nvme".into(), kind: String::new() },
    }];
    let spec = driver_pod(&settings, &names(), &context()).spec.unwrap();
    let volumes: Vec<_> = spec.volumes.unwrap().into_iter().map(|volume| volume.name).collect();
    assert_eq!(volumes, ["airlock", "airlock-tls", "spark-local-dir-x"]);
    let env = spec.containers[0].env.clone().unwrap();
    assert!(env.iter().any(|it| it.name == "SPARK_LOCAL_DIRS" && it.value.as_deref() == Some("/fast")));
}
