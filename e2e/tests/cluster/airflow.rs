//! Airflow's own hook starts a program called spark-submit, reads its lines, and kills by deleting the pod: it must find in
//! ours what it finds in upstream's.

use std::path::Path;
use std::process::{Command, Stdio};

use e2e::environment;
use e2e::jobs::Jobs;
use e2e::namespace::{TestNamespace, eventually, with_namespace};
use k8s_openapi::api::core::v1::Pod;
use kube::config::Kubeconfig;
use serde_json::{Value, json};

use crate::cluster_test;

/// The Python of `scripts/airflow`.
fn python() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/airflow");
    let output = Command::new(script).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// `k8s://` and the API server's address, as an Airflow connection holds it.
fn master() -> String {
    let kubeconfig = Kubeconfig::read_from(environment::kubeconfig()).unwrap();
    let server = kubeconfig.clusters[0].cluster.as_ref().unwrap().server.clone().unwrap();
    format!("k8s://{server}")
}

/// What the hook found out about a run of the Python probe that ends with `end`.
async fn submit(namespace: &TestNamespace, jobs: &Jobs, end: &str, kill: bool) -> Value {
    std::os::unix::fs::symlink(environment::binary("airlock"), jobs.path("spark-submit")).unwrap();
    let conf = json!({
        "spark.kubernetes.container.image": environment::image(),
        "spark.kubernetes.authenticate.driver.serviceAccountName": "spark",
        "spark.kubernetes.executor.request.cores": "100m",
        "spark.kubernetes.driver.request.cores": "100m",
        "spark.executor.instances": "1",
    });
    let hook = json!({
        "name": "from airflow", "conf": conf, "py_files": "greeter.py", "files": "data.txt", "archives": "packed.tgz#unpacked",
        "driver_memory": "512m", "executor_memory": "512m", "application_args": [end, "two words"],
    });
    let connection = json!({
        "conn_type": "spark", "host": master(), "extra": {"deploy-mode": "cluster", "namespace": namespace.name},
    });
    let path = format!("{}:{}", jobs.folder().display(), std::env::var("PATH").unwrap());
    let mut command = tokio::process::Command::new(python());
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs/airflow_submit.py"))
        .arg(json!({"hook": hook, "application": "probe.py", "kill": kill}).to_string())
        .current_dir(jobs.folder())
        .env("PATH", path)
        .env("KUBECONFIG", environment::kubeconfig())
        .env("AIRFLOW_HOME", jobs.path("airflow"))
        .env("AIRFLOW_CONN_SPARK_DEFAULT", connection.to_string())
        .env("AIRFLOW__KUBERNETES_EXECUTOR__IN_CLUSTER", "False")
        .env("AIRFLOW__KUBERNETES_EXECUTOR__CONFIG_FILE", environment::kubeconfig())
        .kill_on_drop(true);
    let output = command.output().await.unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let outcome = stdout.lines().last().unwrap_or_default();
    serde_json::from_str(outcome).unwrap_or_else(|error| panic!("{error}\n{stdout}\n{stderr}"))
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn airflows_hook_submits_and_reads_pod_application_and_exit_code() {
    cluster_test(with_namespace(|namespace| async move {
        let outcome = submit(&namespace, &Jobs::new().with_probe_scripts(), "0", false).await;
        assert_eq!((&outcome["error"], &outcome["exit_code"]), (&Value::Null, &json!(0)));
        let pod = namespace.driver().await.unwrap();
        assert_eq!(outcome["pod"], json!(pod.metadata.name));
        assert_eq!(outcome["application"], json!(pod.metadata.labels.unwrap()["spark-app-selector"]));
        namespace.assert_nothing_left().await;
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn x01_airflows_hook_sees_a_driver_that_failed() {
    cluster_test(with_namespace(|namespace| async move {
        let outcome = submit(&namespace, &Jobs::new().with_probe_scripts(), "3", false).await;
        let error = outcome["error"].as_str().unwrap();
        assert!(error.contains("Error code is: 3") && error.contains("spark exit code is: 3"), "{error}");
        assert_eq!(outcome["exit_code"], 3);
    }));
}

#[test]
#[ignore = "needs a cluster: scripts/test"]
fn airflows_hook_kills_the_driver() {
    cluster_test(with_namespace(|namespace| async move {
        let outcome = submit(&namespace, &Jobs::new().with_probe_scripts(), "0", true).await;
        assert_eq!(outcome["found"], true, "{outcome}");
        eventually("the driver pod to go", || async {
            let pods = namespace.api::<Pod>().list(&kube::api::ListParams::default()).await.unwrap();
            pods.items.is_empty().then_some(())
        })
        .await;
    }));
}
