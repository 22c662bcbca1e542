//! The command line. The pod that the client builds sets it, so the names are those of `shared::driver_contract`; only
//! what differs between pods is an argument. Serving has no word of its own; `install` is what an init container does in
//! front of an image that lacks the driver server. No other file knows clap.

use std::ffi::OsString;
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use shared::driver_contract::{DEFAULT_MAX_BYTES, DIRECTORY, ENTRY_POINT, TLS_DIRECTORY, UPLOAD_PORT};

/// Receives the bundle of one submission over mutual TLS, verifies it, then becomes the Spark driver.
#[derive(Clone, Debug, Parser)]
#[command(name = "airlock-driver", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
struct CommandLine {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    serve: Arguments,
}

/// What else the binary does.
#[derive(Clone, Debug, Subcommand)]
enum Other {
    /// Copies this program to a path, for the container that starts it from there
    Install(Install),
}

/// What the process is to do.
#[derive(Clone, Debug)]
pub enum Task {
    /// Serve one submission.
    Serve(Arguments),
    /// Copy the program.
    Install(Install),
}

/// Arguments of `install`.
#[derive(Clone, Debug, Args)]
pub struct Install {
    /// Path of the copy; what is there already must be the same program
    pub path: PathBuf,

    /// File that the kubelet reads the reason of a failure from
    #[arg(long, default_value = DEFAULT_TERMINATION_LOG)]
    pub termination_log: PathBuf,
}

/// Arguments of a driver server.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Directory that everything is written to
    #[arg(long, default_value = DIRECTORY)]
    pub directory: PathBuf,

    /// Directory with ca.crt, tls.crt and tls.key
    #[arg(long, default_value = TLS_DIRECTORY)]
    pub tls_directory: PathBuf,

    /// Address to listen at; the default serves IPv4 as well, and IPv4 alone where there is no IPv6
    #[arg(long, default_value_t = SocketAddr::from((Ipv6Addr::UNSPECIFIED, UPLOAD_PORT)))]
    pub listen: SocketAddr,

    /// Seconds without progress of the client after which the pod ends
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub idle_timeout_seconds: u64,

    /// Largest bundle in bytes of tar that is accepted
    #[arg(long, default_value_t = DEFAULT_MAX_BYTES)]
    pub max_bundle_bytes: u64,

    /// Program to become once the bundle is verified
    #[arg(long, default_value = ENTRY_POINT)]
    pub entry_point: PathBuf,

    /// Namespace of the door Service and the TLS Secret
    #[arg(long)]
    pub namespace: Option<String>,

    /// Name of the door Service, deleted when the submission fails here
    #[arg(long)]
    pub door_service: Option<String>,

    /// Name of the TLS Secret, deleted when the submission fails here
    #[arg(long)]
    pub tls_secret: Option<String>,

    /// File that the kubelet reads the reason of a failure from
    #[arg(long, default_value = DEFAULT_TERMINATION_LOG)]
    pub termination_log: PathBuf,

    /// Directory with the token and ca.crt of the service account
    #[arg(long, default_value = "/var/run/secrets/kubernetes.io/serviceaccount")]
    pub service_account_directory: PathBuf,
}

/// Where the kubelet mounts the termination log, unless the pod says otherwise.
pub const DEFAULT_TERMINATION_LOG: &str = "/dev/termination-log";

impl Arguments {
    /// [`Arguments::idle_timeout_seconds`] as a duration.
    #[must_use]
    pub fn idle_timeout(&self) -> Duration {
        Duration::from_secs(self.idle_timeout_seconds)
    }
}

/// Parses the process's own command line.
pub fn parse() -> Result<Task, clap::Error> {
    parse_from(std::env::args_os())
}

/// Parses a command line, the program's name first.
pub fn parse_from(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Task, clap::Error> {
    let line = CommandLine::try_parse_from(words)?;
    Ok(match line.other {
        Some(Other::Install(install)) => Task::Install(install),
        None => Task::Serve(line.serve),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::driver_contract as contract;

    fn serve(words: &[&str]) -> Arguments {
        match parse_from(words).unwrap() {
            Task::Serve(arguments) => arguments,
            Task::Install(install) => panic!("{install:?}"),
        }
    }

    #[test]
    fn install_is_read_as_the_client_writes_it() {
        let words = ["airlock-driver", contract::INSTALL, contract::INJECTED_COMMAND];
        let Ok(Task::Install(install)) = parse_from(words) else { panic!() };
        assert_eq!(install.path.to_str(), Some(contract::INJECTED_COMMAND));
        assert_eq!(install.termination_log.to_str(), Some(DEFAULT_TERMINATION_LOG));
        assert!(parse_from(["airlock-driver", "--namespace", "n", contract::INSTALL, "/x"]).is_err());
    }

    #[test]
    fn every_argument_of_the_contract_is_read() {
        let line = [
            ("airlock-driver", ""),
            (contract::ARG_IDLE_TIMEOUT, "7"),
            (contract::ARG_MAX_BYTES, "8"),
            (contract::ARG_ENTRY_POINT, "/e"),
            (contract::ARG_NAMESPACE, "n"),
            (contract::ARG_DOOR_SERVICE, "d"),
            (contract::ARG_TLS_SECRET, "s"),
        ];
        let words = line.iter().flat_map(|(name, value)| [*name, *value]).filter(|word| !word.is_empty());
        let arguments = serve(&words.collect::<Vec<_>>());
        assert_eq!((arguments.idle_timeout_seconds, arguments.max_bundle_bytes), (7, 8));
        assert_eq!(arguments.entry_point.to_str(), Some("/e"));
        assert_eq!(arguments.namespace.as_deref(), Some("n"));
        assert_eq!(arguments.door_service.as_deref(), Some("d"));
        assert_eq!(arguments.tls_secret.as_deref(), Some("s"));
    }

    #[test]
    fn the_defaults_are_those_of_the_contract() {
        let arguments = serve(&["airlock-driver"]);
        assert_eq!(arguments.listen.to_string(), "[::]:7077");
        assert_eq!(arguments.idle_timeout(), Duration::from_mins(2));
        assert_eq!(arguments.max_bundle_bytes, contract::DEFAULT_MAX_BYTES);
    }
}
