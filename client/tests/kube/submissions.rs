//! Whole submissions: the order of calls, and what is left behind by every kind of end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use client::error::{Problems, SubmitError};
use client::interrupt::{Interrupt, Interrupts};
use client::progress::Progress;
use client::settings::names::SubmissionNames;
use client::settings::{DoorKinds, OnInterrupt, Settings, TrafficPolicy};
use client::submit::{Outcome, Submission};
use client::upload::transfer::{LaunchAnswer, Silence};
use serde_json::{Value, json};
use shared::error_code::ErrorCode;
use shared::protocol::SubmissionState;
use tokio::sync::{Notify, mpsc};

use crate::api::{ApiServer, FakeTransfer, Fault, Rule, Step, status};
use crate::pods::{ended, running, unschedulable, waiting};
use crate::test_settings::{names, settings};

const REQUEST: Duration = Duration::from_millis(300);

/// A submission and everything around it.
pub(crate) struct Case {
    pub(crate) server: ApiServer,
    pub(crate) settings: Settings,
    pub(crate) names: SubmissionNames,
    pub(crate) transfer: FakeTransfer,
    pub(crate) progress: Progress,
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
    pub(crate) interrupt: mpsc::Sender<Interrupt>,
    pub(crate) interrupts: Mutex<Option<mpsc::Receiver<Interrupt>>>,
}

impl Case {
    pub(crate) async fn new(life: &[(u64, Value)]) -> Self {
        let (progress, lines) = Progress::recording();
        let server = ApiServer::start().await;
        server.pod_life(life);
        let (interrupt, receiver) = mpsc::channel(4);
        let mut settings = settings();
        settings.deadlines.api = Duration::from_secs(2);
        settings.deadlines.reach = Duration::from_secs(2);
        settings.deadlines.fault = Duration::from_millis(300);
        let (transfer, interrupts) = (FakeTransfer::default(), Mutex::new(Some(receiver)));
        Self { server, settings, names: names(), transfer, progress, lines, interrupt, interrupts }
    }

    /// A pod that starts at once and ends well soon after.
    pub(crate) async fn short() -> Self {
        Self::new(&[(10, running()), (400, ended(0, "Completed", ""))]).await
    }

    /// A pod that starts at once and runs on.
    pub(crate) async fn long() -> Self {
        Self::new(&[(10, running())]).await
    }

    pub(crate) async fn run(&self) -> Result<Outcome, Problems> {
        let cluster = self.server.cluster(REQUEST, self.settings.deadlines.api, &self.progress).await;
        let mut interrupts = Interrupts::scripted(self.interrupts.lock().unwrap().take().unwrap());
        let submission = Submission {
            cluster: &cluster,
            who: "nobody",
            user: "ann",
            settings: &self.settings,
            names: &self.names,
            transfer: &self.transfer,
            progress: &self.progress,
        };
        // No case takes long: one that hangs fails here.
        tokio::time::timeout(Duration::from_secs(30), submission.run(&mut interrupts))
            .await
            .expect("a submission hangs")
    }

    pub(crate) async fn fails(&self) -> &'static str {
        self.run().await.map(|outcome| panic!("{outcome:?}")).unwrap_err().code().as_str()
    }

    async fn terminate_when_launched(&self) {
        self.transfer.launching.notified().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.interrupt.send(Interrupt::Term).await.unwrap();
    }

    pub(crate) fn said(&self, part: &str) -> bool {
        self.lines.lock().unwrap().iter().any(|line| line.contains(part))
    }

    pub(crate) fn assert_nothing_left(&self) {
        assert_eq!(self.server.everything(), Vec::<String>::new());
    }

    /// After the launch: the pod and its name stay, door and Secret are gone.
    pub(crate) fn assert_launched(&self) {
        assert_eq!(self.server.objects("pods").len(), 1);
        assert_eq!(self.server.objects("secrets").len(), 0);
        let doors =
            self.server.objects("services").iter().filter(|service| service["spec"]["type"] == "NodePort").count();
        assert_eq!(doors, 0);
    }
}

