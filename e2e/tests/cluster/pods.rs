//! What users put into driver pods: sidecars by a template, volumes, Secrets. Each driver ends with a status of its own.

use e2e::airlock::Airlock;
use e2e::jobs::Jobs;
use e2e::namespace::{TestNamespace, eventually, with_namespace};
use e2e::{environment, namespace};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Secret};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::json;

use crate::cluster_test;

/// A Python driver without executors.
fn script(namespace: &TestNamespace, jobs: &Jobs, text: &str) -> Airlock {
    std::fs::write(jobs.path("end.py"), text).unwrap();
    Airlock::submit(namespace).folder(jobs.folder()).application("end.py", Vec::<&str>::new())
}

/// With a container beside the driver that never ends by itself; `more` stands before it.
fn with_sidecar(jobs: &Jobs, submit: Airlock, more: &str) -> Airlock {
    let image = environment::image();
    let template = format!(
        "spec:\n  terminationGracePeriodSeconds: 1\n{more}\n    name: beside\n    image: {image}\n    \
         command: [sleep, infinity]\n    imagePullPolicy: IfNotPresent\n"
    );
    std::fs::write(jobs.path("driver.yaml"), template).unwrap();
    submit.conf("spark.kubernetes.driver.podTemplateFile", "driver.yaml")
}

async fn phase(namespace: &TestNamespace) -> Option<String> {
    namespace.driver().await?.status?.phase
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn r09_beside_an_ordinary_sidecar_the_status_is_the_drivers_and_the_pod_runs_on() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let submit = script(&namespace, &jobs, "import sys\nsys.exit(5)\n");
        // The first container of a template becomes the driver's.
        let more = "  containers:\n  - name: driver\n  -";
        let run = with_sidecar(&jobs, submit, more).run().await.expect_status(5);
        assert!(run.stderr.contains("the pod runs on with container beside"), "{}", run.stderr);
        assert_eq!(phase(&namespace).await.as_deref(), Some("Running"));
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn r09_a_native_sidecar_ends_with_the_driver() {
    cluster_test(with_namespace(|namespace| async move {
        let jobs = Jobs::new();
        let submit = script(&namespace, &jobs, "import sys\nsys.exit(5)\n");
        let run =
            with_sidecar(&jobs, submit, "  initContainers:\n  - restartPolicy: Always").run().await.expect_status(5);
        assert!(!run.stderr.contains("the pod runs on"), "{}", run.stderr);
        eventually("the pod to end", || async { (phase(&namespace).await? == "Failed").then_some(()) }).await;
        namespace.assert_nothing_left().await;
    }));
}

/// Ends with 6 if everything is there.
const LOOKS_AROUND: &str = "
import os, sys
assert os.environ['TOKEN'] == 'sesame', 'the variable'
assert open('/etc/secret/token').read() == 'sesame', 'the Secret'
assert os.path.isdir('/node/bin'), 'the folder of the node'
assert os.path.isdir('/claim/bin'), 'the claim'
open('/fast/x', 'w').write('y')
sys.exit(6)
";

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn volumes_claims_and_secrets_are_in_the_driver() {
    cluster_test(with_namespace(|namespace| async move {
        namespace
            .create_object::<Secret>(json!({"metadata": {"name": "vault"}, "stringData": {"token": "sesame"}}))
            .await;
        let volumes = Api::<PersistentVolume>::all(namespace::client().await);
        let volume = json!({"metadata": {"name": namespace.name}, "spec": {"accessModes": ["ReadOnlyMany"],
            "capacity": {"storage": "1Mi"}, "storageClassName": namespace.name, "hostPath": {"path": "/usr"},
            "persistentVolumeReclaimPolicy": "Retain"}});
        volumes.create(&PostParams::default(), &serde_json::from_value(volume).unwrap()).await.unwrap();
        namespace
            .create_object::<PersistentVolumeClaim>(json!({"metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": namespace.name,
                "resources": {"requests": {"storage": "1Mi"}}}}))
            .await;
        let jobs = Jobs::new();
        let prefix = "spark.kubernetes.driver";
        let submit = script(&namespace, &jobs, LOOKS_AROUND)
            .conf(&format!("{prefix}.secretKeyRef.TOKEN"), "vault:token")
            .conf(&format!("{prefix}.secrets.vault"), "/etc/secret")
            .conf(&format!("{prefix}.volumes.hostPath.node.mount.path"), "/node")
            .conf(&format!("{prefix}.volumes.hostPath.node.mount.readOnly"), "true")
            .conf(&format!("{prefix}.volumes.hostPath.node.options.path"), "/usr")
            .conf(&format!("{prefix}.volumes.persistentVolumeClaim.data.mount.path"), "/claim")
            .conf(&format!("{prefix}.volumes.persistentVolumeClaim.data.mount.readOnly"), "true")
            .conf(&format!("{prefix}.volumes.persistentVolumeClaim.data.options.claimName"), "data")
            .conf(&format!("{prefix}.volumes.emptyDir.fast.mount.path"), "/fast");
        let run = submit.run().await;
        // It is no part of the namespace, so it goes first, whatever the outcome.
        volumes.delete(&namespace.name, &DeleteParams::default()).await.unwrap();
        let _ = run.expect_status(6);
        let secrets = namespace.list::<Secret>().await;
        assert_eq!(secrets.len(), 1, "only the test's own");
        assert!(namespace.node_ports().await.is_empty());
    }));
}
