//! Calls to the API server, typed, each with a limit, repeated while that can help and is safe. A create whose outcome is
//! not known is looked up by name before it is tried again, so there is never a second object. What the objects hold is
//! known by `driver_pod` and `driver_objects`; what an answer means, by `api_error`.

pub mod api_error;
pub mod back_off;
pub mod connection;
pub mod credentials;
pub mod kube_access;
pub mod kubeconfig;
pub mod retry_after;
pub mod rights;

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::AsyncBufRead;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use kube::api::{Api, DeleteParams, ListParams, LogParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use shared::error_code::ErrorCode;

use crate::cluster::api_error::{Trouble, Verdict, explain, judge};
use crate::cluster::back_off::BackOff;
use crate::cluster::connection::Connection;
use crate::error::SubmitError;
use crate::progress::Progress;

/// Annotation: the submission that an object belongs to.
pub const SUBMISSION_ANNOTATION: &str = "airlock/submission-id";
/// Who we are for the API server's field ownership.
const FIELD_MANAGER: &str = "airlock";

/// An object that lives in a namespace.
pub trait Namespaced:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned + Send + Sync
{
}

impl<K> Namespaced for K where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
{
}

/// One namespace of one cluster, as one user sees it.
pub struct Cluster {
    connection: Arc<Connection>,
    namespace: String,
    /// For one request.
    request_timeout: Duration,
    /// For all tries of one call.
    patience: Duration,
    /// Whether the server has answered at all: an address that never worked is not waited for as long.
    answered: AtomicBool,
    progress: Progress,
}

/// How an object came to be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// By our call.
    Deleted,
    /// Somebody else was faster, or it has been replaced by another one of its name.
    WasGone,
}

/// A call that failed for good.
struct Refused {
    verdict: Verdict,
    error: SubmitError,
    /// An earlier try's answer was lost: whatever was asked for may have been done by it.
    maybe_done: bool,
}

/// One try that failed.
enum Failed {
    Api(kube::Error),
    Late,
}

impl Failed {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Api(error) => judge(error),
            Self::Late => Verdict::Again(Trouble::Unknown, None),
        }
    }
}

impl Cluster {
    /// Calls through `connection` in `namespace`: `request_timeout` for one request, `patience` for all tries of one call.
    #[must_use]
    pub fn new(
        connection: impl Into<Connection>,
        namespace: impl Into<String>,
        request_timeout: Duration,
        patience: Duration,
        progress: Progress,
    ) -> Self {
        let answered = AtomicBool::new(false);
        let connection = Arc::new(connection.into());
        Self { connection, namespace: namespace.into(), request_timeout, patience, answered, progress }
    }

