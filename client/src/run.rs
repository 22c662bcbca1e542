//! The process from its command line to its exit status. Each line is a step that another module does.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;
use std::time::SystemTime;

use shared::bundle::BundleLayout;
use shared::error_code::ErrorCode;
use shared::manifest::Manifest;

use crate::cluster::Cluster;
use crate::cluster::connection::Connection;
use crate::cluster::kube_access;
use crate::commands;
use crate::dry_run;
use crate::error::{Problems, SubmitError};
use crate::inputs::Inputs;
use crate::interrupt::Interrupts;
use crate::launch::launch;
use crate::multi_call::own_words;
use crate::objects::driver_pod::PodContext;
use crate::preflight::preflight;
use crate::progress::Progress;
use crate::resubmission::submit_once;
use crate::settings::cli::{self, Command, DryRun, Parsed, SubmitArguments};
use crate::settings::names::{ObjectName, RANDOM_BYTES, SubmissionNames, check_pod_name};
use crate::settings::prepare::{Prepared, prepare};
use crate::settings::resolve::Environment;
use crate::settings::{ExitStatus, Settings};
use crate::submit::{Outcome, Submission, pod_context};
use crate::upload::bundle_transfer::BundleTransfer;

/// Name of the process in what it prints.
const PROGRAM: &str = "airlock";

/// Runs the words of a command line, the program's name first.
pub async fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let progress = Progress::stderr(false);
    let ended = match cli::parse(own_words(words)) {
        Ok(Parsed::Show(text)) => return show(&text),
        Ok(Parsed::Run(cli)) => {
            // Boxed: each is large, and only one of them runs.
            match &cli.command {
                Command::Submit(arguments) => Box::pin(submit(arguments, &progress)).await,
                Command::Driver(command) => Box::pin(commands::run(command, &progress)).await,
            }
        }
        Err(error) => Err(error.into()),
    };
    match ended {
        Ok(status) => ExitCode::from(status),
        Err(problems) => {
            progress.say(problems.render(PROGRAM));
            ExitCode::from(problems.code().exit_status())
        }
    }
}