#[tokio::test]
async fn d03_the_order_of_calls() {
    let case = Case::short().await;
    let Outcome::Ended(end) = case.run().await.unwrap() else { panic!() };
    assert_eq!(end.exit_code, 0);
    let prefix = &case.names.prefix;
    let writes: Vec<_> = case.server.writes().iter().map(|write| write.replace(prefix.as_str(), "X")).collect();
    assert_eq!(writes[..2], ["create secrets X-airlock-tls", "create pods X-driver"]);
    let mut middle = writes[2..5].to_vec();
    middle.sort();
    assert_eq!(
        middle,
        ["create networkpolicies X-policy", "create services X-driver-svc", "patch secrets X-airlock-tls"]
    );
    assert_eq!(writes[5], "create services X-airlock-door");
    let mut last = writes[6..].to_vec();
    last.sort();
    assert_eq!(last, ["delete secrets X-airlock-tls", "delete services X-airlock-door"]);
    case.assert_launched();
    assert!(case.said("port 31234 open for"), "{:?}", case.lines);
    assert!(case.said("exit code: 0"));
}

#[tokio::test]
async fn d03_no_port_is_taken_while_the_pod_pends() {
    let case = Case::new(&[
        (10, unschedulable()),
        (600, waiting("ContainerCreating")),
        (200, running()),
        (300, ended(0, "", "")),
    ])
    .await;
    let watching = async {
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert_eq!(case.server.objects("services").iter().filter(|it| it["spec"]["type"] == "NodePort").count(), 0);
    };
    let (outcome, ()) = tokio::join!(case.run(), watching);
    outcome.unwrap();
}

/// Objects that a client leaves behind when it dies can be found, and end by themselves.
fn assert_sweepable(server: &ApiServer, number: usize) {
    let pods = server.objects("pods");
    for resource in ["pods", "services", "secrets"] {
        for object in server.objects(resource) {
            let metadata = &object["metadata"];
            assert_eq!(metadata["labels"]["app.kubernetes.io/managed-by"], "airlock", "after call {number}");
            assert!(metadata["annotations"]["airlock/lease-until"].is_string(), "after call {number}");
            if resource == "services" {
                assert_eq!(metadata["ownerReferences"][0]["uid"], pods[0]["metadata"]["uid"], "after call {number}");
            }
        }
    }
    let started = pods.first().is_some_and(|pod| pod["status"]["containerStatuses"].is_array());
    let doors = server.objects("services").iter().filter(|service| service["spec"]["type"] == "NodePort").count();
    assert!(doors == 0 || started, "a port before the server is up, after call {number}");
}

#[tokio::test]
async fn c01_killed_after_each_call_it_leaves_only_what_ends_by_itself() {
    for number in 1.. {
        let case = Arc::new(Case::short().await);
        case.server.stop_at(number);
        let runner = case.clone();
        let mut running = tokio::spawn(async move { runner.run().await.map(drop) });
        tokio::select! {
            outcome = &mut running => {
                outcome.unwrap().unwrap();
                assert!(number > 10, "only {number} calls");
                return;
            }
            () = case.server.stopped() => running.abort(),
        }
        let _ = running.await;
        assert_sweepable(&case.server, number);
        // The pod mounts the Secret: it was there first, or is not needed any more.
        let pods = case.server.created("pods");
        assert!(pods <= case.server.created("secrets") && pods <= 1, "after call {number}");
    }
}

