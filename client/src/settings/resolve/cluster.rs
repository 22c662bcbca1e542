//! The API server, the door, the waits, and what follows the launch.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use shared::error_code::ErrorCode;

use super::named;
use super::values::Reader;
use crate::door::plan;
use crate::error::SubmitError;
use crate::inputs::reference::split_list;
use crate::settings::duration::Unit;
use crate::settings::kubernetes_syntax::annotation;
use crate::settings::master;
use crate::settings::names::ObjectName;
use crate::settings::spark_version::SparkVersion;
use crate::settings::{
    AccessSettings, Deadlines, DoorKinds, DoorSettings, ExitStatus, FollowSettings, NetworkPolicyChoice, OnInterrupt,
    SubmitterCredentials, TrafficPolicy,
};

pub(super) fn access(reader: &mut Reader<'_>) -> AccessSettings {
    deploy_mode(reader);
    way_in(reader)
}

/// The same for whatever is no submission.
pub(super) fn way_in(reader: &mut Reader<'_>) -> AccessSettings {
    let master = reader.text("spark.master").and_then(|text| reader.findings.keep(master::parse(text)));
    AccessSettings {
        master,
        context: reader.text("spark.kubernetes.context").filter(|name| !name.is_empty()).map(ToOwned::to_owned),
        credentials: credentials(reader),
        connection_timeout: reader.duration("spark.kubernetes.submission.connectionTimeout", Unit::Milliseconds),
        request_timeout: reader.duration("spark.kubernetes.submission.requestTimeout", Unit::Milliseconds),
    }
}

/// Upstream takes both tokens for a mistake as well; half a pair of certificate and key would fail in the handshake.
fn credentials(reader: &mut Reader<'_>) -> SubmitterCredentials {
    let text = |key| reader.text(key).filter(|text| !text.is_empty());
    let credentials = SubmitterCredentials {
        ca_cert_file: text("spark.kubernetes.authenticate.submission.caCertFile").map(Into::into),
        client_cert_file: text("spark.kubernetes.authenticate.submission.clientCertFile").map(Into::into),
        client_key_file: text("spark.kubernetes.authenticate.submission.clientKeyFile").map(Into::into),
        token: text("spark.kubernetes.authenticate.submission.oauthToken").map(Into::into),
        token_file: text("spark.kubernetes.authenticate.submission.oauthTokenFile").map(Into::into),
    };
    let mut refuse = |what: &str, hint| {
        let what = format!("spark.kubernetes.authenticate.submission.{what}");
        reader.findings.problem(SubmitError::new(ErrorCode::ConfValue, what).hint(hint));
    };
    if credentials.token.is_some() && credentials.token_file.is_some() {
        refuse("oauthToken and .oauthTokenFile are both given", "leave one of them out");
    }
    if credentials.client_cert_file.is_some() != credentials.client_key_file.is_some() {
        refuse("clientCertFile and .clientKeyFile only work together", "give both, or none");
    }
    credentials
}

fn deploy_mode(reader: &mut Reader<'_>) {
    let Some(mode) = reader.conf.get("spark.submit.deployMode").filter(|mode| mode.text != "cluster") else { return };
    let reason = match mode.text.as_str() {
        "client" => "in client mode the driver runs on this machine, and nothing is submitted",
        _ => "the only deploy mode is cluster",
    };
    let what = format!("{} cannot be used: {reason}", named("spark.submit.deployMode", mode));
    reader.findings.problem(SubmitError::new(ErrorCode::Usage, what).hint("leave it out, or say cluster"));
}

pub(super) fn door(in_pod: bool, reader: &mut Reader<'_>) -> DoorSettings {
    DoorSettings {
        kinds: reader.must("spark.airlock.door.kinds", door_kinds),
        in_pod,
        address: reader.must("spark.airlock.door.address", addresses),
        address_annotation: reader.read("spark.airlock.door.addressAnnotation", annotation_key),
        gateway: reader.must("spark.airlock.door.gateway", addresses),
        load_balancer_class: reader.read("spark.airlock.door.loadBalancer.class", annotation_key),
        load_balancer_annotations: reader.below("spark.airlock.door.loadBalancer.annotation.", annotation),
        load_balancer_node_ports: reader.flag("spark.airlock.door.loadBalancer.nodePorts"),
        source_ranges: reader.must("spark.airlock.door.sourceRanges", source_ranges),
        addresses: reader.must("spark.airlock.door.addresses", addresses),
        node_port: reader.port("spark.airlock.door.nodePort"),
        traffic_policy: reader.must("spark.airlock.door.externalTrafficPolicy", |text| match text {
            "auto" => Ok(None),
            "Cluster" => Ok(Some(TrafficPolicy::Cluster)),
            "Local" => Ok(Some(TrafficPolicy::Local)),
            _ => Err("it must be auto, Cluster or Local"),
        }),
    }
}

