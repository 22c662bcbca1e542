//! Steps 1 and 2 together: what can be said about a submission without asking the cluster. Faults of settings and of inputs
//! come in one list, and whoever holds a [`Prepared`] holds one without faults.

use crate::error::{Findings, Problems};
use crate::inputs::{self, Inputs, Placed, driver_files, main_class, pod_template};
use crate::settings::advice::advise;
use crate::settings::cli::SubmitArguments;
use crate::settings::resolve::{self, Environment};
use crate::settings::spark_conf::SparkConf;
use crate::settings::{Language, Settings};

/// A submission that can be tried.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What it does.
    pub settings: Settings,
    /// What it sends.
    pub inputs: Inputs,
    /// For `--verbose`: every property with its origin, secrets hidden; empty unless asked for.
    pub described: Vec<String>,
}

/// Resolves and inspects. Warnings are for the user whatever the result.
pub fn prepare(arguments: &SubmitArguments, environment: &Environment) -> (Result<Prepared, Problems>, Vec<String>) {
    let mut findings = Findings::default();
    let conf = resolve::load_conf(arguments, environment, &mut findings);
    let mut settings = resolve::resolve(arguments, &conf, environment, &mut findings);
    let resource = Some(&settings.application.resource);
    let mut inputs = inputs::inspect(resource, &settings.inputs, settings.conf_dir.as_deref(), &mut findings);
    read_templates(&conf, &mut settings, &mut inputs, &mut findings);
    read_driver_files(&conf, environment, &mut settings, &mut findings);
    find_main_class(&mut settings, &inputs, &mut findings);
    advise(&settings, &inputs, &mut findings);
    let described = if arguments.verbose { conf.describe() } else { Vec::new() };
    let Findings { problems, warnings } = findings;
    (Problems::check(problems).map(|()| Prepared { settings, inputs, described }), warnings)
}

/// A jar without `--class` is asked for its own, if it was found at all.
fn find_main_class(settings: &mut Settings, inputs: &Inputs, findings: &mut Findings) {
    let application = &mut settings.application;
    let main = inputs.placed.first().filter(|input| input.kind == application.resource.kind).map(|input| &input.place);
    if let (Language::Jvm, None, Some(Placed::Member(index))) = (application.language, &application.main_class, main) {
        application.main_class = findings.keep(main_class::of_jar(&inputs.members[*index]));
    }
}

/// The driver's template goes into the settings, the executors' into the bundle.
fn read_templates(conf: &SparkConf, settings: &mut Settings, inputs: &mut Inputs, findings: &mut Findings) {
    let text = |key: &str| conf.get(key).map(|value| value.text.as_str());
    if let Some(file) = text(pod_template::DRIVER_KEY) {
        let container = text("spark.kubernetes.driver.podTemplateContainerName");
        settings.driver.template = pod_template::driver_template(file, container, findings);
    }
    let executors = text(pod_template::EXECUTOR_KEY);
    let Some((input, path)) = executors.and_then(|file| pod_template::executor_template(file, findings)) else {
        return;
    };
    settings.properties.insert(pod_template::EXECUTOR_KEY.to_owned(), path);
    // A conf file of that name gives way: the one that was asked for by name is meant.
    if let Some(input) = input {
        let name = input.member.path();
        inputs.members.retain(|other| other.member.path() != name);
        inputs.members.push(input);
    }
}

/// What the driver finds mounted, and the properties that tell it where.
fn read_driver_files(conf: &SparkConf, environment: &Environment, settings: &mut Settings, findings: &mut Findings) {
    let proxy_user = settings.application.proxy_user.is_some();
    let found = driver_files::read(conf, environment, proxy_user, findings);
    settings.driver.files = found.files;
    settings.properties.extend(found.properties);
}
