//! Which driver pods a user means: by the pod's name, by a pattern of it, by the application's id or the submission's. What
//! is no driver is never meant, even when it is named: a typo must not end a pod that does something else (X05).

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;
use shared::error_code::ErrorCode;

use crate::cluster::{Cluster, SUBMISSION_ANNOTATION};
use crate::error::SubmitError;
use crate::inputs::pattern;
use crate::objects::driver_pod::APP_LABEL;
use crate::settings::names::ObjectName;

/// Label and value of every driver pod, ours and upstream's.
const DRIVER_ROLE: (&str, &str) = ("spark-role", "driver");

/// Drivers as a user names them: `NAME` or `NAMESPACE:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverName {
    namespace: Option<String>,
    name: String,
}

impl DriverName {
    /// Reads what was written. As upstream, the first `:` ends the namespace.
    pub fn parse(text: &str) -> Result<Self, SubmitError> {
        let refuse = |why: &str| {
            SubmitError::new(ErrorCode::Usage, format!("{text:?} names no driver: {why}"))
                .hint("write the pod's name, NAMESPACE:NAME, or a pattern as 'pi-*'; airlock list shows the drivers")
        };
        let (namespace, name) = text.split_once(':').map_or((None, text), |(before, name)| (Some(before), name));
        if name.is_empty() {
            return Err(refuse("the name is empty"));
        }
        if let Some(Err(error)) = namespace.map(ObjectName::label) {
            return Err(refuse("what stands before the colon is no namespace").because(error));
        }
        Ok(Self { namespace: namespace.map(ToOwned::to_owned), name: name.to_owned() })
    }

    /// Whether several drivers may be meant.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        pattern::is_pattern(&self.name)
    }

    /// Whether `pod` is meant, if it is a driver. Patterns are of names only: every application's id begins with `spark-`,
    /// and `spark-*` must not mean them all.
    #[must_use]
    pub fn means(&self, pod: &Pod) -> bool {
        let (pod_name, name) = (pod.name_any(), self.name.as_str());
        if self.is_pattern() {
            return pattern::fits_name(name, &pod_name);
        }
        pod_name == name
            || pod.labels().get(APP_LABEL).is_some_and(|id| id == name)
            || pod.annotations().get(SUBMISSION_ANNOTATION).is_some_and(|id| id == name)
    }

    /// The cluster in the namespace that is meant.
    fn place(&self, cluster: &Cluster) -> Cluster {
        cluster.in_namespace(self.namespace.as_deref().unwrap_or_else(|| cluster.namespace()))
    }
}

/// The drivers of a namespace.
#[must_use]
pub fn all_drivers() -> ListParams {
    ListParams::default().labels(&format!("{}={}", DRIVER_ROLE.0, DRIVER_ROLE.1))
}

/// Driver pods, and where they are.
pub struct Found {
    /// The cluster in their namespace.
    pub cluster: Cluster,
    /// One at least.
    pub pods: Vec<Pod>,
}

/// Finds every driver that `name` means; none is an error, and so are several of a name that is no pattern.
pub async fn find(cluster: &Cluster, name: &DriverName) -> Result<Found, SubmitError> {
    let cluster = name.place(cluster);
    let named = if name.is_pattern() { None } else { find_pod(&cluster, &name.name).await? };
    let pods = match named {
        Some(pod) => vec![pod],
        None => find_in_list(&cluster, name).await?,
    };
    match pods.as_slice() {
        [] => Err(not_found(&cluster, name)),
        [_, _, ..] if !name.is_pattern() => Err(ambiguous(name, &pods)),
        _ => Ok(Found { cluster, pods }),
    }
}

/// Finds the one driver that `name` means.
pub async fn find_one(cluster: &Cluster, name: &DriverName) -> Result<(Cluster, Pod), SubmitError> {
    let Found { cluster, mut pods } = find(cluster, name).await?;
    match (pods.pop(), pods.is_empty()) {
        (Some(pod), true) => Ok((cluster, pod)),
        (last, _) => Err(ambiguous(name, &pods.into_iter().chain(last).collect::<Vec<_>>())),
    }
}

