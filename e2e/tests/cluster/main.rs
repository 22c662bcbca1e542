//! The whole road on a real cluster, from outside. Each test has a namespace of its own; they run one after another, since
//! two Spark jobs at once are more than a small machine carries.
//!
//! Ignored unless asked for, because they need a cluster: `scripts/test` brings one up and asks.

// Helpers of tests are tests: a failure of theirs is a failed test.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod airflow;
mod faults;
mod jobs_run;
mod pods;
mod unmodified_images;

/// The tests share one runtime flavour and one order: none beside another.
fn one_at_a_time() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs `test` in its turn.
fn cluster_test<F: Future<Output = ()>>(test: F) {
    let _turn = one_at_a_time();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(test);
}
