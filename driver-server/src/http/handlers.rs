//! The four requests, from HTTP to the submission and back. Only peers with the client certificate get here, so every
//! request counts as progress. What a request does is decided in `submission`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::{get, patch, post};
use http_body_util::BodyExt as _;
use shared::error_code::ErrorCode;
use shared::protocol::{
    BUNDLE_PATH, LAUNCH_PATH, MANIFEST_LIMIT, SUBMISSION_PATH, SubmissionStatus, TAR_TYPE, UPLOAD_OFFSET,
};
use shared::report::Failure as _;

use crate::error::Refusal;
use crate::http::manifest_body;
use crate::http::problem::{refuse, status_of};
use crate::submission::Submission;
use crate::submission::receive;

/// Routes to `submission`.
pub fn router(submission: Arc<Submission>) -> Router {
    Router::new()
        .route(SUBMISSION_PATH, get(read_status).put(offer_manifest))
        .route(BUNDLE_PATH, patch(upload))
        .route(LAUNCH_PATH, post(launch))
        .fallback(unknown_path)
        .method_not_allowed_fallback(unknown_method)
        .with_state(submission)
}

async fn read_status(State(submission): State<Arc<Submission>>, request: Request) -> Response {
    submission.activity.touch();
    let result = submission.status();
    answer(&submission, request.into_body(), StatusCode::OK, result)
}

async fn offer_manifest(State(submission): State<Arc<Submission>>, request: Request) -> Response {
    submission.activity.touch();
    let (parts, mut body) = request.into_parts();
    if content_length(&parts.headers).is_some_and(|length| length > MANIFEST_LIMIT as u64) {
        return answer(&submission, body, StatusCode::OK, Err(manifest_too_large()));
    }
    let text = match read_all(&submission, &mut body).await {
        Ok(text) => text,
        Err(refusal) => return answer(&submission, body, StatusCode::OK, Err(refusal)),
    };
    let job = Arc::clone(&submission);
    let work = submission.tasks.spawn_blocking(move || {
        let manifest = manifest_body::parse(&text)?;
        drop(text);
        job.offer(manifest)
    });
    let result = work.await.unwrap_or_else(|_| Err(Refusal::bug("the manifest could not be accepted")));
    answer(&submission, Body::empty(), StatusCode::OK, result)
}

async fn upload(State(submission): State<Arc<Submission>>, request: Request) -> Response {
    submission.activity.touch();
    let (parts, mut body) = request.into_parts();
    if let Err(refusal) = check_types(&parts.headers) {
        return refuse(&submission.tasks, body, StatusCode::UNSUPPORTED_MEDIA_TYPE, &refusal);
    }
    let result = match upload_offset(&parts.headers) {
        Ok(begin) => upload_from(&submission, begin, &mut body).await,
        Err(refusal) => Err(refusal),
    };
    answer(&submission, body, StatusCode::OK, result)
}

async fn upload_from(submission: &Arc<Submission>, begin: u64, body: &mut Body) -> Result<SubmissionStatus, Refusal> {
    let mut turn = submission.take_turn();
    let receiver = submission.begin_upload(begin, &mut turn).await?;
    receive::upload(submission, receiver, &mut turn, body).await?;
    submission.status()
}

async fn launch(State(submission): State<Arc<Submission>>, request: Request) -> Response {
    submission.activity.touch();
    let body = request.into_body();
    match submission.launch().await {
        // Here the bundle is not wrong, it is not there yet.
        Err(refusal) if refusal.code() == ErrorCode::Truncated && submission.refusal().is_none() => {
            refuse(&submission.tasks, body, StatusCode::CONFLICT, &refusal)
        }
        result => answer(&submission, body, StatusCode::ACCEPTED, result),
    }
}

async fn unknown_path(State(submission): State<Arc<Submission>>, request: Request) -> Response {
    let refusal = Refusal::new(ErrorCode::Protocol, "this server has no such path");
    refuse(&submission.tasks, request.into_body(), StatusCode::NOT_FOUND, &refusal)
}

async fn unknown_method(State(submission): State<Arc<Submission>>, request: Request) -> Response {
    let refusal = Refusal::new(ErrorCode::Protocol, "this path takes another method");
    refuse(&submission.tasks, request.into_body(), StatusCode::METHOD_NOT_ALLOWED, &refusal)
}

fn answer(
    submission: &Submission,
    body: Body,
    success: StatusCode,
    result: Result<SubmissionStatus, Refusal>,
) -> Response {
    let status = match result {
        Ok(status) => status,
        Err(refusal) => return refuse(&submission.tasks, body, status_of(&refusal), &refusal),
    };
    let mut response = Response::new(Body::from(serde_json::to_vec(&status).unwrap_or_default()));
    *response.status_mut() = success;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The whole body, counted as it comes.
async fn read_all(submission: &Submission, body: &mut Body) -> Result<Vec<u8>, Refusal> {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::new(ErrorCode::Protocol, "the manifest was cut"))?;
        let bytes = frame.into_data().unwrap_or_default();
        if text.len() + bytes.len() > MANIFEST_LIMIT {
            return Err(manifest_too_large());
        }
        text.extend_from_slice(&bytes);
        submission.activity.touch();
    }
    Ok(text)
}

fn manifest_too_large() -> Refusal {
    let detail = format!("the manifest is larger than the limit of {MANIFEST_LIMIT} bytes");
    Refusal::new(ErrorCode::TooLarge, detail).hint("send fewer files, or pack small ones into an archive")
}

fn check_types(headers: &HeaderMap) -> Result<(), Refusal> {
    for (name, wanted) in [(CONTENT_TYPE, TAR_TYPE), (CONTENT_ENCODING, "gzip")] {
        if !header(headers, &name).is_some_and(|value| value.eq_ignore_ascii_case(wanted)) {
            return Err(Refusal::new(ErrorCode::Protocol, format!("{name} must be {wanted}")));
        }
    }
    Ok(())
}

fn upload_offset(headers: &HeaderMap) -> Result<u64, Refusal> {
    let name = HeaderName::from_static(UPLOAD_OFFSET);
    let digits = header(headers, &name).filter(|value| value.bytes().all(|byte| byte.is_ascii_digit()));
    let offset = digits.and_then(|value| value.parse().ok());
    offset.ok_or_else(|| Refusal::new(ErrorCode::Protocol, "Upload-Offset must state a tar byte, once"))
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    header(headers, &CONTENT_LENGTH)?.parse().ok()
}

/// The value of a header that occurs exactly once.
fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}
