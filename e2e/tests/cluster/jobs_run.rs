//! What must work: real jobs, whose inputs reach driver and executors, whose end is submit's, and which leave nothing.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use e2e::airlock::{Airlock, Run};
use e2e::capture::{Capture, contains};
use e2e::jobs::{DATA, INNER, Jobs};
use e2e::namespace::{TestNamespace, eventually, with_namespace};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, ListParams};
use sha2::{Digest, Sha256};

use shared::driver_contract::UPLOAD_PORT;

use crate::cluster_test;

/// Arguments that anything between here and the JVM could spoil.
const AWKWARD: [&str; 7] = ["--help", "two words", "it's \"quoted\"", "π ✓", "", "a,b", "$(touch /tmp/pwned) *"];

/// The local inputs of the probe.
const INPUTS: [&str; 4] = ["probe.jar", "greeter.jar", "data.txt", "packed.tgz"];

pub(crate) fn probe(namespace: &TestNamespace, jobs: &Jobs, end: &str) -> Airlock {
    Airlock::submit(namespace)
        .folder(jobs.folder())
        .option("--class", "airlock.Probe")
        .option("--name", "Probe π 1")
        .option("--jars", "greeter.jar")
        .option("--files", "data.txt")
        .option("--archives", "packed.tgz#unpacked")
        .conf("spark.probe.end", end)
        .conf("spark.probe.literal", "$(touch pwned);`id` | *")
        .application("probe.jar", AWKWARD)
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn a_jar_runs_with_jars_files_archives_and_awkward_arguments() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new().with_probe_jars();
        let port = e2e::random_node_port();
        let capture = Capture::start(&[port, UPLOAD_PORT]).await;
        let submit = probe(&namespace, &jobs, "return").conf("spark.airlock.door.nodePort", &port.to_string());
        let run = submit.run().await.expect_status(0);
        let packets = capture.stop().await;
        let log = namespace.driver_log().await;

        for (index, argument) in AWKWARD.iter().enumerate() {
            assert_fact(&log, &format!("argument {index} [{argument}]"));
        }
        assert_fact(&log, &format!("arguments {}", AWKWARD.len()));
        assert_fact(&log, "literal [$(touch pwned);`id` | *]");
        assert_fact(&log, &format!("driver file [{DATA}]"));
        assert_fact(&log, &format!("driver archive [{INNER}]"));
        assert_fact(&log, &format!("hello executor [{DATA}] [{INNER}]"));
        assert_fact(&log, "staging false");
        for input in INPUTS {
            let bytes = std::fs::read(jobs.path(input)).unwrap();
            assert_fact(&log, &format!("digest {} {input}", hex(&Sha256::digest(&bytes))));
        }
        assert_upstream_lines(&run);
        namespace.assert_nothing_left().await;
        assert_pod_and_headless_service(&namespace).await;
        assert_port_is_closed(&namespace, port).await;
        assert_nothing_readable(&packets, &jobs);
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn x01_a_driver_that_exits_7_gives_7() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new().with_probe_jars();
        let run = probe(&namespace, &jobs, "7").run().await.expect_status(7);
        assert!(run.stderr.contains("exit code: 7"), "{}", run.stderr);
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn x01_a_driver_that_throws_gives_1() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new().with_probe_jars();
        let _ = probe(&namespace, &jobs, "throw").run().await.expect_status(1);
        assert!(namespace.driver_log().await.contains("the probe was told to throw"));
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn a_python_script_runs_with_its_module_and_exits_3() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new().with_probe_scripts();
        let submit = Airlock::submit(&namespace)
            .folder(jobs.folder())
            .option("--py-files", "greeter.py")
            .option("--files", "data.txt")
            .option("--archives", "packed.tgz#unpacked")
            .application("probe.py", ["3", "two words", ""]);
        let _ = submit.run().await.expect_status(3);
        let log = namespace.driver_log().await;
        assert_fact(&log, "argument 0 [two words]");
        assert_fact(&log, "argument 1 []");
        assert_fact(&log, &format!("driver hello driver [{DATA}] [{INNER}]"));
        assert_fact(&log, &format!("hello executor [{DATA}] [{INNER}]"));
        namespace.assert_nothing_left().await;
    }));
}

pub(crate) fn assert_fact(log: &str, fact: &str) {
    assert!(log.lines().any(|line| line == format!("PROBE {fact}")), "no line {fact:?} in\n{log}");
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The lines that tools which wrap spark-submit look for.
fn assert_upstream_lines(run: &Run) {
    for text in ["pod name: ", "spark-app-selector -> spark-", "submission ID ", "exit code: 0", "phase: "] {
        assert!(run.stderr.contains(text), "no {text:?} in\n{}", run.stderr);
    }
}

async fn assert_pod_and_headless_service(namespace: &TestNamespace) {
    eventually("the driver pod, which stays as upstream's does, to be Succeeded", || async {
        let status = namespace.driver().await?.status?;
        (status.phase.as_deref() == Some("Succeeded")).then_some(())
    })
    .await;
    for service in namespace.list::<Service>().await {
        let spec = service.spec.expect("Services have a spec");
        assert_eq!(spec.cluster_ip.as_deref(), Some("None"), "only a headless Service may be left");
    }
}

/// The door's port refuses connections on every node.
async fn assert_port_is_closed(namespace: &TestNamespace, port: u16) {
    let nodes = Api::<Node>::all(namespace.client.clone()).list(&ListParams::default()).await.unwrap();
    for node in nodes {
        let addresses = node.status.and_then(|status| status.addresses).unwrap_or_default();
        let internal = addresses.into_iter().find(|address| address.type_ == "InternalIP").expect("nodes have one");
        let address: SocketAddr = format!("{}:{port}", internal.address).parse().unwrap();
        eventually(&format!("{address} to be closed"), || async {
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_err().then_some(())
        })
        .await;
    }
}

/// Nothing of the inputs is on the wire in clear: no name, and no run of their bytes.
fn assert_nothing_readable(packets: &[u8], jobs: &Jobs) {
    let sent: u64 = INPUTS.iter().map(|name| jobs.path(name).metadata().unwrap().len()).sum();
    assert!(packets.len() as u64 > sent, "the capture saw only {} bytes of {sent}", packets.len());
    for name in INPUTS.into_iter().chain(["SHA256SUMS", "application/x-tar", "airlock.Probe"]) {
        assert!(!contains(packets, name.as_bytes()), "{name} is readable on the wire");
    }
    let jar = std::fs::read(jobs.path("probe.jar")).unwrap();
    for start in (0..jar.len() - 32).step_by(64) {
        assert!(!contains(packets, &jar[start..start + 32]), "bytes {start}.. of the jar are readable on the wire");
    }
}
