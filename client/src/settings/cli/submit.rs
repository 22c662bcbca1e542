//! The flags of `airlock submit`, as written; those of spark-submit, hidden ones included. With `--kill` or `--status` it is
//! another command: see `drivers`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use shared::error_code::ErrorCode;

use super::drivers::{ClusterArguments, DriverCommand, KillArguments, StatusArguments};
use crate::error::SubmitError;

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
const DRIVERS: &str = "drivers that exist";

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
    /// kerberos principal that the driver logs in as
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, help_heading = INPUTS)]
    pub principal: Option<String>,
    /// its keytab: a file on this machine, or `local:///PATH` in the image
    #[arg(long, value_name = "FILE", allow_hyphen_values = true, help_heading = INPUTS)]
    pub keytab: Option<String>,

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
    /// end a driver instead: NAMESPACE:POD, * at the end for several; as airlock kill
    #[arg(long, value_name = "ID", conflicts_with = "status", help_heading = DRIVERS)]
    pub kill: Option<String>,
    /// show a driver instead: NAMESPACE:POD, * at the end for several; as airlock status
    #[arg(long, value_name = "ID", help_heading = DRIVERS)]
    pub status: Option<String>,

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
            ("--principal", "spark.kerberos.principal", &self.principal),
            ("--keytab", "spark.kerberos.keytab", &self.keytab),
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

    /// What `--kill` or `--status` ask for. The other flags are upstream's for a submission and mean nothing then.
    pub fn driver_command(&self) -> Result<Option<DriverCommand>, SubmitError> {
        let names = |id: &String| vec![id.clone()];
        let command = match (&self.kill, &self.status) {
            (Some(id), _) => {
                DriverCommand::Kill(KillArguments { cluster: self.cluster(), names: names(id), as_submit: true })
            }
            (_, Some(id)) => {
                DriverCommand::Status(StatusArguments { cluster: self.cluster(), names: names(id), as_submit: true })
            }
            _ => return Ok(None),
        };
        let Some(word) = self.application.first() else { return Ok(Some(command)) };
        let what = format!("--kill and --status submit nothing, so {:?} has no meaning", word.to_string_lossy());
        Err(SubmitError::new(ErrorCode::Usage, what)
            .hint("for several drivers: airlock kill NAME..., airlock status NAME..."))
    }

    fn cluster(&self) -> ClusterArguments {
        ClusterArguments {
            master: self.master.clone(),
            namespace: None,
            context: None,
            conf: self.conf.clone(),
            properties_file: self.properties_file.clone(),
            load_spark_defaults: self.load_spark_defaults,
            verbose: self.verbose,
        }
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
