//! `--dry-run`: everything that a submission would make, as a text to read and to compare: its objects as YAML, what the
//! bundle holds, and what the driver is started with. Nothing is created; values that may be secrets are hidden.

use std::fmt::Write;

use k8s_openapi::api::core::v1::Pod;
use serde::Serialize;
use shared::bundle::BundleLayout;
use shared::driver_contract::{CONF, PROPERTIES_FILE, bundle_path};
use shared::manifest::{Launch, Manifest};

use crate::door::plan::door_services;
use crate::error::SubmitError;
use crate::mounted::Mounted;
use crate::objects::driver_objects::{ServerCertificates, headless_service, tls_secret};
use crate::objects::driver_pod::{PodContext, driver_pod};
use crate::objects::network_policy::network_policy;
use crate::settings::names::SubmissionNames;
use crate::settings::redaction::shown;
use crate::settings::{NetworkPolicyChoice, Settings};

/// The submission as text: YAML documents in the order in which they would be created, then the rest as comments.
pub fn describe(
    settings: &Settings,
    names: &SubmissionNames,
    context: &PodContext,
    manifest: &Manifest,
) -> Result<String, SubmitError> {
    let mut text = String::new();
    let certificates =
        ServerCertificates { ca_pem: String::new(), certificate_pem: String::new(), key_pem: String::new().into() };
    document(
        &mut text,
        "made for each submission; its contents are never shown",
        &tls_secret(names, context, &certificates),
    )?;
    let mounted = Mounted::of(settings, names, context);
    for object in mounted.shown()? {
        document(&mut text, "what the driver mounts; secrets are never shown", &object)?;
    }
    document(&mut text, "the driver", &without_secrets(driver_pod(settings, names, context)))?;
    document(&mut text, "its name", &headless_service(settings, names, context, None))?;
    if settings.network_policy != NetworkPolicyChoice::Never {
        document(&mut text, "executors are reached by their application only", &network_policy(names, context, None))?;
    }
    for door in door_services(&settings.door, names, context).into_iter().flatten() {
        document(&mut text, "the door: only while the bundle is sent", &door)?;
    }
    bundle(&mut text, manifest);
    launch(&mut text, &settings.driver.entry_point, manifest.launch());
    Ok(text)
}

/// Variables stand in the pod in clear, where whoever may read pods reads them; a text goes further than that.
fn without_secrets(mut pod: Pod) -> Pod {
    let containers = pod.spec.iter_mut().flat_map(|spec| &mut spec.containers);
    for variable in containers.flat_map(|container| container.env.iter_mut().flatten()) {
        if let Some(value) = &mut variable.value {
            *value = shown(&variable.name, value).to_owned();
        }
    }
    pod
}

fn document(text: &mut String, comment: &str, object: &impl Serialize) -> Result<(), SubmitError> {
    let yaml = serde_saphyr::to_string(object)
        .map_err(|error| SubmitError::bug("an object cannot be shown").because(error))?;
    let _ = write!(text, "---\n# {comment}\n{}\n", yaml.trim_end());
    Ok(())
}

fn bundle(text: &mut String, manifest: &Manifest) {
    let _ = writeln!(text, "---\n# the bundle, {} bytes", BundleLayout::new(manifest).total());
    for member in manifest.members() {
        let _ = writeln!(text, "#   {:>12} {}", member.size, member.path());
    }
}

fn launch(text: &mut String, entry_point: &str, launch: &Launch) {
    let Launch { main_class, resource, arguments, properties, options } = launch;
    let file = bundle_path(&format!("{CONF}/{PROPERTIES_FILE}"));
    let mut words = vec![entry_point, "driver", "--properties-file", &file, "--class", main_class];
    words.extend(options.iter().map(String::as_str));
    words.push(resource);
    let _ = writeln!(text, "# the driver is started by, a line for each word");
    for word in words {
        comment(text, word);
    }
    for argument in arguments {
        comment(text, shown("", argument));
    }
    let _ = writeln!(text, "# its properties");
    for (key, value) in properties {
        comment(text, &format!("{key}={}", shown(key, value)));
    }
}

/// A line end in a value must not end the comment.
fn comment(text: &mut String, line: &str) {
    let _ = writeln!(text, "#   {}", line.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r"));
}
