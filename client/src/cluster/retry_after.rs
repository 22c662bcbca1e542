//! The header `Retry-After`, kept: the API server's own throttling answers 429 in plain text, and the client library
//! drops headers. Such an answer becomes a `Status` that states the delay, which `api_error` then reads.

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::client::DynBody;
use serde_json::json;

/// A body as the client library passes it on.
type AnyBody = Box<DynBody>;

/// `response`, or a `Status` in its place if it asks to come back later and says when in a header.
#[must_use]
pub fn keep_retry_after(response: Response<AnyBody>) -> Response<AnyBody> {
    let status = response.status();
    let asked = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
    let Some(seconds) = asked.then(|| seconds(response.headers(), Timestamp::now())).flatten() else {
        return response;
    };
    let stated = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status.as_u16(),
        "reason": "TooManyRequests", "message": "the server asked to come back later",
        "details": {"retryAfterSeconds": seconds},
    });
    response.map(|_| Box::new(Full::new(Bytes::from(stated.to_string())).map_err(Into::into)) as AnyBody)
}

/// The delay in the header, given as seconds or as a date.
fn seconds(headers: &HeaderMap, now: Timestamp) -> Option<u32> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(seconds);
    }
    let date = rfc2822::parse(text).ok()?.timestamp();
    u32::try_from(date.as_second() - now.as_second()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k05_seconds_and_dates() {
        let now = Timestamp::from_second(784_111_777).unwrap();
        let table = [
            ("2", Some(2)),
            (" 120 ", Some(120)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
            ("Sun, 06 Nov 1994 08:49:27 GMT", None),
            ("soon", None),
        ];
        for (text, expected) in table {
            let mut headers = HeaderMap::new();
            headers.insert(header::RETRY_AFTER, text.parse().unwrap());
            assert_eq!(seconds(&headers, now), expected, "{text}");
        }
    }
}
