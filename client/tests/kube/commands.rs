//! The commands for drivers that exist: what they mean, what they leave alone, and that nothing done is never a success.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::cluster::Cluster;
use client::commands::driver_name::DriverName;
use client::commands::{attach, kill, list, logs, status};
use client::driver::pod_state::Ended;
use client::error::{Problems, SubmitError};
use client::interrupt::{Interrupt, Interrupts};
use client::progress::Progress;
use client::settings::FollowSettings;
use client::settings::cli::ListFormat;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::api::{ApiServer, Fault, Rule, status as failure};
use crate::pods::{ended, running, waiting};

const REQUEST: Duration = Duration::from_millis(300);
const PATIENCE: Duration = Duration::from_secs(2);

fn forbidden(verb: &str, resource: &str) -> Fault {
    let text = format!("pods is forbidden: User \"ann\" cannot {verb} resource \"{resource}\" in API group \"\"");
    Fault::Refuse(failure((403, "Forbidden", &text)))
}

/// A driver as spark-submit makes them.
fn driver(namespace: &str, name: &str, id: &str) -> Value {
    json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": namespace,
        "labels": {"spark-role": "driver", "spark-app-selector": id, "spark-app-name": "pi"}},
        "spec": {"containers": [{"name": "spark-kubernetes-driver"}]}, "status": {"phase": "Running"}})
}

