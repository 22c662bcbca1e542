//! Refusals as HTTP: the status for each code, and the body as `application/problem+json`. An answer that comes before
//! the request's body has ended still arrives: the connection is closed only after the rest has been drained.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONNECTION, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use shared::error_code::ErrorCode;
use shared::protocol::{PROBLEM_TYPE, Problem};
use shared::report::Failure as _;
use tokio_util::task::TaskTracker;

use crate::error::Refusal;

/// Most bytes of a refused body that are read and thrown away.
const DRAIN_BYTES: u64 = 1 << 30;
/// Longest time for that.
const DRAIN_TIME: Duration = Duration::from_secs(30);

/// The HTTP status for `refusal`.
#[must_use]
pub fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal.code() {
        ErrorCode::Idle => StatusCode::REQUEST_TIMEOUT,
        ErrorCode::Offset | ErrorCode::AlreadyRunning => StatusCode::CONFLICT,
        ErrorCode::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorCode::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        ErrorCode::Protocol => StatusCode::BAD_REQUEST,
        ErrorCode::Io | ErrorCode::Bug => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

/// The answer for `refusal`. The rest of `body` is read in a task of its own, bounded in bytes and time: to close while
/// the client still sends would reset the connection, and the client would see that instead of the answer.
pub fn refuse(tasks: &TaskTracker, body: Body, status: StatusCode, refusal: &Refusal) -> Response {
    let unread = !body.is_end_stream();
    if unread {
        tasks.spawn(drain(body));
    }
    let mut response = problem(status, refusal);
    if unread {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn problem(status: StatusCode, refusal: &Refusal) -> Response {
    let problem = Problem {
        title: status.canonical_reason().unwrap_or("Refused").to_owned(),
        status: status.as_u16(),
        detail: refusal.to_string(),
        code: refusal.code().to_string(),
        hints: refusal.hints(),
        offset: refusal.offset(),
    };
    let mut response = Response::new(Body::from(serde_json::to_vec(&problem).unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_TYPE));
    response
}

async fn drain(mut body: Body) {
    let mut left = DRAIN_BYTES;
    let drained = tokio::time::timeout(DRAIN_TIME, async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, |bytes| bytes.len() as u64);
            let Some(rest) = left.checked_sub(length) else { break };
            left = rest;
        }
    });
    // Out of time is as good as the end: the client has had its chance to read the answer.
    let _ = drained.await;
}
