//! Hosts as users and clusters write them, and the addresses that they stand for. Addresses are compared as addresses,
//! never as text (R03).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::time::timeout;

use crate::progress::Progress;
use crate::settings::Candidate;

/// For one name: the door is open while we ask, and other addresses may do.
const RESOLVE_LIMIT: Duration = Duration::from_secs(3);

/// A host to dial, before names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// An address, or a name.
    pub text: String,
    /// A port of its own, where there is one.
    pub port: Option<u16>,
    /// For messages.
    pub origin: String,
    /// Whether somebody named it, who wants to know that it does not resolve.
    pub given: bool,
}

impl Host {
    /// One that the cluster names.
    pub fn found(text: impl Into<String>, origin: impl Into<String>) -> Self {
        Self { text: text.into(), port: None, origin: origin.into(), given: false }
    }

    /// One as a user writes it: `host`, `host:port`, `[v6]:port`, a bare `v6`.
    #[must_use]
    pub fn given(text: &str) -> Self {
        let host =
            |text: &str, port| Self { text: text.to_owned(), port, origin: format!("{text} (given)"), given: true };
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Self { origin: format!("{text} (given)"), ..host(&address.ip().to_string(), Some(address.port())) };
        }
        let bare = text.trim_matches(['[', ']']);
        if bare.parse::<IpAddr>().is_ok() {
            return host(bare, None);
        }
        match text.rsplit_once(':').and_then(|(name, port)| Some((name, port.parse().ok()?))) {
            Some((name, port)) => Self { origin: format!("{text} (given)"), ..host(name, Some(port)) },
            None => host(text, None),
        }
    }
}

/// Addresses of all hosts in their order, each once; `port` where a host has none. A name that does not resolve is left
/// out.
pub async fn resolve(hosts: &[Host], port: u16, progress: &Progress) -> Vec<Candidate> {
    let lookups = hosts.iter().map(|host| resolve_one(host, host.port.unwrap_or(port)));
    let mut found: Vec<Candidate> = Vec::new();
    for (host, addresses) in hosts.iter().zip(futures::future::join_all(lookups).await) {
        if addresses.is_empty() && host.given {
            progress.say(format!("door address {} does not resolve", host.text));
        }
        for address in addresses {
            if found.iter().all(|candidate| candidate.address != address) {
                found.push(Candidate { address, origin: host.origin.clone() });
            }
        }
    }
    found
}

async fn resolve_one(host: &Host, port: u16) -> Vec<SocketAddr> {
    if let Ok(address) = host.text.parse::<IpAddr>() {
        return vec![SocketAddr::new(address, port)];
    }
    match timeout(RESOLVE_LIMIT, tokio::net::lookup_host((host.text.as_str(), port))).await {
        Ok(Ok(addresses)) => addresses.collect(),
        _ => Vec::new(),
    }
}
