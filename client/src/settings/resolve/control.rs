//! Settings of the commands for drivers that exist. Of all properties only a few mean something to them; one that a
//! submission would refuse is no reason not to end a driver, but a typo of ours is named as always (P04).

use std::time::Duration;

use super::values::Reader;
use super::{ConfSources, Environment, check_own_key, cluster, load_layers};
use crate::error::{Findings, Problems};
use crate::settings::cli::DriverCommand;
use crate::settings::duration::{self, Unit};
use crate::settings::names::ObjectName;
use crate::settings::{AccessSettings, FollowSettings};

/// What the commands for drivers that exist need to know.
#[derive(Clone, Debug)]
pub struct ControlSettings {
    /// How the API server is reached.
    pub access: AccessSettings,
    /// `--master` as given, for messages.
    pub master: Option<String>,
    /// `--namespace`; the context's when absent.
    pub namespace: Option<ObjectName>,
    /// `spark.airlock.timeout.api`: for all tries of one call.
    pub api: Duration,
    /// `spark.kubernetes.appKillPodDeletionGracePeriod`; the pod's own when absent.
    pub grace: Option<Duration>,
    /// How a driver is followed.
    pub follow: FollowSettings,
    /// For `--verbose`: every property with its origin, secrets hidden; empty unless asked for.
    pub described: Vec<String>,
}

/// Reads properties and flags of `command`. Warnings are for the user whatever the result.
pub fn control(command: &DriverCommand, environment: &Environment) -> (Result<ControlSettings, Problems>, Vec<String>) {
    let (mut findings, arguments) = (Findings::default(), command.cluster());
    let sources = ConfSources {
        conf: &arguments.conf,
        properties_file: arguments.properties_file.as_deref(),
        extra_properties_files: &[],
        load_spark_defaults: arguments.load_spark_defaults,
        flags: command.properties(),
    };
    let conf = load_layers(&sources, environment, &mut findings);
    for (key, value) in conf.iter() {
        check_own_key(key, value, &mut findings);
    }
    let described = if arguments.verbose { conf.describe() } else { Vec::new() };
    let mut reader = Reader { conf: &conf, findings: &mut findings };
    let settings = ControlSettings {
        access: cluster::way_in(&mut reader),
        master: reader.text("spark.master").map(ToOwned::to_owned),
        namespace: reader.label_name("spark.kubernetes.namespace"),
        api: reader.duration("spark.airlock.timeout.api", Unit::Seconds),
        grace: reader.read("spark.kubernetes.appKillPodDeletionGracePeriod", |text| {
            duration::parse_or_zero(text, Unit::Seconds)
        }),
        follow: cluster::follow(&mut reader),
        described,
    };
    let Findings { problems, warnings } = findings;
    (Problems::check(problems).map(|()| settings), warnings)
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
