//! Spark images without the driver server: it is brought by an init container, under the strictest rules that namespaces
//! have; and what cannot work says what to change.

use e2e::airlock::Airlock;
use e2e::environment;
use e2e::jobs::{DATA, INNER, Jobs};
use e2e::namespace::{TestNamespace, with_namespace};
use k8s_openapi::api::core::v1::Pod;

use crate::cluster_test;
use crate::jobs_run::{assert_fact, probe};

const IMAGE: &str = "spark.kubernetes.container.image";
const DRIVER_IMAGE: &str = "spark.airlock.driver.image";

/// A user of whom no image knows, and nothing but volumes to write to.
const DRIVER_TEMPLATE: &str = "
spec:
  containers:
  - name: driver
    securityContext: {runAsUser: 4711, runAsGroup: 4711, readOnlyRootFilesystem: true}
";

/// The same for executors, with what Spark's own do not have under `restricted`. They put files into their working directory.
const EXECUTOR_TEMPLATE: &str = "
spec:
  containers:
  - name: executor
    securityContext:
      runAsUser: 4711
      runAsGroup: 4711
      runAsNonRoot: true
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
      seccompProfile: {type: RuntimeDefault}
    volumeMounts:
    - {name: tmp, mountPath: /tmp}
    - {name: work, mountPath: /opt/spark/work-dir}
  volumes:
  - {name: tmp, emptyDir: {}}
  - {name: work, emptyDir: {}}
";

/// A driver that is the program `/bin/false` of the image without the driver server: status 1.
fn bin_false(namespace: &TestNamespace) -> Airlock {
    Airlock::submit(namespace)
        .option("--class", "Nobody")
        .conf(IMAGE, &environment::plain_image())
        .conf("spark.airlock.driver.entryPoint", "/bin/false")
        .conf("spark.airlock.timeout.fault", "5s")
        .application("local:///nowhere.jar", Vec::<&str>::new())
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn d06_an_unmodified_image_runs_restricted_as_an_unknown_user_on_a_read_only_root() {
    cluster_test(with_namespace(|namespace| async move {
        namespace.restrict().await;
        let jobs = Jobs::new().with_probe_jars();
        std::fs::write(jobs.path("driver.yaml"), DRIVER_TEMPLATE).unwrap();
        std::fs::write(jobs.path("executor.yaml"), EXECUTOR_TEMPLATE).unwrap();
        let submit = probe(&namespace, &jobs, "7")
            .conf(IMAGE, &environment::plain_image())
            .conf(DRIVER_IMAGE, &environment::driver_image())
            .conf("spark.kubernetes.driver.podTemplateFile", "driver.yaml")
            .conf("spark.kubernetes.executor.podTemplateFile", "executor.yaml");
        let _ = submit.run().await.expect_status(7);
        let log = namespace.driver_log().await;
        assert_fact(&log, &format!("driver file [{DATA}]"));
        assert_fact(&log, &format!("hello executor [{DATA}] [{INNER}]"));
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn d06_injection_works_with_a_group_for_volumes_and_quotas_for_everything() {
    cluster_test(with_namespace(|namespace| async move {
        namespace.restrict().await;
        let quota = serde_json::json!({"metadata": {"name": "all"}, "spec": {"hard": {"requests.cpu": "150m",
            "limits.cpu": "250m", "requests.memory": "1Gi", "limits.memory": "1Gi"}}});
        namespace.create_object::<k8s_openapi::api::core::v1::ResourceQuota>(quota).await;
        let range = serde_json::json!({"metadata": {"name": "ratio"}, "spec": {"limits": [{"type": "Container",
            "min": {"cpu": "50m", "memory": "64Mi"}, "maxLimitRequestRatio": {"cpu": "2", "memory": "1"}}]}});
        namespace.create_object::<k8s_openapi::api::core::v1::LimitRange>(range).await;
        let jobs = Jobs::new();
        let template = "spec: {securityContext: {runAsUser: 4711, runAsGroup: 4711, fsGroup: 2000}}";
        std::fs::write(jobs.path("driver.yaml"), template).unwrap();
        let submit = bin_false(&namespace)
            .folder(jobs.folder())
            .conf(DRIVER_IMAGE, &environment::driver_image())
            .conf("spark.kubernetes.driver.limit.cores", "200m")
            .conf("spark.kubernetes.driver.podTemplateFile", "driver.yaml");
        let _ = submit.run().await.expect_status(1);
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn c02_an_image_without_the_driver_server_says_how_to_bring_it() {
    cluster_test(with_namespace(|namespace| async move {
        let run = bin_false(&namespace).run().await.expect_status(69).expect_stderr("E_POD_NOT_STARTABLE");
        let _ = run
            .expect_stderr("no driver server")
            .expect_stderr("spark.airlock.driver.inject=always")
            .expect_stderr("spark.airlock.driver.image=IMAGE");
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn c02_an_image_that_brings_no_driver_server_is_named() {
    cluster_test(with_namespace(|namespace| async move {
        let wrong = bin_false(&namespace).conf(DRIVER_IMAGE, &environment::plain_image()).run().await;
        let _ = wrong.expect_status(69).expect_stderr("E_POD_NOT_STARTABLE").expect_stderr("holds /airlock-driver");
        namespace.assert_nothing_left().await;
        e2e::namespace::eventually("the first pod to be gone", || async {
            namespace.list::<Pod>().await.is_empty().then_some(())
        })
        .await;
        let missing = bin_false(&namespace).conf(DRIVER_IMAGE, "localhost:1/no/such:image").run().await;
        let _ =
            missing.expect_status(69).expect_stderr("E_IMAGE").expect_stderr("check --conf spark.airlock.driver.image");
        namespace.assert_nothing_left().await;
    }));
}
