//! Requests and replies between client and driver server: HTTP/1.1 inside mutual TLS 1.3. Offsets count bytes of the tar
//! stream, never of the compressed one, so they mean the same whatever the encoding.
//!
//! The upload follows the semantics of the IETF draft for resumable uploads (draft-ietf-httpbis-resumable-upload) where
//! they apply: `Upload-Offset` states where a `PATCH` begins, and only the offset that the server states counts.

use serde::{Deserialize, Serialize};

use crate::error_code::ErrorCode;

/// `PUT` sends the manifest, `GET` asks for the state; both answer a [`SubmissionStatus`].
pub const SUBMISSION_PATH: &str = "/v1/submission";
/// `PATCH` sends the tar stream from the offset in [`UPLOAD_OFFSET`] on; answers a [`SubmissionStatus`].
pub const BUNDLE_PATH: &str = "/v1/submission/bundle";
/// `POST` starts the driver, once however often it is asked; answers 202 and a [`SubmissionStatus`].
pub const LAUNCH_PATH: &str = "/v1/submission/launch";

/// Request header of `PATCH`: the first tar byte of the body, counted from 0.
pub const UPLOAD_OFFSET: &str = "upload-offset";
/// Media type of the tar stream.
pub const TAR_TYPE: &str = "application/x-tar";
/// Media type of a [`Problem`] (RFC 9457).
pub const PROBLEM_TYPE: &str = "application/problem+json";

/// Largest manifest in bytes that a driver server reads: some 100,000 members.
pub const MANIFEST_LIMIT: usize = 32 * 1024 * 1024;

/// How far the driver server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubmissionState {
    /// No manifest has come yet.
    Waiting,
    /// The manifest is accepted; the bundle is complete up to the offset.
    Receiving,
    /// Every byte lies on disk and every digest holds.
    Verified,
    /// The launch is decided; the server is about to become the driver.
    Launched,
}

/// What the driver server holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubmissionStatus {
    /// How far it is.
    pub state: SubmissionState,
    /// Tar bytes received, written and hashed.
    pub offset: u64,
    /// Once verified: the SHA-256, in lower-case hex, of the `SHA256SUMS` text that the server made itself from what it
    /// wrote. The client compares it with its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A refusal, as `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A short text for the kind of problem.
    pub title: String,
    /// The HTTP status, repeated as RFC 9457 asks.
    pub status: u16,
    /// What failed on what, for people.
    pub detail: String,
    /// The stable code, for example `E_OFFSET`; a `String` because the other side may be of another version.
    pub code: String,
    /// What to change, if the server knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<String>,
    /// With `E_OFFSET`: where the upload must go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

impl Problem {
    /// The code, where this version knows it; [`ErrorCode::Protocol`] otherwise.
    #[must_use]
    pub fn error_code(&self) -> ErrorCode {
        self.code.parse().unwrap_or(ErrorCode::Protocol)
    }
}
