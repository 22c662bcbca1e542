//! Alone in its program, since a panic hook belongs to the whole process.

use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn t04_a_panic_in_a_task_that_nobody_looks_at_is_noticed() {
    let panicked = CancellationToken::new();
    driver_server::report_panics(panicked.clone());
    let task = tokio::spawn(async { panic!("in a task") });
    tokio::time::timeout(std::time::Duration::from_secs(5), panicked.cancelled()).await.unwrap();
    assert!(task.await.unwrap_err().is_panic());
    let thread = CancellationToken::new();
    driver_server::report_panics(thread.clone());
    let job = tokio::task::spawn_blocking(|| panic!("on a thread"));
    tokio::time::timeout(std::time::Duration::from_secs(5), thread.cancelled()).await.unwrap();
    assert!(job.await.unwrap_err().is_panic());
}
