//! Which name each input has in the driver (F05, F06): one file is sent once however often it is named; two things never
//! have one name there. Jars are found by the classpath, so they get another name where theirs is taken; everything else
//! is found by name, so equal names are refused with both paths. Nothing is opened here.

use std::collections::{HashMap, HashSet};

use shared::error_code::ErrorCode;
use shared::manifest::{Member, MemberKind, NAME_LIMIT, check_name};

use super::reference::kind_word;
use super::spark_uri;
use super::{Placed, PlacedInput};
use crate::error::{Findings, SubmitError};
use crate::inputs::inspected_input::InspectedInput;

/// One input after expansion, in the order of the command line.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it is for.
    pub kind: MemberKind,
    /// As messages call it.
    pub text: String,
    /// After the `#`.
    pub alias: Option<String>,
    /// Where it is.
    pub found: Found,
}

/// Where a candidate is.
#[derive(Clone, Debug)]
pub enum Found {
    /// A regular file here; for now it is called by its base name.
    Here(InspectedInput),
    /// In the image or remote.
    Elsewhere(String),
}

/// What stands behind a name in the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Source {
    File((u64, u64)),
    /// An archive's folder is never the file that it was unpacked from.
    Folder((u64, u64)),
    Uri(String),
}

/// Gives each candidate its place, and collects the members to send.
pub fn assign(candidates: &[Candidate], findings: &mut Findings) -> (Vec<InspectedInput>, Vec<PlacedInput>) {
    let mut naming = Naming::default();
    let mut placed: Vec<Option<PlacedInput>> = vec![None; candidates.len()];
    // Names that are not ours to choose come first, so that those which are can keep away from them.
    for round in [Round::Named, Round::Aliased, Round::Jars] {
        for (candidate, place) in
            candidates.iter().zip(&mut placed).filter(|(candidate, _)| round_of(candidate) == round)
        {
            *place = findings.keep(naming.place(candidate)).flatten();
        }
    }
    (naming.members, placed.into_iter().flatten().collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Named,
    Aliased,
    Jars,
}

fn round_of(candidate: &Candidate) -> Round {
    match (candidate.kind, &candidate.alias, &candidate.found) {
        (MemberKind::Jar, _, Found::Here(_)) => Round::Jars,
        (MemberKind::Archive, Some(_), Found::Here(_)) => Round::Aliased,
        _ => Round::Named,
    }
}

#[derive(Default)]
struct Naming {
    members: Vec<InspectedInput>,
    /// Name in the driver or at an executor, what stands behind it, and how messages call that.
    names: HashMap<String, (Source, String)>,
    /// Members by file and name.
    by_file: HashMap<(u64, u64), Vec<usize>>,
    /// The number that the next jar or archive of a base name gets.
    numbers: HashMap<String, u32>,
    /// What Spark is told of already.
    listed: HashSet<PlacedInput>,
}

impl Naming {
    /// None where the same thing stands in the same list already.
    fn place(&mut self, candidate: &Candidate) -> Result<Option<PlacedInput>, SubmitError> {
        let place = match &candidate.found {
            Found::Elsewhere(uri) => self.elsewhere(candidate, uri)?,
            Found::Here(input) => match candidate.kind {
                MemberKind::Jar => self.jar(input),
                MemberKind::Archive => self.archive(candidate, input)?,
                _ => self.named(candidate, input)?,
            },
        };
        let alias = self.alias_to_list(candidate, &place);
        let entry = PlacedInput { kind: candidate.kind, place, alias };
        // The main jar is on the classpath without being listed: spark-submit adds it to spark.jars itself (F06).
        let as_main = PlacedInput { kind: MemberKind::App, ..entry.clone() };
        if self.listed.contains(&entry) || (entry.kind == MemberKind::Jar && self.listed.contains(&as_main)) {
            return Ok(None);
        }
        self.listed.insert(entry.clone());
        Ok(Some(entry))
    }

    /// A file that is sent has its alias as its name already; an archive and what lies elsewhere still need theirs.
    fn alias_to_list(&self, candidate: &Candidate, place: &Placed) -> Option<String> {
        match place {
            Placed::Member(index) if self.members[*index].member.kind != MemberKind::Archive => None,
            _ => candidate.alias.clone(),
        }
    }

    fn elsewhere(&mut self, candidate: &Candidate, uri: &str) -> Result<Placed, SubmitError> {
        let base = uri.rsplit(['/', ':']).next().unwrap_or(uri);
        let name = candidate.alias.as_deref().unwrap_or(base);
        if !name.is_empty() {
            self.claim(name, Source::Uri(uri.to_owned()), candidate)?;
        }
        Ok(Placed::Elsewhere(uri.to_owned()))
    }

    /// Main resource, file or py-file: found by its name in the working directory.
    fn named(&mut self, candidate: &Candidate, input: &InspectedInput) -> Result<Placed, SubmitError> {
        let name = candidate.alias.as_deref().unwrap_or(&input.member.name);
        check(candidate, name)?;
        self.claim(name, Source::File(input.identity().file), candidate)?;
        let same = |member: &Member| member.kind != MemberKind::Archive && member.name == name;
        Ok(self.find(input, same).unwrap_or_else(|| self.add(candidate.kind, name.to_owned(), None, input)))
    }

    /// Found by the name of its folder; its own is free where it has an alias.
    fn archive(&mut self, candidate: &Candidate, input: &InspectedInput) -> Result<Placed, SubmitError> {
        let base = &input.member.name;
        let folder = candidate.alias.as_deref().unwrap_or(base);
        check(candidate, folder)?;
        self.claim(folder, Source::Folder(input.identity().file), candidate)?;
        let same = |member: &Member| member.kind == MemberKind::Archive && member.alias == candidate.alias;
        Ok(self.find(input, same).unwrap_or_else(|| {
            // The driver serves archives and files to executors under one set of names.
            let name = if candidate.alias.is_some() { self.free_name(base) } else { base.clone() };
            self.add(MemberKind::Archive, name, candidate.alias.clone(), input)
        }))
    }

    fn jar(&mut self, input: &InspectedInput) -> Placed {
        self.find(input, |member| member.kind != MemberKind::Archive).unwrap_or_else(|| {
            let name = self.free_name(&input.member.name);
            self.add(MemberKind::Jar, name, None, input)
        })
    }

    /// The member that is the same file and `fits`.
    fn find(&self, input: &InspectedInput, fits: impl Fn(&Member) -> bool) -> Option<Placed> {
        let members = self.by_file.get(&input.identity().file)?;
        members.iter().find(|index| fits(&self.members[**index].member)).map(|index| Placed::Member(*index))
    }

    fn add(&mut self, kind: MemberKind, name: String, alias: Option<String>, input: &InspectedInput) -> Placed {
        let (index, file) = (self.members.len(), input.identity().file);
        self.names.entry(name.clone()).or_insert_with(|| (Source::File(file), input.path.display().to_string()));
        self.by_file.entry(file).or_default().push(index);
        let mut input = input.clone();
        input.member = Member { kind, name, alias, ..input.member };
        self.members.push(input);
        Placed::Member(index)
    }

    fn claim(&mut self, name: &str, source: Source, candidate: &Candidate) -> Result<(), SubmitError> {
        let text = format!("{} {:?}", kind_word(candidate.kind), candidate.text);
        match self.names.get(name) {
            Some((other, first)) if *other != source => {
                let what = format!("{first} and {text} would both be {name:?} in the driver");
                Err(SubmitError::new(ErrorCode::DupName, what).hint(rename_hint(candidate.kind)))
            }
            Some(_) => Ok(()),
            None => {
                self.names.insert(name.to_owned(), (source, text));
                Ok(())
            }
        }
    }

    /// `base`, made safe, or `stem-2.ext`, `stem-3.ext`, … where it is taken.
    fn free_name(&mut self, base: &str) -> String {
        let base = spark_uri::safe_name(base);
        // What is longer is no extension; were it kept whole, a number might not fit beside it.
        let is_extension = |dot: &usize| *dot > 0 && base.len() - dot <= 32;
        let (stem, extension) = base.split_at(base.rfind('.').filter(is_extension).unwrap_or(base.len()));
        // Where the last search ended: ten thousand jars of one name must not each begin at 2.
        let number = self.numbers.entry(base.clone()).or_insert(1);
        loop {
            let ending = if *number == 1 { extension.to_owned() } else { format!("-{number}{extension}") };
            let name = shorten(stem, &ending);
            *number += 1;
            if !self.names.contains_key(&name) {
                return name;
            }
        }
    }
}

/// `stem` and `ending` together, the stem cut where both are too long for a file name.
fn shorten(stem: &str, ending: &str) -> String {
    let room = NAME_LIMIT.saturating_sub(ending.len());
    let end = (0..=room.min(stem.len())).rev().find(|end| stem.is_char_boundary(*end)).unwrap_or(0);
    format!("{}{ending}", &stem[..end])
}

fn check(candidate: &Candidate, name: &str) -> Result<(), SubmitError> {
    let refuse = |reason: String| {
        let what =
            format!("{} {:?} cannot be sent under its name: {reason}", kind_word(candidate.kind), candidate.text);
        SubmitError::new(ErrorCode::InputUnreadable, what).hint(rename_hint(candidate.kind))
    };
    check_name(name).map_err(|error| refuse(error.to_string()))?;
    let is_kept = match candidate.kind {
        MemberKind::App => spark_uri::check_main_name(name),
        _ => spark_uri::check_list_name(name),
    };
    is_kept.map_err(|reason| refuse(reason.to_owned()))
}

fn rename_hint(kind: MemberKind) -> &'static str {
    match kind {
        MemberKind::App | MemberKind::Jar | MemberKind::Conf => "rename the file",
        MemberKind::File | MemberKind::PyFile | MemberKind::Archive => "give it another name in the driver: path#name",
    }
}
