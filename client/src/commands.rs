//! What users do with a driver once it exists, whoever submitted it: end it, look at it, list, read its log, follow it.
//! From the command line to the call; each command is a file, and `driver_name` says which pods a name means.

pub mod attach;
pub mod driver_name;
pub mod kill;
pub mod list;
pub mod logs;
pub mod status;

use std::io::Write;

use shared::error_code::ErrorCode;

use crate::cluster::Cluster;
use crate::cluster::connection::Connection;
use crate::cluster::kube_access::{self, Access};
use crate::commands::driver_name::DriverName;
use crate::error::{Problems, SubmitError};
use crate::interrupt::Interrupts;
use crate::progress::Progress;
use crate::run::{exit_status, namespace};
use crate::settings::cli::DriverCommand;
use crate::settings::resolve::{ControlSettings, Environment, control};
use crate::submit::Outcome;

/// Runs one command and returns its exit status.
pub async fn run(command: &DriverCommand, progress: &Progress) -> Result<u8, Problems> {
    let (settings, warnings) = control(command, &Environment::of_process());
    for warning in warnings {
        progress.say(format!("warning: {warning}"));
    }
    let settings = settings?;
    for line in &settings.described {
        progress.say(line);
    }
    let access = kube_access::connect(&settings.access).await?;
    let server = settings.master.clone().unwrap_or_else(|| format!("k8s://{}", access.server));
    let cluster = cluster(access, &settings, progress)?;
    let outcome = carry_out(command, &cluster, &settings, &server, progress).await?;
    Ok(exit_status(&outcome, settings.follow.exit_status))
}

fn cluster(access: Access, settings: &ControlSettings, progress: &Progress) -> Result<Cluster, SubmitError> {
    let namespace = namespace(settings.namespace.clone(), &access.namespace)?;
    let request_timeout = settings.access.request_timeout;
    let connection = Connection::new(access, &settings.access);
    Ok(Cluster::new(connection, namespace.as_str(), request_timeout, settings.api, progress.clone()))
}

async fn carry_out(
    command: &DriverCommand,
    cluster: &Cluster,
    settings: &ControlSettings,
    server: &str,
    progress: &Progress,
) -> Result<Outcome, Problems> {
    let stdout = std::io::stdout();
    match command {
        DriverCommand::Kill(arguments) => {
            if arguments.as_submit {
                progress.say(kill::request_line(&arguments.names.join(" "), server, settings.grace));
            }
            let names = names(&arguments.names)?;
            let killed = kill::kill(cluster, &names, settings.grace, progress).await;
            killed.inspect_err(|problems| say_as_upstream(problems, &names, arguments.as_submit, progress))?;
        }
        DriverCommand::Status(arguments) if arguments.as_submit => {
            progress.say(status::request_line(&arguments.names.join(" "), server));
            let names = names(&arguments.names)?;
            let shown = status::status(cluster, &names, |text| progress.say(text)).await;
            shown.inspect_err(|problems| say_as_upstream(problems, &names, true, progress))?;
        }
        DriverCommand::Status(arguments) => {
            status::status(cluster, &names(&arguments.names)?, write_line).await?;
        }
        DriverCommand::List(arguments) => {
            list::list(cluster, arguments.all_namespaces, arguments.output, stdout, progress).await?;
        }
        DriverCommand::Logs(arguments) => {
            let name = DriverName::parse(&arguments.name)?;
            logs::logs(cluster, &name, arguments.follow, settings.api, stdout).await?;
        }
        DriverCommand::Attach(arguments) => {
            let name = DriverName::parse(&arguments.name)?;
            let mut interrupts = Interrupts::listen()?;
            let attached = attach::attach(cluster, &name, &settings.follow, &mut interrupts, progress);
            return Ok(Outcome::Ended(attached.await?));
        }
    }
    Ok(Outcome::Done)
}

fn names(texts: &[String]) -> Result<Vec<DriverName>, Problems> {
    let mut problems = Vec::new();
    let mut keep = |name: Result<_, SubmitError>| name.map_err(|problem| problems.push(problem)).ok();
    let names = texts.iter().filter_map(|text| keep(DriverName::parse(text))).collect();
    Problems::check(problems).map(|()| names)
}

/// Upstream's words for what it calls a success, before our own.
fn say_as_upstream(problems: &Problems, names: &[DriverName], as_submit: bool, progress: &Progress) {
    if as_submit && problems.code() == ErrorCode::NotFound {
        let several = names.iter().any(DriverName::is_pattern);
        progress.say(if several { "No applications found." } else { "Application not found." });
    }
}

/// To stdout. A reader that has gone away has seen enough.
fn write_line(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
