//! What is made for the pod to mount, and the executors' network policy: made in order, owned, removed again, and asked
//! for only where it is needed.

use std::collections::BTreeSet;

use client::settings::NetworkPolicyChoice;
use client::settings::driver_files::{DriverFiles, Source, Store};
use client::settings::driver_volume::{DriverVolume, NewClaim, VolumeSource};
use serde_json::json;
use shared::error_code::ErrorCode;

use crate::api::{Fault, Rule, Step, status};
use crate::submissions::Case;

const SECRET: &str = "CANARY";
/// The same in Base64, as Secrets are written.
const ENCODED: &str = "Q0FOQVJZ";

fn files(volume: &'static str, store: Store, suffix: &'static str) -> DriverFiles {
    let files = [("file".to_owned(), SECRET.as_bytes().to_vec().into())].into();
    let source = Source::Made { suffix, files };
    DriverFiles { volume, store, source, path: "/mounted", only: None, variable: None, name_property: None }
}

/// Two Secrets, a `ConfigMap` and a claim.
fn with_all(mut case: Case) -> Case {
    case.settings.driver.files = vec![
        files("kubernetes-credentials", Store::Secret, "-kubernetes-credentials"),
        files("kerberos-keytab", Store::Secret, "-kerberos-keytab"),
        files("hadoop-properties", Store::ConfigMap, "-hadoop-config"),
    ];
    let claim = NewClaim {
        name: "OnDemand".into(),
        storage_class: None,
        size: "5Gi".into(),
        access_mode: "ReadWriteOncePod",
        labels: [].into(),
        annotations: [].into(),
    };
    case.settings.driver.volumes = vec![DriverVolume {
        name: "data".into(),
        path: "/data".into(),
        read_only: false,
        sub_path: None,
        sub_path_expr: None,
        source: VolumeSource::NewClaim(claim),
    }];
    case
}

const MADE: [&str; 5] = [
    "configmaps X-hadoop-config",
    "persistentvolumeclaims X-driver-pvc-0",
    "secrets X-airlock-tls",
    "secrets X-kerberos-keytab",
    "secrets X-kubernetes-credentials",
];

fn sorted(writes: &[String], verb: &str) -> Vec<String> {
    let mut found: Vec<_> =
        writes.iter().filter_map(|write| write.strip_prefix(verb)).map(|it| it.trim().into()).collect();
    found.sort();
    found
}

#[tokio::test]
async fn d03_what_the_pod_mounts_is_there_first_and_then_the_pods() {
    let case = with_all(Case::short().await);
    case.run().await.unwrap();
    let writes: Vec<_> = case.server.writes().iter().map(|it| it.replace(&case.names.prefix, "X")).collect();
    let pod = writes.iter().position(|write| write == "create pods X-driver").unwrap();
    assert_eq!(sorted(&writes[..pod], "create "), MADE);
    assert_eq!(sorted(&writes[pod..], "patch "), MADE);
    // After the launch only the driver server's own are taken away.
    assert_eq!(sorted(&writes, "delete "), ["secrets X-airlock-tls", "services X-airlock-door"]);
    let uid = case.server.objects("pods")[0]["metadata"]["uid"].clone();
    for resource in ["secrets", "configmaps", "persistentvolumeclaims", "networkpolicies"] {
        for object in case.server.objects(resource) {
            assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], uid, "{resource}");
        }
    }
}

#[tokio::test]
async fn t08_what_is_secret_is_in_the_secret_only() {
    let case = with_all(Case::short().await);
    case.run().await.unwrap();
    assert!(!case.said(SECRET));
    let told = |text: &str| {
        let calls = case.server.calls().into_iter().filter(|call| call.body.to_string().contains(text));
        calls.map(|call| call.resource).collect::<BTreeSet<_>>()
    };
    assert_eq!(told(SECRET), ["configmaps".to_owned()].into());
    assert_eq!(told(ENCODED), ["secrets".to_owned()].into());
}

#[tokio::test]
async fn d02_a_failure_at_any_create_leaves_nothing() {
    for resource in ["secrets", "configmaps", "persistentvolumeclaims", "pods", "services", "networkpolicies"] {
        let case = with_all(Case::long().await);
        let no = status((403, "Forbidden", &format!("{resource} is forbidden: exceeded quota: objects")));
        case.server.script(Rule::new("create", resource, 1, Fault::Refuse(no)));
        case.fails().await;
        case.assert_nothing_left();
    }
}

