//! What a submission has created, so that it can be taken away again. An object is written down before it is asked for:
//! a create that was cut off may have happened. What cannot be removed is said; leases and owner references do the rest.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service};
use kube::ResourceExt;
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::{Cluster, Namespaced, SUBMISSION_ANNOTATION};
use crate::error::SubmitError;
use crate::progress::Progress;
use crate::settings::names::SubmissionId;

/// Seconds that the driver server gets to say why it ends.
const POD_GRACE: u32 = 2;
/// How often an object that is being deleted is looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(300);
/// After a create with unknown outcome: when the object may still appear.
const LATE_OBJECT: Duration = Duration::from_secs(2);

/// The objects of a submission, the scarce one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The door: a port.
    Door,
    /// The driver pod.
    Pod,
    /// The Secret with its key.
    Secret,
    /// A Secret that the driver mounts.
    DriverSecret,
    /// A `ConfigMap` that it mounts.
    ConfigMap,
    /// A claim that it mounts.
    Claim,
    /// The headless Service.
    HeadlessService,
}

#[derive(Clone, Debug)]
struct Entry {
    kind: Kind,
    name: String,
    /// Absent until the API server has said that it made the object.
    uid: Option<String>,
}

/// An object that could not be removed.
#[derive(Debug)]
pub struct Leftover {
    /// `pod spark/x-driver`.
    pub what: String,
    /// Why it is still there.
    pub why: String,
}

/// What one submission has created.
pub struct Created<'a> {
    cluster: &'a Cluster,
    submission: &'a SubmissionId,
    entries: Mutex<Vec<Entry>>,
    open_port: Mutex<Option<(u16, Instant)>>,
    progress: &'a Progress,
}

impl<'a> Created<'a> {
    /// Nothing yet.
    #[must_use]
    pub fn nothing(cluster: &'a Cluster, submission: &'a SubmissionId, progress: &'a Progress) -> Self {
        Self { cluster, submission, entries: Mutex::default(), open_port: Mutex::default(), progress }
    }

    /// The door that was created leads through `port`. How long it was open is said when it is closed.
    pub fn door_is_open(&self, port: u16) {
        self.progress.say(format!("port {port} open"));
        *self.open_port.lock().unwrap_or_else(PoisonError::into_inner) = Some((port, Instant::now()));
    }

