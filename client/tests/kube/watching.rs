//! Waiting and following: whatever the watch does, the pod's state arrives, and the limits are those of the phases.

use std::time::{Duration, Instant};

use client::cluster::Cluster;
use client::driver::driver_log::DriverLog;
use client::driver::driver_watch::{DriverPod, await_server};
use client::driver::follow::follow;
use client::driver::phase_lines::Application;
use client::driver::pod_state::Ended;
use client::error::SubmitError;
use client::objects::driver_pod::{DRIVER_CONTAINER, driver_pod};
use client::progress::Progress;
use client::settings::{Deadlines, FollowSettings};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::api::{ApiServer, Fault, GONE, Rule, status};
use crate::pods::{beside_a_sidecar, ended, initializing, running, unschedulable, waiting};
use crate::test_settings::{context, names, settings};

const REQUEST: Duration = Duration::from_millis(200);

struct Watched {
    server: ApiServer,
    cluster: Cluster,
    driver: DriverPod,
    deadlines: Deadlines,
    progress: Progress,
    lines: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Watched {
    /// A pod that goes through `life`, each state after its milliseconds.
    async fn new(life: &[(u64, Value)]) -> Self {
        let (progress, lines) = Progress::recording();
        let server = ApiServer::start().await;
        server.pod_life(life);
        let cluster = server.cluster(REQUEST, Duration::from_secs(2), &progress).await;
        let pod = cluster.create(&driver_pod(&settings(), &names(), &context())).await.unwrap();
        let driver = DriverPod { name: pod.name_any(), uid: pod.uid().unwrap() };
        let deadlines = Deadlines { fault: Duration::from_millis(600), ..settings().deadlines };
        Self { server, cluster, driver, deadlines, progress, lines }
    }

    async fn start(&self) -> Result<(), SubmitError> {
        await_server(&self.cluster, &self.driver, &self.deadlines, &self.progress).await.map(drop)
    }

    async fn end(&self) -> Result<Ended, SubmitError> {
        let application = Application {
            name: "pi".into(),
            id: names().app_id,
            namespace: "spark".into(),
            pod: self.driver.name.clone(),
        };
        let settings =
            FollowSettings { wait: true, report_interval: Duration::from_millis(100), ..FollowSettings::default() };
        follow(&self.cluster, &self.driver, &application, &settings, &self.progress).await
    }

    fn said(&self, part: &str) -> usize {
        self.lines.lock().unwrap().iter().filter(|line| line.contains(part)).count()
    }
}

fn watch_faults() -> Vec<Fault> {
    vec![
        Fault::ErrorEvent(status(GONE)),
        Fault::Refuse(status(GONE)),
        Fault::Refuse(status((500, "InternalError", "etcd leader changed"))),
        Fault::Refuse(status((403, "Forbidden", "pods is forbidden: User \"u\" cannot watch resource \"pods\""))),
        Fault::Throttle("1"),
        Fault::Close,
        Fault::Reset,
        Fault::Cut,
        Fault::Silence,
    ]
}

#[tokio::test]
async fn k01_however_the_watch_ends_the_exit_code_is_the_drivers() {
    let runs = watch_faults().into_iter().map(|fault| async move {
        let life = [(100, waiting("ContainerCreating")), (200, running()), (1000, ended(3, "Error", ""))];
        let watched = Watched::new(&life).await;
        watched.server.script(Rule::new("watch", "pods", 3, fault.clone()));
        watched.start().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        let end = watched.end().await.unwrap_or_else(|error| panic!("{fault:?}: {error}"));
        assert_eq!(end.exit_code, 3, "{fault:?}");
        assert_eq!(watched.said("phase: Failed"), 1, "{fault:?}: {:?}", watched.lines);
        assert_eq!(watched.said("exit code: 3"), 1 + 1, "in the block and at the end");
    });
    futures::future::join_all(runs).await;
}

#[tokio::test]
async fn k01_reads_that_fail_meanwhile_end_nothing() {
    let watched = Watched::new(&[(50, running()), (1500, ended(0, "Completed", ""))]).await;
    watched.start().await.unwrap();
    watched.server.script(Rule::new("watch", "pods", 2, Fault::Reset));
    watched.server.script(Rule::new("get", "pods", 4, Fault::Cut).after(1));
    assert_eq!(watched.end().await.unwrap().exit_code, 0);
}

#[tokio::test]
async fn k01_a_pod_that_is_replaced_in_the_gap_is_lost() {
    let watched = Watched::new(&[(50, running())]).await;
    watched.start().await.unwrap();
    watched.server.script(Rule::new("watch", "pods", 99, Fault::Silence));
    let following = watched.end();
    let replacing = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        watched.server.delete("pods", &watched.driver.name);
        watched.server.put("pods", serde_json::to_value(driver_pod(&settings(), &names(), &context())).unwrap());
        watched.server.change("pods", &running());
    };
    let (end, ()) = tokio::join!(following, replacing);
    assert_eq!(end.unwrap_err().code().as_str(), "E_DRIVER_LOST");
    assert_eq!(watched.server.objects("pods").len(), 1);
}

