//! The command line, as declarations only: what may be written, not what it means. `resolve` makes settings of it, and no
//! other file knows clap. Words before the main resource are ours, everything from it on is the application's (P03).

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use shared::error_code::ErrorCode;

use crate::error::SubmitError;

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
pub enum Command {
    /// start an application; its local files go straight into the driver pod
    Submit(SubmitArguments),
}

/// How far a submission is only tried, in kubectl's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DryRun {
    /// Nobody is asked.
    Client,
    /// The API server is asked about rights and every object, as before a submission.
    Server,
}

const INPUTS: &str = "application";
const CLUSTER: &str = "cluster";
const RESOURCES: &str = "resources";

/// `airlock submit`, as written.
#[derive(Clone, Debug, Default, Args)]
#[command(override_usage = "airlock submit [OPTIONS] <MAIN-RESOURCE> [ARGUMENTS]...", arg_required_else_help = true)]
#[command(args_override_self = true)]
pub struct SubmitArguments {
    /// api server, k8s://HOST:PORT; the kubeconfig's own when absent
    #[arg(long, value_name = "URL", allow_hyphen_values = true, help_heading = CLUSTER)]
    pub master: Option<String>,
    /// cluster, the default and the only one
    #[arg(long, value_name = "MODE", allow_hyphen_values = true, help_heading = CLUSTER)]
    pub deploy_mode: Option<String>,

    /// name of the application
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, help_heading = INPUTS)]
    pub name: Option<String>,
    /// main class, for a jar
    #[arg(long, value_name = "CLASS", allow_hyphen_values = true, help_heading = INPUTS)]
    pub class: Option<String>,
    /// jars for the classpath of driver and executors
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = INPUTS)]
    pub jars: Option<String>,
    /// files for the working directories; path#name renames
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = INPUTS)]
    pub files: Option<String>,
    /// py, zip and egg files for PYTHONPATH
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = INPUTS)]
    pub py_files: Option<String>,
    /// archives to unpack in the working directories; path#folder renames
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = INPUTS)]
    pub archives: Option<String>,

    /// maven packages for the classpath, GROUP:ARTIFACT:VERSION, resolved in the pod
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = INPUTS)]
    pub packages: Option<String>,
    /// GROUP:ARTIFACT to leave out of the packages
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = INPUTS)]
    pub exclude_packages: Option<String>,
    /// repositories for the packages, beside maven central
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = INPUTS)]
    pub repositories: Option<String>,
    /// user on whose behalf the driver works with hadoop
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, help_heading = INPUTS)]
    pub proxy_user: Option<String>,

    /// a spark property
    #[arg(long, short, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub conf: Vec<String>,
    /// file of spark properties, instead of conf/spark-defaults.conf
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub properties_file: Option<PathBuf>,
    /// read conf/spark-defaults.conf too, below --properties-file
    #[arg(long)]
    pub load_spark_defaults: bool,
    /// show what would be made, and make nothing; server: ask the api server too whether it would take it
    #[arg(long, value_name = "client|server", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    pub dry_run: Option<DryRun>,
    /// show every setting and where it comes from
    #[arg(long, short)]
    pub verbose: bool,

    /// heap of the driver, as 512m or 2g
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub driver_memory: Option<String>,
    /// cpus of the driver
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub driver_cores: Option<String>,
    /// heap of an executor
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub executor_memory: Option<String>,
    /// cpus of an executor
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub executor_cores: Option<String>,
    /// number of executors
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub num_executors: Option<String>,
    /// options of the driver's jvm
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub driver_java_options: Option<String>,
    /// library path of the driver
    #[arg(long, value_name = "PATH", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub driver_library_path: Option<String>,
    /// classpath entries of the driver, as paths in the image
    #[arg(long, value_name = "PATH", allow_hyphen_values = true, help_heading = RESOURCES)]
    pub driver_class_path: Option<String>,

    /// spark's own: properties above those of --properties-file
    #[arg(long, value_name = "FILE", allow_hyphen_values = true, hide = true)]
    pub extra_properties_file: Vec<PathBuf>,
    /// has no effect on kubernetes
    #[arg(long, value_name = "N", allow_hyphen_values = true, hide = true)]
    pub total_executor_cores: Option<String>,
    /// has no effect on kubernetes
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, hide = true)]
    pub queue: Option<String>,
    /// has no effect on kubernetes
    #[arg(long, hide = true)]
    pub supervise: bool,

    /// the jar or script to run, and its arguments
    #[arg(value_name = "MAIN-RESOURCE", trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub application: Vec<OsString>,
    /// Flags for one value that were given several: the last one counts, as upstream, and a list is lost in silence.
    #[arg(skip)]
    pub repeated: Vec<&'static str>,
}

