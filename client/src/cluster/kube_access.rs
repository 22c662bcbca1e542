//! From the access settings to a client of the API server: kubeconfig, the pod's own account, or a local proxy; TLS with
//! the cluster's own authority; timeouts; the way through a proxy. Nothing is asked of the cluster yet, except that
//! credential helpers of the kubeconfig run here. Repeating calls is `cluster`'s matter, so the library's own retries,
//! which know no limit, are off.

use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::client::{AuthError, ClientBuilder};
use kube::config::ExecInteractiveMode;
use kube::{Client, Config};
use shared::error_code::ErrorCode;
use shared::tls;
use tower::util::MapResponseLayer;

use crate::cluster::credentials::{self, trim_token_file};
use crate::cluster::kubeconfig;
use crate::cluster::retry_after::keep_retry_after;
use crate::error::SubmitError;
use crate::settings::AccessSettings;

/// How long a credential helper may take: one that asks a person who is not there would hang for ever.
const HELPER_LIMIT: Duration = Duration::from_mins(1);
/// There in every pod that has an account.
const ACCOUNT_TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// A way into one cluster.
pub struct Access {
    /// The client.
    pub client: Client,
    /// The namespace of context or pod, for when the settings name none.
    pub namespace: String,
    /// The API server's address, for messages.
    pub server: Uri,
    /// Who we are as far as this machine knows, for messages.
    pub who: String,
    /// The context of the kubeconfig, where one was used.
    pub context: Option<String>,
}

/// Finds the way that `settings` describe and opens it.
pub async fn connect(settings: &AccessSettings) -> Result<Access, SubmitError> {
    tls::install_crypto_provider();
    let Way { mut config, who, context } = find_way(settings)?;
    trim_token_file(&mut config);
    check_plaintext(&config.cluster_url)?;
    config.connect_timeout = Some(settings.connection_timeout);
    config.write_timeout = Some(settings.request_timeout);
    if config.proxy_url.is_none() {
        config.proxy_url = environment_proxy(&config.cluster_url)?;
    }
    if let Some(exec) = &mut config.auth_info.exec
        && !std::io::stdin().is_terminal()
    {
        exec.interactive_mode = Some(ExecInteractiveMode::Never);
    }
    let (namespace, server) = (config.default_namespace.clone(), config.cluster_url.clone());
    Ok(Access { client: build(config).await?, namespace, server, who, context })
}

/// The namespace of context or pod, as far as this machine knows; nothing is opened and no helper run.
#[must_use]
pub fn local_namespace(settings: &AccessSettings) -> Option<String> {
    find_way(settings).ok().map(|way| way.config.default_namespace)
}

/// What is known of a way in before anything is opened.
struct Way {
    config: Config,
    who: String,
    context: Option<String>,
}

impl Way {
    fn new(config: Config, who: impl Into<String>) -> Self {
        Self { config, who: who.into(), context: None }
    }
}

/// The settings' own credentials lie over whatever else there is.
fn find_way(settings: &AccessSettings) -> Result<Way, SubmitError> {
    let mut way = find_config(settings)?;
    if credentials::apply(&settings.credentials, &mut way.config)? {
        "the credentials of spark.kubernetes.authenticate.submission".clone_into(&mut way.who);
    }
    Ok(way)
}

/// kubeconfig first, then the pod's own account, then an address for which the settings bring credentials, or a local
/// proxy that has its own.
fn find_config(settings: &AccessSettings) -> Result<Way, SubmitError> {
    let complete = settings.credentials.identify().then_some(settings.master.as_ref()).flatten();
    let variable = std::env::var_os("KUBECONFIG");
    let home = std::env::home_dir();
    let files = kubeconfig::files(variable.as_deref(), home.as_deref());
    if let Some(kubeconfig) = kubeconfig::read(&files)? {
        let chosen =
            settings.context.is_some() || kubeconfig.current_context.as_ref().is_some_and(|name| !name.is_empty());
        if let (Some(master), false) = (complete, chosen) {
            return Ok(Way::new(Config::new(master.clone()), ""));
        }
        let wanted = settings.context.as_deref();
        let (config, who, name) = kubeconfig::context_config(&kubeconfig, wanted, settings.master.as_ref())?;
        return Ok(Way { config, who, context: Some(name) });
    }
    if let Some(context) = &settings.context {
        return Err(no_way(format!("there is no kubeconfig, so no context {context}")));
    }
    if Path::new(ACCOUNT_TOKEN).exists() && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        let mut config = Config::incluster()
            .map_err(|error| no_way("the account of this pod cannot be used").because(error.to_string()))?;
        config.cluster_url = settings.master.clone().unwrap_or(config.cluster_url);
        return Ok(Way::new(config, "the service account of this pod"));
    }
    match &settings.master {
        Some(master) if complete.is_some() || is_loopback(master) => {
            Ok(Way::new(Config::new(master.clone()), "a local proxy"))
        }
        _ => Err(no_way("there are no credentials: no kubeconfig, and this is no pod")
            .hint("set KUBECONFIG, or put a kubeconfig at ~/.kube/config")
            .hint("or give --master and spark.kubernetes.authenticate.submission.oauthTokenFile or clientCertFile")),
    }
}

