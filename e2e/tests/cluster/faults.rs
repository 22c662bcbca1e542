//! What may go wrong on the way: each ends with its reason and its status, and leaves nothing of ours behind.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use e2e::airlock::{Airlock, finish};
use e2e::faulty_proxy::{Fault, FaultyProxy};
use e2e::jobs::Jobs;
use e2e::namespace::{TestNamespace, eventually, with_namespace};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::api::{Api, ListParams};

use crate::cluster_test;

/// Bytes of the input that is sent: many times what sockets hold on the way.
const PAYLOAD: usize = 48 << 20;

/// A submission of [`PAYLOAD`] random bytes whose "driver" is a program that ends at once with status 0.
fn payload(namespace: &TestNamespace, jobs: &Jobs) -> Airlock {
    let mut bytes = vec![0; PAYLOAD];
    getrandom::fill(&mut bytes).unwrap();
    std::fs::write(jobs.path("payload.bin"), bytes).unwrap();
    Airlock::submit(namespace)
        .folder(jobs.folder())
        .option("--class", "Nobody")
        .option("--files", "payload.bin")
        .conf("spark.airlock.driver.entryPoint", "/bin/true")
        .application("local:///nowhere.jar", Vec::<&str>::new())
}

/// The same through a proxy with faults. The node port is chosen here, so that the proxy knows it.
async fn through_proxy(namespace: &TestNamespace, jobs: &Jobs, faults: Vec<Fault>) -> (Airlock, FaultyProxy) {
    let port = e2e::random_node_port();
    let proxy = FaultyProxy::start(SocketAddr::new(node_address(namespace).await, port), faults).await;
    let submit = payload(namespace, jobs)
        .conf("spark.airlock.door.nodePort", &port.to_string())
        .conf("spark.airlock.door.addresses", &proxy.address.to_string());
    (submit, proxy)
}

fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).unwrap();
    bytes
}

async fn nodes(namespace: &TestNamespace) -> Vec<(String, std::net::IpAddr)> {
    let nodes = Api::<Node>::all(namespace.client.clone()).list(&ListParams::default()).await.unwrap();
    let address = |node: Node| {
        let addresses = node.status.and_then(|status| status.addresses).unwrap_or_default();
        let internal = addresses.into_iter().find(|address| address.type_ == "InternalIP")?;
        Some((node.metadata.name?, internal.address.parse().ok()?))
    };
    nodes.into_iter().filter_map(address).collect()
}

async fn node_address(namespace: &TestNamespace) -> std::net::IpAddr {
    nodes(namespace).await.first().expect("the cluster has a node").1
}

async fn ended_driver(namespace: &TestNamespace) -> Pod {
    eventually("the driver pod to end", || async {
        let pod = namespace.driver().await?;
        let phase = pod.status.as_ref()?.phase.clone()?;
        ["Failed", "Succeeded"].contains(&phase.as_str()).then_some(pod)
    })
    .await
}