impl SubmitArguments {
    /// The flags that stand for one property each, with the property's key.
    #[must_use]
    pub fn properties(&self) -> Vec<(&'static str, &'static str, &str)> {
        let flags = [
            ("--master", "spark.master", &self.master),
            ("--deploy-mode", "spark.submit.deployMode", &self.deploy_mode),
            ("--name", "spark.app.name", &self.name),
            ("--jars", "spark.jars", &self.jars),
            ("--files", "spark.files", &self.files),
            ("--py-files", "spark.submit.pyFiles", &self.py_files),
            ("--archives", "spark.archives", &self.archives),
            ("--packages", "spark.jars.packages", &self.packages),
            ("--exclude-packages", "spark.jars.excludes", &self.exclude_packages),
            ("--repositories", "spark.jars.repositories", &self.repositories),
            ("--driver-memory", "spark.driver.memory", &self.driver_memory),
            ("--driver-cores", "spark.driver.cores", &self.driver_cores),
            ("--executor-memory", "spark.executor.memory", &self.executor_memory),
            ("--executor-cores", "spark.executor.cores", &self.executor_cores),
            ("--num-executors", "spark.executor.instances", &self.num_executors),
            ("--driver-java-options", "spark.driver.extraJavaOptions", &self.driver_java_options),
            ("--driver-library-path", "spark.driver.extraLibraryPath", &self.driver_library_path),
            ("--driver-class-path", "spark.driver.extraClassPath", &self.driver_class_path),
        ];
        flags.into_iter().filter_map(|(flag, key, value)| Some((flag, key, value.as_deref()?))).collect()
    }

    /// The flags given that spark-submit takes and that mean nothing on Kubernetes.
    #[must_use]
    pub fn without_effect(&self) -> Vec<&'static str> {
        let flags = [
            ("--total-executor-cores", self.total_executor_cores.is_some()),
            ("--queue", self.queue.is_some()),
            ("--supervise", self.supervise),
        ];
        flags.into_iter().filter_map(|(flag, is_given)| is_given.then_some(flag)).collect()
    }
}

/// What the command line asks for.
#[derive(Debug)]
pub enum Parsed {
    /// A command to run.
    Run(Box<Cli>),
    /// A text for stdout: help or version.
    Show(String),
}

const LATER: &str = "comes with a later version";

/// Options of spark-submit that this version does not take, and why.
const REFUSED: &[(&str, &str)] = &[
    ("--principal", LATER),
    ("--keytab", LATER),
    ("--kill", LATER),
    ("--status", LATER),
    ("--remote", "is for spark connect clients, not for a submission"),
];

/// Reads the words of the command line, the program's name first.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Parsed, SubmitError> {
    let words: Vec<OsString> = words.into_iter().collect();
    match Cli::try_parse_from(&words) {
        Ok(cli) => check_options(note_repeated(cli, &words)).map(|cli| Parsed::Run(Box::new(cli))),
        Err(error) if !error.use_stderr() => Ok(Parsed::Show(error.to_string())),
        Err(error) => Err(usage_error(&error)),
    }
}

fn note_repeated(mut cli: Cli, words: &[OsString]) -> Cli {
    let Command::Submit(submit) = &mut cli.command;
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
    let Command::Submit(submit) = &cli.command;
    let first = submit.application.first().map(|word| word.to_string_lossy().into_owned());
    match first {
        Some(word) if word.starts_with('-') => Err(unknown_option(&word)),
        _ => Ok(cli),
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

/// clap's own message in our form: its first line, and its tips as hints.
fn usage_error(error: &clap::Error) -> SubmitError {
    let text = error.to_string();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let what = match error.kind() {
        clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "nothing to submit was named",
        _ => lines.next().unwrap_or("the command line cannot be read"),
    };
    let failure = SubmitError::new(ErrorCode::Usage, what.trim_start_matches("error: "));
    let tips = lines.filter_map(|line| line.strip_prefix("tip: "));
    tips.fold(failure, SubmitError::hint).hint("airlock submit --help lists the options")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use proptest::prelude::*;

    fn try_submit(words: &[&str]) -> Result<SubmitArguments, SubmitError> {
        let words = ["airlock", "submit"].iter().chain(words).map(OsString::from);
        match parse(words)? {
            Parsed::Run(cli) => match cli.command {
                Command::Submit(arguments) => Ok(arguments),
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