struct Case {
    server: ApiServer,
    cluster: Cluster,
    progress: Progress,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Case {
    async fn new(pods: Vec<Value>) -> Self {
        let (server, (progress, lines)) = (ApiServer::start().await, Progress::recording());
        for pod in pods {
            server.put("pods", pod);
        }
        let cluster = server.cluster(REQUEST, PATIENCE, &progress).await;
        Self { server, cluster, progress, lines }
    }

    /// Three drivers, one of them made by us, and an executor, in namespace `spark`.
    async fn usual() -> Self {
        let mut ours = driver("spark", "word-count-driver", "spark-03");
        ours["metadata"]["annotations"] = json!({"airlock/submission-id": "cafe"});
        let mut executor = driver("spark", "pi-1-exec-1", "spark-01");
        executor["metadata"]["labels"]["spark-role"] = json!("executor");
        let pods = vec![driver("spark", "pi-1-driver", "spark-01"), driver("spark", "pi-2-driver", "spark-02")];
        Self::new(pods.into_iter().chain([ours, executor]).collect()).await
    }

    /// One driver in a state.
    async fn one(state: &Value) -> Self {
        let case = Self::new(vec![driver("spark", "pi-driver", "spark-01")]).await;
        case.server.change("pods", state);
        case
    }

    async fn kill(&self, texts: &[&str]) -> Result<(), Problems> {
        kill::kill(&self.cluster, &names(texts), None, &self.progress).await
    }

    async fn status(&self, texts: &[&str]) -> Result<String, Problems> {
        let mut shown = String::new();
        status::status(&self.cluster, &names(texts), |text| shown += text).await?;
        Ok(shown)
    }

    async fn logs(&self, follow: bool) -> Result<String, SubmitError> {
        let mut shown = Vec::new();
        logs::logs(&self.cluster, &names(&["pi-driver"])[0], follow, PATIENCE, &mut shown).await?;
        Ok(String::from_utf8(shown).unwrap())
    }

    async fn attach(&self, interrupts: mpsc::Receiver<Interrupt>) -> Result<Ended, SubmitError> {
        let settings = FollowSettings { wait: true, report_interval: REQUEST, ..FollowSettings::default() };
        let mut interrupts = Interrupts::scripted(interrupts);
        attach::attach(&self.cluster, &names(&["pi-driver"])[0], &settings, &mut interrupts, &self.progress).await
    }

    fn left(&self) -> Vec<String> {
        self.server.everything()
    }

    fn said(&self, part: &str) -> bool {
        self.lines.lock().unwrap().iter().any(|line| line.contains(part))
    }
}

fn names(texts: &[&str]) -> Vec<DriverName> {
    texts.iter().map(|text| DriverName::parse(text).unwrap()).collect()
}

fn never() -> mpsc::Receiver<Interrupt> {
    mpsc::channel(1).1
}

#[tokio::test]
async fn x05_what_does_not_exist_is_66_and_nothing_is_touched() {
    let case = Case::usual().await;
    for text in ["spark:nope", "spark:no*", "default:pi-1", "spark-04", "a:b:c"] {
        assert_eq!(case.kill(&[text]).await.unwrap_err().code().as_str(), "E_NOT_FOUND", "{text}");
        let problems = case.status(&[text]).await.unwrap_err();
        assert_eq!(problems.code().exit_status(), 66, "{text}");
        assert!(problems.render("airlock").contains("airlock list -n "), "{}", problems.render("airlock"));
    }
    assert_eq!(case.server.count("delete", "pods"), 0);
}

#[tokio::test]
async fn x05_a_pod_that_is_no_driver_is_left_alone() {
    let case = Case::usual().await;
    case.server.put("pods", json!({"metadata": {"name": "coredns-x", "namespace": "kube-system"}}));
    for text in ["kube-system:coredns-x", "pi-1-exec-1"] {
        let problems = case.kill(&[text]).await.unwrap_err();
        assert_eq!((problems.code().as_str(), problems.code().exit_status()), ("E_NOT_A_DRIVER", 77), "{text}");
        assert_eq!(case.status(&[text]).await.unwrap_err().code().as_str(), "E_NOT_A_DRIVER", "{text}");
    }
    assert_eq!((case.left().len(), case.server.count("delete", "pods")), (5, 0));
}

#[tokio::test]
async fn a_pattern_ends_the_drivers_that_fit_and_nothing_else() {
    let case = Case::usual().await;
    let grace = Some(Duration::from_secs(7));
    kill::kill(&case.cluster, &names(&["spark:pi-*", "pi-1-driver"]), grace, &case.progress).await.unwrap();
    assert_eq!(case.left(), ["pods/pi-1-exec-1", "pods/word-count-driver"]);
    let deletes: Vec<_> = case.server.calls().into_iter().filter(|call| call.verb == "delete").collect();
    assert_eq!(deletes.len(), 2, "a pod of two names is ended once");
    assert_eq!(deletes[0].body["gracePeriodSeconds"], 7);
    assert_eq!(deletes[0].body["propagationPolicy"], "Background");
    assert!(deletes[0].body["preconditions"]["uid"].is_string(), "{}", deletes[0].body);
    assert!(case.said("Deleting driver pod: pi-2-driver."));
}

#[tokio::test]
async fn ids_of_application_and_submission_are_names_too() {
    let case = Case::usual().await;
    case.kill(&["spark-01", "spark:cafe"]).await.unwrap();
    assert_eq!(case.left(), ["pods/pi-1-exec-1", "pods/pi-2-driver"]);
    let last = case.server.calls().into_iter().rfind(|call| call.verb == "delete").unwrap();
    assert_eq!(last.body.get("gracePeriodSeconds"), None, "the pod's own");
}

#[tokio::test]
async fn an_id_of_two_drivers_is_refused_with_both() {
    let case = Case::new(vec![driver("spark", "a-driver", "spark-01"), driver("spark", "b-driver", "spark-01")]).await;
    let problems = case.kill(&["spark-01"]).await.unwrap_err();
    assert_eq!(problems.code().as_str(), "E_USAGE");
    assert!(problems.render("airlock").contains("a-driver, b-driver"), "{}", problems.render("airlock"));
    assert_eq!(case.left().len(), 2);
}

#[tokio::test]
async fn one_driver_is_needed_for_a_log() {
    let case = Case::usual().await;
    let read = async |text| logs::logs(&case.cluster, &names(&[text])[0], false, PATIENCE, io::sink()).await;
    assert_eq!(read("pi-*").await.unwrap_err().code().as_str(), "E_USAGE");
    assert_eq!(
        read("word-*").await.unwrap_err().to_string().split(" has ").next(),
        Some("pod spark/word-count-driver")
    );
}

#[tokio::test]
async fn x05_a_delete_that_is_refused_is_named_and_the_others_are_done() {
    let case = Case::usual().await;
    case.server.script(Rule::new("delete", "pods", 1, forbidden("delete", "pods")));
    let problems = case.kill(&["pi-1-driver", "nope", "pi-2-driver"]).await.unwrap_err();
    let text = problems.render("airlock");
    assert!(text.contains("E_NOT_FOUND: no driver in namespace spark is called nope"), "{text}");
    assert!(text.contains("E_RIGHTS: cannot delete pod spark/pi-1-driver: the right is missing"), "{text}");
    assert_eq!(case.left(), ["pods/pi-1-driver", "pods/pi-1-exec-1", "pods/word-count-driver"]);
}

#[tokio::test]
async fn x05_a_pod_that_is_gone_or_replaced_before_its_delete_was_not_ended_by_us() {
    let gone = failure((404, "NotFound", "pods \"pi-1-driver\" not found"));
    let replaced = failure((409, "Conflict", "the UID in the precondition does not match"));
    for fault in [gone, replaced] {
        let case = Case::usual().await;
        case.server.script(Rule::new("delete", "pods", 1, Fault::Refuse(fault)));
        assert_eq!(case.kill(&["pi-1*"]).await.unwrap_err().code().as_str(), "E_NOT_FOUND");
    }
}

#[tokio::test]
async fn k06_a_delete_whose_answer_is_lost_is_a_success() {
    let case = Case::usual().await;
    case.server.script(Rule::new("delete", "pods", 1, Fault::CutAfter));
    case.kill(&["pi-1-driver"]).await.unwrap();
    assert_eq!(case.left().len(), 3);
}

#[tokio::test]
async fn k07_rights_that_are_missing_are_named() {
    let case = Case::usual().await;
    case.server.script(Rule::new("list", "pods", 99, forbidden("list", "pods")));
    let problems = case.status(&["pi-*"]).await.unwrap_err();
    assert_eq!(problems.code().as_str(), "E_RIGHTS");
    assert!(problems.render("airlock").contains("cannot list pods in spark"), "{}", problems.render("airlock"));
    let listed = list::list(&case.cluster, true, ListFormat::Table, io::sink(), &case.progress).await;
    assert!(listed.unwrap_err().to_string().contains("cannot list pods in all namespaces"));
}

#[tokio::test]
async fn k07_without_the_right_to_list_a_pods_name_still_works() {
    let case = Case::usual().await;
    case.server.script(Rule::new("list", "pods", 99, forbidden("list", "pods")));
    case.kill(&["pi-1-driver"]).await.unwrap();
    let problems = case.kill(&["spark-02"]).await.unwrap_err();
    let text = problems.render("airlock");
    assert!(text.contains("E_NOT_FOUND") && text.contains("cannot list pods in spark"), "{text}");
}

#[tokio::test]
async fn k02_credentials_that_have_expired_are_said_to() {
    let case = Case::usual().await;
    let expired = || Fault::Refuse(failure((401, "Unauthorized", "Unauthorized")));
    case.server.script(Rule::new("get", "pods", 1, expired())).script(Rule::new("list", "pods", 1, expired()));
    assert_eq!(case.kill(&["pi-1-driver"]).await.unwrap_err().code().exit_status(), 78);
    let problems = case.status(&["pi*"]).await.unwrap_err();
    assert!(problems.render("airlock").contains("kubectl auth whoami"), "{}", problems.render("airlock"));
}

#[tokio::test]
async fn k05_a_busy_server_is_asked_again() {
    let case = Case::usual().await;
    for verb in ["list", "delete"] {
        case.server.script(Rule::new(verb, "pods", 1, Fault::Throttle("1")));
    }
    case.kill(&["pi-1*"]).await.unwrap();
    assert_eq!(case.left().len(), 3);
}

#[tokio::test]
async fn a_status_is_upstreams_block_for_each_driver() {
    let shown = Case::usual().await.status(&["pi-*", "cafe"]).await.unwrap();
    assert_eq!(shown.matches("Application status (driver): \n\t pod name: ").count(), 3);
    assert!(shown.contains("\n\t labels: spark-app-selector -> spark-01, "), "{shown}");
    let failed = Case::one(&ended(3, "Error", "")).await.status(&["pi-driver"]).await.unwrap();
    assert!(failed.contains("\n\t\t exit code: 3"), "a driver that failed is an answer: {failed}");
}

#[tokio::test]
async fn a_list_has_the_drivers_of_one_namespace_or_of_all() {
    let case = Case::usual().await;
    case.server.put("pods", driver("team", "other-driver", "spark-09"));
    let listed = async |everywhere, format| {
        let mut shown = Vec::new();
        list::list(&case.cluster, everywhere, format, &mut shown, &case.progress).await.unwrap();
        String::from_utf8(shown).unwrap()
    };
    let here = listed(false, ListFormat::Table).await;
    assert!(here.contains("\npi-1-driver ") && !here.contains("other-driver") && !here.contains("exec"), "{here}");
    assert!(listed(true, ListFormat::Table).await.contains("\nteam        other-driver "));
    let all: Value = serde_json::from_str(&listed(true, ListFormat::Json).await).unwrap();
    assert_eq!((all.as_array().unwrap().len(), &all[0]["applicationId"]), (4, &json!("spark-01")));
}

#[tokio::test]
async fn an_empty_list_is_an_answer() {
    let case = Case::new(vec![]).await;
    for (format, text) in [(ListFormat::Table, ""), (ListFormat::Json, "[]\n")] {
        let mut shown = Vec::new();
        list::list(&case.cluster, false, format, &mut shown, &case.progress).await.unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), text);
    }
    assert!(case.said("there is no driver in namespace spark"));
}