#[tokio::test]
async fn d02_a_create_whose_answer_is_lost_is_removed_too() {
    for resource in ["secrets", "configmaps", "persistentvolumeclaims"] {
        let mut case = with_all(Case::long().await);
        case.server.script(Rule::new("patch", resource, 1, Fault::CutAfter));
        case.server.script(Rule::new("create", resource, 1, Fault::CutAfter));
        case.transfer.send = Step::Fails(ErrorCode::UploadStalled);
        assert_eq!(case.fails().await, "E_UPLOAD_STALLED");
        case.assert_nothing_left();
    }
}

#[tokio::test]
async fn k07_rights_are_asked_for_where_they_are_needed() {
    let usual = json!([
        {"verbs": ["create", "get", "watch", "delete"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["create", "get", "delete"], "apiGroups": [""], "resources": ["services"]},
        {"verbs": ["create", "patch", "delete"], "apiGroups": [""], "resources": ["secrets"]},
    ]);
    let plain = Case::short().await;
    plain.server.grant(usual.clone());
    plain.run().await.unwrap();
    let mut case = with_all(Case::short().await);
    case.settings.network_policy = NetworkPolicyChoice::Always;
    case.server.grant(usual);
    let problems = case.run().await.map(drop).unwrap_err();
    let text = problems.render("airlock");
    assert_eq!(problems.code(), ErrorCode::Rights);
    for part in [
        "configmaps: create, patch, delete",
        "persistentvolumeclaims: create, patch, delete",
        "networkpolicies.networking.k8s.io: create",
    ] {
        assert!(text.contains(part), "{text}");
    }
    case.assert_nothing_left();
}

fn no_policy() -> Rule {
    let no = "networkpolicies.networking.k8s.io is forbidden: User \"u\" cannot create resource \"networkpolicies\"";
    Rule::new("create", "networkpolicies", 9, Fault::Refuse(status((403, "Forbidden", no)))).dry()
}

#[tokio::test]
async fn k07_a_network_policy_that_may_not_be_made_is_left_out_aloud() {
    let case = Case::short().await;
    case.server.script(no_policy());
    case.run().await.unwrap();
    assert!(case.said("warning: executors get no network policy"), "{:?}", case.lines);
    assert_eq!(case.server.count("create", "networkpolicies"), 0);
}

#[tokio::test]
async fn k07_a_network_policy_that_must_be_stops_the_submission_and_never_is_never() {
    let mut case = Case::long().await;
    case.settings.network_policy = NetworkPolicyChoice::Always;
    case.server.script(no_policy());
    assert_eq!(case.fails().await, "E_RIGHTS");
    case.assert_nothing_left();
    let mut case = Case::short().await;
    case.settings.network_policy = NetworkPolicyChoice::Never;
    case.run().await.unwrap();
    assert!(!case.said("network policy"));
    assert_eq!(case.server.calls().iter().filter(|call| call.resource == "networkpolicies").count(), 0);
}

#[tokio::test]
async fn a_claim_that_exists_is_not_taken_over() {
    let mut case = with_all(Case::long().await);
    let VolumeSource::NewClaim(claim) = &mut case.settings.driver.volumes[0].source else { panic!() };
    claim.name = "shared-data".into();
    case.server.put("persistentvolumeclaims", json!({"metadata": {"name": "shared-data"}}));
    let problems = case.run().await.map(drop).unwrap_err();
    assert_eq!(problems.code(), ErrorCode::NameTaken);
    assert!(problems.render("airlock").contains("options.claimName only"));
    assert_eq!(case.server.everything(), ["persistentvolumeclaims/shared-data"]);
}

#[tokio::test]
async fn d02_what_no_pod_came_to_own_is_swept_and_what_one_owns_is_not() {
    let case = Case::short().await;
    let object = |name: &str, owners| {
        json!({"metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "airlock"},
            "annotations": {"airlock/lease-until": "2020-01-01T00:00:00Z"}, "ownerReferences": owners}})
    };
    let pod = json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]);
    for resource in ["secrets", "configmaps", "persistentvolumeclaims"] {
        case.server.put(resource, object("nobodys", json!([])));
        case.server.put(resource, object("a-pods", pod.clone()));
    }
    case.server.put("secrets", object("old-airlock-tls", pod));
    case.run().await.unwrap();
    let left: Vec<_> = case.server.everything().into_iter().filter(|name| !name.contains("t-1-x")).collect();
    assert_eq!(left, ["configmaps/a-pods", "persistentvolumeclaims/a-pods", "secrets/a-pods"]);
}
