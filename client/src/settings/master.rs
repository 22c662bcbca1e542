//! The forms of `--master` (P09). What is not understood is refused and shown, never guessed; no address is tried here.

use std::net::IpAddr;

use http::Uri;
use shared::error_code::ErrorCode;

use crate::error::SubmitError;

const FORMS: &str = "accepted: k8s://HOST:PORT, k8s://https://HOST[:PORT][/PATH]; IPv6 as [ADDRESS]";

/// Reads `k8s://…` as the API server's address. `https` where no scheme is written, port 443 where no port is.
pub fn parse(master: &str) -> Result<Uri, SubmitError> {
    let rest = master.strip_prefix("k8s://").ok_or_else(|| refuse(master, "it does not begin with k8s://"))?;
    let (scheme, address) = rest.split_once("://").unwrap_or(("https", rest));
    let (authority, path) = address.split_at(address.find('/').unwrap_or(address.len()));
    if authority.contains('@') {
        // Not shown: what stands before the @ is a password.
        return Err(SubmitError::new(ErrorCode::Master, "the master address holds a user or password")
            .hint("credentials belong in the kubeconfig"));
    }
    check_path(path).map_err(|reason| refuse(master, reason))?;
    let (host, port) = host_and_port(authority).map_err(|reason| refuse(master, reason))?;
    match scheme.to_ascii_lowercase().as_str() {
        "https" => build(master, "https", host, port.unwrap_or(443), path),
        "http" if is_loopback(host) => build(master, "http", host, port.unwrap_or(80), path),
        "http" => Err(plaintext(master)),
        _ => Err(refuse(master, "its scheme is neither https nor http")),
    }
}

fn build(master: &str, scheme: &str, host: &str, port: u16, path: &str) -> Result<Uri, SubmitError> {
    let path = if path.is_empty() { "/" } else { path };
    let uri = Uri::builder().scheme(scheme).authority(format!("{host}:{port}")).path_and_query(path).build();
    uri.map_err(|error| refuse(master, "it is no address").because(error))
}

fn refuse(master: &str, reason: &str) -> SubmitError {
    SubmitError::new(ErrorCode::Master, format!("--master {master:?} cannot be used: {reason}")).hint(FORMS)
}

fn plaintext(master: &str) -> SubmitError {
    let what = format!("--master {master:?} would carry credentials in clear");
    SubmitError::new(ErrorCode::Plaintext, what)
        .hint("use https; plain http is for a proxy on this machine: 127.0.0.1, [::1] or localhost")
}

fn check_path(path: &str) -> Result<(), &'static str> {
    if path.contains(['?', '#']) { Err("it has a query or fragment") } else { Ok(()) }
}

/// Splits the port off; an IPv6 address keeps its brackets.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let end = rest.find(']').ok_or("its [ is never closed")? + 2;
            (&authority[..end], &authority[end..])
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    check_host(host)?;
    match port {
        "" => Ok((host, None)),
        _ => Ok((host, Some(port.strip_prefix(':').and_then(parse_port).ok_or("its port is none of 1 to 65535")?))),
    }
}

fn parse_port(text: &str) -> Option<u16> {
    // `parse` alone would take `+6443`.
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten().filter(|port| *port != 0)
}

fn check_host(host: &str) -> Result<(), &'static str> {
    if let Some(address) = host.strip_prefix('[') {
        return match address.trim_end_matches(']').parse() {
            Ok(IpAddr::V6(_)) => Ok(()),
            _ => Err("there is no IPv6 address between [ and ]"),
        };
    }
    let label = |label: &str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        !label.is_empty() && label.bytes().all(plain)
    };
    // A name may end with a dot: it is then complete and no search domain is tried.
    match host.strip_suffix('.').unwrap_or(host) {
        "" => Err("it names no host"),
        name if name.split('.').all(label) => Ok(()),
        _ => Err("its host is no name and no address"),
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shared::report::Failure;

    #[test]
    fn p09_accepted_forms() {
        let cases = [
            ("k8s://h:6443", "https://h:6443/"),
            ("k8s://h", "https://h:443/"),
            ("k8s://https://h", "https://h:443/"),
            ("k8s://HTTPS://h:1", "https://h:1/"),
            ("k8s://https://h/k8s/clusters/c-1", "https://h:443/k8s/clusters/c-1"),
            ("k8s://[fd00::1]:6443", "https://[fd00::1]:6443/"),
            ("k8s://https://[fd00::1]", "https://[fd00::1]:443/"),
            ("k8s://https://10.0.0.1:6443/", "https://10.0.0.1:6443/"),
            ("k8s://http://127.0.0.1:8001", "http://127.0.0.1:8001/"),
            ("k8s://http://[::1]:8001", "http://[::1]:8001/"),
            ("k8s://http://localhost", "http://localhost:80/"),
        ];
        for (master, uri) in cases {
            assert_eq!(parse(master).unwrap().to_string(), uri, "{master}");
        }
    }

    #[test]
    fn p09_other_forms_are_refused_with_the_accepted_ones() {
        let bad = [
            "",
            "k8s://",
            "k8s:/h",
            "h:6443",
            "yarn",
            "local[*]",
            "spark://h:7077",
            "K8S://h",
            "k8s://ftp://h",
            "k8s://h:",
            "k8s://h:0",
            "k8s://h:65536",
            "k8s://h:+1",
            "k8s://h:6443:1",
            "k8s://fd00::1",
            "k8s://[h]:1",
            "k8s://[fd00::1",
            "k8s://h h",
            "k8s://h?x",
            "k8s://h/#x",
            "k8s:///path",
            "k8s://https://",
            "k8s://a..b",
            "k8s://π",
            "k8s://[127.0.0.1]:1",
        ];
        for master in bad {
            let error = parse(master).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Master, "{master}");
            assert!(error.to_string().contains(&format!("{master:?}")), "{error}");
            assert!(error.hints()[0].contains("k8s://HOST:PORT"));
        }
    }

    #[test]
    fn t06_plain_http_is_for_a_loopback_address_only() {
        for master in
            ["k8s://http://h:80", "k8s://http://10.0.0.1", "k8s://http://127.0.0.1.evil.org", "k8s://http://[fd00::1]"]
        {
            assert_eq!(parse(master).unwrap_err().code(), ErrorCode::Plaintext, "{master}");
        }
    }

    #[test]
    fn t08_a_password_in_the_address_is_not_repeated() {
        let error = parse("k8s://https://me:hunter2@h").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    proptest! {
        #[test]
        fn p09_any_text_is_an_address_or_an_error(text in "(k8s://)?(http://|https://)?\\PC{0,20}") {
            if let Ok(uri) = parse(&text) {
                prop_assert!(uri.host().is_some() && uri.port_u16().is_some());
                prop_assert!(uri.scheme_str() == Some("https") || is_loopback(uri.host().unwrap()));
            }
        }
    }
}
