//! Deletes this submission's door Service and TLS Secret when the submission fails here, as far as the service account
//! may. Only a courtesy: owner references, leases and sweeps remove them as well, so a failure is logged and no more.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Client, StatusCode, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use shared::tls::crypto_provider;
use tracing::{info, warn};

use crate::cli::Arguments;

/// Deletes what `arguments` name, within `limit`.
pub async fn delete(arguments: &Arguments, limit: Duration) {
    let Some(namespace) = &arguments.namespace else { return };
    let objects = [("services", &arguments.door_service), ("secrets", &arguments.tls_secret)];
    let named: Vec<_> = objects.into_iter().filter_map(|(kind, name)| Some((kind, name.as_ref()?))).collect();
    if named.is_empty() {
        return;
    }
    let api = match ApiServer::in_cluster(&arguments.service_account_directory) {
        Ok(api) => api,
        Err(reason) => return warn!("own objects are not deleted: {reason}"),
    };
    let deletions = named.iter().map(|(kind, name)| api.delete(namespace, kind, name));
    if tokio::time::timeout(limit, futures::future::join_all(deletions)).await.is_err() {
        warn!("own objects are not deleted: no answer of the API server within {limit:?}");
    }
}

struct ApiServer {
    client: Client,
    base: Url,
    token: HeaderValue,
}

impl ApiServer {
    /// The API server as every pod finds it.
    fn in_cluster(service_account: &Path) -> Result<Self, String> {
        let variable = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set"));
        let base = base_url(&variable("KUBERNETES_SERVICE_HOST")?, &variable("KUBERNETES_SERVICE_PORT")?)?;
        let token_file = service_account.join("token");
        let token = std::fs::read_to_string(&token_file).map_err(at(&token_file))?;
        let mut token = HeaderValue::try_from(format!("Bearer {}", token.trim())).map_err(at(&token_file))?;
        token.set_sensitive(true);
        Ok(Self { client: client(&service_account.join("ca.crt"))?, base, token })
    }

    async fn delete(&self, namespace: &str, kind: &str, name: &str) {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.extend(["api", "v1", "namespaces", namespace, kind, name]);
        }
        let sent = self.client.delete(url).header(AUTHORIZATION, self.token.clone()).send().await;
        match sent.map(|response| response.status()) {
            Ok(status) if status.is_success() => info!("{kind}/{name} deleted"),
            Ok(StatusCode::NOT_FOUND) => info!("{kind}/{name} was deleted before"),
            Ok(status) => warn!("{kind}/{name} is not deleted: the API server answers {status}"),
            Err(error) => warn!("{kind}/{name} is not deleted: {}", error.without_url()),
        }
    }
}

fn base_url(host: &str, port: &str) -> Result<Url, String> {
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    Url::parse(&format!("https://{host}:{port}")).map_err(|error| format!("the API server's address is none: {error}"))
}

/// A client that trusts the cluster's authority and nothing else, and goes nowhere but where it is told.
fn client(authority: &Path) -> Result<Client, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(authority).map_err(at(authority))? {
        roots.add(certificate.map_err(at(authority))?).map_err(at(authority))?;
    }
    let tls = ClientConfig::builder_with_provider(crypto_provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let builder = Client::builder().tls_backend_preconfigured(tls).no_proxy().redirect(redirect::Policy::none());
    builder.build().map_err(|error| error.to_string())
}

fn at<E: Display>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r02_an_ipv6_address_gets_its_brackets() {
        assert_eq!(base_url("fd00::1", "443").unwrap().as_str(), "https://[fd00::1]/");
        assert_eq!(base_url("10.0.0.1", "6443").unwrap().as_str(), "https://10.0.0.1:6443/");
    }
}
