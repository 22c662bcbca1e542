//! What runs: main resource, language, class, name, arguments.

use std::ffi::OsString;

use shared::error_code::ErrorCode;
use shared::manifest::MemberKind;

use super::values::Reader;
use crate::error::SubmitError;
use crate::inputs::reference::{self, NO_RESOURCE};
use crate::settings::cli::SubmitArguments;
use crate::settings::{Application, InputPlace, InputReference, Language};

/// Main resources of Spark's shells, which run where they are typed.
const SHELLS: [&str; 4] = ["spark-shell", "pyspark-shell", "sparkr-shell", "connect-shell"];

pub(super) fn resolve(arguments: &SubmitArguments, reader: &mut Reader<'_>) -> Application {
    let (resource, arguments_after) = match arguments.application.split_first() {
        Some((resource, after)) => (reader.findings.keep(main_resource(resource)), after),
        None => (reader.findings.keep(Err(no_resource())), &[][..]),
    };
    // Only a stand-in: its problem is among the findings already.
    let resource = resource.unwrap_or_else(stand_in);
    let language = language(&resource);
    let main_class = main_class(arguments.class.as_deref(), &resource, reader);
    Application {
        name: name(main_class.as_deref(), &resource, reader),
        language,
        main_class,
        resource,
        arguments: application_arguments(arguments_after, reader),
        proxy_user: arguments.proxy_user.clone(),
    }
}

fn no_resource() -> SubmitError {
    SubmitError::new(ErrorCode::Usage, "no main resource: a jar or script must follow the options")
        .hint("airlock submit [OPTIONS] <MAIN-RESOURCE> [ARGUMENTS]...")
}

fn stand_in() -> InputReference {
    let place = InputPlace::Elsewhere(NO_RESOURCE.to_owned());
    InputReference { kind: MemberKind::App, text: String::new(), place, alias: None }
}

fn main_resource(word: &OsString) -> Result<InputReference, SubmitError> {
    let text = word.to_str().ok_or_else(|| {
        let what = format!("main resource {:?} cannot be sent: its name is not UTF-8", word.to_string_lossy());
        SubmitError::new(ErrorCode::InputUnreadable, what)
    })?;
    if text.is_empty() {
        return Err(no_resource());
    }
    if SHELLS.contains(&text) {
        return Err(SubmitError::new(ErrorCode::Usage, format!("{text} is a shell: it cannot run in the cluster")));
    }
    reference::parse(MemberKind::App, text)
}

/// By the file's ending, as upstream: `.PY` and `.r` are none.
#[expect(clippy::case_sensitive_file_extension_comparisons, reason = "upstream's rule")]
fn language(resource: &InputReference) -> Language {
    if resource.text.ends_with(".py") {
        Language::Python
    } else if resource.text.ends_with(".R") {
        Language::R
    } else {
        Language::Jvm
    }
}

/// None for a jar on this machine that is to name its class itself: it is read when the inputs are inspected.
fn main_class(class: Option<&str>, resource: &InputReference, reader: &mut Reader<'_>) -> Option<String> {
    let is_here = matches!(resource.place, InputPlace::Here(_));
    match (class, language(resource)) {
        (Some(class), Language::Jvm) if !class.trim().is_empty() => return Some(class.to_owned()),
        (None, Language::Jvm) if is_here => {}
        (_, Language::Jvm) => {
            let problem = SubmitError::new(ErrorCode::Usage, "no main class: what runs is not a jar on this machine");
            reader.findings.problem(problem.hint("name it: --class CLASS"));
        }
        (Some(_), Language::Python | Language::R) => {
            reader.findings.warn("--class is ignored: the main resource is a script");
        }
        (None, Language::Python | Language::R) => {}
    }
    None
}

/// Upstream's order: what was given, the class, the resource's file name.
fn name(main_class: Option<&str>, resource: &InputReference, reader: &mut Reader<'_>) -> String {
    match reader.text("spark.app.name") {
        Some(name) if name.trim().is_empty() => {
            let problem = SubmitError::new(ErrorCode::Usage, "--name is empty: the application needs a name");
            reader.findings.problem(problem.hint("leave --name out to have the class's or file's name"));
            String::new()
        }
        Some(name) => name.to_owned(),
        None => main_class.map_or_else(|| base_name(resource), ToOwned::to_owned),
    }
}

fn base_name(resource: &InputReference) -> String {
    match &resource.place {
        InputPlace::Here(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
        InputPlace::Elsewhere(uri) => uri.rsplit('/').next().map(ToOwned::to_owned),
    }
    .unwrap_or_default()
}

fn application_arguments(words: &[OsString], reader: &mut Reader<'_>) -> Vec<String> {
    let mut arguments = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        match word.to_str() {
            Some(text) => arguments.push(text.to_owned()),
            None => reader.findings.problem(SubmitError::new(
                ErrorCode::Usage,
                format!("argument {} of the application is not UTF-8", index + 1),
            )),
        }
    }
    arguments
}
