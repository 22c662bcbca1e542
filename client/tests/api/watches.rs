//! Watches: what has changed since a version, then what changes, one JSON document a line; or the end that the script
//! wants.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::faults::Fault;
use super::serve::{Answer, Shared};

/// The body of a watch on `name` of `resource` from `version` on.
pub(crate) fn body(shared: Shared, resource: String, name: String, version: u64, fault: Option<&Fault>) -> Answer {
    match fault {
        Some(Fault::ErrorEvent(status)) => lines(stream::iter([Ok(json!({"type": "ERROR", "object": status}))])),
        Some(Fault::Close) => lines(stream::empty()),
        Some(Fault::Reset) => lines(stream::iter([Err(io::Error::other("cut"))])),
        Some(Fault::Silence) => lines(stream::pending()),
        _ => lines(changes(shared, resource, name, version)),
    }
}

fn changes(shared: Shared, resource: String, name: String, version: u64) -> impl Stream<Item = io::Result<Value>> {
    let wake = shared.wake.subscribe();
    let state = (shared, resource, name, version, wake);
    stream::unfold(state, |(shared, resource, name, mut seen, mut wake)| async move {
        loop {
            let next = {
                let inner = shared.inner.lock().unwrap();
                let named = |object: &Value| name.is_empty() || object["metadata"]["name"] == *name;
                let mut later = inner.objects.history.iter().filter(|change| change.version > seen);
                later.find(|change| change.resource == resource && named(&change.object)).cloned()
            };
            if let Some(change) = next {
                seen = change.version;
                let event = json!({"type": change.kind, "object": change.object});
                return Some((Ok(event), (shared, resource, name, seen, wake)));
            }
            if woken(&mut wake).await.is_err() {
                return None;
            }
        }
    })
}

async fn woken(wake: &mut watch::Receiver<u64>) -> Result<(), watch::error::RecvError> {
    wake.changed().await
}

fn lines(events: impl Stream<Item = io::Result<Value>> + Send + 'static) -> Answer {
    let frames = events.map(|event| event.map(|event| Frame::data(Bytes::from(format!("{event}\n")))));
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

/// A log; `cut` in the middle of a line, well before its end.
pub(crate) fn log(lines: Vec<String>, cut: bool) -> Answer {
    let mut text = lines.into_iter().map(|line| line + "\n").collect::<String>();
    let mut pieces = Vec::new();
    if cut {
        text.truncate(text.len() / 2 + 7);
        pieces.push(Err(io::Error::other("cut")));
    }
    pieces.insert(0, Ok(Frame::data(Bytes::from(text))));
    BodyExt::boxed_unsync(StreamBody::new(stream::iter(pieces)))
}

/// A whole body.
pub(crate) fn whole(text: String) -> Answer {
    http_body_util::Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync()
}