    /// The same cluster, another namespace.
    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self {
            connection: self.connection.clone(),
            namespace: namespace.to_owned(),
            request_timeout: self.request_timeout,
            patience: self.patience,
            answered: AtomicBool::new(self.answered.load(Ordering::Relaxed)),
            progress: self.progress.clone(),
        }
    }

    /// The namespace of all objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The limit for one request.
    #[must_use]
    pub const fn request_timeout(&self) -> Duration {
        self.request_timeout
    }

    /// The client, for calls that are no single request.
    #[must_use]
    pub fn client(&self) -> Client {
        self.connection.client()
    }

    /// The objects of one kind in the namespace.
    #[must_use]
    pub fn api<K: Namespaced>(&self) -> Api<K> {
        Api::namespaced(self.client(), &self.namespace)
    }

    /// Creates `object`, exactly once. One that is there already is ours if an earlier try of this call may have made it
    /// and it carries our submission id.
    pub async fn create<K: Namespaced>(&self, object: &K) -> Result<K, SubmitError> {
        let what = self.what::<K>(&object.name_any());
        let action = format!("create {what}");
        let (mut back_off, mut maybe_made, mut renewed) = (BackOff::new(self.patience), false, false);
        loop {
            let number = self.connection.number();
            let failed = match self.once(self.api::<K>().create(&post(false), object)).await {
                Ok(created) => return Ok(created),
                Err(failed) => failed,
            };
            let verdict = failed.verdict();
            let delay = match verdict {
                Verdict::Unauthorized if self.renew(number, &mut renewed).await => continue,
                Verdict::Exists | Verdict::Again(Trouble::Unknown, _) => {
                    maybe_made |= verdict != Verdict::Exists;
                    if let Some(found) = self.find::<K>(&object.name_any()).await? {
                        return recognise(found, object, maybe_made, &what);
                    }
                    None
                }
                Verdict::Again(_, delay) => delay,
                _ => return Err(self.failure(failed, &action)),
            };
            if !self.wait(&mut back_off, verdict, delay).await {
                return Err(self.gave_up(failed, &action));
            }
        }
    }

    /// Asks the server whether it would create `object`. Nothing is created.
    pub async fn dry_run<K: Namespaced>(&self, object: &K) -> Result<(), SubmitError> {
        let (what, params) = (self.what::<K>(&object.name_any()), &post(true));
        let create = |api: Api<K>| async move { api.create(params, object).await };
        match self.repeat(&format!("create {what}"), || create(self.api())).await {
            Ok(_) => Ok(()),
            Err(Refused { verdict: Verdict::Exists, .. }) => match self.find::<K>(&object.name_any()).await? {
                Some(found) => recognise(found, object, false, &what).map(drop),
                None => Ok(()),
            },
            Err(refused) => Err(refused.into()),
        }
    }

    /// The object, if it exists.
    pub async fn find<K: Namespaced>(&self, name: &str) -> Result<Option<K>, SubmitError> {
        let read = |api: Api<K>| async move { api.get_opt(name).await };
        Ok(self.repeat(&format!("read {}", self.what::<K>(name)), || read(self.api())).await?)
    }

    /// All objects of a kind with these labels.
    pub async fn list<K: Namespaced>(&self, params: &ListParams) -> Result<Vec<K>, SubmitError> {
        let action = format!("list {} in {}", K::plural(&()), self.namespace);
        let list = |api: Api<K>| async move { api.list(params).await };
        Ok(self.repeat(&action, || list(self.api())).await?.items)
    }

    /// The same for all namespaces.
    pub async fn list_everywhere<K: Namespaced>(&self, params: &ListParams) -> Result<Vec<K>, SubmitError> {
        let action = format!("list {} in all namespaces", K::plural(&()));
        let list = |api: Api<K>| async move { api.list(params).await };
        Ok(self.repeat(&action, || list(Api::all(self.client()))).await?.items)
    }

    /// Opens a pod's log.
    pub async fn open_log(&self, pod: &str, params: &LogParams) -> Result<impl AsyncBufRead, SubmitError> {
        let action = format!("get pods/log of {}", self.what::<Pod>(pod));
        let open = |api: Api<Pod>| async move { api.log_stream(pod, params).await };
        Ok(self.repeat(&action, || open(self.api())).await?)
    }

    /// Lists objects that have no namespace, nodes for example.
    pub async fn list_all<K>(&self) -> Result<Vec<K>, SubmitError>
    where
        K: Resource<Scope = ClusterResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let (action, params) = (format!("list {}", K::plural(&())), &ListParams::default());
        let list = |api: Api<K>| async move { api.list(params).await };
        Ok(self.repeat(&action, || list(Api::all(self.client()))).await?.items)
    }

    /// Posts a review, which is a question and creates nothing.
    pub async fn review<K>(&self, question: &K) -> Result<K, SubmitError>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
    {
        let params = &PostParams::default();
        let ask = |api: Api<K>| async move { api.create(params, question).await };
        Ok(self.repeat(&format!("ask for a {}", K::kind(&())), || ask(Api::all(self.client()))).await?)
    }

    /// Merges `patch` into the object.
    pub async fn patch<K: Namespaced>(&self, name: &str, patch: &serde_json::Value) -> Result<K, SubmitError> {
        let (params, patch) = (&PatchParams::default(), &Patch::Merge(patch));
        let action = format!("change {}", self.what::<K>(name));
        let change = |api: Api<K>| async move { api.patch(name, params, patch).await };
        Ok(self.repeat(&action, || change(self.api())).await?)
    }

    /// Deletes the object. One that is gone, or has been replaced by another uid, is deleted.
    pub async fn delete<K: Namespaced>(&self, name: &str, uid: &str, grace: Option<u32>) -> Result<(), SubmitError> {
        self.remove::<K>(name, uid, grace).await.map(drop)
    }

    /// The same, and says whether it was this call that deleted it.
    pub async fn remove<K: Namespaced>(
        &self,
        name: &str,
        uid: &str,
        grace: Option<u32>,
    ) -> Result<Removal, SubmitError> {
        let mut params = DeleteParams::background()
            .preconditions(Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() });
        params.grace_period_seconds = grace;
        let params = &params;
        let delete = |api: Api<K>| async move { api.delete(name, params).await };
        match self.repeat(&format!("delete {}", self.what::<K>(name)), || delete(self.api())).await {
            Ok(_) => Ok(Removal::Deleted),
            Err(Refused { verdict: Verdict::NotFound | Verdict::Conflict, maybe_done, .. }) => {
                Ok(if maybe_done { Removal::Deleted } else { Removal::WasGone })
            }
            Err(refused) => Err(refused.into()),
        }
    }

    /// `pod spark/x-driver`.
    #[must_use]
    pub fn what<K: Namespaced>(&self, name: &str) -> String {
        format!("{} {}/{name}", K::kind(&()).to_lowercase(), self.namespace)
    }

    /// One call, repeated while that can help. Only for calls that may be repeated in any case.
    async fn repeat<T, F>(&self, action: &str, call: impl Fn() -> F) -> Result<T, Refused>
    where
        F: Future<Output = kube::Result<T>>,
    {
        let (mut back_off, mut maybe_done, mut renewed) = (BackOff::new(self.patience), false, false);
        loop {
            let number = self.connection.number();
            let failed = match self.once(call()).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            let verdict = failed.verdict();
            let error = match verdict {
                Verdict::Unauthorized if self.renew(number, &mut renewed).await => continue,
                Verdict::Again(trouble, delay) => {
                    maybe_done |= trouble == Trouble::Unknown;
                    if self.wait(&mut back_off, verdict, delay).await {
                        continue;
                    }
                    self.gave_up(failed, action)
                }
                _ => self.failure(failed, action),
            };
            return Err(Refused { verdict, error, maybe_done });
        }
    }

    async fn once<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T, Failed> {
        let outcome = tokio::time::timeout(self.request_timeout, call).await;
        if matches!(outcome, Ok(Ok(_) | Err(kube::Error::Api(_)))) {
            self.answered.store(true, Ordering::Relaxed);
        }
        if matches!(outcome, Ok(Ok(_))) {
            self.connection.works();
        }
        outcome.map_err(|_| Failed::Late)?.map_err(Failed::Api)
    }

    /// New credentials in place of those that client `number` has, once a call.
    async fn renew(&self, number: u64, renewed: &mut bool) -> bool {
        !std::mem::replace(renewed, true) && self.connection.renew(number).await
    }

    /// Waits for the next try; false when there is none.
    async fn wait(&self, back_off: &mut BackOff, verdict: Verdict, delay: Option<Duration>) -> bool {
        let never_answered = !self.answered.load(Ordering::Relaxed);
        let unreachable = matches!(verdict, Verdict::Again(Trouble::Unreachable, _));
        if unreachable && never_answered && back_off.spent() > self.request_timeout {
            return false;
        }
        if back_off.spent() > Duration::from_secs(2) {
            self.progress.waiting(match verdict {
                Verdict::Again(Trouble::Busy, _) => "waiting for the API server: busy",
                _ => "waiting for the API server: no answer",
            });
        }
        back_off.pause(delay).await
    }

    fn failure(&self, failed: Failed, action: &str) -> SubmitError {
        match failed {
            Failed::Api(error) => explain(error, action),
            Failed::Late => self.gave_up(Failed::Late, action),
        }
    }

    /// The failure after the last try.
    fn gave_up(&self, failed: Failed, action: &str) -> SubmitError {
        let waited = format!("{} s", self.patience.as_secs());
        let (code, what) = match failed.verdict() {
            Verdict::Again(Trouble::Busy, _) => {
                (ErrorCode::ApiBusy, format!("the API server asked to come back later for {waited}"))
            }
            Verdict::Again(Trouble::Unreachable, _) => return self.failure(failed, action),
            _ => (ErrorCode::ApiTimeout, format!("the API server gave no good answer within {waited}")),
        };
        let error = SubmitError::new(code, format!("cannot {action}: {what}"))
            .hint("more patience: --conf spark.airlock.timeout.api=5m; for one request: --conf spark.kubernetes.submission.requestTimeout=60000");
        match failed {
            Failed::Api(cause) => error.because(last_answer(&cause)),
            Failed::Late => error.because(format!("one request took longer than {:?}", self.request_timeout)),
        }
    }
}

