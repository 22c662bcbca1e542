//! The last step: the process becomes the driver. Nothing of the server is left then. Descriptors close themselves, std
//! empties the signal mask and resets SIGPIPE, and the kernel resets every signal that has a handler.

use std::env;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use shared::error_code::ErrorCode;

use crate::error::Refusal;
use crate::launch::DriverCommand;

/// Executes `command` in place of this process. Returns only if that failed.
#[must_use]
pub fn become_driver(command: &DriverCommand) -> Refusal {
    let DriverCommand { program, arguments, work_dir } = command;
    let error =
        Command::new(program).args(arguments).current_dir(work_dir).envs(utf8_locale(|name| env::var_os(name))).exec();
    // The error is the kernel's word on the file or the size of the arguments, never an argument itself.
    Refusal::new(ErrorCode::Launch, format!("{} cannot be executed: {error}", program.display())).hint(ENTRY_POINT_HINT)
}

/// A locale for images that name none: without one the JVM reads its arguments as ASCII, and all other letters are lost.
fn utf8_locale(variable: impl Fn(&str) -> Option<OsString>) -> Option<(&'static str, &'static str)> {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"].iter().any(|name| variable(name).is_some_and(|value| !value.is_empty()));
    (!named).then_some(("LC_CTYPE", "C.UTF-8"))
}

/// Refuses, before anything is uploaded, an image that has no such program.
pub fn check_entry_point(program: &Path) -> Result<(), Refusal> {
    let reason = match program.metadata() {
        Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => return Ok(()),
        Ok(metadata) if metadata.is_file() => "it is not executable".to_owned(),
        Ok(_) => "it is not a file".to_owned(),
        Err(error) => error.to_string(),
    };
    let detail = format!("the image has no entry point {}: {reason}", program.display());
    Err(Refusal::new(ErrorCode::Launch, detail).hint(ENTRY_POINT_HINT))
}

const ENTRY_POINT_HINT: &str = "set spark.airlock.driver.entryPoint to the image's own entry point";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p01_a_locale_is_added_only_where_the_image_names_none() {
        assert_eq!(utf8_locale(|_| None), Some(("LC_CTYPE", "C.UTF-8")));
        assert_eq!(utf8_locale(|name| (name == "LANG").then(|| "de_DE.UTF-8".into())), None);
    }
}
