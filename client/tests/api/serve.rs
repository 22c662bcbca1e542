//! The server itself: connections, one call at a time through the script, and what tests ask and tell it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use client::cluster::Cluster;
use client::progress::Progress;
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::Config;
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::faults::{Fault, Rule};
use super::objects::{Objects, merge, status};
use super::watches;

pub(crate) type Answer = UnsyncBoxBody<Bytes, io::Error>;

/// A call as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) verb: &'static str,
    /// Empty for all namespaces.
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) name: String,
    pub(crate) dry_run: bool,
    pub(crate) body: Value,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) objects: Objects,
    calls: Vec<Call>,
    script: Vec<Rule>,
    /// Statuses that a pod goes through once it exists, each after a delay.
    life: Vec<(Duration, Value)>,
    rules: Option<Value>,
    nodes: Vec<Value>,
    events: Vec<Value>,
    /// Lines of the driver's log, each with its time.
    log: Vec<String>,
    /// The call, counted from 1, that is carried out and never answered.
    last_call: Option<usize>,
    /// None: everybody may call.
    tokens: Option<Tokens>,
}

/// Who may call, and how often.
struct Tokens {
    prefix: &'static str,
    calls: usize,
    used: HashMap<String, usize>,
}

impl Tokens {
    fn accept(&mut self, header: &str) -> bool {
        let Some(token) = header.strip_prefix("Bearer ").filter(|token| token.starts_with(self.prefix)) else {
            return false;
        };
        let used = self.used.entry(token.to_owned()).or_default();
        *used += 1;
        *used <= self.calls
    }
}

pub(crate) struct State {
    pub(crate) inner: Mutex<Inner>,
    pub(crate) wake: watch::Sender<u64>,
    stopped: Notify,
}

pub(crate) type Shared = Arc<State>;

