//! The objects beside the pod, as plain functions: the headless Service that executors and gateways find the driver by,
//! the Secret with this driver's key, the door, and the owner reference that ties them to the pod.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Pod, Secret, Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::ResourceExt;
use secrecy::{ExposeSecret, SecretString};
use shared::driver_contract as contract;

use crate::objects::driver_pod::{
    PodContext, SPARK_CONNECT_PORT_NAME, UPLOAD_PORT_NAME, driver_ports, object_meta, over, selector,
};
use crate::settings::names::SubmissionNames;
use crate::settings::spark_version::SparkVersion;
use crate::settings::{DoorSettings, Settings, TrafficPolicy};

/// What the driver server proves itself with, and whom it trusts.
#[derive(Debug)]
pub struct ServerCertificates {
    /// The authority that signed the client's certificate.
    pub ca_pem: String,
    /// The server's certificate.
    pub certificate_pem: String,
    /// The server's key, PKCS #8.
    pub key_pem: SecretString,
}

/// The Secret that the pod mounts. Immutable: nobody swaps a key in mid-run.
#[must_use]
pub fn tls_secret(names: &SubmissionNames, context: &PodContext, certificates: &ServerCertificates) -> Secret {
    let data = [
        (contract::TLS_CA, certificates.ca_pem.as_str()),
        (contract::TLS_CERTIFICATE, certificates.certificate_pem.as_str()),
        (contract::TLS_KEY, certificates.key_pem.expose_secret()),
    ];
    Secret {
        metadata: object_meta(names, context, &names.tls_secret),
        data: Some(data.map(|(key, text)| (key.to_owned(), ByteString(text.as_bytes().to_vec()))).into()),
        immutable: Some(true),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    }
}

/// The headless Service: the driver's name for executors, and the only name in the server's certificate.
#[must_use]
pub fn headless_service(
    settings: &Settings,
    names: &SubmissionNames,
    context: &PodContext,
    owner: Option<&OwnerReference>,
) -> Service {
    let driver = &settings.driver;
    let mut metadata = object_meta(names, context, &names.headless_service);
    metadata.labels = Some(over(&driver.service_labels, metadata.labels.unwrap_or_default()));
    metadata.annotations = Some(over(&driver.service_annotations, metadata.annotations.unwrap_or_default()));
    metadata.owner_references = owner.map(|owner| vec![owner.clone()]);
    let ports = driver_ports(driver, &context.spark_version);
    let spec = ServiceSpec {
        cluster_ip: Some("None".to_owned()),
        ip_families: (!driver.ip_families.is_empty()).then(|| driver.ip_families.clone()),
        ip_family_policy: driver.ip_family_policy.clone(),
        ports: Some(ports.into_iter().map(|(name, port)| headless_port(name, port, &context.spark_version)).collect()),
        // The name must hold before the pod is ready, and when an injected container never gets ready.
        publish_not_ready_addresses: Some(true),
        selector: Some(selector(names, context)),
        ..ServiceSpec::default()
    };
    Service { metadata, spec: Some(spec), status: None }
}

/// The door: one node port to the driver server. Its owner comes with the pod.
#[must_use]
pub fn door_service(
    settings: &DoorSettings,
    policy: TrafficPolicy,
    names: &SubmissionNames,
    context: &PodContext,
) -> Service {
    let mut port = service_port(UPLOAD_PORT_NAME, contract::UPLOAD_PORT);
    port.node_port = settings.node_port.map(i32::from);
    let spec = ServiceSpec {
        external_traffic_policy: Some(policy_name(policy).to_owned()),
        ports: Some(vec![port]),
        publish_not_ready_addresses: Some(true),
        selector: Some(selector(names, context)),
        type_: Some("NodePort".to_owned()),
        ..ServiceSpec::default()
    };
    Service { metadata: object_meta(names, context, &names.door_service), spec: Some(spec), status: None }
}