fn door_kinds(text: &str) -> Result<DoorKinds, String> {
    let names: Vec<_> = split_list(text).into_iter().map(ToOwned::to_owned).collect();
    if names == ["auto"] {
        return Ok(DoorKinds::Auto);
    }
    match names.iter().find(|name| !plan::is_known(name)) {
        Some(name) => Err(format!("{name:?} is no door; there are auto, {}", plan::names())),
        None if names.is_empty() => Err(format!("it must be auto, or some of {}", plan::names())),
        None => Ok(DoorKinds::These(names)),
    }
}

fn annotation_key(text: &str) -> Result<String, String> {
    annotation(text, "").map(|()| text.to_owned()).map_err(ToString::to_string)
}

/// CIDR blocks, as Services name those who may connect.
fn source_ranges(text: &str) -> Result<Vec<String>, String> {
    let block = |text: &str| {
        let (address, length) = text.split_once('/')?;
        let longest = if address.parse::<IpAddr>().ok()?.is_ipv4() { 32 } else { 128 };
        length.parse::<u8>().ok().filter(|length| *length <= longest).map(|_| text.to_owned())
    };
    let read = |text| block(text).ok_or_else(|| format!("{text:?} is no ADDRESS/LENGTH"));
    split_list(text).into_iter().map(read).collect()
}

/// Names or addresses, each with a port where it is not the door's own; IPv6 with or without brackets (R03).
fn addresses(list: &str) -> Result<Vec<String>, String> {
    let read = |text: &str| {
        address(text).ok_or_else(|| format!("{text:?} is none of HOST, HOST:PORT, ADDRESS, [ADDRESS]:PORT"))
    };
    split_list(list).into_iter().map(read).collect()
}

fn address(text: &str) -> Option<String> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let is_address = bare.parse::<Ipv6Addr>().is_ok() || text.parse::<IpAddr>().is_ok();
    let is_socket = text.parse::<SocketAddr>().is_ok_and(|address| address.port() != 0);
    if is_address {
        return Some(bare.to_owned());
    }
    let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
    let is_host = ObjectName::subdomain(&host.to_ascii_lowercase()).is_ok();
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
    (is_socket || (is_host && is_port)).then(|| text.to_owned())
}

pub(super) fn network_policy(version: &SparkVersion, reader: &mut Reader<'_>) -> NetworkPolicyChoice {
    reader.must("spark.airlock.networkPolicy", |text| match text {
        "auto" if version.makes_network_policy() => Ok(NetworkPolicyChoice::Auto),
        "always" => Ok(NetworkPolicyChoice::Always),
        "auto" | "never" => Ok(NetworkPolicyChoice::Never),
        _ => Err("it must be auto, always or never"),
    })
}

pub(super) fn deadlines(reader: &mut Reader<'_>) -> Deadlines {
    let mut wait = |key| reader.duration(key, Unit::Seconds);
    let deadlines = Deadlines {
        schedule: wait("spark.airlock.timeout.schedule"),
        pull: wait("spark.airlock.timeout.pull"),
        start: wait("spark.airlock.timeout.start"),
        reach: wait("spark.airlock.timeout.reach"),
        load_balancer: wait("spark.airlock.timeout.loadBalancer"),
        idle: wait("spark.airlock.timeout.idle"),
        fault: wait("spark.airlock.timeout.fault"),
        api: wait("spark.airlock.timeout.api"),
        lease: wait("spark.airlock.timeout.lease"),
    };
    check_lease(&deadlines, reader);
    deadlines
}

/// A lease that ends while a submission may still be waiting would let anyone sweep a living one.
fn check_lease(deadlines: &Deadlines, reader: &mut Reader<'_>) {
    let Deadlines { schedule, pull, start, reach, idle, load_balancer, fault: _, api: _, lease } = deadlines;
    let longest: Duration = [schedule, pull, start, load_balancer, reach, idle].into_iter().sum();
    if *lease < longest {
        let what = format!(
            "spark.airlock.timeout.lease is {} s, but scheduling, pull, start, load balancer, reach and idle may take {} s together",
            lease.as_secs(),
            longest.as_secs()
        );
        let hint = "a longer lease costs nothing: it only matters for what a dead client left behind";
        reader.findings.problem(SubmitError::new(ErrorCode::ConfValue, what).hint(hint));
    }
}

pub(super) fn follow(reader: &mut Reader<'_>) -> FollowSettings {
    FollowSettings {
        wait: reader.flag("spark.kubernetes.submission.waitAppCompletion"),
        report_interval: reader.duration("spark.kubernetes.report.interval", Unit::Seconds),
        logs: reader.flag("spark.airlock.followLogs"),
        exit_status: reader.must("spark.airlock.exitStatus", |text| match text {
            "driver" => Ok(ExitStatus::Driver),
            "upstream" => Ok(ExitStatus::Upstream),
            _ => Err("it must be driver or upstream"),
        }),
        on_interrupt: reader.must("spark.airlock.onInterrupt", |text| match text {
            "detach" => Ok(OnInterrupt::Detach),
            "kill" => Ok(OnInterrupt::Kill),
            _ => Err("it must be detach or kill"),
        }),
    }
}
