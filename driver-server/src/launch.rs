//! From the manifest to the one command that the driver server becomes: a pure function, byte for byte, with no shell
//! between. Whether and when it is executed is decided elsewhere.

pub mod archive;
#[cfg(test)]
mod archive_tests;
pub mod become_driver;
pub mod work_directory;

use std::path::{Path, PathBuf};

use shared::driver_contract::{BUNDLE, CONF, PROPERTIES_FILE, WORK_DIR};
use shared::error_code::ErrorCode;
use shared::manifest::Launch;

use crate::error::Refusal;

/// Longest single argument in bytes that Linux passes to a program (`MAX_ARG_STRLEN`, less the final NUL).
const ARGUMENT_LIMIT: usize = 131_071;

/// What is executed, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCommand {
    /// The image's entry point.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<String>,
    /// The working directory.
    pub work_dir: PathBuf,
}

/// The command for `launch`, with everything below `directory`: the entry point as upstream's driver pod calls it.
#[must_use]
pub fn driver_command(launch: &Launch, entry_point: &Path, directory: &Path) -> DriverCommand {
    let Launch { main_class, resource, arguments, properties: _, options } = launch;
    let properties_file = directory.join(BUNDLE).join(CONF).join(PROPERTIES_FILE);
    let mut argv = vec!["driver".to_owned(), "--properties-file".to_owned(), properties_file.display().to_string()];
    // A script may have no class; an empty one would be taken for the resource's name.
    if !main_class.is_empty() {
        argv.extend(["--class".to_owned(), main_class.clone()]);
    }
    argv.extend(options.iter().cloned());
    argv.push(resource.clone());
    argv.extend(arguments.iter().cloned());
    DriverCommand { program: entry_point.to_owned(), arguments: argv, work_dir: directory.join(WORK_DIR) }
}

/// Refuses what no program can be given, before anything is uploaded. Never repeats the text, which may be a secret.
pub fn check(launch: &Launch) -> Result<(), Refusal> {
    let Launch { main_class, resource, arguments, properties: _, options } = launch;
    check_text("the main class", main_class)?;
    check_text("the main resource", resource)?;
    for (index, option) in options.iter().enumerate() {
        check_text(&format!("option {}", index + 1), option)?;
    }
    for (index, argument) in arguments.iter().enumerate() {
        check_text(&format!("argument {}", index + 1), argument)?;
    }
    Ok(())
}

fn check_text(what: &str, text: &str) -> Result<(), Refusal> {
    let reason = if text.contains('\0') {
        "holds a NUL byte, which no program can be given".to_owned()
    } else if text.len() > ARGUMENT_LIMIT {
        format!("has {} bytes; Linux passes at most {ARGUMENT_LIMIT} to a program", text.len())
    } else {
        return Ok(());
    };
    Err(Refusal::new(ErrorCode::Manifest, format!("{what} {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared::manifest::{Manifest, Member};
    use shared::report::Failure as _;
    use std::collections::BTreeMap;

    fn launch(arguments: &[&str]) -> Launch {
        Launch {
            main_class: "org.example.Main".into(),
            resource: "local:///opt/a b.jar".into(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            properties: BTreeMap::new(),
            options: vec!["--proxy-user".into(), "it's me".into()],
        }
    }

    fn command(launch: &Launch) -> DriverCommand {
        driver_command(launch, Path::new("/opt/entrypoint.sh"), Path::new("/var/airlock"))
    }

    #[test]
    fn p01_the_command_is_the_one_of_upstreams_pod() {
        let command = command(&launch(&["--query", "select * from t", "it's", ""]));
        assert_eq!(command.program, Path::new("/opt/entrypoint.sh"));
        assert_eq!(command.work_dir, Path::new("/var/airlock/work-dir"));
        let properties = "/var/airlock/bundle/conf/spark.properties";
        let expected =
            ["driver", "--properties-file", properties, "--class", "org.example.Main", "--proxy-user", "it's me"];
        assert_eq!(command.arguments[..7], expected);
        assert_eq!(command.arguments[7..], ["local:///opt/a b.jar", "--query", "select * from t", "it's", ""]);
    }

    #[test]
    fn p02_lists_stay_lists() {
        assert_eq!(command(&launch(&["1", "2", "3"])).arguments[8..], ["1", "2", "3"]);
        assert_eq!(command(&launch(&["a,b"])).arguments[8..], ["a,b"]);
    }

    #[test]
    fn without_a_class_none_is_given() {
        let script = Launch { main_class: String::new(), options: vec![], ..launch(&["x"]) };
        assert_eq!(command(&script).arguments[3..], ["local:///opt/a b.jar", "x"]);
    }

    #[test]
    fn p01_what_no_program_can_be_given_is_refused_early_and_not_repeated() {
        for text in ["CANARY\0", &"CANARY".repeat(30_000)] {
            let refusal = check(&launch(&["ok", text])).unwrap_err();
            assert_eq!(refusal.code(), ErrorCode::Manifest);
            assert!(refusal.to_string().contains("argument 2") && !refusal.to_string().contains("CANARY"));
        }
    }

    proptest! {
        #[test]
        fn p01_arguments_pass_the_manifest_and_the_launch_unchanged(
            arguments in prop::collection::vec("(?s).{0,20}|[ '\"*$\\\\\n-]{0,6}", 0..6),
        ) {
            let given: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let manifest = Manifest::new(Vec::<Member>::new(), launch(&given)).unwrap();
            let wire = serde_json::to_vec(&manifest).unwrap();
            let received: Manifest = serde_json::from_slice(&wire).unwrap();
            prop_assert_eq!(&command(received.launch()).arguments[8..], &given[..]);
        }
    }
}
