//! kubeconfig as kubectl reads it: the files of `KUBECONFIG`, merged, else `~/.kube/config`; then one context of it as a
//! configuration for the client. Fields that we do not support are refused, not passed over. Errors name file and line,
//! never the content: it holds secrets.

use std::path::{Path, PathBuf};

use http::Uri;
use k8s_openapi::ByteString;
use kube::Config;
use kube::config::{Cluster, Context, ExecAuthCluster, Kubeconfig, KubeconfigError};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use shared::error_code::ErrorCode;

use crate::error::SubmitError;

/// The files to merge: those of `variable` (`KUBECONFIG`) that exist, else the one in the home directory.
#[must_use]
pub fn files(variable: Option<&std::ffi::OsStr>, home: Option<&Path>) -> Vec<PathBuf> {
    let listed: Vec<_> = variable
        .map(|list| std::env::split_paths(list).filter(|path| !path.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    let candidates = if listed.is_empty() {
        home.map(|home| home.join(".kube").join("config")).into_iter().collect()
    } else {
        listed
    };
    candidates.into_iter().filter(|path| path.exists()).collect()
}

/// All `files` as one; the first value of each name wins. None without files, or with files that
/// name nothing: `KUBECONFIG=/dev/null` is how kubectl's users say "none".
pub fn read(files: &[PathBuf]) -> Result<Option<Kubeconfig>, SubmitError> {
    let mut merged: Option<Kubeconfig> = None;
    for file in files {
        let next = Kubeconfig::read_from(file).map_err(|error| unusable(file, &error))?;
        merged = Some(match merged {
            Some(merged) => merged.merge(next).map_err(|error| unusable(file, &error))?,
            None => next,
        });
    }
    Ok(merged.filter(|all| !(all.contexts.is_empty() && all.clusters.is_empty() && all.auth_infos.is_empty())))
}

/// Says what is wrong with `file`. A parser's own text quotes lines of the file, so only the place is taken from it.
fn unusable(file: &Path, error: &KubeconfigError) -> SubmitError {
    let failure = SubmitError::new(ErrorCode::Kubeconfig, format!("cannot use the kubeconfig {}", file.display()));
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(place) => {
                failure.because(format!("no valid kubeconfig from line {}, column {} on", place.line(), place.column()))
            }
            None => failure.because("no valid kubeconfig"),
        },
        KubeconfigError::ReadConfig(error, _) => failure.because(error.to_string()),
        other => failure.because(other.to_string()),
    }
}

/// One context, ready for the client, how it is called in messages, and its name.
pub fn context_config(
    kubeconfig: &Kubeconfig,
    wanted: Option<&str>,
    master: Option<&Uri>,
) -> Result<(Config, String, String), SubmitError> {
    let (name, context) = pick_context(kubeconfig, wanted)?;
    let missing = || refuse(format!("context {name} of the kubeconfig names a cluster that is not there"));
    let named = kubeconfig.clusters.iter().find(|cluster| cluster.name == context.cluster).ok_or_else(missing)?;
    let cluster = named.cluster.as_ref().ok_or_else(missing)?;
    if cluster.insecure_skip_tls_verify == Some(true) {
        return Err(refuse(format!("cluster {} of the kubeconfig has insecure-skip-tls-verify", named.name))
            .hint("give its certificate-authority instead: the driver's key crosses this connection"));
    }
    let mut config = Config::new(server(cluster, master, &named.name)?);
    config.root_cert = authority(cluster, &named.name)?;
    config.tls_server_name.clone_from(&cluster.tls_server_name);
    config.default_namespace = context.namespace.clone().unwrap_or_else(|| "default".to_owned());
    config.proxy_url = proxy(cluster, &named.name)?;
    config.auth_info = user(kubeconfig, &context, cluster)?;
    let user = context.user.as_deref().unwrap_or("nobody");
    Ok((config, format!("user {user} of context {name}"), name))
}

fn pick_context(kubeconfig: &Kubeconfig, wanted: Option<&str>) -> Result<(String, Context), SubmitError> {
    let Some(name) = wanted.or(kubeconfig.current_context.as_deref()).filter(|name| !name.is_empty()) else {
        return Err(refuse("the kubeconfig has no current-context")
            .hint("choose one: kubectl config use-context NAME, or --conf spark.kubernetes.context=NAME"));
    };
    let found = kubeconfig.contexts.iter().find(|context| context.name == name);
    let Some(context) = found.and_then(|named| named.context.clone()) else {
        let names: Vec<_> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
        return Err(
            refuse(format!("the kubeconfig has no context {name}")).hint(format!("it has: {}", names.join(", ")))
        );
    };
    Ok((name.to_owned(), context))
}

fn server(cluster: &Cluster, master: Option<&Uri>, name: &str) -> Result<Uri, SubmitError> {
    if let Some(master) = master {
        return Ok(master.clone());
    }
    let text = cluster.server.as_deref().unwrap_or_default();
    text.parse()
        .ok()
        .filter(|uri: &Uri| uri.host().is_some() && uri.scheme().is_some())
        .ok_or_else(|| refuse(format!("the server of cluster {name} in the kubeconfig is no address: {text:?}")))
}

/// The cluster's own authority; with it, no other is trusted.
fn authority(cluster: &Cluster, name: &str) -> Result<Option<Vec<Vec<u8>>>, SubmitError> {
    let failure = || refuse(format!("the certificate-authority of cluster {name} in the kubeconfig cannot be used"));
    let pem = match (&cluster.certificate_authority_data, &cluster.certificate_authority) {
        (Some(data), _) => {
            let data: ByteString = serde_json::from_value(data.as_str().into()).map_err(|_| failure())?;
            data.0
        }
        (None, Some(file)) => std::fs::read(file).map_err(|error| failure().because(format!("{file}: {error}")))?,
        (None, None) => return Ok(None),
    };
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let certificates = certificates.map_err(|error| failure().because(error.to_string()))?;
    if certificates.is_empty() {
        return Err(failure().because("it holds no certificate in PEM"));
    }
    Ok(Some(certificates.into_iter().map(|certificate| certificate.to_vec()).collect()))
}

/// A proxy URL may hold a password, so it is not repeated.
fn proxy(cluster: &Cluster, name: &str) -> Result<Option<Uri>, SubmitError> {
    let Some(text) = cluster.proxy_url.as_deref().filter(|text| !text.is_empty()) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| refuse(format!("the proxy-url of cluster {name} in the kubeconfig is no URL")))
}

/// The context's user; none is anonymous, as for kubectl.
fn user(kubeconfig: &Kubeconfig, context: &Context, cluster: &Cluster) -> Result<kube::config::AuthInfo, SubmitError> {
    let name = context.user.as_deref().unwrap_or_default();
    let found = kubeconfig.auth_infos.iter().find(|user| user.name == name);
    let mut user = found.and_then(|user| user.auth_info.clone()).unwrap_or_default();
    if let Some(exec) = &mut user.exec
        && exec.provide_cluster_info
    {
        let info = ExecAuthCluster::try_from(cluster).map_err(|error| refuse(error.to_string()))?;
        exec.cluster = Some(info);
    }
    Ok(user)
}

fn refuse(what: impl Into<String>) -> SubmitError {
    SubmitError::new(ErrorCode::Kubeconfig, what)
}

#[cfg(test)]
#[path = "kubeconfig_tests.rs"]
mod tests;
