//! Submissions with a key: never a second driver, whoever died before, and whoever else submits at the same moment.

use std::time::Duration;

use client::error::Problems;
use client::interrupt::Interrupts;
use client::resubmission::submit_once;
use client::settings::names::{RANDOM_BYTES, SubmissionNames};
use client::settings::submission_key::{SUBMISSION_KEY_ANNOTATION, SubmissionKey};
use client::submit::{Outcome, Submission};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::api::{Fault, Rule, status};
use crate::pods::{ended, running, waiting};
use crate::submissions::Case;

fn key() -> SubmissionKey {
    SubmissionKey::parse("daily 2026-01-01").unwrap()
}

/// A case whose submission has the key.
async fn keyed(life: &[(u64, Value)]) -> Case {
    let mut case = Case::new(life).await;
    case.settings.driver.annotations.insert(SUBMISSION_KEY_ANNOTATION.to_owned(), key().as_str().to_owned());
    case.names = names(1);
    case
}

fn names(run: u8) -> SubmissionNames {
    SubmissionNames::new("pi", Some(&key().pod_name()), &[run; RANDOM_BYTES])
}

/// The pod of an earlier run in `state`; `lease` is what is left of its lease in seconds.
fn put_earlier(case: &Case, state: &Value, lease: i64) {
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(lease);
    let annotations = json!({SUBMISSION_KEY_ANNOTATION: key().as_str(), "airlock/submission-id": "earlier",
        "airlock/lease-until": until.to_string()});
    let metadata = json!({"name": key().pod_name().as_str(), "namespace": "spark", "annotations": annotations,
        "labels": {"spark-app-selector": "spark-earlier"}});
    let spec = json!({"containers": [{"name": "spark-kubernetes-driver"}]});
    case.server.put("pods", json!({"metadata": metadata, "spec": spec}));
    case.server.change("pods", state);
}

async fn submit(case: &Case, names: &SubmissionNames) -> Result<Outcome, Problems> {
    let cluster = case.server.cluster(Duration::from_millis(300), case.settings.deadlines.api, &case.progress).await;
    let (_sender, receiver) = mpsc::channel(1);
    let mut interrupts = Interrupts::scripted(receiver);
    let submission = Submission {
        cluster: &cluster,
        who: "nobody",
        user: "ann",
        settings: &case.settings,
        names,
        transfer: &case.transfer,
        progress: &case.progress,
    };
    let key = key();
    let submitting = submit_once(&submission, &key, &mut interrupts);
    tokio::time::timeout(Duration::from_secs(30), submitting).await.expect("a submission hangs")
}

fn exit_code(outcome: Result<Outcome, Problems>) -> i32 {
    match outcome.unwrap() {
        Outcome::Ended(ended) => ended.exit_code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_first_run_with_a_key_submits() {
    let case = keyed(&[(10, running()), (400, ended(0, "Completed", ""))]).await;
    assert_eq!(exit_code(submit(&case, &case.names).await), 0);
    case.assert_launched();
    let pod = &case.server.objects("pods")[0];
    assert_eq!(pod["metadata"]["name"], key().pod_name().as_str());
    assert_eq!(pod["metadata"]["annotations"][SUBMISSION_KEY_ANNOTATION], key().as_str());
}

#[tokio::test]
async fn a_driver_that_runs_is_followed_and_nothing_is_made() {
    let case = keyed(&[]).await;
    put_earlier(&case, &running(), 600);
    let ending = async {
        while case.server.count("watch", "pods") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        case.server.change("pods", &ended(3, "Error", ""));
    };
    let (outcome, ()) = tokio::join!(submit(&case, &case.names), ending);
    assert_eq!(exit_code(outcome), 3);
    assert_eq!(case.server.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_driver_that_has_ended_gives_its_status_again() {
    let case = keyed(&[]).await;
    put_earlier(&case, &ended(4, "Error", ""), -9999);
    assert_eq!(exit_code(submit(&case, &case.names).await), 4);
    assert_eq!(case.server.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn without_waiting_a_driver_that_runs_is_enough() {
    let mut case = keyed(&[]).await;
    case.settings.follow.wait = false;
    put_earlier(&case, &running(), 600);
    assert!(matches!(submit(&case, &case.names).await, Ok(Outcome::Deployed)));
    assert_eq!(case.server.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn t02_a_pod_whose_submission_died_before_the_launch_makes_room() {
    for (state, lease) in
        [(ended(75, "Error", "E_IDLE: nothing came for 60 s"), 600), (waiting("ContainerCreating"), -3600)]
    {
        let case = keyed(&[(10, running()), (400, ended(0, "Completed", ""))]).await;
        put_earlier(&case, &state, lease);
        assert_eq!(exit_code(submit(&case, &case.names).await), 0);
        assert_eq!(case.server.created("pods"), 2, "the dead one and its successor");
        case.assert_launched();
    }
}

#[tokio::test]
async fn t02_a_pod_that_pends_within_its_lease_is_waited_for() {
    let case = keyed(&[]).await;
    put_earlier(&case, &waiting("ContainerCreating"), 600);
    let starting = async {
        while case.server.count("watch", "pods") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        case.server.change("pods", &running());
        case.server.change("pods", &ended(5, "Error", ""));
    };
    let (outcome, ()) = tokio::join!(submit(&case, &case.names), starting);
    assert_eq!(exit_code(outcome), 5);
    assert_eq!(case.server.created("pods"), 1);
}

#[tokio::test]
async fn two_runs_at_once_make_one_driver_and_both_follow_it() {
    let case = keyed(&[(10, running()), (900, ended(6, "Error", ""))]).await;
    let other_names = names(2);
    let (first, other) = tokio::join!(submit(&case, &case.names), submit(&case, &other_names));
    assert_eq!((exit_code(first), exit_code(other)), (6, 6));
    assert_eq!(case.server.created("pods"), 1);
    case.assert_launched();
}

#[tokio::test]
async fn d05_a_race_that_is_lost_at_the_pod_itself_leaves_nothing_of_the_loser() {
    let case = keyed(&[]).await;
    // The look before and the dry run find nothing; the pod is there at its creation.
    let taken = status((409, "AlreadyExists", "pods already exists"));
    case.server.script(Rule::new("create", "pods", 1, Fault::Refuse(taken)));
    let appearing = async {
        while case.server.count("create", "secrets") == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        put_earlier(&case, &ended(7, "Error", ""), 600);
    };
    let (outcome, ()) = tokio::join!(submit(&case, &case.names), appearing);
    assert_eq!(exit_code(outcome), 7);
    assert_eq!(case.server.objects("secrets").len(), 0);
    assert_eq!(case.server.created("pods"), 1);
}

#[tokio::test]
async fn a_pod_that_is_not_of_the_key_is_not_touched() {
    let case = keyed(&[]).await;
    let metadata = json!({"name": key().pod_name().as_str(), "namespace": "spark"});
    case.server.put("pods", json!({"metadata": metadata, "spec": {"containers": []}}));
    let error = submit(&case, &case.names).await.map(|outcome| panic!("{outcome:?}")).unwrap_err();
    assert_eq!(error.code().as_str(), "E_NAME_TAKEN");
    assert_eq!(case.server.writes(), Vec::<String>::new());
}