/// Reads the pod of that name, which needs fewer rights than a list. A text that no pod can have is not asked for.
async fn find_pod(cluster: &Cluster, name: &str) -> Result<Option<Pod>, SubmitError> {
    if ObjectName::subdomain(name).is_err() {
        return Ok(None);
    }
    match cluster.find::<Pod>(name).await? {
        Some(pod) if !is_driver(&pod) => Err(not_a_driver(cluster, name)),
        found => Ok(found),
    }
}

async fn find_in_list(cluster: &Cluster, name: &DriverName) -> Result<Vec<Pod>, SubmitError> {
    let listed = cluster.list::<Pod>(&all_drivers()).await;
    match listed {
        Ok(pods) => Ok(pods.into_iter().filter(|pod| name.means(pod)).collect()),
        // There is no pod of that name, which is the answer to what was most likely asked.
        Err(error) if error.code() == ErrorCode::Rights && !name.is_pattern() => {
            Err(not_found(cluster, name).because(format!("no pod has that name, and as for ids: {error}")))
        }
        Err(error) => Err(error),
    }
}

fn is_driver(pod: &Pod) -> bool {
    pod.labels().get(DRIVER_ROLE.0).is_some_and(|role| role == DRIVER_ROLE.1)
}

fn not_found(cluster: &Cluster, name: &DriverName) -> SubmitError {
    let what = if name.is_pattern() { "fits" } else { "is called" };
    let namespace = cluster.namespace();
    SubmitError::new(ErrorCode::NotFound, format!("no driver in namespace {namespace} {what} {}", name.name))
        .hint(format!("see which there are: airlock list -n {namespace}"))
        .hint(format!("in another namespace: NAMESPACE:{}, or --namespace", name.name))
}

fn not_a_driver(cluster: &Cluster, name: &str) -> SubmitError {
    let (what, (key, value)) = (cluster.what::<Pod>(name), DRIVER_ROLE);
    SubmitError::new(ErrorCode::NotADriver, format!("{what} is no spark driver and is left alone"))
        .because(format!("it has no label {key}={value}"))
        .hint(format!("see which drivers there are: airlock list -n {}", cluster.namespace()))
}

fn ambiguous(name: &DriverName, pods: &[Pod]) -> SubmitError {
    let list: Vec<_> = pods.iter().map(ResourceExt::name_any).collect();
    SubmitError::new(ErrorCode::Usage, format!("{} means {} drivers, and one is needed", name.name, pods.len()))
        .because(list.join(", "))
        .hint("name the pod")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod() -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "pi-0a1b-driver",
            "labels": {"spark-role": "driver", "spark-app-selector": "spark-0123"},
            "annotations": {"airlock/submission-id": "cafe"}}}))
        .unwrap()
    }

    #[test]
    fn a_driver_is_meant_by_its_names_and_by_patterns_of_the_pods() {
        for name in ["pi-0a1b-driver", "pi*", "*-driver", "p?-0a1b-driver", "{x,pi}-*", "spark-0123", "cafe", "n:cafe"]
        {
            assert!(DriverName::parse(name).unwrap().means(&pod()), "{name}");
        }
        for name in ["pi", "pi-0a1b", "x*", "spark-01", "caf"] {
            assert!(!DriverName::parse(name).unwrap().means(&pod()), "{name}");
        }
    }

    #[test]
    fn x05_a_pattern_never_means_ids() {
        for name in ["spark-*", "caf*", "spark-012?"] {
            assert!(!DriverName::parse(name).unwrap().means(&pod()), "{name}");
        }
    }

    #[test]
    fn the_first_colon_ends_the_namespace() {
        let name = DriverName::parse("team:a:b").unwrap();
        assert_eq!((name.namespace.as_deref(), name.name.as_str()), (Some("team"), "a:b"));
        assert_eq!(DriverName::parse("a").unwrap().namespace, None);
    }

    #[test]
    fn texts_that_name_nothing_are_usage_errors() {
        for text in ["", "team:", ":x", "Team:x", "a/b:x"] {
            assert_eq!(DriverName::parse(text).unwrap_err().code(), ErrorCode::Usage, "{text}");
        }
    }

    #[test]
    fn only_the_drivers_label_makes_a_driver() {
        assert!(is_driver(&pod()));
        let executor = json!({"metadata": {"name": "x", "labels": {"spark-role": "executor"}}});
        assert!(!is_driver(&serde_json::from_value(executor).unwrap()));
        assert!(!is_driver(&Pod::default()));
    }
}
