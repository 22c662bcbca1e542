//! Whether the driver server is in the driver's image or is brought there: `spark.airlock.driver.inject`. An image cannot be
//! looked into from here, so `auto` goes by what was said and nothing else: with `spark.airlock.driver.image` it is brought.

use shared::driver_contract::INJECTED_COMMAND;
use shared::error_code::ErrorCode;

use super::driver::{absolute_path, image_name};
use super::values::Reader;
use crate::error::SubmitError;

const INJECT: &str = "spark.airlock.driver.inject";
const IMAGE: &str = "spark.airlock.driver.image";
const COMMAND: &str = "spark.airlock.driver.command";

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Inject {
    #[default]
    Auto,
    Never,
    Always,
}

/// The driver server's path in the driver's container, and the image that it is brought from, if it is.
pub(super) fn resolve(reader: &mut Reader<'_>) -> (String, Option<String>) {
    let inject = reader.must(INJECT, inject);
    let image = reader.read(IMAGE, image_name);
    let command = reader.must(COMMAND, absolute_path);
    let command_is_given = reader.conf.get(COMMAND).is_some();
    match (inject, image) {
        (Inject::Always, None) if reader.conf.get(IMAGE).is_none() => {
            let problem = SubmitError::new(ErrorCode::ConfValue, format!("{INJECT}=always needs {IMAGE}"));
            reader.findings.problem(problem.hint(format!("--conf {IMAGE}=IMAGE, one that holds /airlock-driver")));
            (command, None)
        }
        (Inject::Auto, Some(_)) if command_is_given => {
            let what = format!("{IMAGE} brings the driver server, and {COMMAND} says that the image has it");
            let problem = SubmitError::new(ErrorCode::ConfValue, what);
            reader.findings.problem(problem.hint(format!("say which: --conf {INJECT}=always or {INJECT}=never")));
            (command, None)
        }
        (Inject::Auto | Inject::Always, Some(image)) => {
            if command_is_given {
                reader.findings.warn(format!("{COMMAND} has no effect with {INJECT}=always"));
            }
            (INJECTED_COMMAND.to_owned(), Some(image))
        }
        (_, _) => (command, None),
    }
}

fn inject(text: &str) -> Result<Inject, &'static str> {
    match text {
        "auto" => Ok(Inject::Auto),
        "never" => Ok(Inject::Never),
        "always" => Ok(Inject::Always),
        _ => Err("it must be auto, never or always"),
    }
}
