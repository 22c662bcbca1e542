//! Pod templates of driver and executors: read from this machine before anything is created, with every fault of them said.
//! The driver's is merged into its pod here (`objects/driver_template`); the executors' travels with the bundle's conf
//! files, since Spark in the pod reads it.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::{Container, Pod};
use serde_json::Value;
use shared::driver_contract::bundle_path;
use shared::error_code::ErrorCode;
use shared::manifest::MemberKind;

use crate::error::{Findings, SubmitError};
use crate::inputs::inspected_input::InspectedInput;
use crate::inputs::reference;
use crate::settings::InputPlace;

/// Key of the driver's template.
pub const DRIVER_KEY: &str = "spark.kubernetes.driver.podTemplateFile";
/// Key of the executors' template.
pub const EXECUTOR_KEY: &str = "spark.kubernetes.executor.podTemplateFile";
/// Upstream's name of the executors' template in the driver pod.
pub const EXECUTOR_FILE: &str = "pod-spec-template.yml";
/// Largest template, in bytes: no object of the API server can be larger.
const SIZE_LIMIT: u64 = 1024 * 1024;

/// A pod that the driver's is built on, and which of its containers becomes the driver's.
#[derive(Clone, Debug)]
pub struct PodTemplate {
    /// The pod without that container.
    pub pod: Pod,
    /// The container; empty where the template has none.
    pub container: Container,
}

/// Reads the driver's template. `container`: which one is the driver's, by name; the first one when absent or not found.
pub fn driver_template(text: &str, container: Option<&str>, findings: &mut Findings) -> Option<PodTemplate> {
    let (_, mut pod) =
        findings.keep(read(DRIVER_KEY, text))?.map_or_else(|| in_image(DRIVER_KEY, text, findings), Some)?;
    let unknown = std::mem::take(&mut pod.unknown);
    for path in unknown {
        findings.warn(format!("{DRIVER_KEY}: {path} is no field of a pod, and is left out"));
    }
    let containers = pod.pod.spec.get_or_insert_default().containers.as_mut_slice();
    let wanted = container.and_then(|name| containers.iter().position(|it| it.name == name));
    if let (Some(name), None) = (container, wanted) {
        findings.warn(format!("{DRIVER_KEY} has no container {name:?}: its first one becomes the driver's"));
    }
    let containers = &mut pod.pod.spec.get_or_insert_default().containers;
    let container = if containers.is_empty() { Container::default() } else { containers.remove(wanted.unwrap_or(0)) };
    Some(PodTemplate { pod: pod.pod, container })
}

/// Checks the executors' template, and returns what is sent, if anything is, and what the driver finds it by.
pub fn executor_template(text: &str, findings: &mut Findings) -> Option<(Option<InspectedInput>, String)> {
    match findings.keep(read(EXECUTOR_KEY, text))? {
        Some((mut input, template)) => {
            for path in template.unknown {
                findings.warn(format!("{EXECUTOR_KEY}: {path} is no field of a pod"));
            }
            EXECUTOR_FILE.clone_into(&mut input.member.name);
            let path = bundle_path(&input.member.path());
            Some((Some(input), path))
        }
        None => Some((None, text.to_owned())),
    }
}

fn in_image<T>(key: &str, text: &str, findings: &mut Findings) -> Option<T> {
    let what = format!("{key}={text:?} cannot be read here");
    let hint = "the driver's template must be a file on this machine";
    findings.problem(SubmitError::new(ErrorCode::ConfValue, what).hint(hint));
    None
}

/// A template as read, and the fields in it that no pod has.
struct Read {
    pod: Pod,
    unknown: Vec<String>,
}

/// None for a template that is not on this machine.
fn read(key: &str, text: &str) -> Result<Option<(InspectedInput, Read)>, SubmitError> {
    let path = match reference::parse(MemberKind::Conf, text)?.place {
        InputPlace::Here(path) => path,
        InputPlace::Elsewhere(_) => return Ok(None),
    };
    let bad = |reason: &str| SubmitError::new(ErrorCode::ConfValue, format!("{key}: {} {reason}", path.display()));
    let input = InspectedInput::open(MemberKind::Conf, EXECUTOR_FILE.to_owned(), None, PathBuf::from(&path))?;
    if input.member.size > SIZE_LIMIT {
        return Err(bad("is larger than any pod can be"));
    }
    let yaml = std::fs::read_to_string(&path).map_err(|error| bad("cannot be read as text").because(error))?;
    parse(&yaml).map(|template| Some((input, template))).map_err(|cause| bad("is no pod").because(cause))
}

