//! The client: everything that `airlock` does before, while and after a driver starts.

pub mod bundle_body;
pub mod bundle_source;
pub mod certificates;
pub mod cli;
pub mod compress;
pub mod dial;
pub mod duration;
pub mod error;
pub mod inputs;
pub mod inspected_input;
pub mod kubernetes_syntax;
pub mod launch;
pub mod master;
pub mod memory;
pub mod names;
pub mod prepare;
pub mod reach;
pub mod redaction;
pub mod resolve;
pub mod setting_keys;
pub mod settings;
pub mod spark_conf;
pub mod upload;

use std::ffi::OsString;

use shared::error_code::ErrorCode;

use cli::{Command, Parsed, SubmitArguments};
use error::{Problems, SubmitError};
use resolve::Environment;

/// The program's name at the beginning of its last line.
const PROGRAM: &str = "airlock";

/// What a run ends with.
#[derive(Debug, Default)]
pub struct Ending {
    /// Data that was asked for.
    pub stdout: String,
    /// Everything else.
    pub stderr: String,
    /// The process's status.
    pub status: u8,
}

/// Runs the command that `words` are, the program's name first.
#[must_use]
pub fn run(words: impl IntoIterator<Item = OsString>) -> Ending {
    match cli::parse(words) {
        Ok(Parsed::Show(text)) => Ending { stdout: text, ..Ending::default() },
        Ok(Parsed::Run(cli)) => match &cli.command {
            Command::Submit(arguments) => submit(arguments),
        },
        Err(error) => failed(String::new(), &error.into()),
    }
}

fn submit(arguments: &SubmitArguments) -> Ending {
    let (prepared, warnings) = prepare::prepare(arguments, &Environment::of_process());
    let said = lines("warning: ", &warnings);
    match prepared {
        Err(problems) => failed(said, &problems),
        Ok(prepared) => {
            let not_yet = SubmitError::new(ErrorCode::Bug, "the steps after inspection are not built yet");
            failed(said + &lines("", &prepared.described), &not_yet.into())
        }
    }
}

fn lines(kind: &str, texts: &[String]) -> String {
    texts.iter().flat_map(|text| [PROGRAM, ": ", kind, text, "\n"]).collect()
}

fn failed(before: String, problems: &Problems) -> Ending {
    let stderr = before + &problems.render(PROGRAM);
    Ending { stderr, status: problems.code().exit_status(), ..Ending::default() }
}
