//! What the driver server starts: the entry point's arguments and the driver's properties, from settings, inputs and names.
//! Pure. Spark runs in plain client mode in the pod (recipe B of `DESIGN.md` section 7): jars and files are served to
//! executors from where they lie in the bundle, nothing is copied. So `spark.kubernetes.submitInDriver` and cluster deploy
//! mode, which upstream sets and which would copy everything into the working directory, must not be there.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use shared::driver_contract::{DIRECTORY, bundle_path};
use shared::manifest::{Launch, MemberKind};

use crate::inputs::reference::NO_RESOURCE;
use crate::inputs::{Inputs, Placed, PlacedInput, spark_uri};
use crate::objects::mounted_objects::object_name;
use crate::settings::names::{ObjectName, SubmissionNames};
use crate::settings::setting_keys;
use crate::settings::{Application, DriverPorts, Language, Settings};

/// Upstream's runners, as its pods name them; `spark-submit` puts them in for a script in any case.
const PYTHON_RUNNER: &str = "org.apache.spark.deploy.PythonRunner";
const R_RUNNER: &str = "org.apache.spark.deploy.RRunner";

/// The launch of `settings` and `inputs` under `names` in `namespace`.
#[must_use]
pub fn launch(
    settings: &Settings,
    inputs: &Inputs,
    names: &SubmissionNames,
    namespace: &ObjectName,
    submitted: SystemTime,
) -> Launch {
    let Application { name, language, main_class, resource: _, arguments, proxy_user } = &settings.application;
    let mut properties = settings.properties.clone();
    set(&mut properties, "spark.app.name", name);
    set(&mut properties, "spark.app.submitTime", &millis(submitted));
    identity(&mut properties, names, namespace);
    network(&mut properties, names, namespace, settings.driver.ports);
    executors(&mut properties, settings, names);
    packages(&mut properties);
    mounted(&mut properties, settings, names);
    input_lists(&mut properties, inputs);
    Launch {
        main_class: class(*language, main_class.as_deref()),
        resource: resource(inputs),
        arguments: arguments.clone(),
        properties,
        options: proxy_user.iter().flat_map(|user| ["--proxy-user".to_owned(), user.clone()]).collect(),
    }
}

fn set(properties: &mut BTreeMap<String, String>, key: &str, value: &(impl ToString + ?Sized)) {
    properties.insert(key.to_owned(), value.to_string());
}

fn millis(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()
}

fn class(language: Language, main_class: Option<&str>) -> String {
    match language {
        Language::Jvm => main_class.unwrap_or_default(),
        Language::Python => PYTHON_RUNNER,
        Language::R => R_RUNNER,
    }
    .to_owned()
}

fn identity(properties: &mut BTreeMap<String, String>, names: &SubmissionNames, namespace: &ObjectName) {
    let key = "spark.kubernetes.driver.master";
    let master = properties.get(key).map_or(setting_keys::default_of(key), String::as_str);
    let master = format!("k8s://{master}");
    set(properties, "spark.master", &master);
    set(properties, "spark.submit.deployMode", "client");
    set(properties, "spark.kubernetes.namespace", namespace);
    // The label `spark-app-selector` has the same value: Spark finds executors, claims and Services by it.
    set(properties, "spark.app.id", &names.app_id);
    set(properties, "spark.kubernetes.driver.pod.name", &names.pod);
}

/// The bind address is missing on purpose: the image's entry point adds the pod's own.
fn network(
    properties: &mut BTreeMap<String, String>,
    names: &SubmissionNames,
    namespace: &ObjectName,
    ports: DriverPorts,
) {
    let DriverPorts { rpc, block_manager, ui: _ } = ports;
    set(properties, "spark.driver.host", &format!("{}.{namespace}.svc", names.headless_service));
    set(properties, "spark.driver.port", &rpc);
    set(properties, "spark.driver.blockManager.port", &block_manager);
}

/// What executors take from the driver where the user has not said otherwise.
fn executors(properties: &mut BTreeMap<String, String>, settings: &Settings, names: &SubmissionNames) {
    let mut default = |key: &str, value: String| {
        properties.entry(key.to_owned()).or_insert(value);
    };
    default("spark.kubernetes.executor.podNamePrefix", names.executor_prefix.clone());
    default("spark.kubernetes.container.image", settings.driver.image.clone());
    default("spark.kubernetes.memoryOverheadFactor", format!("{:?}", settings.driver.memory_overhead_factor));
}

/// Packages are resolved in the pod, as upstream does. Ivy's own folder is the home of a user who often has none there, so
/// that nothing can be written (SPARK-35084): where nothing else is said, it lies beside the bundle.
fn packages(properties: &mut BTreeMap<String, String>) {
    if properties.contains_key("spark.jars.packages") && !properties.contains_key("spark.jars.ivySettings") {
        properties.entry("spark.jars.ivy".to_owned()).or_insert_with(|| format!("{DIRECTORY}/ivy"));
    }
}

/// The objects that executors mount as the driver does.
fn mounted(properties: &mut BTreeMap<String, String>, settings: &Settings, names: &SubmissionNames) {
    for files in &settings.driver.files {
        if let Some(key) = files.name_property {
            set(properties, key, &object_name(files, names));
        }
    }
}

/// The lists in their order, local items by their place in the bundle. The main jar is in none: `spark-submit` adds it.
fn input_lists(properties: &mut BTreeMap<String, String>, inputs: &Inputs) {
    for (key, kind) in [
        ("spark.jars", MemberKind::Jar),
        ("spark.files", MemberKind::File),
        ("spark.archives", MemberKind::Archive),
        ("spark.submit.pyFiles", MemberKind::PyFile),
    ] {
        let of_kind = inputs.placed.iter().filter(|input| input.kind == kind);
        let items: Vec<_> = of_kind.map(|input| item(input, inputs)).collect();
        if !items.is_empty() {
            set(properties, key, &items.join(","));
        }
    }
}

fn item(input: &PlacedInput, inputs: &Inputs) -> String {
    let uri = uri(&input.place, inputs);
    input.alias.as_ref().map_or_else(|| uri.clone(), |alias| format!("{uri}#{alias}"))
}

fn uri(place: &Placed, inputs: &Inputs) -> String {
    match place {
        Placed::Member(index) => spark_uri::file_uri(&bundle_path(&inputs.members[*index].member.path())),
        Placed::Elsewhere(uri) => uri.clone(),
    }
}

fn resource(inputs: &Inputs) -> String {
    let main = inputs.placed.iter().find(|input| input.kind == MemberKind::App);
    main.map_or_else(|| NO_RESOURCE.to_owned(), |input| uri(&input.place, inputs))
}

#[cfg(test)]
#[path = "launch_tests.rs"]
mod tests;
