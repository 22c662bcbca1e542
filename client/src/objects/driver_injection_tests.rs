//! The pod with injection in full as a snapshot, and the rules that a snapshot alone does not explain.

use super::*;
use crate::inputs::pod_template::PodTemplate;
use crate::objects::driver_pod::{PodContext, driver_pod};
use crate::settings::Settings;
use crate::test_settings::{context, names, settings};
use serde_json::{Value, json};

fn injected() -> Settings {
    let mut settings = settings();
    settings.driver.server_command = contract::INJECTED_COMMAND.into();
    settings.driver.injected_from = Some("registry.example/airlock-driver:1".into());
    settings
}

fn with_template(pod: Value, container: Value) -> PodSpec {
    let mut settings = injected();
    let (pod, container) = (serde_json::from_value(pod).unwrap(), serde_json::from_value(container).unwrap());
    settings.driver.template = Some(PodTemplate { pod, container });
    settings.driver.resources = [("nvidia.com/gpu".into(), 2)].into();
    driver_pod(&settings, &names(), &context()).spec.unwrap()
}

#[test]
fn driver_pod_with_injection_snapshot() {
    insta::assert_yaml_snapshot!(driver_pod(&injected(), &names(), &context()).spec);
}

#[test]
fn d06_the_init_container_is_as_restricted_as_the_driver() {
    let strict = PodContext { non_root: true, ..context() };
    let spec = driver_pod(&injected(), &names(), &strict).spec.unwrap();
    let context = spec.init_containers.unwrap()[0].security_context.clone().unwrap();
    assert_eq!((context.run_as_non_root, context.allow_privilege_escalation), (Some(true), Some(false)));
    assert_eq!(context.capabilities.unwrap().drop.unwrap(), ["ALL"]);
}

#[test]
fn the_init_container_takes_the_templates_user_and_no_privilege() {
    let security = json!({"securityContext": {"runAsUser": 4711, "runAsGroup": 4712, "privileged": true,
        "capabilities": {"add": ["SYS_ADMIN"]}}});
    let spec = with_template(json!({"metadata": {}}), security);
    let context = spec.init_containers.unwrap()[0].security_context.clone().unwrap();
    assert_eq!((context.run_as_user, context.run_as_group, context.privileged), (Some(4711), Some(4712), None));
    assert_eq!(context.capabilities.unwrap().add, None);
}

#[test]
fn d08_the_init_container_asks_for_what_the_driver_does_but_for_no_devices() {
    let resources = json!({"resources": {"limits": {"ephemeral-storage": "9Gi", "example.com/fpga": 1}}});
    let spec = with_template(json!({"metadata": {}}), resources);
    let init = spec.init_containers.unwrap()[0].resources.clone().unwrap();
    let driver = spec.containers[0].resources.clone().unwrap();
    assert_eq!(init.requests, driver.requests);
    let names: Vec<_> = init.limits.clone().unwrap().into_keys().collect();
    assert_eq!(names, ["cpu", "ephemeral-storage", "memory"]);
    assert!(init.limits.unwrap().iter().all(|(name, amount)| driver.limits.as_ref().unwrap()[name] == *amount));
}

#[test]
fn init_containers_of_the_template_come_later() {
    let template = json!({"metadata": {}, "spec": {"containers": [], "initContainers": [{"name": "fetch"}]}});
    let spec = with_template(template, json!({"name": "main"}));
    let names: Vec<_> = spec.init_containers.unwrap().into_iter().map(|container| container.name).collect();
    assert_eq!(names, [INJECTING_CONTAINER, "fetch"]);
}