/// The door as a load balancer, without a node port where the cluster's provider can do without.
#[must_use]
pub fn load_balancer_service(settings: &DoorSettings, names: &SubmissionNames, context: &PodContext) -> Service {
    let mut metadata = object_meta(names, context, &names.door_service);
    let annotations = metadata.annotations.unwrap_or_default();
    metadata.annotations = Some(over(&settings.load_balancer_annotations, annotations));
    let ranges = &settings.source_ranges;
    let spec = ServiceSpec {
        allocate_load_balancer_node_ports: Some(settings.load_balancer_node_ports),
        load_balancer_class: settings.load_balancer_class.clone(),
        load_balancer_source_ranges: (!ranges.is_empty()).then(|| ranges.clone()),
        ports: Some(vec![service_port(UPLOAD_PORT_NAME, contract::UPLOAD_PORT)]),
        publish_not_ready_addresses: Some(true),
        selector: Some(selector(names, context)),
        type_: Some("LoadBalancer".to_owned()),
        ..ServiceSpec::default()
    };
    Service { metadata, spec: Some(spec), status: None }
}

/// The pod as owner: what it owns is deleted with it. None for a pod that the API server has not made.
#[must_use]
pub fn owned_by(pod: &Pod) -> Option<OwnerReference> {
    Some(OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: pod.name_any(),
        uid: pod.uid()?,
        controller: Some(true),
        // Absent, as upstream: setting it needs a right on the pod's finalizers that submitters rarely have.
        block_owner_deletion: None,
    })
}

const fn policy_name(policy: TrafficPolicy) -> &'static str {
    match policy {
        TrafficPolicy::Cluster => "Cluster",
        TrafficPolicy::Local => "Local",
    }
}

/// The Connect server speaks gRPC, which newer versions say so that gateways need not guess.
fn headless_port(name: &str, port: u16, version: &SparkVersion) -> ServicePort {
    let speaks_grpc = name == SPARK_CONNECT_PORT_NAME && version.names_connect_protocol();
    let app_protocol = speaks_grpc.then(|| "grpc".to_owned());
    ServicePort { app_protocol, ..service_port(name, port) }
}

fn service_port(name: &str, port: u16) -> ServicePort {
    let port = i32::from(port);
    ServicePort {
        name: Some(name.to_owned()),
        port,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(port)),
        ..ServicePort::default()
    }
}

/// A merge patch that makes `owner` the owner of the object that has `uid`, and of no other.
#[must_use]
pub fn owner_patch(uid: &str, owner: &OwnerReference) -> serde_json::Value {
    serde_json::json!({"metadata": {"uid": uid, "ownerReferences": [owner]}})
}

/// Labels as a selector for a list call.
#[must_use]
pub fn label_selector(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_settings::{context, names, settings};

    #[test]
    fn d07_owner_lease_and_label_on_each_object() {
        let pod: Pod =
            serde_json::from_value(serde_json::json!({"metadata": {"name": names().pod.as_str(), "uid": "u1"}}))
                .unwrap();
        let owner = owned_by(&pod).unwrap();
        let objects = [
            headless_service(&settings(), &names(), &context(), Some(&owner)),
            door_service(&settings().door, TrafficPolicy::Cluster, &names(), &context()),
            load_balancer_service(&settings().door, &names(), &context()),
        ];
        assert_eq!(objects[0].owner_references(), std::slice::from_ref(&owner));
        for object in objects {
            assert_eq!(object.annotations()["airlock/lease-until"], "2026-01-01T01:00:00Z");
            assert_eq!(object.annotations()["airlock/submission-id"], names().submission_id.as_str());
            assert_eq!(object.labels()["app.kubernetes.io/managed-by"], "airlock");
            assert_eq!(object.labels()["spark-app-selector"], names().app_id);
        }
    }

    #[test]
    fn t05_the_secret_holds_the_key_and_shows_it_nowhere_else() {
        let certificates = ServerCertificates {
            ca_pem: "CA".into(),
            certificate_pem: "CERT".into(),
            key_pem: SecretString::from("CANARY"),
        };
        let secret = tls_secret(&names(), &context(), &certificates);
        let keys: Vec<_> = secret.data.as_ref().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["ca.crt", "tls.crt", "tls.key"]);
        assert!(!format!("{certificates:?}").contains("CANARY"));
        assert!(!serde_json::to_string(&secret.metadata).unwrap().contains("CANARY"));
    }

    #[test]
    fn headless_service_snapshot() {
        insta::assert_yaml_snapshot!(headless_service(&settings(), &names(), &context(), None));
    }

    #[test]
    fn door_service_snapshot() {
        let mut settings = settings();
        settings.door.node_port = Some(30_011);
        insta::assert_yaml_snapshot!(door_service(&settings.door, TrafficPolicy::Local, &names(), &context()));
    }
}