fn termination_message(pod: Pod) -> String {
    let statuses = pod.status.and_then(|status| status.container_statuses).unwrap_or_default();
    let states = statuses.into_iter().filter_map(|status| status.state?.terminated?.message);
    states.collect()
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn c01_submit_killed_in_mid_upload_leaves_a_pod_that_ends_itself_and_no_port() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let (submit, proxy) = through_proxy(&namespace, &jobs, vec![Fault::Stall(PAYLOAD as u64 / 2)]).await;
        let mut child = submit.conf("spark.airlock.timeout.idle", "6s").spawn();
        proxy.stalled().await;
        child.kill().await.unwrap();
        drop(proxy);
        let pod = ended_driver(&namespace).await;
        let message = termination_message(pod);
        assert!(message.starts_with("E_IDLE"), "{message:?}");
        assert_eq!(namespace.node_ports().await, Vec::<u16>::new());
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn u05_five_cuts_cost_at_most_two_per_cent() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let seed: [u8; 5] = random();
        println!("cuts at 1/256ths of an eighth of the payload: {seed:?}");
        let cuts = seed.iter().map(|byte| Fault::Cut(u64::from(*byte) * PAYLOAD as u64 / 256 / 8 + 4096)).collect();
        let (submit, proxy) = through_proxy(&namespace, &jobs, cuts).await;
        let run = submit.run().await.expect_status(0);
        assert_eq!(proxy.faults_left(), 0, "{}", run.stderr);
        let (sent, limit) = (proxy.forwarded(), PAYLOAD as u64 * 102 / 100);
        assert!(sent <= limit, "{sent} bytes were sent for {PAYLOAD}");
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn t06_a_stranger_gets_no_http_answer_at_the_open_door() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let (submit, proxy) = through_proxy(&namespace, &jobs, vec![Fault::Stall(PAYLOAD as u64 / 2)]).await;
        let child = submit.conf("spark.airlock.timeout.idle", "8s").spawn();
        proxy.stalled().await;
        let port = namespace.node_ports().await[0];
        let door = format!("https://{}:{port}/v1/submission", node_address(&namespace).await);
        let stranger = rcgen::generate_simple_self_signed(vec!["stranger".to_owned()]).unwrap();
        std::fs::write(jobs.path("stranger.crt"), stranger.cert.pem()).unwrap();
        std::fs::write(jobs.path("stranger.key"), stranger.signing_key.serialize_pem()).unwrap();
        for (options, scheme) in [
            (vec!["--cert", "stranger.crt", "--key", "stranger.key"], "https"),
            (vec![], "https"),
            (vec!["--tls-max", "1.2"], "https"),
            (vec![], "http"),
        ] {
            let answer = Command::new("curl")
                .args(["--silent", "--show-error", "--insecure", "--max-time", "5", "--include"])
                .args(&options)
                .arg(door.replacen("https", scheme, 1))
                .current_dir(jobs.folder())
                .output()
                .unwrap();
            assert!(!answer.status.success(), "{options:?}: {}", String::from_utf8_lossy(&answer.stdout));
            assert!(answer.stdout.is_empty(), "{options:?}: {}", String::from_utf8_lossy(&answer.stdout));
        }
        // The upload itself is not disturbed: it notices the stall, reconnects and ends well.
        let _ = finish(child).await.expect_status(0);
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn c04_a_second_submit_with_the_same_pod_name_is_refused_and_harms_nothing() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let name = "spark.kubernetes.driver.pod.name";
        let (first, proxy) = through_proxy(&namespace, &jobs, vec![Fault::Stall(PAYLOAD as u64 / 2)]).await;
        let first = first.conf(name, "the-driver").conf("spark.airlock.timeout.idle", "20s").spawn();
        proxy.stalled().await;
        let second = payload(&namespace, &Jobs::new()).conf(name, "the-driver").run().await;
        let _ = second.expect_status(73).expect_stderr("E_NAME_TAKEN").expect_stderr("the-driver");
        let _ = finish(first).await.expect_status(0);
        namespace.assert_nothing_left().await;
        assert_eq!(namespace.list::<Service>().await.len(), 1, "only the first driver's headless Service");
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn c02_an_image_that_does_not_exist_ends_with_the_clusters_reason() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let submit = payload(&namespace, &jobs)
            .conf("spark.kubernetes.container.image", "localhost:1/no/such:image")
            .conf("spark.airlock.timeout.fault", "5s");
        let run =
            submit.run().await.expect_status(69).expect_stderr("E_IMAGE").expect_stderr("localhost:1/no/such:image");
        assert!(!run.stderr.contains(" open"), "no door is opened for a pod that never runs:\n{}", run.stderr);
        namespace.assert_nothing_left().await;
        eventually("the pod to be gone", || async { namespace.driver().await.is_none().then_some(()) }).await;
        assert!(namespace.list::<Service>().await.is_empty());
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn r05_under_local_the_node_without_the_pod_is_passed_over() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let nodes = nodes(&namespace).await;
        let [.., with_pod] = nodes.as_slice() else { panic!("no node") };
        let others: Vec<_> = nodes.iter().filter(|node| node.0 != with_pod.0).map(|node| node.1.to_string()).collect();
        assert!(!others.is_empty(), "this test needs two nodes");
        let local = |addresses: Vec<String>| {
            payload(&namespace, &jobs)
                .conf("spark.kubernetes.driver.node.selector.kubernetes.io/hostname", &with_pod.0)
                .conf("spark.airlock.door.externalTrafficPolicy", "Local")
                .conf("spark.airlock.door.addresses", &addresses.join(","))
                .conf("spark.airlock.timeout.reach", "8s")
        };
        let refused = local(others.clone()).run().await.expect_status(69).expect_stderr("E_DRIVER_UNREACHABLE");
        assert!(refused.stderr.contains(&others[0]), "{}", refused.stderr);
        namespace.assert_nothing_left().await;
        eventually("the first pod to be gone", || async { namespace.driver().await.is_none().then_some(()) }).await;
        let both = [others, vec![with_pod.1.to_string()]].concat();
        let _ = local(both).run().await.expect_status(0);
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn x03_ctrl_c_in_mid_upload_removes_everything() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let (submit, proxy) = through_proxy(&namespace, &jobs, vec![Fault::Stall(PAYLOAD as u64 / 2)]).await;
        let child = submit.spawn();
        proxy.stalled().await;
        let id = child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
        let started = std::time::Instant::now();
        let _ = finish(child).await.expect_status(130);
        assert!(started.elapsed() < Duration::from_secs(20));
        namespace.assert_nothing_left().await;
        eventually("the pod to be gone", || async { namespace.driver().await.is_none().then_some(()) }).await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn f04_an_application_in_the_image_sends_nothing_and_runs() {
    cluster_test(with_namespace(|namespace| async move {
        let submit = Airlock::submit(&namespace)
            .option("--class", "Nobody")
            .conf("spark.airlock.driver.entryPoint", "/bin/true")
            .application("local:///nowhere.jar", Vec::<&str>::new());
        let _ = submit.run().await.expect_status(0);
        namespace.assert_nothing_left().await;
    }));
}
