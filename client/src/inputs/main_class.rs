//! The main class that a jar names itself, for a submission without `--class`: `Main-Class` of its manifest, as
//! `spark-submit` reads it. Nothing else of a jar is looked at.

use std::io::{BufReader, Read};

use shared::error_code::ErrorCode;

use crate::error::SubmitError;
use crate::inputs::inspected_input::InspectedInput;

const MANIFEST: &str = "META-INF/MANIFEST.MF";
/// Largest manifest that is read. Those of signed jars list every entry, but the main section comes first.
const LIMIT: u64 = 1024 * 1024;

/// The class that `jar` names.
pub fn of_jar(jar: &InspectedInput) -> Result<String, SubmitError> {
    let text = manifest(jar)?;
    attribute(&text, "Main-Class").ok_or_else(|| no_class(jar, "its manifest names none"))
}

fn no_class(jar: &InspectedInput, reason: &str) -> SubmitError {
    let what = format!("no main class for {}: {reason}", jar.path.display());
    SubmitError::new(ErrorCode::Usage, what).hint("name it: --class CLASS")
}

fn manifest(jar: &InspectedInput) -> Result<String, SubmitError> {
    let mut archive = zip::ZipArchive::new(BufReader::new(jar.reopen()?))
        .map_err(|error| no_class(jar, "it cannot be read as a jar").because(error))?;
    let entry = archive.by_name(MANIFEST).map_err(|error| no_class(jar, "it has no manifest").because(error))?;
    let mut bytes = Vec::new();
    let read = entry.take(LIMIT).read_to_end(&mut bytes);
    read.map_err(|error| no_class(jar, "its manifest cannot be read").because(error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The value of `name` in the main section: up to the first empty line. A line that begins with a blank goes on with the
/// one before, since no line is longer than 72 bytes.
fn attribute(manifest: &str, name: &str) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in manifest.lines().take_while(|line| !line.is_empty()) {
        match (line.strip_prefix(' '), lines.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(rest),
            _ => lines.push(line.to_owned()),
        }
    }
    let values = lines.iter().filter_map(|line| line.split_once(':'));
    let value = values.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
    value.filter(|value| !value.is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::manifest::MemberKind;
    use std::io::Write;
    use std::path::Path;

    fn jar(path: &Path, manifest: Option<&str>) -> InspectedInput {
        let mut archive = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
        let entry = if manifest.is_some() { MANIFEST } else { "other" };
        archive.start_file(entry, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(manifest.unwrap_or_default().as_bytes()).unwrap();
        archive.finish().unwrap();
        InspectedInput::open(MemberKind::App, "a.jar".into(), None, path.into()).unwrap()
    }

    #[test]
    fn the_class_is_that_of_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jar");
        for manifest in [
            "Manifest-Version: 1.0\r\nMain-Class: org.example.Main\r\n\r\n",
            "Manifest-Version: 1.0\nmain-class:  org.example.M\n ain \n\nName: x\nMain-Class: other\n",
            "Main-Class: org.example.Main",
        ] {
            assert_eq!(of_jar(&jar(&path, Some(manifest))).unwrap(), "org.example.Main", "{manifest:?}");
        }
    }

    #[test]
    fn without_one_class_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jar");
        for manifest in [None, Some("Manifest-Version: 1.0\n\nMain-Class: late\n"), Some("Main-Class: \n")] {
            assert_eq!(of_jar(&jar(&path, manifest)).unwrap_err().code(), ErrorCode::Usage);
        }
        std::fs::write(&path, "no archive").unwrap();
        let text = InspectedInput::open(MemberKind::App, "a.jar".into(), None, path).unwrap();
        assert!(of_jar(&text).unwrap_err().to_string().contains("cannot be read as a jar"));
    }
}