fn log_lines(last: &str) -> Vec<String> {
    let lines = (0..50).map(|number| format!("2026-01-01T00:00:00.{number:09}Z line {number}"));
    lines.chain([last.to_owned()]).collect()
}

#[tokio::test]
async fn x04_the_whole_log_of_an_ended_driver_comes_however_often_its_stream_breaks() {
    let case = Case::one(&ended(0, "Completed", "")).await;
    case.server.log(log_lines("2026-01-01T00:00:01.000000000Z end"));
    case.server.script(Rule::new("log", "pods", 2, Fault::Reset));
    for follow in [false, true] {
        let shown = case.logs(follow).await.unwrap();
        assert_eq!(shown.lines().count(), 51, "{shown}");
        assert!(shown.ends_with("\nline 49\nend\n"), "{shown}");
    }
}

#[tokio::test]
async fn x04_a_followed_log_ends_with_the_driver() {
    let case = Case::one(&running()).await;
    case.server.log(log_lines("2026-01-01T00:00:01.000000000Z end"));
    let ending = async {
        tokio::time::sleep(REQUEST).await;
        case.server.change("pods", &ended(3, "Error", ""));
    };
    let (shown, ()) = tokio::join!(case.logs(true), ending);
    assert_eq!(shown.unwrap().lines().count(), 51, "a driver that fails has a log as any other");
}

