//! Single calls: repeated while it helps, never with a second object.

use std::time::{Duration, Instant};

use client::cluster::Cluster;
use client::error::SubmitError;
use client::objects::driver_pod::driver_pod;
use client::progress::Progress;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use crate::api::{ApiServer, Fault, Rule, status};
use crate::test_settings::{context, names, settings};

const REQUEST: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(4);

async fn cluster(server: &ApiServer, patience: Duration) -> Cluster {
    server.cluster(REQUEST, patience, &Progress::stderr(true)).await
}

fn pod() -> Pod {
    driver_pod(&settings(), &names(), &context())
}

fn code(error: &SubmitError) -> &'static str {
    error.code().as_str()
}

#[tokio::test]
async fn k05_throttled_calls_come_back_when_the_server_said() {
    let stated = json!({"kind": "Status", "status": "Failure", "code": 429, "reason": "TooManyRequests",
        "message": "busy", "details": {"retryAfterSeconds": 1}});
    for fault in [Fault::Throttle("1"), Fault::Refuse(stated)] {
        let server = ApiServer::start().await;
        server.script(Rule::new("create", "pods", 2, fault));
        let started = Instant::now();
        cluster(&server, PATIENCE).await.create(&pod()).await.unwrap();
        assert!(started.elapsed() >= Duration::from_secs(2), "{:?}", started.elapsed());
        assert_eq!((server.count("create", "pods"), server.created("pods")), (3, 1));
    }
}

#[tokio::test]
async fn k05_beyond_the_limit_it_is_busy() {
    let server = ApiServer::start().await;
    server.script(Rule::new("create", "pods", 99, Fault::Throttle("1")));
    let error = cluster(&server, Duration::from_secs(2)).await.create(&pod()).await.unwrap_err();
    assert_eq!(code(&error), "E_API_BUSY");
    assert_eq!(server.created("pods"), 0);
}

#[tokio::test]
async fn k06_a_create_whose_answer_is_lost_makes_one_pod() {
    let timeout = status((504, "Timeout", "request did not complete within the allotted timeout"));
    let internal = status((500, "InternalError", "failed calling webhook: context deadline exceeded"));
    for fault in
        [Fault::CutAfter, Fault::FailAfter(timeout), Fault::FailAfter(internal.clone()), Fault::Refuse(internal)]
    {
        let server = ApiServer::start().await;
        server.script(Rule::new("create", "pods", 1, fault.clone()));
        let made = cluster(&server, PATIENCE).await.create(&pod()).await.unwrap();
        assert_eq!(server.created("pods"), 1, "{fault:?}");
        assert_eq!(made.uid().unwrap(), server.objects("pods")[0]["metadata"]["uid"], "{fault:?}");
    }
}

#[tokio::test]
async fn k06_a_webhook_that_answers_too_late_makes_one_pod() {
    for slow in [1, 2, 3] {
        let server = ApiServer::start().await;
        server.script(Rule::new("create", "pods", slow, Fault::Late(REQUEST * 3)));
        cluster(&server, PATIENCE).await.create(&pod()).await.unwrap();
        tokio::time::sleep(REQUEST * 4).await;
        assert_eq!(server.created("pods"), 1, "{slow}");
    }
}

#[tokio::test]
async fn k06_a_webhook_that_never_answers_is_a_timeout() {
    let server = ApiServer::start().await;
    server.script(Rule::new("create", "pods", 99, Fault::Late(Duration::from_mins(1))));
    let error = cluster(&server, Duration::from_secs(1)).await.create(&pod()).await.unwrap_err();
    assert_eq!(code(&error), "E_API_TIMEOUT");
}

#[tokio::test]
async fn k06_objects_of_others_are_not_ours() {
    let server = ApiServer::start().await;
    let mut foreign = serde_json::to_value(pod()).unwrap();
    foreign["metadata"]["annotations"]["airlock/submission-id"] = json!("another");
    server.put("pods", foreign);
    let cluster = cluster(&server, PATIENCE).await;
    assert_eq!(code(&cluster.create(&pod()).await.unwrap_err()), "E_NAME_TAKEN");
    assert_eq!(code(&cluster.dry_run(&pod()).await.unwrap_err()), "E_NAME_TAKEN");
    server.script(Rule::new("create", "pods", 1, Fault::Cut));
    assert_eq!(code(&cluster.create(&pod()).await.unwrap_err()), "E_NAME_TAKEN");
}

#[tokio::test]
async fn c04_the_same_submission_many_times_at_once_makes_one_pod() {
    let server = ApiServer::start().await;
    let clusters = futures::future::join_all((0..50).map(|_| cluster(&server, PATIENCE))).await;
    let pod = pod();
    let outcomes = futures::future::join_all(clusters.iter().map(|cluster| cluster.create(&pod))).await;
    let refused: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert_eq!(refused.len(), 49);
    assert!(refused.iter().all(|error| code(error) == "E_ALREADY_RUNNING"), "{refused:?}");
    assert_eq!(server.created("pods"), 1);
}

#[tokio::test]
async fn k06_deletes_are_repeated_and_never_hit_another_object() {
    let server = ApiServer::start().await;
    let cluster = cluster(&server, PATIENCE).await;
    let made = cluster.create(&pod()).await.unwrap();
    server.script(Rule::new("delete", "pods", 1, Fault::CutAfter));
    cluster.delete::<Pod>(&made.name_any(), &made.uid().unwrap(), None).await.unwrap();
    assert!(server.objects("pods").is_empty());
    server.put("pods", serde_json::to_value(pod()).unwrap());
    cluster.delete::<Pod>(&made.name_any(), &made.uid().unwrap(), None).await.unwrap();
    assert_eq!(server.objects("pods").len(), 1);
}

#[tokio::test]
async fn an_api_server_that_was_never_there_is_found_out_soon() {
    let server = ApiServer::start().await;
    let cluster = cluster(&server, Duration::from_mins(10)).await;
    drop(server);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let started = Instant::now();
    let error = cluster.find::<Pod>("x").await.unwrap_err();
    assert_eq!(code(&error), "E_API_UNREACHABLE");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