#[tokio::test]
async fn k07_missing_rights_are_one_list_and_nothing_is_created() {
    let case = Case::long().await;
    case.server.grant(json!([
        {"verbs": ["create", "get", "watch", "delete"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["create", "get"], "apiGroups": [""], "resources": ["services", "secrets"]},
    ]));
    let problems = case.run().await.map(drop).unwrap_err();
    let text = problems.render("airlock");
    assert_eq!(problems.code(), ErrorCode::Rights);
    let list = "ann lacks rights in namespace spark: services: delete; secrets: patch, delete";
    assert!(text.contains(list), "{text}");
    assert_eq!(case.server.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn k07_every_refusal_of_a_dry_run_is_in_the_list() {
    let case = Case::long().await;
    let quota =
        status((403, "Forbidden", "pods \"x\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=5"));
    let range = status((422, "Invalid", "spec.ports[0].nodePort: provided port is not in the valid range"));
    case.server.script(Rule::new("create", "pods", 9, Fault::Refuse(quota)).dry());
    case.server.script(Rule::new("create", "services", 1, Fault::Refuse(range)).dry());
    let problems = case.run().await.map(drop).unwrap_err();
    let codes: Vec<_> = problems.iter().map(|problem| shared::report::Failure::code(problem).as_str()).collect();
    assert_eq!(codes, ["E_QUOTA", "E_INVALID_OBJECT"]);
    assert_eq!(case.server.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn k07_credentials_that_nobody_knows_are_one_problem() {
    let case = Case::long().await;
    let unknown = || Fault::Refuse(status((401, "Unauthorized", "Unauthorized")));
    case.server.script(Rule::new("create", "selfsubjectrulesreviews", 9, unknown()));
    case.server.script(Rule::new("create", "pods", 9, unknown()).dry());
    case.server.script(Rule::new("create", "services", 9, unknown()).dry());
    let problems = case.run().await.map(drop).unwrap_err();
    assert_eq!(problems.iter().count(), 1);
    assert_eq!(problems.code(), ErrorCode::KubeAuth);
}

#[tokio::test]
async fn k07_a_review_that_is_refused_decides_nothing() {
    let case = Case::short().await;
    let no = status((403, "Forbidden", "selfsubjectrulesreviews is forbidden: User \"x\" cannot create resource"));
    case.server.script(Rule::new("create", "selfsubjectrulesreviews", 9, Fault::Refuse(no)));
    case.run().await.unwrap();
}

#[tokio::test]
async fn d06_a_restricted_namespace_gets_a_pod_that_is_never_root() {
    let case = Case::short().await;
    let violates = "pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\": runAsNonRoot != true";
    case.server.script(Rule::new("create", "pods", 1, Fault::Refuse(status((403, "Forbidden", violates)))).dry());
    case.run().await.unwrap();
    let pod = &case.server.objects("pods")[0];
    assert_eq!(pod["spec"]["containers"][0]["securityContext"]["runAsNonRoot"], true);
}

#[tokio::test]
async fn k06_lost_answers_of_every_create_end_well() {
    for resource in ["secrets", "pods", "services"] {
        let case = Case::short().await;
        case.server.script(Rule::new("create", resource, 1, Fault::CutAfter));
        case.server.script(Rule::new("patch", "secrets", 1, Fault::CutAfter));
        case.server.script(Rule::new("delete", "services", 1, Fault::CutAfter));
        case.run().await.unwrap();
        assert_eq!(case.server.created("pods"), 1);
        case.assert_launched();
    }
}

#[tokio::test]
async fn k06_a_create_that_never_answers_leaves_nothing() {
    for (resource, skip) in [("secrets", 0), ("pods", 0), ("services", 0), ("services", 1)] {
        let case = Case::long().await;
        // The first one happens after the client has given up, the others never.
        case.server.script(Rule::new("create", resource, 1, Fault::Late(Duration::from_millis(2300))).after(skip));
        case.server.script(Rule::new("create", resource, 99, Fault::Late(Duration::from_mins(9))).after(skip));
        assert_eq!(case.fails().await, "E_API_TIMEOUT", "{resource}");
        case.assert_nothing_left();
    }
}

#[tokio::test]
async fn t05_the_secret_is_gone_after_every_kind_of_end() {
    let refused = || LaunchAnswer::Refused(SubmitError::new(ErrorCode::Digest, "scripted"));
    let lost = || LaunchAnswer::Lost(SubmitError::new(ErrorCode::DriverUnreachable, "scripted"));
    let with = |reach, send, launches: Vec<Option<LaunchAnswer>>| FakeTransfer {
        reach,
        send,
        ..FakeTransfer::launches(launches)
    };
    let fails = Step::Fails(ErrorCode::UploadStalled);
    let table = [
        (with(Step::Fails(ErrorCode::DriverUnreachable), Step::Works, vec![]), "E_DRIVER_UNREACHABLE", true),
        (with(Step::Works, fails, vec![]), "E_UPLOAD_STALLED", true),
        (with(Step::Works, Step::Works, vec![Some(refused())]), "E_DIGEST", true),
        (with(Step::Works, Step::Works, (0..9).map(|_| Some(lost())).collect()), "E_DRIVER_UNREACHABLE", false),
    ];
    for (transfer, code, all_gone) in table {
        let mut case = Case::long().await;
        case.transfer = transfer;
        assert_eq!(case.fails().await, code);
        if all_gone { case.assert_nothing_left() } else { case.assert_launched() }
    }
}

#[tokio::test]
async fn c02_a_pod_that_does_not_start_is_taken_away_and_had_no_door() {
    let case = Case::new(&[(10, waiting("ErrImagePull"))]).await;
    assert_eq!(case.fails().await, "E_IMAGE");
    case.assert_nothing_left();
    assert!(!case.server.writes().iter().any(|write| write.starts_with("create services") && write.ends_with("door")));
}

#[tokio::test]
async fn c03_a_pod_that_dies_ends_the_upload_with_its_reason() {
    let evicted = json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "low on disk"}});
    let full = ended(74, "Error", "airlock-driver: E_DISK_FULL: no space left in /var/airlock");
    for (change, send, code) in [
        (full.clone(), Step::Hangs, "E_DISK_FULL"),
        (full, Step::Fails(ErrorCode::UploadStalled), "E_DISK_FULL"),
        (evicted, Step::Hangs, "E_EVICTED"),
    ] {
        let mut case = Case::long().await;
        case.transfer.send = send;
        let dying = async {
            case.transfer.sending.notified().await;
            case.server.change("pods", &change);
        };
        let (found, ()) = tokio::join!(case.fails(), dying);
        assert_eq!(found, code);
        case.assert_nothing_left();
    }
}

#[tokio::test]
async fn x03_an_interrupt_before_the_launch_takes_everything_away() {
    for (interrupt, status) in [(Interrupt::Int, 130), (Interrupt::Term, 143)] {
        let mut sending = Case::long().await;
        sending.transfer.send = Step::Hangs;
        let pressing = async {
            sending.transfer.sending.notified().await;
            sending.interrupt.send(interrupt).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(sending.run(), pressing);
        assert_eq!(outcome.unwrap_err().code().exit_status(), status);
        sending.assert_nothing_left();
        assert!(sending.said("port 31234 open for"));

        let pending = Case::new(&[(10, unschedulable())]).await;
        let pressing = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            pending.interrupt.send(interrupt).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(pending.run(), pressing);
        assert_eq!(outcome.unwrap_err().code().exit_status(), status);
        pending.assert_nothing_left();
    }
}

#[tokio::test]
async fn x03_an_interrupt_while_an_object_is_being_made_leaves_none() {
    for resource in ["secrets", "pods", "services"] {
        let case = Case::long().await;
        case.server.script(Rule::new("create", resource, 1, Fault::Late(Duration::from_millis(250))));
        let pressing = async {
            while case.server.count("create", resource) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            case.interrupt.send(Interrupt::Int).await.unwrap();
        };
        let (outcome, ()) = tokio::join!(case.run(), pressing);
        assert_eq!(outcome.unwrap_err().code(), ErrorCode::Interrupted);
        case.assert_nothing_left();
    }
}

#[tokio::test]
async fn x03_an_interrupt_after_the_launch_leaves_the_driver_alone() {
    let case = Case::long().await;
    let (outcome, ()) = tokio::join!(case.run(), case.terminate_when_launched());
    let problems = outcome.unwrap_err();
    assert_eq!(problems.code().exit_status(), 143);
    assert!(problems.render("airlock").contains("the driver runs on"));
    assert!(problems.render("airlock").contains("airlock attach spark:"));
    case.assert_launched();
}

#[tokio::test]
async fn x03_an_interrupt_after_the_launch_deletes_the_driver_where_that_is_wanted() {
    let mut case = Case::long().await;
    case.settings.follow.on_interrupt = OnInterrupt::Kill;
    let (code, ()) = tokio::join!(case.fails(), case.terminate_when_launched());
    assert_eq!(code, "E_TERMINATED");
    assert!(case.server.objects("pods").is_empty());
    assert!(case.said("deleting the driver pod"), "{:?}", case.lines);
}

#[tokio::test]
async fn x03_a_launch_whose_answer_is_lost_is_asked_about() {
    let lost = || Some(LaunchAnswer::Lost(SubmitError::new(ErrorCode::DriverUnreachable, "scripted")));
    // The server says that it has launched.
    let mut told = Case::short().await;
    told.transfer = FakeTransfer::launches(vec![lost()]);
    *told.transfer.state.lock().unwrap() = Ok(SubmissionState::Launched);
    assert!(matches!(told.run().await.unwrap(), Outcome::Ended(end) if end.exit_code == 0));
    // The server has not heard of it: asked again.
    let mut unheard = Case::short().await;
    unheard.transfer = FakeTransfer::launches(vec![lost()]);
    *unheard.transfer.state.lock().unwrap() = Ok(SubmissionState::Verified);
    assert!(matches!(unheard.run().await.unwrap(), Outcome::Ended(end) if end.exit_code == 0));
    assert_eq!(*unheard.transfer.launches.lock().unwrap(), 2);
    // Nobody answers, and the driver has already ended with a status of its own.
    let mut ended_since = Case::new(&[(10, running()), (600, ended(7, "Error", ""))]).await;
    ended_since.transfer = FakeTransfer::launches(vec![lost(), lost()]);
    assert!(matches!(ended_since.run().await.unwrap(), Outcome::Ended(end) if end.exit_code == 7));
    // The port is closed and the container runs on: that is the driver.
    let mut closed = Case::short().await;
    closed.transfer = FakeTransfer::launches(vec![lost()]);
    *closed.transfer.state.lock().unwrap() = Err(Silence::Closed);
    assert!(matches!(closed.run().await.unwrap(), Outcome::Ended(end) if end.exit_code == 0));
    // Nobody answers, and the server had refused.
    let refused = ended(69, "Error", "airlock-driver: E_LAUNCH: cannot execute");
    let mut failed = Case::new(&[(10, running()), (600, refused)]).await;
    failed.transfer = FakeTransfer::launches(vec![lost(), lost()]);
    assert_eq!(failed.fails().await, "E_LAUNCH");
    failed.assert_nothing_left();
}

/// A driver that seems to run on, whose port is closed, and whose door somebody removes before the launch is answered so.
async fn robbed_of_its_door(answer: LaunchAnswer) -> (Case, Problems) {
    let mut case = Case::long().await;
    case.transfer = FakeTransfer::launches(vec![Some(answer)]);
    *case.transfer.state.lock().unwrap() = Err(Silence::Closed);
    let gate = Arc::new(Notify::new());
    *case.transfer.gate.lock().unwrap() = Some(Arc::clone(&gate));
    let robbing = async {
        case.transfer.launching.notified().await;
        case.server.delete("services", case.names.door_service.as_str());
        gate.notify_one();
    };
    let (outcome, ()) = tokio::join!(case.run(), robbing);
    let problems = outcome.map(|outcome| panic!("{outcome:?}")).unwrap_err();
    (case, problems)
}

#[tokio::test]
async fn x03_a_door_that_is_gone_is_no_sign_of_a_launch() {
    let error = || SubmitError::new(ErrorCode::DriverUnreachable, "scripted");
    // Never sent: nothing was launched, and everything goes.
    let (case, problems) = robbed_of_its_door(LaunchAnswer::NotSent(error())).await;
    assert_eq!(problems.code(), ErrorCode::DriverUnreachable);
    assert!(problems.to_string().contains("removed the door"), "{problems}");
    case.assert_nothing_left();
    // Perhaps sent: the pod may be the driver, so it stays, and nobody claims that it is.
    let (case, problems) = robbed_of_its_door(LaunchAnswer::Lost(error())).await;
    assert_eq!(problems.code(), ErrorCode::DriverUnreachable);
    case.assert_launched();
}

#[tokio::test]
async fn x03_a_launch_that_could_not_be_sent_is_sent_again() {
    let error = SubmitError::new(ErrorCode::DriverUnreachable, "scripted");
    let mut case = Case::short().await;
    case.transfer = FakeTransfer::launches(vec![Some(LaunchAnswer::NotSent(error))]);
    assert!(matches!(case.run().await.unwrap(), Outcome::Ended(end) if end.exit_code == 0));
    assert_eq!(*case.transfer.launches.lock().unwrap(), 2);
}

#[tokio::test]
async fn x01_an_entry_point_that_cannot_be_executed_is_our_failure() {
    let message = "airlock-driver: E_LAUNCH: cannot execute /opt/entrypoint.sh";
    let case = Case::new(&[(10, running()), (400, ended(69, "Error", message))]).await;
    assert_eq!(case.fails().await, "E_LAUNCH");
}

#[tokio::test]
async fn x03_interrupts_while_launching() {
    let lost = || Some(LaunchAnswer::Lost(SubmitError::new(ErrorCode::DriverUnreachable, "scripted")));
    // One: the launch is finished first.
    let mut once = Case::long().await;
    once.transfer = FakeTransfer::launches(vec![lost()]);
    *once.transfer.state.lock().unwrap() = Ok(SubmissionState::Verified);
    let pressing = async {
        once.transfer.launching.notified().await;
        once.interrupt.send(Interrupt::Int).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(once.run(), pressing);
    assert!(outcome.unwrap_err().to_string().contains("the driver runs on"));
    once.assert_launched();
    // Two: left at once, and the pod is not touched, since it may be the driver.
    let mut twice = Case::long().await;
    twice.transfer = FakeTransfer::launches(vec![None]);
    let pressing = async {
        twice.transfer.launching.notified().await;
        twice.interrupt.send(Interrupt::Int).await.unwrap();
        twice.interrupt.send(Interrupt::Int).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(twice.run(), pressing);
    assert_eq!(outcome.unwrap_err().code(), ErrorCode::Interrupted);
    assert_eq!(twice.server.objects("pods").len(), 1);
}

#[tokio::test]
async fn x03_a_second_interrupt_leaves_the_clean_up() {
    let mut case = Case::long().await;
    case.transfer.send = Step::Hangs;
    case.settings.deadlines.api = Duration::from_mins(10);
    case.server.script(Rule::new("delete", "services", 999, Fault::Refuse(status((500, "InternalError", "etcd")))));
    let pressing = async {
        case.transfer.sending.notified().await;
        case.interrupt.send(Interrupt::Int).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        case.interrupt.send(Interrupt::Int).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(case.run(), pressing);
    assert_eq!(outcome.unwrap_err().code(), ErrorCode::Interrupted);
    assert!(case.said("may still be there: service spark/"), "{:?}", case.lines);
}

#[tokio::test]
async fn d02_what_cannot_be_removed_is_said_and_the_first_failure_stays() {
    let mut case = Case::long().await;
    case.transfer.send = Step::Fails(ErrorCode::UploadStalled);
    let forbidden = status((403, "Forbidden", "services is forbidden: User \"u\" cannot delete resource \"services\""));
    case.server.script(Rule::new("delete", "services", 1, Fault::Refuse(forbidden)));
    assert_eq!(case.fails().await, "E_UPLOAD_STALLED");
    assert!(case.said("could not remove service spark/"), "{:?}", case.lines);
    assert!(case.server.objects("pods").is_empty());
}

#[tokio::test]
async fn d02_doors_that_others_left_behind_are_swept_in_passing() {
    let case = Case::short().await;
    let door = |name: &str, lease: &str| {
        json!({"metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "airlock"},
            "annotations": {"airlock/lease-until": lease}}, "spec": {"type": "NodePort", "ports": [{"port": 7077}]}})
    };
    case.server.put("services", door("old-door", "2020-01-01T00:00:00Z"));
    case.server.put("services", door("live-door", "2999-01-01T00:00:00Z"));
    case.run().await.unwrap();
    let left = case.server.everything();
    assert!(
        !left.contains(&"services/old-door".to_owned()) && left.contains(&"services/live-door".to_owned()),
        "{left:?}"
    );
}

#[tokio::test]
async fn r05_a_door_that_leads_nowhere_is_closed_before_the_next_is_opened() {
    let case = Case::short().await;
    *case.transfer.dead_ends.lock().unwrap() = 1;
    case.run().await.unwrap();
    let doors: Vec<_> = case.server.writes().into_iter().filter(|write| write.ends_with("door")).collect();
    let verbs: Vec<_> = doors.iter().filter_map(|write| write.split(' ').next()).collect();
    assert_eq!(verbs, ["create", "delete", "create", "delete"]);
    let policies: Vec<_> = case
        .server
        .calls()
        .iter()
        .filter(|call| call.verb == "create" && call.resource == "services" && !call.dry_run)
        .filter_map(|call| call.body["spec"]["externalTrafficPolicy"].as_str().map(ToOwned::to_owned))
        .collect();
    assert_eq!(policies, ["Local", "Cluster"]);
    assert!(case.said("trying node port"), "{:?}", case.lines);
    case.assert_launched();
}

#[tokio::test]
async fn r06_when_no_door_leads_in_each_is_named_and_nothing_is_left() {
    let case = Case::long().await;
    *case.transfer.dead_ends.lock().unwrap() = 9;
    let problems = case.run().await.map(|outcome| panic!("{outcome:?}")).unwrap_err();
    let text = problems.render("airlock");
    assert!(
        text.contains("E_DRIVER_UNREACHABLE") && text.contains("tried before, node port on the pod's node"),
        "{text}"
    );
    case.assert_nothing_left();
}

#[tokio::test]
async fn a_door_that_needs_no_service_makes_none() {
    let mut case = Case::short().await;
    case.settings.door.gateway = vec!["127.0.0.1:8443".to_owned()];
    case.run().await.unwrap();
    assert!(!case.server.writes().iter().any(|write| write.ends_with("door")));
    let dialled = case.transfer.candidates.lock().unwrap()[0].address.to_string();
    assert_eq!(dialled, "127.0.0.1:8443");
}

#[tokio::test]
async fn r08_a_load_balancer_is_dialled_once_it_has_an_address() {
    let mut case = Case::long().await;
    case.settings.follow.wait = false;
    case.settings.door.kinds = DoorKinds::These(vec!["load-balancer".to_owned()]);
    let provider = async {
        while !case.server.everything().iter().any(|name| name.ends_with("-door")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.9"}]}}});
        case.server.change_named("services", case.names.door_service.as_str(), &status);
    };
    let (outcome, ()) = tokio::join!(case.run(), provider);
    outcome.unwrap();
    assert_eq!(case.transfer.candidates.lock().unwrap()[0].address.to_string(), "192.0.2.9:7077");
    case.assert_launched();
}

#[tokio::test]
async fn an_address_that_something_writes_into_an_annotation_is_waited_for() {
    let mut case = Case::long().await;
    case.settings.follow.wait = false;
    case.settings.door.address_annotation = Some("example.com/address".to_owned());
    let controller = async {
        while case.server.count("get", "services") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let patch = json!({"metadata": {"annotations": {"example.com/address": "192.0.2.7:8443"}}});
        case.server.change_named("services", case.names.headless_service.as_str(), &patch);
    };
    let (outcome, ()) = tokio::join!(case.run(), controller);
    outcome.unwrap();
    assert_eq!(case.transfer.candidates.lock().unwrap()[0].address.to_string(), "192.0.2.7:8443");
}

#[tokio::test]
async fn r03_the_nodes_are_the_candidates_and_need_no_right() {
    let node = json!({"metadata": {"name": "node2"}, "status": {"addresses": [{"type": "InternalIP", "address": "fd00:10::5"}],
        "conditions": [{"type": "Ready", "status": "True"}]}});
    let mut case = Case::short().await;
    case.settings.door.traffic_policy = Some(TrafficPolicy::Cluster);
    case.server.nodes(vec![node]);
    case.run().await.unwrap();
    let dialled = |case: &Case| -> Vec<String> {
        case.transfer.candidates.lock().unwrap().iter().map(|candidate| candidate.address.to_string()).collect()
    };
    assert_eq!(dialled(&case), ["127.0.0.1:31234", "[fd00:10::5]:31234"]);
    let case = Case::short().await;
    let no =
        status((403, "Forbidden", "nodes is forbidden: User \"u\" cannot list resource \"nodes\" in API group \"\""));
    case.server.script(Rule::new("list", "nodes", 9, Fault::Refuse(no)));
    case.run().await.unwrap();
    assert_eq!(dialled(&case), ["127.0.0.1:31234"]);
    assert!(case.said("no right to list nodes"));
}
