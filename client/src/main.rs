//! The binary `airlock`: hands the command line to the library, prints what it answers, returns its status.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let ending = client::run(std::env::args_os());
    // Whoever closed the stream does not want to read: that is no failure of the run.
    let _ = std::io::stdout().write_all(ending.stdout.as_bytes());
    let _ = std::io::stderr().write_all(ending.stderr.as_bytes());
    ExitCode::from(ending.status)
}