#[tokio::test]
async fn c02_an_image_that_cannot_be_pulled_ends_the_wait() {
    let life = [(20, waiting("ContainerCreating")), (50, waiting("ErrImagePull")), (300, waiting("ImagePullBackOff"))];
    let watched = Watched::new(&life).await;
    let started = Instant::now();
    let error = watched.start().await.unwrap_err();
    let text = shared::report::render("airlock", &error);
    assert_eq!(error.code().as_str(), "E_IMAGE");
    assert!(text.contains("image spark:9: kubelet says ImagePullBackOff"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test]
async fn c02_a_first_failure_may_heal() {
    let life = [(20, waiting("ErrImagePull")), (300, waiting("ContainerCreating")), (100, running())];
    Watched::new(&life).await.start().await.unwrap();
    let error = Watched::new(&[(20, waiting("InvalidImageName"))]).await.start().await.unwrap_err();
    assert_eq!(error.code().as_str(), "E_IMAGE");
}

#[tokio::test]
async fn c02_a_server_that_ends_early_says_why() {
    let table = [
        (70, "Error", "E_LAUNCH: /opt/entrypoint.sh does not exist", "E_LAUNCH"),
        (75, "Error", "airlock-driver: E_IDLE: nobody uploaded anything for 120 s", "E_IDLE"),
        (128, "StartError", "exec: no such file", "E_POD_NOT_STARTABLE"),
        (1, "Error", "", "E_POD_NOT_STARTABLE"),
    ];
    for (exit, reason, message, code) in table {
        let watched = Watched::new(&[(20, ended(exit, reason, message))]).await;
        let error = watched.start().await.unwrap_err();
        assert_eq!(error.code().as_str(), code, "{message}");
    }
}

#[tokio::test]
async fn c02_an_image_without_the_driver_server_says_how_to_bring_it() {
    let message = "exec: \"/opt/airlock/airlock-driver\": stat /opt/airlock/airlock-driver: no such file or directory";
    let error = Watched::new(&[(20, ended(128, "StartError", message))]).await.start().await.unwrap_err();
    let text = shared::report::render("airlock", &error);
    assert_eq!(error.code().as_str(), "E_POD_NOT_STARTABLE");
    for part in ["no driver server", "spark.airlock.driver.inject=always", "spark.airlock.driver.image=IMAGE"] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn c02_an_init_container_that_cannot_bring_the_driver_server_ends_the_wait() {
    let missing = "exec: \"/airlock-driver\": stat /airlock-driver: no such file or directory";
    let refused = "E_IO: /var/airlock/airlock-driver cannot be installed: Permission denied";
    let pull = json!({"waiting": {"reason": "ErrImagePull", "message": "r/d:1 not found"}});
    let failed = |code: i32, reason: &str, message: &str| json!({"terminated": {"exitCode": code, "reason": reason, "message": message}});
    let table = [
        (pull, "Pending", "E_IMAGE", "check --conf spark.airlock.driver.image"),
        (failed(128, "StartError", missing), "Failed", "E_POD_NOT_STARTABLE", "an image that holds /airlock-driver"),
        (failed(74, "Error", refused), "Failed", "E_IO", "Permission denied"),
        (failed(1, "Error", "exec /airlock-driver: exec format error"), "Failed", "E_POD_NOT_STARTABLE", "io/arch="),
        (failed(1, "OOMKilled", ""), "Failed", "E_POD_NOT_STARTABLE", "ended with 1 (OOMKilled)"),
    ];
    for (state, phase, code, part) in table {
        let watched = Watched::new(&[(20, initializing(phase, &state))]).await;
        let error = watched.start().await.unwrap_err();
        let text = shared::report::render("airlock", &error);
        assert_eq!(error.code().as_str(), code, "{text}");
        assert!(text.contains(part) && text.contains("airlock-install"), "{text}");
    }
}

#[tokio::test]
async fn c06_an_init_container_is_waited_for_by_name() {
    let runs = json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}});
    let life = [(20, initializing("Pending", &runs)), (200, running())];
    let watched = Watched::new(&life).await;
    watched.start().await.unwrap();
    assert_eq!(watched.said("starting: init container airlock-install"), 1);
}

#[tokio::test]
async fn r09_a_sidecar_that_runs_on_does_not_keep_the_exit_code_back() {
    let watched = Watched::new(&[(20, running()), (200, beside_a_sidecar(7))]).await;
    assert_eq!(watched.end().await.unwrap().exit_code, 7);
    assert_eq!(watched.said("the pod runs on with container proxy"), 1, "{:?}", watched.lines);
}

