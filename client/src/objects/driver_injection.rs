//! For images without the driver server: an init container copies it from an image of its own into the bundle's volume,
//! from where the driver's container starts it. Applied to the finished pod, template and all, since the container has to
//! pass wherever the driver's does: it runs as the same user, with the same CPU and memory. Those are free, because a pod
//! counts as much as the largest of its init containers or all its other ones together, and they meet any `LimitRange`
//! and quota that the driver's meet.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements, SecurityContext};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use shared::driver_contract as contract;

use crate::objects::driver_pod::{DRIVER_CONTAINER, confined};
use crate::objects::driver_volumes::{SCRATCH_VOLUME, mount};

/// Name of the init container.
pub const INJECTING_CONTAINER: &str = "airlock-install";

/// Devices and the like are not for copying a file.
const RESOURCES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// `pod`, with an init container that brings the driver server from `image`. It is the first one, so that what it cannot do
/// shows before others have done their work.
#[must_use]
pub fn with_driver_server(mut pod: Pod, image: &str) -> Pod {
    if let Some(spec) = &mut pod.spec
        && let Some(container) = init_container(spec, image)
    {
        spec.init_containers.get_or_insert_default().insert(0, container);
    }
    pod
}

fn init_container(spec: &PodSpec, image: &str) -> Option<Container> {
    let driver = spec.containers.iter().find(|container| container.name == DRIVER_CONTAINER)?;
    Some(Container {
        name: INJECTING_CONTAINER.to_owned(),
        image: Some(image.to_owned()),
        image_pull_policy: driver.image_pull_policy.clone(),
        command: Some(vec![contract::INJECTOR_COMMAND.to_owned()]),
        args: Some(vec![contract::INSTALL.to_owned(), contract::INJECTED_COMMAND.to_owned()]),
        resources: driver.resources.as_ref().map(resources),
        security_context: Some(security_context(driver.security_context.clone().unwrap_or_default())),
        // A program for another machine leaves no message; what the runtime says of it is in the log.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(vec![mount(SCRATCH_VOLUME, contract::DIRECTORY)]),
        ..Container::default()
    })
}

fn resources(driver: &ResourceRequirements) -> ResourceRequirements {
    let common = |amounts: &BTreeMap<String, Quantity>| {
        let mut amounts = amounts.clone();
        amounts.retain(|name, _| RESOURCES.contains(&name.as_str()));
        amounts
    };
    let ResourceRequirements { limits, requests, claims: _ } = driver;
    ResourceRequirements {
        limits: limits.as_ref().map(common),
        requests: requests.as_ref().map(common),
        ..ResourceRequirements::default()
    }
}

/// The driver's user, and beyond that as little as there is: whatever a template allows the driver is for the driver.
fn security_context(driver: SecurityContext) -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        run_as_group: driver.run_as_group,
        run_as_non_root: driver.run_as_non_root,
        run_as_user: driver.run_as_user,
        se_linux_options: driver.se_linux_options,
        ..confined()
    }
}

#[cfg(test)]
#[path = "driver_injection_tests.rs"]
mod tests;
