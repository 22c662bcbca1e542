//! What an answer of the API server means: come back later, unknown outcome, or a refusal and why. Told by reason and
//! text of the `Status`, since the HTTP status alone says little: a full port range and a crash are both 500. Repeating
//! a call is `cluster`'s matter.

use std::error::Error;
use std::time::Duration;

use kube::client::AuthError;
use kube::core::Status;
use shared::error_code::ErrorCode;

use crate::cluster::kube_access::helper_text;
use crate::error::SubmitError;

/// Why a call is worth another try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The server refused to look at it now: nothing happened.
    Busy,
    /// No connection: nothing happened.
    Unreachable,
    /// No answer, or one that leaves open what happened.
    Unknown,
}

/// What to do about a failed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Another try may help, not before the server's own delay.
    Again(Trouble, Option<Duration>),
    /// The object exists already.
    Exists,
    /// The object, or its namespace, does not exist.
    NotFound,
    /// The object is another one than was meant (uid), or has changed meanwhile.
    Conflict,
    /// The credentials do not work, or not any more.
    Unauthorized,
    /// Another try would fail as well.
    Final,
}

/// Judges a failed call.
#[must_use]
pub fn judge(error: &kube::Error) -> Verdict {
    match error {
        kube::Error::Api(status) => judge_status(status),
        kube::Error::Service(error) if tls_failure(error.as_ref()).is_some() => Verdict::Final,
        kube::Error::Service(error) if is_connect(error.as_ref()) => Verdict::Again(Trouble::Unreachable, None),
        kube::Error::Service(error) if cause::<AuthError>(error.as_ref()).is_some() => Verdict::Final,
        // The answer was lost, cut short or garbled: whatever was asked for may have happened.
        kube::Error::Service(_)
        | kube::Error::HyperError(_)
        | kube::Error::ReadEvents(_)
        | kube::Error::SerdeError(_)
        | kube::Error::FromUtf8(_) => Verdict::Again(Trouble::Unknown, None),
        _ => Verdict::Final,
    }
}

fn judge_status(status: &Status) -> Verdict {
    let delay = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    let delay = (delay > 0).then(|| Duration::from_secs(u64::from(delay)));
    if range_is_full(status) {
        return Verdict::Final;
    }
    match (status.code, status.reason.as_str()) {
        (429 | 503, _) | (_, "TooManyRequests" | "ServiceUnavailable") => Verdict::Again(Trouble::Busy, delay),
        (500 | 502 | 504, _) | (_, "InternalError" | "Timeout" | "ServerTimeout") => {
            Verdict::Again(Trouble::Unknown, delay)
        }
        (409, "AlreadyExists") => Verdict::Exists,
        (409, _) => Verdict::Conflict,
        (404, _) => Verdict::NotFound,
        (401, _) => Verdict::Unauthorized,
        _ => Verdict::Final,
    }
}

/// The text for "no such port left": as cause of an `Invalid` (a fixed port) or as a bare 500 (the whole range).
fn range_is_full(status: &Status) -> bool {
    let text = &status.message;
    text.contains("provided port is already allocated")
        || text.contains("failed to allocate a nodePort")
        || text.contains("range is full")
}

/// The failure to show for a call that will not be repeated. `action` says what was tried on what: `create pod ns/x`.
#[must_use]
pub fn explain(error: kube::Error, action: &str) -> SubmitError {
    match error {
        kube::Error::Api(status) => explain_status(&status, action),
        kube::Error::Auth(error) => credentials(action).because(helper_text(&error)),
        kube::Error::Service(error) => explain_service(error, action),
        other => SubmitError::new(ErrorCode::ApiUnreachable, format!("cannot {action}")).because(other),
    }
}

fn explain_service(error: Box<dyn Error + Send + Sync>, action: &str) -> SubmitError {
    if let Some(helper) = cause::<AuthError>(error.as_ref()) {
        return credentials(action).because(helper_text(helper));
    }
    let Some(tls) = tls_failure(error.as_ref()) else {
        return SubmitError::new(ErrorCode::ApiUnreachable, format!("cannot {action}: the API server does not answer"))
            .because(error)
            .hint("check the address: --master k8s://https://host:port, or the server of the kubeconfig's context");
    };
    SubmitError::new(ErrorCode::TlsApiServer, format!("cannot {action}: the API server's certificate is not trusted"))
        .because(tls.to_string())
        .hint("check certificate-authority and tls-server-name of the cluster in the kubeconfig")
}

fn credentials(action: &str) -> SubmitError {
    SubmitError::new(ErrorCode::KubeAuth, format!("cannot {action}: the credentials do not work"))
        .hint("check the user of the kubeconfig's context: `kubectl auth whoami`")
}

/// Which refusal it is. The server's text is shown in full: it names the field, the quota or the policy.
fn explain_status(status: &Status, action: &str) -> SubmitError {
    let text = status.message.as_str();
    let fail = |code, what: &str| SubmitError::new(code, format!("cannot {action}: {what}")).because(text.to_owned());
    if range_is_full(status) {
        return fail(ErrorCode::PortsExhausted, "no node port is free")
            .hint("list the doors: kubectl get services -A -l app.kubernetes.io/managed-by=airlock")
            .hint("see who holds them: kubectl get services --all-namespaces | grep NodePort");
    }
    match status.code {
        401 => credentials(action).because(text.to_owned()),
        403 => explain_forbidden(text, action),
        422 if text.contains("provided port is not in the valid range") => {
            fail(ErrorCode::Invalid, &invalid_fields(status))
                .hint("choose another spark.airlock.door.nodePort, or none")
        }
        422 => fail(ErrorCode::Invalid, &invalid_fields(status)),
        404 if text.starts_with("namespaces ") => fail(ErrorCode::NotFound, "the namespace does not exist")
            .hint("name one that exists: --conf spark.kubernetes.namespace=NAME"),
        404 => fail(ErrorCode::NotFound, "it does not exist"),
        429 | 503 => fail(ErrorCode::ApiBusy, "the API server asked to come back later"),
        500..=599 => fail(ErrorCode::ApiTimeout, "the API server failed"),
        _ => fail(ErrorCode::Policy, "the API server refused"),
    }
}

