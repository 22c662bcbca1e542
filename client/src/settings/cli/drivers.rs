//! The commands for drivers that exist, as written: `kill`, `status`, `list`, `logs`, `attach`; and the options that they
//! share with submit.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

const NAMES: &str = "pod, application id or submission id; * and ? in a pod's name; with NAMESPACE: in front";

/// A command for drivers that exist, whoever submitted them.
#[derive(Clone, Debug, Subcommand)]
pub enum DriverCommand {
    /// end drivers: deletes their pods, and the executors go with them
    Kill(KillArguments),
    /// show what the cluster knows about drivers
    Status(StatusArguments),
    /// list the drivers of a namespace
    List(ListArguments),
    /// write a driver's log to stdout
    Logs(LogsArguments),
    /// follow a driver to its end and exit with its status, as submit does
    Attach(AttachArguments),
}

impl DriverCommand {
    /// The cluster, and the properties.
    #[must_use]
    pub const fn cluster(&self) -> &ClusterArguments {
        match self {
            Self::Kill(arguments) => &arguments.cluster,
            Self::Status(arguments) => &arguments.cluster,
            Self::List(arguments) => &arguments.cluster,
            Self::Logs(arguments) => &arguments.cluster,
            Self::Attach(arguments) => &arguments.cluster,
        }
    }

    /// The flags that stand for one property each, with the property's key.
    #[must_use]
    pub fn properties(&self) -> Vec<(&'static str, &'static str, &str)> {
        let cluster = self.cluster();
        let shows_log = matches!(self, Self::Attach(attach) if attach.logs).then_some("true");
        let flags = [
            ("--master", "spark.master", cluster.master.as_deref()),
            ("--namespace", "spark.kubernetes.namespace", cluster.namespace.as_deref()),
            ("--context", "spark.kubernetes.context", cluster.context.as_deref()),
            ("--logs", "spark.airlock.followLogs", shows_log),
        ];
        flags.into_iter().filter_map(|(flag, key, value)| Some((flag, key, value?))).collect()
    }
}

/// Which cluster and namespace.
#[derive(Clone, Debug, Default, Args)]
pub struct ClusterArguments {
    /// api server, k8s://HOST:PORT; the kubeconfig's own when absent
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,
    /// namespace; the context's when absent
    #[arg(long, short, value_name = "NAME")]
    pub namespace: Option<String>,
    /// context of the kubeconfig; the current one when absent
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// a spark property
    #[arg(long, short, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    pub conf: Vec<String>,
    /// file of spark properties, instead of conf/spark-defaults.conf
    #[arg(long, value_name = "FILE")]
    pub properties_file: Option<PathBuf>,
    /// read conf/spark-defaults.conf too, below --properties-file
    #[arg(long)]
    pub load_spark_defaults: bool,
    /// show every setting and where it comes from
    #[arg(long, short)]
    pub verbose: bool,
}

/// `airlock kill`.
#[derive(Clone, Debug, Args)]
pub struct KillArguments {
    /// The cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// The drivers.
    #[arg(value_name = "NAME", required = true, help = NAMES)]
    pub names: Vec<String>,
    /// Whether it is `submit --kill`, whose lines are upstream's.
    #[arg(skip)]
    pub as_submit: bool,
}

/// `airlock status`.
#[derive(Clone, Debug, Args)]
pub struct StatusArguments {
    /// The cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// The drivers.
    #[arg(value_name = "NAME", required = true, help = NAMES)]
    pub names: Vec<String>,
    /// Whether it is `submit --status`, whose lines are upstream's, and on stderr.
    #[arg(skip)]
    pub as_submit: bool,
}

/// `airlock list`.
#[derive(Clone, Debug, Args)]
pub struct ListArguments {
    /// The cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// the drivers of every namespace
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// how to write the list
    #[arg(long, short, value_enum, value_name = "FORMAT", default_value_t = ListFormat::Table)]
    pub output: ListFormat,
}

/// How a list is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// for people
    #[default]
    Table,
    /// for programs: one array
    Json,
}

/// `airlock logs`.
#[derive(Clone, Debug, Args)]
pub struct LogsArguments {
    /// The cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// go on until the driver has ended
    #[arg(long, short)]
    pub follow: bool,
    /// The driver.
    #[arg(value_name = "NAME", help = NAMES)]
    pub name: String,
}

/// `airlock attach`.
#[derive(Clone, Debug, Args)]
pub struct AttachArguments {
    /// The cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// the driver's log on stdout too
    #[arg(long)]
    pub logs: bool,
    /// The driver.
    #[arg(value_name = "NAME", help = NAMES)]
    pub name: String,
}