    fn say_closed(&self) {
        if let Some((port, since)) = self.open_port.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.progress.say(format!("port {port} open for {:.1} s", since.elapsed().as_secs_f64()));
        }
    }

    /// Creates `object` and remembers it, whatever comes of it.
    pub async fn create<K: Namespaced>(&self, kind: Kind, object: &K) -> Result<K, SubmitError> {
        let name = object.name_any();
        self.with(|entries| entries.push(Entry { kind, name: name.clone(), uid: None }));
        let made = self.cluster.create(object).await?;
        let uid = made.uid();
        self.with(|entries| {
            let made = entries.iter_mut().filter(|entry| entry.kind == kind && entry.name == name);
            made.for_each(|entry| entry.uid.clone_from(&uid));
        });
        Ok(made)
    }

    /// Removes every object of one kind, confirmed, within `limit`, and says what is left.
    pub async fn remove(&self, kind: Kind, limit: Duration) -> Vec<Leftover> {
        let entries = self.with(|entries| entries.iter().filter(|it| it.kind == kind).cloned().collect::<Vec<_>>());
        self.remove_entries(entries, limit).await
    }

    /// Removes everything within `limit` and says what is left. All at once: an object that is slow to go holds up no
    /// other.
    pub async fn remove_all(&self, limit: Duration) -> Vec<Leftover> {
        let entries = self.with(|entries| entries.clone());
        self.remove_entries(entries, limit).await
    }

    async fn remove_entries(&self, entries: Vec<Entry>, limit: Duration) -> Vec<Leftover> {
        let removed = futures::future::join_all(entries.iter().map(|entry| self.remove_entry(entry, limit))).await;
        removed.into_iter().filter_map(Result::err).collect()
    }

    async fn remove_entry(&self, entry: &Entry, limit: Duration) -> Result<(), Leftover> {
        let removed = match entry.kind {
            Kind::Door | Kind::HeadlessService => Box::pin(self.remove_object::<Service>(entry, limit)).await,
            Kind::Pod => Box::pin(self.remove_object::<Pod>(entry, limit)).await,
            Kind::Secret | Kind::DriverSecret => Box::pin(self.remove_object::<Secret>(entry, limit)).await,
            Kind::ConfigMap => Box::pin(self.remove_object::<ConfigMap>(entry, limit)).await,
            Kind::Claim => Box::pin(self.remove_object::<PersistentVolumeClaim>(entry, limit)).await,
        };
        removed.map_err(|why| Leftover { what: self.describe(entry), why })?;
        self.with(|entries| entries.retain(|other| (other.kind, &other.name) != (entry.kind, &entry.name)));
        if entry.kind == Kind::Door {
            self.say_closed();
        }
        Ok(())
    }

    /// What may still be there, by name.
    #[must_use]
    pub fn remaining(&self) -> Vec<String> {
        let mut entries = self.with(|entries| entries.clone());
        entries.sort_by_key(|entry| entry.kind);
        entries.iter().map(|entry| self.describe(entry)).collect()
    }

    async fn remove_object<K: Namespaced>(&self, entry: &Entry, limit: Duration) -> Result<(), String> {
        let removal = async {
            match &entry.uid {
                Some(uid) => self.delete::<K>(entry, uid).await,
                None => self.delete_late::<K>(entry, LATE_OBJECT.min(limit / 2)).await,
            }
        };
        match timeout(limit, removal).await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err(format!("not gone after {} s", limit.as_secs())),
        }
    }

    async fn delete<K: Namespaced>(&self, entry: &Entry, uid: &str) -> Result<(), SubmitError> {
        let grace = (entry.kind == Kind::Pod).then_some(POD_GRACE);
        self.cluster.delete::<K>(&entry.name, uid, grace).await?;
        self.confirm_gone::<K>(&entry.name, uid).await
    }

    /// Deletes what a create with unknown outcome has made, or makes within `window`.
    async fn delete_late<K: Namespaced>(&self, entry: &Entry, window: Duration) -> Result<(), SubmitError> {
        let end = Instant::now() + window;
        loop {
            let found = self.cluster.find::<K>(&entry.name).await?;
            let ours = |object: &K| {
                object.annotations().get(SUBMISSION_ANNOTATION).map(String::as_str) == Some(self.submission.as_str())
            };
            if let Some(uid) = found.filter(ours).and_then(|object| object.uid()) {
                self.delete::<K>(entry, &uid).await?;
            }
            if Instant::now() >= end {
                return Ok(());
            }
            sleep(LOOK_INTERVAL).await;
        }
    }

    async fn confirm_gone<K: Namespaced>(&self, name: &str, uid: &str) -> Result<(), SubmitError> {
        // Who may delete need not be allowed to read; then the server's word is enough.
        while let Ok(Some(object)) = self.cluster.find::<K>(name).await {
            if object.uid().as_deref() != Some(uid) {
                break;
            }
            sleep(LOOK_INTERVAL).await;
        }
        Ok(())
    }

    fn describe(&self, entry: &Entry) -> String {
        match entry.kind {
            Kind::Door | Kind::HeadlessService => self.cluster.what::<Service>(&entry.name),
            Kind::Pod => self.cluster.what::<Pod>(&entry.name),
            Kind::Secret | Kind::DriverSecret => self.cluster.what::<Secret>(&entry.name),
            Kind::ConfigMap => self.cluster.what::<ConfigMap>(&entry.name),
            Kind::Claim => self.cluster.what::<PersistentVolumeClaim>(&entry.name),
        }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Vec<Entry>) -> T) -> T {
        change(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