fn explain_forbidden(text: &str, action: &str) -> SubmitError {
    let fail = |code, what: &str| SubmitError::new(code, format!("cannot {action}: {what}")).because(text.to_owned());
    if text.contains("exceeded quota") || text.contains("failed quota") {
        fail(ErrorCode::Quota, "a quota of the namespace forbids it").hint("see the quotas: kubectl describe quota")
    } else if text.contains("violates PodSecurity") {
        fail(ErrorCode::PodSecurity, "Pod Security refuses the pod")
    } else if text.contains("admission webhook") || text.contains("ValidatingAdmissionPolicy") {
        fail(ErrorCode::Policy, "an admission policy refuses it")
    } else if text.contains(" cannot ") && text.contains("resource") {
        fail(ErrorCode::Rights, "the right is missing")
            .hint("ask the administrator for a role; `kubectl auth can-i --list` shows yours")
    } else {
        fail(ErrorCode::Policy, "the cluster refuses it")
    }
}

fn invalid_fields(status: &Status) -> String {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let fields: Vec<_> = causes.map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
    if fields.is_empty() { "the API server calls it invalid".to_owned() } else { fields.join("; ") }
}

/// The rustls error in a chain of causes, if that is what broke the connection.
fn tls_failure<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    cause::<rustls::Error>(error)
}

fn is_connect(error: &(dyn Error + 'static)) -> bool {
    cause::<hyper_util::client::legacy::Error>(error).is_some_and(hyper_util::client::legacy::Error::is_connect)
}

/// The first error of type `E` in a chain of causes.
fn cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut current = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An I/O error is not the source of what it wraps, it stands in for it.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        current = wrapped.map_or_else(|| error.source(), |wrapped| Some(wrapped as _));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::core::response::{StatusCause, StatusDetails};

    fn status(code: u16, reason: &str, message: &str) -> Status {
        Status::failure(message, reason).with_code(code)
    }

    fn details() -> StatusDetails {
        serde_json::from_str("{}").unwrap()
    }

    #[test]
    fn refusals_are_told_apart_by_the_servers_words() {
        let table = [
            (
                403,
                "Forbidden",
                r#"pods "x" is forbidden: User "u" cannot create resource "pods" in API group """#,
                "E_RIGHTS",
            ),
            (
                403,
                "Forbidden",
                r#"pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5, limited: pods=5"#,
                "E_QUOTA",
            ),
            (403, "Forbidden", r#"pods "x" is forbidden: failed quota: q: must specify limits.cpu for: c"#, "E_QUOTA"),
            (
                403,
                "Forbidden",
                r#"pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true"#,
                "E_POD_SECURITY",
            ),
            (403, "Forbidden", r#"admission webhook "w.example" denied the request: no"#, "E_POLICY"),
            (
                422,
                "Invalid",
                r#"services "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"#,
                "E_INVALID_OBJECT",
            ),
            (
                403,
                "Forbidden",
                r#"services "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"#,
                "E_POLICY",
            ),
            (403, "Forbidden", r#"pods "x" is forbidden: [maximum cpu usage per Container is 1]"#, "E_POLICY"),
            (
                422,
                "Invalid",
                "spec.ports[0].nodePort: Invalid value: 30000: provided port is already allocated",
                "E_PORTS_EXHAUSTED",
            ),
            (
                500,
                "InternalError",
                "Internal error occurred: failed to allocate a nodePort: range is full",
                "E_PORTS_EXHAUSTED",
            ),
            (401, "Unauthorized", "Unauthorized", "E_KUBE_AUTH"),
        ];
        for (code, reason, message, expected) in table {
            let error = explain(kube::Error::Api(status(code, reason, message).boxed()), "create pod ns/x");
            assert_eq!(error.code().as_str(), expected, "{message}");
        }
    }

    #[test]
    fn d01_a_full_port_range_is_not_tried_again() {
        let full =
            status(500, "InternalError", "Internal error occurred: failed to allocate a nodePort: range is full");
        assert_eq!(judge(&kube::Error::Api(full.boxed())), Verdict::Final);
    }

    #[test]
    fn k05_the_servers_own_delay_counts() {
        let mut details = details();
        details.retry_after_seconds = 2;
        let busy = status(429, "TooManyRequests", "too many requests").with_details(details);
        let expected = Verdict::Again(Trouble::Busy, Some(Duration::from_secs(2)));
        assert_eq!(judge(&kube::Error::Api(busy.boxed())), expected);
    }

    #[test]
    fn invalid_objects_name_their_fields() {
        let mut details = details();
        let cause = |field: &str, message: &str| StatusCause {
            reason: String::new(),
            message: message.into(),
            field: field.into(),
        };
        details.causes = vec![cause("spec.containers[0].image", "Required value"), cause("metadata.name", "too long")];
        let error = explain_status(&status(422, "Invalid", "Pod is invalid").with_details(details), "create pod ns/x");
        let text = error.to_string();
        assert_eq!(text, "cannot create pod ns/x: spec.containers[0].image: Required value; metadata.name: too long");
    }
}