fn parse(yaml: &str) -> Result<Read, String> {
    let first_line = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let given: Value = serde_saphyr::from_str(yaml).map_err(|error| first_line(error.to_string()))?;
    if !given.is_object() {
        return Err("it must be one mapping, with metadata and spec".to_owned());
    }
    if given.get("kind").is_some_and(|kind| kind != "Pod") {
        return Err(format!("its kind is {}", given["kind"]));
    }
    let pod: Pod = serde_json::from_value(given.clone()).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(&pod).map_err(|error| error.to_string())?;
    let mut unknown = Vec::new();
    left_out(&given, &known, "", &mut unknown);
    Ok(Read { pod, unknown })
}

/// Paths of `given` that `known`, made of it, does not have any more.
fn left_out(given: &Value, known: &Value, path: &str, found: &mut Vec<String>) {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            for (key, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match known.get(key) {
                    Some(known) => left_out(value, known, &path, found),
                    None => found.push(path),
                }
            }
        }
        (Value::Array(given), Value::Array(known)) => {
            let pairs = given.iter().zip(known).enumerate();
            pairs.for_each(|(index, (given, known))| left_out(given, known, &format!("{path}[{index}]"), found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDECAR: &str = "
apiVersion: v1
kind: Pod
metadata: {labels: {team: data}}
spec:
  containers:
  - {name: proxy, image: proxy:1}
  - name: main
    resources: {limits: {example.com/fpga: 1}}
";

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    fn driver(yaml: &str, container: Option<&str>) -> (Option<PodTemplate>, Findings) {
        let (file, mut findings) = (file(yaml), Findings::default());
        let template = driver_template(file.path().to_str().unwrap(), container, &mut findings);
        (template, findings)
    }

    #[test]
    fn the_container_is_chosen_by_name_else_the_first() {
        for (wanted, chosen, rest, warnings) in
            [(Some("main"), "main", "proxy", 0), (None, "proxy", "main", 0), (Some("x"), "proxy", "main", 1)]
        {
            let (template, findings) = driver(SIDECAR, wanted);
            let template = template.unwrap();
            assert_eq!(template.container.name, chosen);
            assert_eq!(template.pod.spec.unwrap().containers[0].name, rest);
            assert_eq!((findings.warnings.len(), findings.problems.len()), (warnings, 0));
        }
    }

    #[test]
    fn p04_a_field_that_no_pod_has_is_said() {
        let (template, findings) = driver("spec: {tolerationz: [], containers: [{name: a, imagee: b}]}", None);
        assert!(template.is_some());
        let text = findings.warnings.join("\n");
        assert!(text.contains("spec.tolerationz") && text.contains("spec.containers[0].imagee"), "{text}");
    }

    #[test]
    fn f11_a_template_that_is_no_pod_is_a_problem_before_anything_is_made() {
        for (yaml, reason) in
            [("a: [", "is no pod"), ("- a", "mapping"), ("kind: Job", "Job"), ("spec: {containers: x}", "is no pod")]
        {
            let (template, findings) = driver(yaml, None);
            assert!(template.is_none());
            let text = shared::report::render("airlock", &findings.problems[0]);
            assert!(text.contains(reason) && text.contains(DRIVER_KEY), "{text}");
        }
        let mut findings = Findings::default();
        assert!(driver_template("/nowhere/t.yaml", None, &mut findings).is_none());
        assert!(driver_template("local:///opt/t.yaml", None, &mut findings).is_none());
        let codes: Vec<_> = findings.problems.iter().map(shared::report::Failure::code).collect();
        assert_eq!(codes, [ErrorCode::InputMissing, ErrorCode::ConfValue]);
    }

    #[test]
    fn the_executors_template_travels_unless_it_is_in_the_image() {
        let (file, mut findings) = (file(SIDECAR), Findings::default());
        let (input, path) = executor_template(file.path().to_str().unwrap(), &mut findings).unwrap();
        assert_eq!(
            (input.unwrap().member.path().as_str(), path.as_str()),
            ("conf/pod-spec-template.yml", "/var/airlock/bundle/conf/pod-spec-template.yml")
        );
        let (input, path) = executor_template("local:///opt/t.yaml", &mut findings).unwrap();
        assert!(input.is_none() && path == "local:///opt/t.yaml");
        assert!(findings.problems.is_empty());
    }
}
