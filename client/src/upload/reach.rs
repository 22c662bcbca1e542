//! From candidate addresses to one that leads to this submission's driver server: all are tried side by side, each again
//! and again until the limit, and the first verified answer wins. What is sent then is `upload`'s matter.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::FuturesUnordered;
use http::Method;
use shared::error_code::ErrorCode;
use shared::protocol::{SUBMISSION_PATH, SubmissionStatus};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::{Instant, sleep, timeout};

use crate::error::SubmitError;
use crate::settings::Candidate;
use crate::upload::certificates::ClientCredentials;
use crate::upload::dial::{CONNECT_TIMEOUT, Connection, DialError, RequestError, answer};
use crate::upload::refusal;

/// Head start of each candidate over the next, so that the best one usually wins without a race.
const STAGGER: Duration = Duration::from_millis(100);
/// First and longest pause between two attempts at one address.
const PAUSE: (Duration, Duration) = (Duration::from_millis(40), Duration::from_millis(500));
/// Longest wait for the answer to the question about the state, once connected.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a foreign answer at an address is put down to rules that are still changing: the port may have been another
/// driver's a moment ago.
const FOREIGN_PATIENCE: Duration = Duration::from_secs(10);

/// The addresses of one driver server and the means to prove who answers.
pub struct Dialer {
    connections: Vec<Connection>,
    credentials: ClientCredentials,
}

impl Dialer {
    /// A dialer for `candidates`, best first.
    pub fn new(candidates: Vec<Candidate>, credentials: ClientCredentials) -> Result<Self, SubmitError> {
        let connect = |candidate| Connection::new(candidate, &credentials);
        let connections = candidates.into_iter().map(connect).collect::<Result<_, _>>()?;
        Ok(Self { connections, credentials })
    }

    /// The first address at which the driver server proves itself within `limit`, and the state that it reports. A server
    /// that has refused the submission for good is an error with its reason: no other address knows better.
    pub async fn reach(&self, limit: Duration) -> Result<(Connection, SubmissionStatus), SubmitError> {
        let outcomes = Mutex::new(vec![DialError::Timeout; self.connections.len()]);
        let record = |index: usize, outcome: DialError| {
            outcomes.lock().unwrap_or_else(PoisonError::into_inner)[index] = outcome;
        };
        let mut attempts: FuturesUnordered<_> = self
            .connections
            .iter()
            .enumerate()
            .map(|(index, connection)| keep_trying(index, connection, &record))
            .collect();
        let first_answer = async {
            while let Some(result) = attempts.next().await {
                if result.is_some() {
                    return result;
                }
            }
            None
        };
        if let Ok(Some(answered)) = timeout(limit, first_answer).await {
            return answered;
        }
        drop(attempts);
        let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        Err(self.unreachable(&self.look_closer(outcomes).await, limit))
    }

    /// Tells those that drop packets from those that accept connections and say nothing. Asked at the end only: a silent
    /// address may be a proxy whose own way is not there yet, so it is tried as long as one that drops.
    async fn look_closer(&self, outcomes: Vec<DialError>) -> Vec<DialError> {
        let looks = self.connections.iter().zip(outcomes).map(async |(connection, outcome)| {
            if outcome == DialError::Timeout && connection.is_open().await { DialError::Silent } else { outcome }
        });
        join_all(looks).await
    }

    fn unreachable(&self, outcomes: &[DialError], limit: Duration) -> SubmitError {
        let lines = self.connections.iter().zip(outcomes).map(|(connection, outcome)| {
            format!("{} ({}): {outcome}", connection.candidate.address, connection.candidate.origin)
        });
        let list = lines.collect::<Vec<_>>().join("; ");
        if outcomes.contains(&DialError::Clock) {
            return self.clock(&list);
        }
        let foreign = |outcome: &DialError| matches!(outcome, DialError::NotDriver(_));
        let all_taken = outcomes.iter().all(|outcome| foreign(outcome) || *outcome == DialError::Silent);
        if all_taken && outcomes.iter().any(foreign) {
            let what = format!("something else answers in the driver's place: {list}");
            return SubmitError::new(ErrorCode::TlsPeerNotDriver, what)
                .hint("a process on the node may hold the port, or a proxy or mesh sidecar may end TLS in between")
                .hint("spark.airlock.door.addresses=HOST dials another address");
        }
        let what = format!("no address led to the driver server within {}: {list}", humantime::format_duration(limit));
        let error = SubmitError::new(ErrorCode::DriverUnreachable, what);
        self.connections.first().into_iter().fold(error, |error, connection| {
            let port = connection.candidate.address.port();
            error
                .hint(format!(
                    "the pod runs; open TCP port {port} (or the cluster's node port range) towards its nodes"
                ))
                .hint(
                    "spark.airlock.door.addresses=HOST dials another address, spark.airlock.timeout.reach waits longer",
                )
        })
    }

    fn clock(&self, list: &str) -> SubmitError {
        let show = |moment: OffsetDateTime| moment.format(&Rfc3339).unwrap_or_default();
        let (from, until) = self.credentials.validity;
        let what = format!(
            "the clocks of this machine ({}) and of the driver's node differ by more than the certificates' life ({} to {}): {list}",
            show(OffsetDateTime::now_utc()),
            show(from),
            show(until)
        );
        SubmitError::new(ErrorCode::Clock, what)
            .hint("compare `date -u` here and on the node, and mend the wrong clock")
    }
}

/// Tries one address until the driver server answers, be it with a refusal; none when another attempt cannot help.
async fn keep_trying(
    index: usize,
    connection: &Connection,
    record: &impl Fn(usize, DialError),
) -> Option<Result<(Connection, SubmissionStatus), SubmitError>> {
    sleep(STAGGER * u32::try_from(index).unwrap_or(u32::MAX)).await;
    let mut pause = PAUSE.0;
    let mut foreign_since = None;
    loop {
        let outcome = match ask(connection).await {
            Ok(status) => return Some(Ok((connection.clone(), status))),
            Err(RequestError::Refused(problem)) => return Some(Err(refusal(&problem))),
            Err(RequestError::NoAnswer(outcome)) => outcome,
        };
        let foreign = matches!(outcome, DialError::NotDriver(_));
        let final_one = outcome == DialError::Clock;
        record(index, outcome);
        foreign_since = foreign.then(|| foreign_since.unwrap_or_else(Instant::now));
        if final_one || foreign_since.is_some_and(|since: Instant| since.elapsed() > FOREIGN_PATIENCE) {
            return None;
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(PAUSE.1);
    }
}

async fn ask(connection: &Connection) -> Result<SubmissionStatus, RequestError> {
    let request = connection.request(Method::GET, SUBMISSION_PATH).timeout(CONNECT_TIMEOUT + ANSWER_TIMEOUT);
    answer(request.send().await).await
}
