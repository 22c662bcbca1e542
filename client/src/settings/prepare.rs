//! Steps 1 and 2 together: what can be said about a submission without asking the cluster. Faults of settings and of inputs
//! come in one list, and whoever holds a [`Prepared`] holds one without faults.

use crate::error::{Findings, Problems};
use crate::inputs::{self, Inputs, Placed, main_class};
use crate::settings::cli::SubmitArguments;
use crate::settings::resolve::{self, Environment};
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
    let inputs = inputs::inspect(resource, &settings.inputs, settings.conf_dir.as_deref(), &mut findings);
    find_main_class(&mut settings, &inputs, &mut findings);
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