#[tokio::test]
async fn c06_each_phase_has_its_own_limit_and_is_said_once() {
    let pull = waiting("ContainerCreating");
    let life = [(20, unschedulable()), (400, pull.clone()), (400, pull), (400, running())];
    let mut watched = Watched::new(&life).await;
    let limit = Duration::from_secs(1);
    watched.deadlines = Deadlines { schedule: limit, pull: limit, start: limit, ..watched.deadlines };
    watched.start().await.unwrap();
    assert_eq!((watched.said("scheduling: 0/2 nodes"), watched.said("pulling image")), (1, 1));
}

#[tokio::test]
async fn c06_a_limit_that_runs_out_names_phase_and_setting() {
    let pulled = json!({"metadata": {}, "involvedObject": {}, "reason": "Pulled", "message": "done"});
    let table = [
        (unschedulable(), vec![], "scheduling", "spark.airlock.timeout.schedule"),
        (waiting("ContainerCreating"), vec![], "pulling image", "spark.airlock.timeout.pull"),
        (waiting("ContainerCreating"), vec![pulled], "starting", "spark.airlock.timeout.start"),
    ];
    for (state, events, phase, setting) in table {
        let mut watched = Watched::new(&[(20, state)]).await;
        watched.server.events(events);
        let limit = Duration::from_millis(1200);
        watched.deadlines = Deadlines { schedule: limit, pull: limit, start: limit, ..watched.deadlines };
        let error = watched.start().await.unwrap_err();
        let text = shared::report::render("airlock", &error);
        assert_eq!(error.code().as_str(), "E_PHASE_TIMEOUT");
        assert!(text.contains(phase) && text.contains(setting), "{text}");
    }
}

#[tokio::test]
async fn x01_the_exit_code_is_the_containers() {
    let table = [(3, "Error"), (0, "Completed"), (137, "OOMKilled"), (143, "Error")];
    for (code, reason) in table {
        let watched = Watched::new(&[(20, running()), (200, ended(code, reason, ""))]).await;
        let end = watched.end().await.unwrap();
        assert_eq!((end.exit_code, end.reason.as_deref()), (code, Some(reason)));
        assert_eq!(watched.said(&format!("termination reason: {reason}")), 2);
    }
}

#[tokio::test]
async fn x01_a_pod_without_status_is_lost_and_never_success() {
    let watched = Watched::new(&[(20, running())]).await;
    watched.start().await.unwrap();
    let deleting = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        watched.server.delete("pods", &watched.driver.name);
    };
    let (end, ()) = tokio::join!(watched.end(), deleting);
    assert_eq!(end.unwrap_err().code().exit_status(), 69);
    let evicted =
        json!({"spec": {"nodeName": "node1"}, "status": {"phase": "Failed", "reason": "Evicted", "message": "disk"}});
    let error = Watched::new(&[(20, evicted)]).await.end().await.unwrap_err();
    assert_eq!(error.code().as_str(), "E_DRIVER_LOST");
}

#[tokio::test]
async fn x01_a_pod_that_is_deleted_after_its_end_keeps_its_exit_code() {
    let watched = Watched::new(&[(20, running())]).await;
    watched.start().await.unwrap();
    watched.server.script(Rule::new("watch", "pods", 99, Fault::Silence).after(1));
    let ending = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        watched.server.change("pods", &ended(5, "Error", ""));
        watched.server.delete("pods", &watched.driver.name);
    };
    let (end, ()) = tokio::join!(watched.end(), ending);
    assert_eq!(end.unwrap().exit_code, 5);
}

#[tokio::test]
async fn x04_every_line_of_the_log_comes_once_however_often_the_stream_ends() {
    let watched = Watched::new(&[(20, running())]).await;
    // Many lines of one moment, as a busy driver writes them.
    let line = |number: usize| format!("2026-01-01T00:00:{:02}.{:09}Z line {number}", number / 20, number / 3 * 3);
    watched.server.log((0..600).map(line).collect());
    watched.server.script(Rule::new("log", "pods", 4, Fault::Reset));
    let mut shown = Vec::new();
    let mut log = DriverLog::new(&watched.cluster, &watched.driver.name, DRIVER_CONTAINER, &mut shown);
    let _ = tokio::time::timeout(Duration::from_secs(2), log.follow()).await;
    log.finish().await;
    let lines: Vec<_> = std::str::from_utf8(&shown).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(lines, (0..600).map(|number| format!("line {number}")).collect::<Vec<_>>());
    assert!(watched.server.calls().iter().filter(|call| call.verb == "log").count() > 5);
}
