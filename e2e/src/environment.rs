//! What a test run is given from outside. Everything is an environment variable, so that the same tests run against our
//! own cluster, kind, k3d or a cloud; a missing one fails with the way out, and nothing is skipped.

use std::env;
use std::path::PathBuf;

/// The kubeconfig of the cluster under test.
#[must_use]
pub fn kubeconfig() -> PathBuf {
    required("AIRLOCK_E2E_KUBECONFIG").into()
}

/// A Spark image with the driver server in it, which the cluster's nodes can pull or already have.
#[must_use]
pub fn image() -> String {
    required("AIRLOCK_E2E_IMAGE")
}

/// The same without the driver server; by default the one of `scripts/images`.
#[must_use]
pub fn plain_image() -> String {
    env::var("AIRLOCK_E2E_PLAIN_IMAGE").unwrap_or_else(|_| "localhost/spark:4.3.0".to_owned())
}

/// An image of nothing but the driver server; by default the one of `scripts/images`.
#[must_use]
pub fn driver_image() -> String {
    env::var("AIRLOCK_E2E_DRIVER_IMAGE").unwrap_or_else(|_| "localhost/airlock-driver:dev".to_owned())
}

/// A Spark distribution on this machine: its jars are what jobs are compiled against.
#[must_use]
pub fn spark_home() -> PathBuf {
    required("AIRLOCK_E2E_SPARK_HOME").into()
}

/// A binary of the workspace, built beside the test that runs.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    let test = env::current_exe().expect("a running test has a path");
    let folder = test.ancestors().nth(2).expect("tests lie in target/<profile>/deps");
    let binary = folder.join(name);
    assert!(binary.exists(), "{} is missing: build the workspace first (scripts/test does)", binary.display());
    binary
}

fn required(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| {
        panic!(
            "{name} is not set: `scripts/test` sets everything up; for another cluster set AIRLOCK_E2E_KUBECONFIG, \
             AIRLOCK_E2E_IMAGE and AIRLOCK_E2E_SPARK_HOME"
        )
    })
}