fn no_way(what: impl Into<String>) -> SubmitError {
    SubmitError::new(ErrorCode::Kubeconfig, what)
}

/// Credentials and keys go to the API server: in clear only to this machine itself.
fn check_plaintext(server: &Uri) -> Result<(), SubmitError> {
    if server.scheme_str() == Some("https") || is_loopback(server) {
        return Ok(());
    }
    Err(SubmitError::new(ErrorCode::Plaintext, format!("the API server's address {server} is not https"))
        .hint("use https://…; http is for a proxy on this machine, as `kubectl proxy` is one"))
}

fn is_loopback(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The proxy that the environment names for `server`, by curl's rules with CIDR; this machine itself needs none.
fn environment_proxy(server: &Uri) -> Result<Option<Uri>, SubmitError> {
    let variables = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let set = variables.into_iter().find_map(|name| Some((name, std::env::var(name).ok()?)));
    let Some((variable, url)) = set.filter(|(_, url)| !url.is_empty()) else { return Ok(None) };
    proxy_for(server, variable, &url, &Matcher::from_env())
}

fn proxy_for(server: &Uri, variable: &str, url: &str, matcher: &Matcher) -> Result<Option<Uri>, SubmitError> {
    if is_loopback(server) || matcher.intercept(server).is_none() {
        return Ok(None);
    }
    let url = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    // The value may hold a password, so it is not repeated.
    url.parse().map(Some).map_err(|_| SubmitError::new(ErrorCode::Usage, format!("{variable} is no URL of a proxy")))
}

/// Builds the client, which runs a credential helper where the kubeconfig has one.
pub async fn build(mut config: Config) -> Result<Client, SubmitError> {
    config.default_retry = false;
    let building = tokio::task::spawn_blocking(move || {
        let keep = MapResponseLayer::new(keep_retry_after);
        Ok(ClientBuilder::try_from(config)?.with_layer(&keep).build())
    });
    match tokio::time::timeout(HELPER_LIMIT, building).await {
        Ok(Ok(built)) => built.map_err(|error| explain_build(&error)),
        Ok(Err(panic)) => Err(SubmitError::bug("the client could not be built").because(panic)),
        Err(_) => Err(SubmitError::new(ErrorCode::KubeAuth, "the credential helper of the kubeconfig does not end")
            .because(format!("it ran for {HELPER_LIMIT:?}"))
            .hint("run it by hand: it may ask a question; `kubectl config view` shows its command")),
    }
}

fn explain_build(error: &kube::Error) -> SubmitError {
    let auth = |text: String| {
        SubmitError::new(ErrorCode::KubeAuth, "the credentials of the kubeconfig cannot be used").because(text)
    };
    match error {
        kube::Error::Auth(error) => auth(helper_text(error)),
        kube::Error::ProxyProtocolUnsupported { proxy_url } | kube::Error::ProxyProtocolDisabled { proxy_url, .. } => {
            let scheme = proxy_url.scheme_str().unwrap_or_default();
            SubmitError::new(ErrorCode::Usage, format!("a proxy of kind {scheme} is not supported"))
                .hint("use an http:// or https:// proxy, or put the API server into NO_PROXY")
        }
        other => auth(other.to_string()),
    }
}

/// What a helper said. Its command line may hold secrets, as may what it printed on stdout.
pub(crate) fn helper_text(error: &AuthError) -> String {
    match error {
        AuthError::AuthExecRun { out, .. } => {
            let said = String::from_utf8_lossy(&out.stderr);
            format!("the credential helper ended with {}: {}", out.status, said.trim())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[test]
    fn t06_plain_http_is_for_loopback_only() {
        for good in ["https://10.0.0.1", "http://127.0.0.1:8001", "http://[::1]:8001", "http://localhost:8001"] {
            assert!(check_plaintext(&uri(good)).is_ok(), "{good}");
        }
        for bad in ["http://10.0.0.1:8080", "http://localhost.example", "http://0.0.0.0:1"] {
            assert_eq!(check_plaintext(&uri(bad)).unwrap_err().code(), ErrorCode::Plaintext, "{bad}");
        }
    }

    #[test]
    fn r04_cidr_suffix_and_loopback_go_past_the_proxy() {
        let url = "http://proxy:3128";
        let no = "10.0.0.0/8,.svc.example, bad entry,,fd00::/8";
        let matcher = Matcher::builder().https(url).no(no).build();
        let way = |server| proxy_for(&uri(server), "HTTPS_PROXY", url, &matcher).unwrap();
        for direct in
            ["https://10.10.20.1:6443", "https://api.svc.example", "https://[fd00::1]:6443", "https://127.0.0.1"]
        {
            assert_eq!(way(direct), None, "{direct}");
        }
        assert_eq!(way("https://api.example:6443"), Some(uri("http://proxy:3128")));
    }

    #[test]
    fn t08_an_unusable_proxy_is_named_without_its_password() {
        let matcher = Matcher::builder().https("http://p").build();
        let error =
            proxy_for(&uri("https://api.example"), "HTTPS_PROXY", "http://u:CANARY PW@p", &matcher).unwrap_err();
        assert!(!format!("{error:?}").contains("CANARY"), "{error:?}");
    }
}
