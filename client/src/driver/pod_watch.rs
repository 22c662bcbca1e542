//! One pod as it changes, however the watch on it ends: 410 as status or event, a clean close, a reset, silence, errors.
//! After each of these the pod is read again, so nothing is lost; a pod of another uid is another pod. How long to go on,
//! and what a state means, is the caller's matter.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{WatchEvent, WatchParams};
use tokio::time::{Instant, sleep_until, timeout};

use crate::cluster::Cluster;
use crate::cluster::back_off::BackOff;
use crate::error::SubmitError;

type Events = Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<Pod>>> + Send>>;

/// What was seen.
#[derive(Debug)]
pub enum Seen {
    /// The pod as it is now.
    Pod(Box<Pod>),
    /// The pod is gone, or another one has its name. With its last state, where the watch brought it.
    Gone(Option<Box<Pod>>),
}

/// Follows one pod.
pub struct PodWatch<'a> {
    cluster: &'a Cluster,
    name: String,
    uid: String,
    events: Option<Events>,
    version: Option<String>,
    back_off: BackOff,
    not_before: Option<Instant>,
    silence: Duration,
}

impl<'a> PodWatch<'a> {
    /// Follows the pod `name` that has `uid`.
    #[must_use]
    pub fn new(cluster: &'a Cluster, name: impl Into<String>, uid: impl Into<String>) -> Self {
        Self {
            cluster,
            name: name.into(),
            uid: uid.into(),
            events: None,
            version: None,
            back_off: BackOff::new(Duration::MAX),
            not_before: None,
            // A watch may rightly be silent; reading one pod anew now and then costs little.
            silence: cluster.request_timeout() * 3,
        }
    }

    /// Every state from now on; two in a row may be equal. An error means that the API server gave up on us, or we on it;
    /// the next state is another try. Unlike a future of the next state, a stream can wait beside a timer that ticks:
    /// a slow read is not begun anew at each tick.
    pub fn states(self) -> impl Stream<Item = Result<Seen, SubmitError>> + use<'a> {
        futures::stream::unfold(self, |mut watch| async move { Some((watch.next().await, watch)) })
    }

    async fn next(&mut self) -> Result<Seen, SubmitError> {
        loop {
            if let Some(moment) = self.not_before {
                sleep_until(moment).await;
                self.not_before = None;
            }
            match &mut self.events {
                Some(events) => match timeout(self.silence, events.next()).await {
                    Ok(Some(Ok(event))) => {
                        if let Some(seen) = self.take(event) {
                            return Ok(seen);
                        }
                    }
                    Ok(_) => self.restart(true),
                    Err(_) => self.restart(false),
                },
                None if self.version.is_some() => self.open().await,
                None => return self.read().await,
            }
        }
    }

    /// Reads the pod; the watch goes on from that version.
    async fn read(&mut self) -> Result<Seen, SubmitError> {
        let Some(pod) = self.cluster.find::<Pod>(&self.name).await? else { return Ok(Seen::Gone(None)) };
        if pod.uid().as_deref() != Some(&self.uid) {
            return Ok(Seen::Gone(None));
        }
        self.version = Some(pod.resource_version().unwrap_or_default());
        Ok(Seen::Pod(Box::new(pod)))
    }

    async fn open(&mut self) {
        let Some(version) = self.version.clone() else { return };
        let parameters = WatchParams::default().fields(&format!("metadata.name={}", self.name));
        let api = self.cluster.api::<Pod>();
        let opened = timeout(self.cluster.request_timeout(), api.watch(&parameters, &version)).await;
        match opened {
            Ok(Ok(events)) => self.events = Some(Box::pin(events)),
            // Without a watch the pod is read again and again, which is slower and as right.
            _ => self.restart(true),
        }
    }

    fn take(&mut self, event: WatchEvent<Pod>) -> Option<Seen> {
        let (pod, deleted) = match event {
            WatchEvent::Added(pod) | WatchEvent::Modified(pod) => (pod, false),
            WatchEvent::Deleted(pod) => (pod, true),
            WatchEvent::Bookmark(_) => return None,
            WatchEvent::Error(_) => {
                self.restart(true);
                return None;
            }
        };
        if pod.uid().as_deref() != Some(&self.uid) {
            // Another pod of that name: reading it anew tells.
            self.restart(false);
            return None;
        }
        self.back_off.reset();
        Some(if deleted { Seen::Gone(Some(Box::new(pod))) } else { Seen::Pod(Box::new(pod)) })
    }

    /// Lets go of the watch; the pod is read next, after a pause if something went wrong.
    fn restart(&mut self, pause: bool) {
        (self.events, self.version) = (None, None);
        if pause {
            self.not_before = Some(Instant::now() + self.back_off.next_delay(None));
        }
    }
}