impl From<Refused> for SubmitError {
    fn from(refused: Refused) -> Self {
        refused.error
    }
}

fn last_answer(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} {}", status.code, status.message),
        other => other.to_string(),
    }
}

fn post(dry_run: bool) -> PostParams {
    PostParams { dry_run, field_manager: Some(FIELD_MANAGER.to_owned()) }
}

/// Decides whose an object is that was there already.
fn recognise<K: Namespaced>(found: K, wanted: &K, maybe_made: bool, what: &str) -> Result<K, SubmitError> {
    let submission = |object: &K| object.annotations().get(SUBMISSION_ANNOTATION).cloned();
    let same = submission(&found).is_some() && submission(&found) == submission(wanted);
    if same && maybe_made {
        return Ok(found);
    }
    if same {
        let id = submission(&found).unwrap_or_default();
        let text = format!("submission {id} has been made already: {what} exists");
        let (namespace, kind) = (found.namespace().unwrap_or_default(), K::plural(&()));
        return Err(SubmitError::new(ErrorCode::AlreadyRunning, text)
            .hint(format!("look at it: kubectl -n {namespace} describe {kind} {}", found.name_any())));
    }
    let fate = if found.meta().deletion_timestamp.is_some() { " and is still being deleted" } else { "" };
    Err(SubmitError::new(ErrorCode::NameTaken, format!("{what} exists{fate}, and is not of this submission"))
        .hint("choose another spark.kubernetes.driver.pod.name, or delete the object"))
}
