//! Which rights a submission needs, and which of them are missing by a rules review: plain functions. Rights that only
//! make messages better (events, nodes, listing Services) are not demanded.

use k8s_openapi::api::authorization::v1::{ResourceRule, SubjectRulesReviewStatus};

use crate::settings::driver_files::{DriverFiles, Source, Store};
use crate::settings::driver_volume::VolumeSource;
use crate::settings::{NetworkPolicyChoice, Settings};

/// Verbs on one resource, `name` in the core group or `name.group`.
pub type Need = (&'static str, &'static [&'static str]);

/// What a submission with these settings does in its namespace, also when it fails.
#[must_use]
pub fn needed(settings: &Settings) -> Vec<Need> {
    let mut needs: Vec<Need> = vec![
        ("pods", &["create", "get", "watch", "delete"]),
        ("services", &["create", "get", "delete"]),
        ("secrets", &["create", "patch", "delete"]),
    ];
    let driver = &settings.driver;
    let makes = |files: &DriverFiles| files.store == Store::ConfigMap && matches!(files.source, Source::Made { .. });
    if driver.files.iter().any(makes) {
        needs.push(("configmaps", &["create", "patch", "delete"]));
    }
    if driver.volumes.iter().any(|volume| matches!(volume.source, VolumeSource::NewClaim(_))) {
        needs.push(("persistentvolumeclaims", &["create", "patch", "delete"]));
    }
    if settings.network_policy == NetworkPolicyChoice::Always {
        needs.push(("networkpolicies.networking.k8s.io", &["create"]));
    }
    if settings.follow.logs {
        needs.push(("pods/log", &["get"]));
    }
    needs
}

/// What is missing by `status`, one `resource: verb, verb` a line. Nothing, if the review says that it is incomplete:
/// it lists what is surely granted, not what is surely refused.
#[must_use]
pub fn missing(needs: &[Need], status: &SubjectRulesReviewStatus) -> Vec<String> {
    if status.incomplete {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for (resource, verbs) in needs {
        let granted = |verb: &&str| status.resource_rules.iter().any(|rule| grants(rule, resource, verb));
        let absent: Vec<_> = verbs.iter().copied().filter(|verb| !granted(verb)).collect();
        if !absent.is_empty() {
            lines.push(format!("{resource}: {}", absent.join(", ")));
        }
    }
    lines
}

/// Whether `rule` grants `verb` on every object of `resource`. Rules for single names help no one whose names are new.
fn grants(rule: &ResourceRule, resource: &str, verb: &str) -> bool {
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    let any = |list: &[String], wanted: &str| list.iter().any(|item| item == "*" || item == wanted);
    let sub = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
    let resources = rule.resources.as_deref().unwrap_or_default();
    any(&rule.verbs, verb)
        && any(rule.api_groups.as_deref().unwrap_or_default(), group)
        && (any(resources, resource) || sub.is_some_and(|sub| resources.contains(&sub)))
        && rule.resource_names.as_ref().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_settings::settings;

    fn rule(resources: &[&str], verbs: &[&str], names: &[&str]) -> ResourceRule {
        let owned = |list: &[&str]| list.iter().map(|item| (*item).to_owned()).collect::<Vec<_>>();
        ResourceRule {
            api_groups: Some(vec![String::new()]),
            resources: Some(owned(resources)),
            verbs: owned(verbs),
            resource_names: Some(owned(names)),
        }
    }

    fn review(rules: Vec<ResourceRule>, incomplete: bool) -> SubjectRulesReviewStatus {
        SubjectRulesReviewStatus { resource_rules: rules, incomplete, ..SubjectRulesReviewStatus::default() }
    }

    #[test]
    fn k07_all_missing_verbs_are_listed() {
        let rules = vec![
            rule(&["pods"], &["create", "get", "watch", "delete"], &[]),
            rule(&["services"], &["create", "get"], &[]),
            rule(&["services"], &["delete"], &["one-of-them"]),
            rule(&["secrets"], &["create"], &[]),
        ];
        let found = missing(&needed(&settings()), &review(rules, false));
        assert_eq!(found, ["services: delete", "secrets: patch, delete"]);
    }

    #[test]
    fn k07_wildcards_and_subresources() {
        let mut settings = settings();
        settings.follow.logs = true;
        let all = rule(&["*"], &["*"], &[]);
        assert!(missing(&needed(&settings), &review(vec![all], false)).is_empty());
        let without_logs = rule(&["pods", "services", "secrets"], &["*"], &[]);
        assert_eq!(missing(&needed(&settings), &review(vec![without_logs.clone()], false)), ["pods/log: get"]);
        let logs = rule(&["*/log"], &["get"], &[]);
        assert!(missing(&needed(&settings), &review(vec![without_logs, logs], false)).is_empty());
    }

    #[test]
    fn k07_an_incomplete_review_refuses_nothing() {
        assert!(missing(&needed(&settings()), &review(vec![], true)).is_empty());
    }
}
