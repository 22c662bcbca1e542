//! The documents against the code. Tables that state facts of the code are generated from it, between two comments; what
//! documents name (codes, keys, options, files, tests) must exist. To write the generated parts anew:
//! `AIRLOCK_UPDATE_DOCS=1 cargo test -p client --test documents`
#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the report")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use client::settings::cli::{self, Parsed};
use client::settings::setting_keys::{self, OWN_PREFIX, SETTING_KEYS, Treatment};
use shared::error_code::ErrorCode;

const DOCUMENTS: [&str; 11] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "docs/configuration.md",
    "docs/differences.md",
    "docs/errors.md",
    "docs/migrating.md",
    "docs/security.md",
    "deploy/README.md",
    "examples/README.md",
];
const END: &str = "<!-- end of generated -->";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Asserts that the part of `document` called `name` is `expected`; with `AIRLOCK_UPDATE_DOCS` makes it so.
fn assert_generated(document: &str, name: &str, expected: &str) {
    let text = read(document);
    let begin = format!("<!-- generated: {name} -->\n");
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{document} has no {begin}"));
    let (present, after) = rest.split_once(END).unwrap_or_else(|| panic!("{document} has no {END}"));
    let expected = format!("\n{expected}\n");
    if present == expected {
        return;
    }
    if std::env::var_os("AIRLOCK_UPDATE_DOCS").is_some() {
        fs::write(root().join(document), format!("{before}{begin}{expected}{END}{after}")).unwrap();
        return;
    }
    let lines: HashSet<_> = present.lines().collect();
    let wrong: Vec<_> = expected.lines().filter(|line| !lines.contains(line)).collect();
    panic!(
        "the table {name} of {document} is not the code's; missing there: {wrong:#?}\n\
         to write it anew: AIRLOCK_UPDATE_DOCS=1 cargo test -p client --test documents"
    );
}

/// The words of `text` that are made of `letters` only.
fn words(text: &str, letters: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !letters(c)).filter(|word| !word.is_empty())
}

/// What stands between backticks, outside of fenced blocks.
fn quoted(text: &str) -> Vec<String> {
    let outside: Vec<_> = text.split("```").step_by(2).collect();
    outside.iter().flat_map(|part| part.split('`').skip(1).step_by(2)).map(ToOwned::to_owned).collect()
}

#[test]
fn the_table_of_settings_is_the_codes() {
    assert_generated("docs/configuration.md", "settings", &setting_keys::reference_table());
}

/// Each code's documentation in the source, in their order.
fn meanings() -> Vec<(String, String)> {
    let (mut list, mut meaning) = (Vec::new(), Vec::new());
    for line in include_str!("../../shared/src/error_code.rs").lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// ") {
            meaning.push(text);
        } else if let Some((_, code)) = line.split_once(" = \"E_").filter(|_| line.ends_with(';')) {
            list.push((format!("E_{}", code.split('"').next().unwrap()), meaning.join(" ")));
        } else {
            meaning.clear();
        }
        if line.ends_with(';') {
            meaning.clear();
        }
    }
    list
}

#[test]
fn every_error_code_has_its_line() {
    let meanings: BTreeMap<_, _> = meanings().into_iter().collect();
    assert_eq!(meanings.len(), ErrorCode::ALL.len());
    let document = read("docs/errors.md");
    // The last column is written by hand and kept.
    let row = |line: &str| {
        Some((line.strip_prefix("| `")?.split('`').next()?.to_owned(), line.rsplit('|').nth(1)?.trim().to_owned()))
    };
    let advice: BTreeMap<String, String> = document.lines().filter_map(row).collect();
    let mut table = "| code | status | meaning | what to do |\n|---|---|---|---|\n".to_owned();
    for code in ErrorCode::ALL {
        let advice = advice.get(code.as_str()).filter(|text| !text.is_empty());
        let advice = advice.unwrap_or_else(|| panic!("docs/errors.md does not say what to do about {code}"));
        let _ = writeln!(table, "| `{code}` | {} | {} | {advice} |", code.exit_status(), meanings[code.as_str()]);
    }
    assert_generated("docs/errors.md", "codes", &table);
    for status in ErrorCode::ALL.iter().map(|code| code.exit_status()) {
        assert!(document.contains(&format!("\n| {status} |")), "docs/errors.md has no line for status {status}");
    }
}

#[test]
fn codes_and_keys_that_documents_name_exist() {
    for document in DOCUMENTS {
        let text = read(document);
        for code in words(&text, |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
            .filter(|word| word.len() > 2 && word.starts_with("E_"))
        {
            assert!(code == "E_CODE" || code.parse::<ErrorCode>().is_ok(), "{document}: {code} does not exist");
        }
        for key in words(&text, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '*')) {
            let key = key.trim_end_matches('.');
            let is_prefix = |prefix: &str| SETTING_KEYS.iter().any(|line| line.name.starts_with(prefix));
            let exists = match key.strip_suffix('*') {
                Some(prefix) => is_prefix(prefix),
                None => setting_keys::treatment(key) != Treatment::PassedOn,
            };
            assert!(!key.starts_with(OWN_PREFIX) || exists, "{document}: {key} does not exist");
        }
    }
}

#[test]
fn options_in_the_readme_exist() {
    let Parsed::Show(help) = cli::parse(["airlock", "submit", "--help"].map(Into::into)).unwrap() else {
        panic!("no help")
    };
    let known: HashSet<_> =
        words(&help, |c| c.is_ascii_lowercase() || c == '-').filter(|word| word.starts_with("--")).collect();
    let readme = read("README.md");
    let submit = readme.split("```sh\nairlock submit").nth(1).unwrap().split("```").next().unwrap();
    let named: BTreeSet<_> =
        words(submit, |c| c.is_ascii_lowercase() || c == '-').filter(|word| word.starts_with("--")).collect();
    assert!(named.len() > 3 && named.iter().all(|option| known.contains(option)), "{named:?}");
}

#[test]
fn files_that_documents_name_exist() {
    for document in DOCUMENTS {
        let text = read(document);
        let folder = root().join(document).parent().unwrap().to_owned();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            let is_file = !target.is_empty() && !target.contains("://");
            assert!(!is_file || folder.join(target).exists(), "{document}: there is no {target}");
        }
        let tops = ["client/", "driver-server/", "shared/", "e2e/", "scripts/", "deploy/", "docs/", "examples/"];
        for path in quoted(&text).iter().filter_map(|span| span.split_whitespace().next()) {
            let named = tops.iter().any(|top| path.starts_with(top));
            assert!(!named || root().join(path).exists(), "{document}: there is no {path}");
        }
    }
}

/// Names with two underscores or more in backticks are tests or functions.
#[test]
fn tests_that_documents_name_exist() {
    let mut sources = String::new();
    for top in ["client", "driver-server", "shared", "e2e"] {
        add_sources(&root().join(top), &mut sources);
    }
    let mut count = 0;
    for document in DOCUMENTS {
        for name in quoted(&read(document)) {
            let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
            if is_name && name.matches('_').count() >= 2 {
                assert!(sources.contains(&format!("fn {name}(")), "{document}: there is no test {name}");
                count += 1;
            }
        }
    }
    assert!(count > 30, "the search finds names at all: {count}");
}

fn add_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            add_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}
