//! Step 2, inspect: opens every local input, expands patterns, and gives everything its name in the driver. All bad inputs
//! are reported together, before anything is created. Content is not read: each file is read once, while it is sent.

pub mod driver_files;
pub mod inspected_input;

pub mod main_class;
pub mod naming;
pub mod pattern;
pub mod pod_template;
pub mod reference;
pub mod spark_uri;

use std::path::{Path, PathBuf};

use shared::error_code::ErrorCode;
use shared::manifest::MemberKind;

use crate::error::{Findings, SubmitError};
use crate::inputs::inspected_input::InspectedInput;
use crate::settings::{InputPlace, InputReference};
use naming::{Candidate, Found};
use reference::kind_word;

/// Every input of a submission, found and named.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// What is sent, in the order of the bundle.
    pub members: Vec<InspectedInput>,
    /// What is listed for Spark, in the order of the flags; the main resource first. A conf file is not listed.
    pub placed: Vec<PlacedInput>,
}

/// An input as Spark in the pod finds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlacedInput {
    /// What it is for.
    pub kind: MemberKind,
    /// Where it is.
    pub place: Placed,
    /// What Spark has to call it, where that is not its name already.
    pub alias: Option<String>,
}

/// Where an input is, seen from the pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Placed {
    /// In the bundle: an index of [`Inputs::members`].
    Member(usize),
    /// In the image or remote.
    Elsewhere(String),
}

/// Inspects the main resource, the lists in their order, and the text files of the conf directory.
pub fn inspect(
    resource: Option<&InputReference>,
    references: &[InputReference],
    conf_dir: Option<&Path>,
    findings: &mut Findings,
) -> Inputs {
    let found = |reference| expand(reference, findings);
    let candidates: Vec<Candidate> = resource.into_iter().chain(references).flat_map(found).collect();
    let (mut members, placed) = naming::assign(&candidates, findings);
    members.extend(conf_dir.map(|directory| conf_files(directory, findings)).unwrap_or_default());
    Inputs { members, placed }
}

/// The files that one item stands for.
fn expand(reference: &InputReference, findings: &mut Findings) -> Vec<Candidate> {
    let InputReference { kind, text, place, alias } = reference;
    let candidate = |found| Candidate { kind: *kind, text: text.clone(), alias: alias.clone(), found };
    let path = match place {
        InputPlace::Elsewhere(uri) => return vec![candidate(Found::Elsewhere(uri.clone()))],
        InputPlace::Here(path) => path,
    };
    let paths = findings.keep(matching_paths(reference, path)).unwrap_or_default();
    if paths.len() > 1 && alias.is_some() {
        let what = format!("{} {text:?} matches {} files, which cannot have one name", kind_word(*kind), paths.len());
        findings.problem(SubmitError::new(ErrorCode::Usage, what));
        return Vec::new();
    }
    let found = paths.into_iter().filter_map(|path| findings.keep(look(*kind, text, path)));
    found.map(candidate).collect()
}

/// A path that exists as it is written is no pattern (F02), and the main resource never is one.
fn matching_paths(reference: &InputReference, path: &Path) -> Result<Vec<PathBuf>, SubmitError> {
    let literal = |path: &Path| path.symlink_metadata().is_ok();
    let Some(text) = path.to_str().filter(|text| pattern::is_pattern(text)) else { return Ok(vec![path.to_owned()]) };
    if reference.kind == MemberKind::App || literal(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut paths = Vec::new();
    for choice in pattern::expand_braces(text) {
        if pattern::is_pattern(&choice) && !literal(Path::new(&choice)) {
            paths.extend(pattern_matches(reference, &choice)?);
        } else {
            paths.push(choice.into());
        }
    }
    Ok(paths)
}

fn pattern_matches(reference: &InputReference, pattern: &str) -> Result<Vec<PathBuf>, SubmitError> {
    let name = format!("{} {:?}", kind_word(reference.kind), reference.text);
    let matches = pattern::matches(pattern).map_err(|error| {
        SubmitError::new(ErrorCode::InputUnreadable, format!("{name} cannot be expanded")).because(error)
    })?;
    if matches.is_empty() {
        return Err(SubmitError::new(ErrorCode::NoMatch, format!("{name}: nothing matches the pattern {pattern:?}")));
    }
    Ok(matches)
}

fn look(kind: MemberKind, text: &str, path: PathBuf) -> Result<Found, SubmitError> {
    let Some(base) = path.file_name().map(|base| base.to_str().map(ToOwned::to_owned)) else {
        // `..` and `/` have no name, and are directories or missing: the reason is said when they are opened.
        return InspectedInput::open(kind, String::new(), None, path).map(Found::Here);
    };
    let base = base.ok_or_else(|| {
        let what = format!("{} {} cannot be sent: its name is not UTF-8", kind_word(kind), path.display());
        SubmitError::new(ErrorCode::InputUnreadable, what)
    })?;
    let input = InspectedInput::open(kind, base, None, path);
    input.map(Found::Here).map_err(|error| with_hint(error, kind, text))
}

fn with_hint(error: SubmitError, kind: MemberKind, text: &str) -> SubmitError {
    let has_no_alias = matches!(kind, MemberKind::App | MemberKind::Jar) && text.contains('#');
    match error.code() {
        ErrorCode::InputMissing if has_no_alias => {
            error.hint("a jar or main resource has no #name: there '#' is a letter of the path")
        }
        _ => error,
    }
}

/// Largest conf file: what upstream's `ConfigMap` could hold.
const CONF_FILE_LIMIT: u64 = 1024 * 1024;

/// The text files of `directory` that upstream would put into its `ConfigMap`: no templates, none of Spark's own properties.
fn conf_files(directory: &Path, findings: &mut Findings) -> Vec<InspectedInput> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    paths.sort();
    paths.into_iter().filter_map(|path| conf_file(path, findings)).collect()
}

fn conf_file(path: PathBuf, findings: &mut Findings) -> Option<InspectedInput> {
    let name = path.file_name()?.to_str()?.to_owned();
    let is_properties = name.starts_with("spark") && (name.ends_with("conf") || name.ends_with("properties"));
    if is_properties || name.ends_with("template") || shared::manifest::check_name(&name).is_err() {
        return None;
    }
    let input = InspectedInput::open(MemberKind::Conf, name, None, path).ok()?;
    let is_text = || std::fs::read(&input.path).is_ok_and(|bytes| String::from_utf8(bytes).is_ok());
    if input.member.size > CONF_FILE_LIMIT || !is_text() {
        findings.warn(format!("{} is not sent with the configuration: it is large or no text", input.path.display()));
        return None;
    }
    Some(input)
}

#[cfg(test)]
#[path = "inputs/tests.rs"]
mod tests;
