//! The pod in full as a snapshot, and the rules that a snapshot alone does not explain.

use super::*;
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
