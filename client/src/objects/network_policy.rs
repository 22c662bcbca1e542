//! Upstream's network policy for executors (since Spark 4.2), as a plain function: they take connections from pods of
//! the same application only. The driver is not in it, so that the door stays reachable.

use std::collections::BTreeMap;

use k8s_openapi::api::networking::v1::{NetworkPolicy, NetworkPolicyIngressRule, NetworkPolicyPeer, NetworkPolicySpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};

use crate::objects::driver_pod::{APP_LABEL, PodContext, object_meta};
use crate::settings::names::SubmissionNames;

/// The policy.
#[must_use]
pub fn network_policy(names: &SubmissionNames, context: &PodContext, owner: Option<&OwnerReference>) -> NetworkPolicy {
    let mut metadata = object_meta(names, context, &names.beside("-policy"));
    metadata.owner_references = owner.map(|owner| vec![owner.clone()]);
    let application = (APP_LABEL, names.app_id.as_str());
    let peer = NetworkPolicyPeer { pod_selector: Some(pods(&[application])), ..NetworkPolicyPeer::default() };
    let spec = NetworkPolicySpec {
        ingress: Some(vec![NetworkPolicyIngressRule { from: Some(vec![peer]), ports: None }]),
        pod_selector: Some(pods(&[application, ("spark-role", "executor")])),
        ..NetworkPolicySpec::default()
    };
    NetworkPolicy { metadata, spec: Some(spec) }
}

fn pods(labels: &[(&str, &str)]) -> LabelSelector {
    let labels: BTreeMap<_, _> = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    LabelSelector { match_labels: Some(labels), match_expressions: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_settings::{context, names};

    #[test]
    fn network_policy_snapshot() {
        insta::assert_yaml_snapshot!(network_policy(&names(), &context(), None));
    }
}