/// A running server.
pub(crate) struct ApiServer {
    pub(crate) url: String,
    shared: Shared,
    accepting: JoinHandle<()>,
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ApiServer {
    pub(crate) async fn start() -> Self {
        Self::listen(None).await
    }

    /// The same over TLS, with a certificate for `name` and nothing else, signed by itself: returned as PEM.
    pub(crate) async fn start_tls(name: &str) -> (Self, String) {
        shared::tls::install_crypto_provider();
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let chain = vec![made.cert.der().clone()];
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
        (Self::listen(Some(TlsAcceptor::from(Arc::new(config)))).await, made.cert.pem())
    }

    async fn listen(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let state = State { inner: Mutex::default(), wake: watch::channel(0).0, stopped: Notify::new() };
        let shared = Arc::new(state);
        let accepting = tokio::spawn(accept(listener, shared.clone(), tls));
        Self { url, shared, accepting }
    }

    /// Asks for a token from now on; each that begins with `prefix` is good for so many calls.
    pub(crate) fn demand_token(&self, prefix: &'static str, calls: usize) -> &Self {
        self.shared.inner.lock().unwrap().tokens = Some(Tokens { prefix, calls, used: HashMap::new() });
        self
    }

    /// A cluster as the client sees it: `request` for one request, `patience` for all tries of a call.
    pub(crate) async fn cluster(&self, request: Duration, patience: Duration, progress: &Progress) -> Cluster {
        let config = Config::new(self.url.parse().unwrap());
        let client = client::cluster::kube_access::build(config).await.unwrap();
        Cluster::new(client, "spark", request, patience, progress.clone())
    }

    pub(crate) fn script(&self, rule: Rule) -> &Self {
        self.shared.inner.lock().unwrap().script.push(rule);
        self
    }

    /// What every pod goes through: each status after its delay.
    pub(crate) fn pod_life(&self, life: &[(u64, Value)]) -> &Self {
        self.shared.inner.lock().unwrap().life =
            life.iter().map(|(millis, status)| (Duration::from_millis(*millis), status.clone())).collect();
        self
    }

    /// The answer to a rules review; without it, everything is granted.
    pub(crate) fn grant(&self, rules: Value) -> &Self {
        self.shared.inner.lock().unwrap().rules = Some(rules);
        self
    }

    pub(crate) fn nodes(&self, nodes: Vec<Value>) -> &Self {
        self.shared.inner.lock().unwrap().nodes = nodes;
        self
    }

    pub(crate) fn events(&self, events: Vec<Value>) {
        self.shared.inner.lock().unwrap().events = events;
    }

    pub(crate) fn log(&self, lines: Vec<String>) {
        self.shared.inner.lock().unwrap().log = lines;
    }

    /// The `number`th call is carried out and never answered; [`Self::stopped`] tells when.
    pub(crate) fn stop_at(&self, number: usize) -> &Self {
        self.shared.inner.lock().unwrap().last_call = Some(number);
        self
    }

    pub(crate) async fn stopped(&self) {
        self.shared.stopped.notified().await;
    }

    /// Puts an object there, as somebody else would.
    pub(crate) fn put(&self, resource: &str, object: Value) -> Value {
        let made = self.shared.inner.lock().unwrap().objects.create(resource, object, false).unwrap();
        self.shared.wake.send_modify(|count| *count += 1);
        made
    }

    /// Changes the only object of a resource, as the cluster itself would.
    pub(crate) fn change(&self, resource: &str, patch: &Value) {
        change(&self.shared, resource, patch);
    }

    /// The same for one of several.
    pub(crate) fn change_named(&self, resource: &str, name: &str, patch: &Value) {
        let mut inner = self.shared.inner.lock().unwrap();
        let mut object = inner.objects.all[&(resource.to_owned(), name.to_owned())].clone();
        merge(&mut object, patch);
        inner.objects.put("MODIFIED", resource, name, object);
        drop(inner);
        self.shared.wake.send_modify(|count| *count += 1);
    }

    /// Deletes an object as somebody else would.
    pub(crate) fn delete(&self, resource: &str, name: &str) {
        self.shared.inner.lock().unwrap().objects.delete(resource, name, &Value::Null).unwrap();
        self.shared.wake.send_modify(|count| *count += 1);
    }

    pub(crate) fn calls(&self) -> Vec<Call> {
        self.shared.inner.lock().unwrap().calls.clone()
    }

    /// Real calls as text, without reads: `create pods`, `delete services …-door`.
    pub(crate) fn writes(&self) -> Vec<String> {
        let writes = self.calls().into_iter().filter(|call| !call.dry_run && !call.resource.ends_with("reviews"));
        let writes = writes.filter(|call| matches!(call.verb, "create" | "patch" | "delete"));
        writes.map(|call| format!("{} {} {}", call.verb, call.resource, call.name)).collect()
    }

    pub(crate) fn count(&self, verb: &str, resource: &str) -> usize {
        self.calls().iter().filter(|call| call.verb == verb && call.resource == resource && !call.dry_run).count()
    }

    /// Objects of a resource.
    pub(crate) fn objects(&self, resource: &str) -> Vec<Value> {
        let inner = self.shared.inner.lock().unwrap();
        inner.objects.all.iter().filter(|((kind, _), _)| kind == resource).map(|(_, object)| object.clone()).collect()
    }

    /// How often an object of a resource has come into being.
    pub(crate) fn created(&self, resource: &str) -> usize {
        let inner = self.shared.inner.lock().unwrap();
        inner.objects.history.iter().filter(|change| change.kind == "ADDED" && change.resource == resource).count()
    }

    /// Everything that is there, as `resource/name`.
    pub(crate) fn everything(&self) -> Vec<String> {
        let inner = self.shared.inner.lock().unwrap();
        inner.objects.all.keys().map(|(resource, name)| format!("{resource}/{name}")).collect()
    }
}

fn change(shared: &Shared, resource: &str, patch: &Value) {
    let mut inner = shared.inner.lock().unwrap();
    let Some(key) = inner.objects.all.keys().find(|(kind, _)| kind == resource).cloned() else { return };
    let mut object = inner.objects.all[&key].clone();
    merge(&mut object, patch);
    inner.objects.put("MODIFIED", resource, &key.1, object);
    drop(inner);
    shared.wake.send_modify(|count| *count += 1);
}

async fn accept(listener: TcpListener, shared: Shared, tls: Option<TlsAcceptor>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let (shared, tls) = (shared.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => serve(stream, shared).await,
                Some(tls) => {
                    // A client that does not trust us leaves in the handshake.
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, shared).await;
                    }
                }
            }
        });
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, shared: Shared) {
    let service = service_fn(move |request| handle(shared.clone(), request));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// One call. An error cuts the connection.
async fn handle(shared: Shared, request: Request<Incoming>) -> io::Result<Response<Answer>> {
    let (parts, body) = request.into_parts();
    let query = query(parts.uri.query().unwrap_or_default());
    let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let call = read_call(parts.method.as_str(), parts.uri.path(), &query, &bytes);
    let token = parts.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (fault, last) = {
        let mut inner = shared.inner.lock().unwrap();
        if inner.tokens.as_mut().is_some_and(|tokens| !tokens.accept(token)) {
            return Ok(answer(Err(status((401, "Unauthorized", "Unauthorized")))));
        }
        inner.calls.push(call.clone());
        (inner.script.iter_mut().find_map(|rule| rule.take(&call)), inner.last_call == Some(inner.calls.len()))
    };
    match fault.clone() {
        Some(Fault::Refuse(status)) => return Ok(answer(Err(status))),
        Some(Fault::Cut) => return Err(io::Error::other("cut")),
        Some(Fault::Throttle(delay)) => return Ok(throttled(delay)),
        // The server goes on when the client has left: its own task, not the connection's.
        Some(Fault::Late(delay)) => {
            let (shared, call, query) = (shared.clone(), call.clone(), query.clone());
            let late = tokio::spawn(async move {
                sleep(delay).await;
                carry_out(&shared, &call, &query)
            });
            return Ok(answer(late.await.map_err(io::Error::other)?));
        }
        _ => {}
    }
    if call.verb == "log" {
        let since = query.get("sinceTime").map(|text| text.replace("%3A", ":")).unwrap_or_default();
        let log = shared.inner.lock().unwrap().log.clone();
        let lines = log.into_iter().filter(|line| line[..19] >= since[..since.len().min(19)]).collect();
        return Ok(Response::new(watches::log(lines, fault.is_some())));
    }
    if call.verb == "watch" {
        let version = query.get("resourceVersion").and_then(|text| text.parse().ok()).unwrap_or(0);
        let body = watches::body(shared, call.resource, call.name, version, fault.as_ref());
        return Ok(Response::new(body));
    }
    let outcome = carry_out(&shared, &call, &query);
    if last {
        shared.stopped.notify_one();
        std::future::pending::<()>().await;
    }
    match fault {
        Some(Fault::CutAfter) => Err(io::Error::other("cut")),
        Some(Fault::FailAfter(status)) => Ok(answer(Err(status))),
        _ => Ok(answer(outcome)),
    }
}

fn carry_out(shared: &Shared, call: &Call, query: &HashMap<String, String>) -> Result<Value, Value> {
    let mut inner = shared.inner.lock().unwrap();
    let labels = query.get("labelSelector").map_or("", String::as_str);
    let outcome = match (call.verb, call.resource.as_str()) {
        ("create", "selfsubjectrulesreviews") => Ok(rules(&inner)),
        ("create", "selfsubjectreviews") => Ok(json!({"kind": "SelfSubjectReview", "metadata": {},
            "apiVersion": "authentication.k8s.io/v1", "status": {"userInfo": {"username": "ann"}}})),
        ("list", "nodes") => Ok(json!({"kind": "NodeList", "metadata": {}, "items": inner.nodes})),
        ("list", "events") => Ok(json!({"kind": "EventList", "metadata": {}, "items": inner.events})),
        ("list", resource) => Ok(inner.objects.list(resource, &call.namespace, labels)),
        ("create", resource) => inner.objects.create(resource, call.body.clone(), call.dry_run),
        ("get", resource) => inner.objects.get(resource, &call.name).and_then(|object| in_namespace(object, call)),
        ("patch", resource) => inner.objects.patch(resource, &call.name, &call.body),
        ("delete", resource) => inner.objects.delete(resource, &call.name, &call.body),
        _ => Err(status((404, "NotFound", "no such path"))),
    };
    let born = outcome.is_ok() && call.verb == "create" && call.resource == "pods" && !call.dry_run;
    let life = if born { inner.life.clone() } else { Vec::new() };
    drop(inner);
    shared.wake.send_modify(|count| *count += 1);
    if !life.is_empty() {
        tokio::spawn(live(shared.clone(), life));
    }
    outcome
}

/// The object, if it is in the namespace that was asked.
fn in_namespace(object: Value, call: &Call) -> Result<Value, Value> {
    let elsewhere = object["metadata"]["namespace"].as_str().is_some_and(|namespace| namespace != call.namespace);
    if elsewhere { Err(status((404, "NotFound", "not in this namespace"))) } else { Ok(object) }
}

async fn live(shared: Shared, life: Vec<(Duration, Value)>) {
    for (delay, state) in life {
        sleep(delay).await;
        change(&shared, "pods", &state);
    }
}

fn rules(inner: &Inner) -> Value {
    let all = json!([{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]);
    let rules = inner.rules.clone().unwrap_or(all);
    json!({"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": {},
        "status": {"resourceRules": rules, "nonResourceRules": [], "incomplete": false}})
}

fn read_call(method: &str, path: &str, query: &HashMap<String, String>, body: &[u8]) -> Call {
    let parts: Vec<_> = path.trim_start_matches('/').split('/').collect();
    let (namespace, rest) = match parts.as_slice() {
        ["api", "v1", "namespaces", namespace, rest @ ..] | ["apis", _, _, "namespaces", namespace, rest @ ..] => {
            (*namespace, rest)
        }
        ["api", "v1", rest @ ..] | ["apis", _, _, rest @ ..] => ("", rest),
        _ => ("", &[][..]),
    };
    let resource = (*rest.first().unwrap_or(&"")).to_owned();
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let named = rest.get(1).map(|name| (*name).to_owned());
    let field = query.get("fieldSelector").and_then(|field| field.strip_prefix("metadata.name=").map(str::to_owned));
    let verb = match (method, &named) {
        ("GET", _) if query.contains_key("watch") => "watch",
        ("GET", Some(_)) if rest.get(2) == Some(&"log") => "log",
        ("GET", Some(_)) => "get",
        ("GET", None) => "list",
        ("POST", _) => "create",
        ("PATCH", _) => "patch",
        _ => "delete",
    };
    let name = named.or(field).or_else(|| body["metadata"]["name"].as_str().map(str::to_owned)).unwrap_or_default();
    let namespace = namespace.to_owned();
    Call { verb, namespace, resource, name, dry_run: query.contains_key("dryRun"), body }
}

fn query(text: &str) -> HashMap<String, String> {
    let decode = |text: &str| text.replace("%3D", "=").replace("%2C", ",").replace("%2F", "/").replace('+', " ");
    text.split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), decode(value)))
        .collect()
}

fn answer(outcome: Result<Value, Value>) -> Response<Answer> {
    let (code, value) = match outcome {
        Ok(value) => (200, value),
        Err(status) => (status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500), status),
    };
    let body = watches::whole(value.to_string());
    Response::builder().status(code).header("content-type", "application/json").body(body).unwrap()
}

fn throttled(delay: &str) -> Response<Answer> {
    let body = watches::whole("Too many requests, please try again later.\n".to_owned());
    Response::builder().status(429).header("retry-after", delay).body(body).unwrap()
}
