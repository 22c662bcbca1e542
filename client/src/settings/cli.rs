//! The command line, as declarations only: what may be written, not what it means. `resolve` makes settings of it, and no
//! other file knows clap. Words before the main resource are ours, everything from it on is the application's (P03).

mod drivers;
mod submit;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use shared::error_code::ErrorCode;

use crate::error::SubmitError;
pub use drivers::{
    AttachArguments, ClusterArguments, DriverCommand, KillArguments, ListArguments, ListFormat, LogsArguments,
    StatusArguments,
};
pub use submit::{DryRun, SubmitArguments};

/// submit spark applications to kubernetes, local files and all
#[derive(Debug, Parser)]
#[command(name = "airlock", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a process has one of it")]
pub enum Command {
    /// start an application; its local files go straight into the driver pod
    Submit(SubmitArguments),
    /// Something for drivers that exist.
    #[command(flatten)]
    Driver(DriverCommand),
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Parsed {
    /// A command to run.
    Run(Box<Cli>),
    /// A text for stdout: help or version.
    Show(String),
}

/// Options of spark-submit that this version does not take, and why.
const REFUSED: &[(&str, &str)] = &[("--remote", "is for spark connect clients, not for a submission")];

/// Reads the words of the command line, the program's name first.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Parsed, SubmitError> {
    let words: Vec<OsString> = words.into_iter().collect();
    match Cli::try_parse_from(&words) {
        Ok(cli) => check_options(note_repeated(cli, &words)).map(|cli| Parsed::Run(Box::new(cli))),
        Err(error) if !error.use_stderr() => Ok(Parsed::Show(error.to_string())),
        Err(error) => Err(usage_error(&error, words.get(1))),
    }
}

fn note_repeated(mut cli: Cli, words: &[OsString]) -> Cli {
    let Command::Submit(submit) = &mut cli.command else { return cli };
    let options = &words[..words.len().saturating_sub(submit.application.len())];
    let is = |word: &&OsString, flag: &str| {
        word.to_str().is_some_and(|word| word.split('=').next().is_some_and(|name| name == flag))
    };
    let given: Vec<_> = submit.properties().into_iter().map(|(flag, ..)| flag).collect();
    submit.repeated =
        given.into_iter().filter(|flag| options.iter().filter(|word| is(word, flag)).count() > 1).collect();
    cli
}

/// The first word that clap knows no option for becomes the resource: an option that nobody knows must not (P03).
fn check_options(cli: Cli) -> Result<Cli, SubmitError> {
    let Command::Submit(submit) = &cli.command else { return Ok(cli) };
    let first = submit.application.first().map(|word| word.to_string_lossy().into_owned());
    match first {
        Some(word) if word.starts_with('-') => Err(unknown_option(&word)),
        _ => Ok(submit.driver_command()?.map_or(cli, |command| Cli { command: Command::Driver(command) })),
    }
}

fn unknown_option(word: &str) -> SubmitError {
    let name = word.split('=').next().unwrap_or(word);
    match REFUSED.iter().find(|(flag, _)| *flag == name) {
        Some((_, reason)) => SubmitError::new(ErrorCode::Usage, format!("{name} {reason}")),
        None => SubmitError::new(ErrorCode::Usage, format!("unknown option {name:?} before the main resource"))
            .hint("airlock submit --help lists the options; those of the application follow the main resource"),
    }
}

