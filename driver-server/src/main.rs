//! `airlock-driver`: see the library's documentation.

use std::io::Write as _;
use std::process::ExitCode;

use driver_server::cli::{Install, Task};
use driver_server::error::Refusal;
use driver_server::{cli, ending};
use shared::error_code::ErrorCode;
use shared::report::{self, Failure as _};
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    shared::tls::install_crypto_provider();
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_target(false).compact();
    log.with_max_level(LevelFilter::INFO).init();
    match cli::parse() {
        Ok(Task::Serve(arguments)) => ExitCode::from(driver_server::run(&arguments)),
        Ok(Task::Install(arguments)) => install(&arguments),
        Err(error) => usage(&error),
    }
}

fn install(arguments: &Install) -> ExitCode {
    let Err(refusal) = driver_server::install::install(&arguments.path) else { return ExitCode::SUCCESS };
    ending::write_termination_log(&arguments.termination_log, &refusal);
    // Nobody is left to tell when stderr is closed.
    let _ = std::io::stderr().write_all(report::render("airlock-driver", &refusal).as_bytes());
    ExitCode::from(refusal.code().exit_status())
}

/// `--help` and `--version` succeed; anything else is a fault of whoever built the pod, and has to show there.
fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell when the output is closed.
    let _ = error.print();
    if !error.use_stderr() {
        return ExitCode::SUCCESS;
    }
    let refusal = Refusal::new(ErrorCode::Usage, error.kind().to_string());
    ending::write_termination_log(cli::DEFAULT_TERMINATION_LOG.as_ref(), &refusal);
    ExitCode::from(ErrorCode::Usage.exit_status())
}