#[tokio::test]
async fn a_log_that_cannot_be_had_is_a_failure() {
    for follow in [false, true] {
        let case = Case::one(&running()).await;
        case.server.script(Rule::new("log", "pods", 99, forbidden("get", "pods/log")));
        let error = case.logs(follow).await.unwrap_err();
        assert_eq!(error.code().as_str(), "E_RIGHTS");
        assert!(error.to_string().contains("cannot get pods/log of pod spark/pi-driver"), "{error}");
    }
    let error = Case::one(&waiting("ContainerCreating")).await.logs(false).await.unwrap_err();
    assert_eq!(error.code().as_str(), "E_NOT_FOUND");
    assert!(error.to_string().contains("no log yet"), "{error}");
}

#[tokio::test]
async fn x04_a_reader_that_has_seen_enough_ends_the_command() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let case = Case::one(&running()).await;
    case.server.log(log_lines("2026-01-01T00:00:01.000000000Z end"));
    for follow in [false, true] {
        let name = &names(&["pi-driver"])[0];
        let reading = logs::logs(&case.cluster, name, follow, PATIENCE, Closed);
        tokio::time::timeout(Duration::from_secs(5), reading).await.expect("it ends").unwrap();
    }
}

#[tokio::test]
async fn x01_attach_ends_with_the_drivers_own_status() {
    let case = Case::one(&running()).await;
    let ending = async {
        tokio::time::sleep(REQUEST).await;
        case.server.change("pods", &ended(3, "Error", ""));
    };
    let (end, ()) = tokio::join!(case.attach(never()), ending);
    assert_eq!(end.unwrap().exit_code, 3);
    assert!(case.said("application ID spark-01 and submission ID spark:pi-driver finished"));
}

#[tokio::test]
async fn x01_attach_to_a_driver_that_has_ended_returns_its_status_at_once() {
    let started = Instant::now();
    let case = Case::one(&ended(137, "OOMKilled", "")).await;
    assert_eq!(case.attach(never()).await.unwrap().exit_code, 137);
    assert!(case.said("termination reason: OOMKilled") && started.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn attach_finds_the_container_that_a_template_named() {
    let mut pod = driver("spark", "pi-driver", "spark-01");
    pod["spec"]["containers"] = json!([{"name": "mine", "env": [{"name": "SPARK_DRIVER_BIND_ADDRESS"}]},
        {"name": "sidecar"}]);
    let container = |name: &str, code: i32| {
        json!({"name": name, "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": code}}})
    };
    pod["status"] = json!({"phase": "Failed", "containerStatuses": [container("sidecar", 0), container("mine", 4)]});
    assert_eq!(Case::new(vec![pod]).await.attach(never()).await.unwrap().exit_code, 4);
}

#[tokio::test]
async fn x03_an_interrupt_leaves_the_driver_and_says_how_to_find_it() {
    let case = Case::one(&running()).await;
    let (send, receive) = mpsc::channel(1);
    send.send(Interrupt::Int).await.unwrap();
    let error = case.attach(receive).await.unwrap_err();
    let text = shared::report::render("airlock", &error);
    assert_eq!(error.code().exit_status(), 130);
    assert!(text.contains("airlock attach spark:pi-driver") && text.contains("airlock kill spark:pi-driver"), "{text}");
    assert_eq!(case.left().len(), 1);
}