/// clap's own message in our form: its first line, and its tips as hints. `command` is the first word given.
fn usage_error(error: &clap::Error, command: Option<&OsString>) -> SubmitError {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("the command line cannot be read").trim_start_matches("error: ");
    let what = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if command.is_none() => "no command was named".to_owned(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "nothing to submit was named".to_owned(),
        ErrorKind::MissingRequiredArgument => format!("{first} {}", lines.next().unwrap_or_default()),
        _ => first.to_owned(),
    };
    let tips = lines.filter_map(|line| line.strip_prefix("tip: "));
    let failure = tips.fold(SubmitError::new(ErrorCode::Usage, what), SubmitError::hint);
    let known = |word: &&OsString| Cli::command().find_subcommand(word).is_some();
    match command.filter(known) {
        Some(command) => failure.hint(format!("airlock {} --help lists the options", command.display())),
        None => failure.hint("airlock --help lists the commands"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared::report::Failure;

    fn try_submit(words: &[&str]) -> Result<SubmitArguments, SubmitError> {
        let words = ["airlock", "submit"].iter().chain(words).map(OsString::from);
        match parse(words)? {
            Parsed::Run(cli) => match cli.command {
                Command::Submit(arguments) => Ok(arguments),
                Command::Driver(command) => panic!("no submission: {command:?}"),
            },
            Parsed::Show(text) => panic!("help instead of a submission: {text}"),
        }
    }

    fn submit(words: &[&str]) -> SubmitArguments {
        try_submit(words).unwrap()
    }

    #[test]
    fn the_declarations_hold_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn p03_options_after_the_resource_are_the_applications() {
        let words =
            ["EchoArgs.jar", "--help", "--conf", "x", "--", "", "-v", "-", "--name=a", "--packages", "--", "-c"];
        let arguments = submit(&[&["--class", "M"][..], &words].concat());
        assert_eq!(arguments.application, words);
        assert!(!arguments.verbose && arguments.conf.is_empty() && arguments.name.is_none());
    }

    #[test]
    fn p03_an_unknown_option_before_the_resource_is_named() {
        for word in ["--packges", "--unknown=1", "-x", "-vx", "--"] {
            let error = try_submit(&["--name", "n", word, "a.jar", "--class"]).map(|a| a.application);
            if word == "--" {
                assert_eq!(error.unwrap(), ["a.jar", "--class"], "the usual end of options");
                continue;
            }
            let error = error.unwrap_err();
            assert_eq!(error.code(), ErrorCode::Usage);
            assert!(error.to_string().contains(word.split('=').next().unwrap()), "{error}");
        }
    }

    #[test]
    fn p03_options_of_later_versions_are_refused_by_name() {
        for (flag, reason) in REFUSED {
            let error = try_submit(&[flag, "x", "a.jar"]).unwrap_err();
            assert_eq!((error.code(), error.to_string()), (ErrorCode::Usage, format!("{flag} {reason}")));
        }
    }

    #[test]
    fn p03_a_value_may_look_like_an_option() {
        let arguments =
            submit(&["--driver-java-options", "-Xmx1g -Dx=y", "--name", "---", "--jars=-a.jar", "-c", "-k=v", "r.jar"]);
        assert_eq!(arguments.driver_java_options.as_deref(), Some("-Xmx1g -Dx=y"));
        assert_eq!(arguments.name.as_deref(), Some("---"));
        assert_eq!((arguments.jars.as_deref(), arguments.conf[0].as_str()), (Some("-a.jar"), "-k=v"));
        assert_eq!(arguments.application, ["r.jar"]);
    }

    fn driver_command(words: &[&str]) -> DriverCommand {
        match parse(["airlock"].iter().chain(words).map(OsString::from)).unwrap() {
            Parsed::Run(cli) => match cli.command {
                Command::Driver(command) => command,
                Command::Submit(submit) => panic!("a submission: {submit:?}"),
            },
            Parsed::Show(text) => panic!("{text}"),
        }
    }

    #[test]
    fn kill_and_status_of_submit_are_the_commands_of_that_name() {
        let words = ["submit", "--master", "k8s://h", "--kill", "n:pi*", "-c", "spark.a=1", "--name", "x"];
        let DriverCommand::Kill(kill) = driver_command(&words) else { panic!("no kill") };
        assert_eq!((kill.names, kill.as_submit), (vec!["n:pi*".to_owned()], true));
        assert_eq!(
            (kill.cluster.master.as_deref(), kill.cluster.conf),
            (Some("k8s://h"), vec!["spark.a=1".to_owned()])
        );
        assert!(matches!(driver_command(&["submit", "--status=x"]), DriverCommand::Status(status) if status.as_submit));
        assert!(matches!(driver_command(&["kill", "a", "b"]), DriverCommand::Kill(kill) if !kill.as_submit));
    }

    #[test]
    fn kill_and_status_go_with_nothing_to_submit_and_not_together() {
        for words in [&["--kill", "x", "a.jar"][..], &["--kill", "x", "--status", "y"], &["--status", "x", "--unknown"]]
        {
            assert_eq!(try_submit(words).unwrap_err().code(), ErrorCode::Usage, "{words:?}");
        }
    }

    #[test]
    fn flags_of_driver_commands_stand_for_properties() {
        let words = ["attach", "-n", "team", "--context", "c", "--logs", "pi"];
        let expected = [
            ("--namespace", "spark.kubernetes.namespace", "team"),
            ("--context", "spark.kubernetes.context", "c"),
            ("--logs", "spark.airlock.followLogs", "true"),
        ];
        assert_eq!(driver_command(&words).properties(), expected);
    }

    #[test]
    fn a_missing_name_is_named_with_the_help_of_its_command() {
        for command in ["kill", "status", "logs", "attach"] {
            let error = parse(["airlock", command].map(OsString::from)).unwrap_err();
            assert!(error.to_string().contains("<NAME>"), "{error}");
            assert_eq!(error.hints(), [format!("airlock {command} --help lists the options")]);
        }
    }

    #[test]
    fn claps_own_errors_are_usage_errors() {
        for words in [&["--name"][..], &[]] {
            let error = try_submit(words).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Usage);
            assert!(!error.to_string().contains("error:") && !error.to_string().contains('\n'), "{error}");
        }
    }

    #[test]
    fn repeated_conf_is_kept_in_order_and_a_comma_splits_nothing() {
        assert_eq!(submit(&["-c", "spark.a=1,2", "--conf=spark.b=", "r.jar"]).conf, ["spark.a=1,2", "spark.b="]);
    }

    #[test]
    fn p03_the_last_of_a_repeated_flag_counts_and_it_is_noted() {
        let arguments = submit(&["--jars", "a.jar", "--name", "n", "--jars=b.jar", "r.jar", "--name", "x"]);
        assert_eq!((arguments.jars.as_deref(), arguments.repeated), (Some("b.jar"), vec!["--jars"]));
    }

    #[test]
    fn help_is_a_text_for_stdout() {
        for words in [&["airlock", "--help"][..], &["airlock", "submit", "-h"], &["airlock", "--version"]] {
            assert!(matches!(parse(words.iter().map(OsString::from)), Ok(Parsed::Show(_))), "{words:?}");
        }
    }

    proptest! {
        #[test]
        fn p01_arguments_arrive_byte_for_byte(tail in prop::collection::vec("(?s)-{0,2}.{0,8}", 0..6)) {
            let words: Vec<&str> = ["-v", "r.jar"].into_iter().chain(tail.iter().map(String::as_str)).collect();
            let arguments = submit(&words);
            let expected: Vec<OsString> = tail.iter().map(OsString::from).collect();
            prop_assert_eq!(&arguments.application[1..], expected);
        }
    }
}