/// Help and version are what was asked for: stdout. A reader that has gone away has seen enough.
fn show(text: &str) -> ExitCode {
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// Returns the exit status.
async fn submit(arguments: &SubmitArguments, progress: &Progress) -> Result<u8, Problems> {
    let mut interrupts = Interrupts::listen()?;
    let (prepared, warnings) = prepare(arguments, &Environment::of_process());
    for warning in warnings {
        progress.say(format!("warning: {warning}"));
    }
    let Prepared { settings, inputs, described } = prepared?;
    for line in described {
        progress.say(line);
    }

    if arguments.dry_run == Some(DryRun::Client) {
        let local = kube_access::local_namespace(&settings.access);
        let namespace = namespace(settings.namespace.clone(), local.as_deref().unwrap_or("default"))?;
        let (names, manifest) = plan(&settings, &inputs, &namespace)?;
        return describe(&settings, &names, &context(&settings, &namespace, &manifest)?, &manifest);
    }
    let access = tokio::select! {
        access = kube_access::connect(&settings.access) => access?,
        interrupt = interrupts.next() => {
            return Err(SubmitError::new(interrupt.code(), "interrupted before anything was created").into());
        }
    };
    let namespace = namespace(settings.namespace.clone(), &access.namespace)?;
    let (names, manifest) = plan(&settings, &inputs, &namespace)?;
    let who = access.who.clone();
    let cluster = Cluster::new(
        Connection::new(access, &settings.access),
        namespace.as_str(),
        settings.access.request_timeout,
        settings.deadlines.api,
        progress.clone(),
    );
    if arguments.dry_run == Some(DryRun::Server) {
        let context = context(&settings, &namespace, &manifest)?;
        let cleared = preflight(&cluster, &settings, &names, context, &who).await?;
        return describe(&settings, &names, &cleared.context, &manifest);
    }
    let submission = Submission {
        cluster: &cluster,
        who: &who,
        user: &user(),
        settings: &settings,
        names: &names,
        transfer: &BundleTransfer::new(manifest, inputs.members),
        progress,
    };
    let outcome = match &settings.submission_key {
        Some(key) => submit_once(&submission, key, &mut interrupts).await?,
        None => submission.run(&mut interrupts).await?,
    };
    Ok(exit_status(&outcome, settings.follow.exit_status))
}

/// The status that an outcome ends the process with.
pub(crate) fn exit_status(outcome: &Outcome, rule: ExitStatus) -> u8 {
    match (outcome, rule) {
        (Outcome::Deployed | Outcome::Done, _) | (Outcome::Ended(_), ExitStatus::Upstream) => 0,
        // An exit code is one byte; the kubelet's is the process's own.
        (Outcome::Ended(ended), ExitStatus::Driver) => u8::try_from(ended.exit_code).unwrap_or(u8::MAX),
    }
}

/// The namespace that was chosen, else that of context or pod.
pub(crate) fn namespace(chosen: Option<ObjectName>, other: &str) -> Result<ObjectName, SubmitError> {
    chosen.map_or_else(|| ObjectName::label(other), Ok).map_err(|error| {
        SubmitError::new(ErrorCode::Kubeconfig, "the context's namespace cannot be one").because(error)
    })
}

/// The names of everything that is made, and what the driver server is to receive and start.
fn plan(
    settings: &Settings,
    inputs: &Inputs,
    namespace: &ObjectName,
) -> Result<(SubmissionNames, Manifest), SubmitError> {
    let names = SubmissionNames::new(&settings.application.name, settings.driver.pod_name.as_ref(), &random_bytes()?);
    check_pod_name(&names.pod, namespace)?;
    let launch = launch(settings, inputs, &names, namespace, SystemTime::now());
    let members = inputs.members.iter().map(|input| input.member.clone()).collect();
    let manifest = Manifest::new(members, launch)
        .map_err(|error| SubmitError::bug("the inputs make no manifest, though each was checked").because(error))?;
    Ok((names, manifest))
}

/// Shows what would be made, for the exit status 0.
fn describe(
    settings: &Settings,
    names: &SubmissionNames,
    context: &PodContext,
    manifest: &Manifest,
) -> Result<u8, Problems> {
    show(&dry_run::describe(settings, names, context, manifest)?);
    Ok(0)
}

/// The pod's context, for the user who submits.
fn context(settings: &Settings, namespace: &ObjectName, manifest: &Manifest) -> Result<PodContext, SubmitError> {
    pod_context(settings, namespace.as_str(), &user(), BundleLayout::new(manifest).total())
}

fn random_bytes() -> Result<[u8; RANDOM_BYTES], SubmitError> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| SubmitError::bug("the system gives no random bytes").because(error.to_string()))?;
    Ok(bytes)
}

/// `SPARK_USER`, as upstream chooses it: the variable, else the account that submits.
fn user() -> String {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let account = || {
        let uid = std::fs::metadata("/proc/self").ok()?.uid();
        account_name(&std::fs::read_to_string("/etc/passwd").ok()?, uid)
    };
    set("SPARK_USER").or_else(account).or_else(|| set("USER")).unwrap_or_else(|| "unknown".to_owned())
}

/// The name of `uid` in the text of a passwd file.
fn account_name(passwd: &str, uid: u32) -> Option<String> {
    let uid = uid.to_string();
    let named = |line: &str| {
        let fields: Vec<_> = line.split(':').collect();
        (fields.get(2) == Some(&uid.as_str())).then(|| fields[0].to_owned())
    };
    passwd.lines().find_map(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::pod_state::Ended;

    #[test]
    fn x01_the_status_is_the_drivers_own_unless_upstreams_is_wanted() {
        let ended = |exit_code| Outcome::Ended(Ended { exit_code, ..Ended::default() });
        for (outcome, driver) in [(Outcome::Deployed, 0), (ended(0), 0), (ended(3), 3), (ended(137), 137)] {
            assert_eq!(exit_status(&outcome, ExitStatus::Driver), driver);
            assert_eq!(exit_status(&outcome, ExitStatus::Upstream), 0);
        }
    }

    #[test]
    fn an_account_is_found_by_its_number() {
        let passwd = "root:x:0:0::/:/bin/sh\nann:x:1000:1000::/home:/bin/sh\n";
        assert_eq!(account_name(passwd, 1000).as_deref(), Some("ann"));
        assert_eq!(account_name(passwd, 10), None);
    }
}
