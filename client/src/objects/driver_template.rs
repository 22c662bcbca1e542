//! The driver pod on top of the user's template, by upstream's rules: what the settings say goes over the template, lists
//! and maps of both are joined, and what the template says besides (other containers, tolerations, affinity, …) stays.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, ResourceRequirements, SecurityContext};

use crate::inputs::pod_template::PodTemplate;

/// `pod`, which has the driver's container only, over `template`.
#[must_use]
pub fn over_template(template: &PodTemplate, pod: Pod) -> Pod {
    let Pod { metadata, spec, status: _ } = pod;
    let mut merged = template.pod.clone();
    merged.status = None;
    merged.metadata.name = metadata.name;
    merged.metadata.namespace = metadata.namespace;
    join_maps(&mut merged.metadata.labels, metadata.labels);
    join_maps(&mut merged.metadata.annotations, metadata.annotations);
    merged.spec = spec.map(|spec| merge_spec(merged.spec.unwrap_or_default(), &template.container, spec));
    merged
}

fn merge_spec(mut base: PodSpec, container: &Container, ours: PodSpec) -> PodSpec {
    let driver = ours.containers.into_iter().map(|ours| merge_container(container.clone(), ours));
    base.containers.extend(driver);
    join_lists(&mut base.image_pull_secrets, ours.image_pull_secrets);
    join_lists(&mut base.volumes, ours.volumes);
    join_maps(&mut base.node_selector, ours.node_selector);
    base.restart_policy = ours.restart_policy;
    base.scheduler_name = ours.scheduler_name.or(base.scheduler_name);
    base.service_account = ours.service_account.or(base.service_account);
    base.service_account_name = ours.service_account_name.or(base.service_account_name);
    base
}

fn merge_container(mut base: Container, ours: Container) -> Container {
    base.name = ours.name;
    base.image = ours.image;
    base.image_pull_policy = ours.image_pull_policy;
    base.command = ours.command;
    base.args = ours.args;
    // The driver server starts where the image says; the driver's own working directory is in the bundle.
    base.working_dir = None;
    join_lists(&mut base.env, ours.env);
    join_lists(&mut base.ports, ours.ports);
    join_lists(&mut base.volume_mounts, ours.volume_mounts);
    base.resources = Some(merge_resources(base.resources.unwrap_or_default(), ours.resources.unwrap_or_default()));
    base.security_context = Some(merge_security(base.security_context, ours.security_context.unwrap_or_default()));
    base
}

fn merge_resources(mut base: ResourceRequirements, ours: ResourceRequirements) -> ResourceRequirements {
    join_maps(&mut base.limits, ours.limits);
    join_maps(&mut base.requests, ours.requests);
    base
}

/// What the template says about capabilities, seccomp and the user is meant: ours only fills in what it leaves open.
fn merge_security(base: Option<SecurityContext>, ours: SecurityContext) -> SecurityContext {
    let base = base.unwrap_or_default();
    SecurityContext {
        allow_privilege_escalation: ours.allow_privilege_escalation,
        capabilities: base.capabilities.or(ours.capabilities),
        run_as_non_root: base.run_as_non_root.or(ours.run_as_non_root),
        seccomp_profile: base.seccomp_profile.or(ours.seccomp_profile),
        ..base
    }
}

fn join_lists<T>(base: &mut Option<Vec<T>>, ours: Option<Vec<T>>) {
    if let Some(ours) = ours {
        base.get_or_insert_default().extend(ours);
    }
}

fn join_maps<V>(
    base: &mut Option<std::collections::BTreeMap<String, V>>,
    ours: Option<std::collections::BTreeMap<String, V>>,
) {
    if let Some(ours) = ours {
        base.get_or_insert_default().extend(ours);
    }
}
