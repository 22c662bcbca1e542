//! Which container of a driver pod is Spark's driver. In our pods its name says so; in those of spark-submit a pod template
//! may have named it, and then the variable that spark-submit gives to no other container tells it.

use k8s_openapi::api::core::v1::{Container, Pod};

use crate::objects::driver_pod::DRIVER_CONTAINER;

/// In the driver's container of every spark-submit that runs on Kubernetes.
const DRIVER_VARIABLE: &str = "SPARK_DRIVER_BIND_ADDRESS";

/// The name of the driver's container.
#[must_use]
pub fn driver_container(pod: &Pod) -> &str {
    let containers = || pod.spec.iter().flat_map(|spec| &spec.containers);
    if containers().any(|container| container.name == DRIVER_CONTAINER) {
        return DRIVER_CONTAINER;
    }
    let only = || containers().next().filter(|_| containers().count() == 1);
    containers()
        .find(|container| has_driver_variable(container))
        .or_else(only)
        .map_or(DRIVER_CONTAINER, |container| container.name.as_str())
}

fn has_driver_variable(container: &Container) -> bool {
    container.env.iter().flatten().any(|variable| variable.name == DRIVER_VARIABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(containers: &serde_json::Value) -> Pod {
        serde_json::from_value(json!({"spec": {"containers": containers}})).unwrap()
    }

    #[test]
    fn the_usual_name_decides_wherever_it_stands() {
        let containers = json!([{"name": "istio-proxy", "env": [{"name": "SPARK_DRIVER_BIND_ADDRESS"}]},
            {"name": "spark-kubernetes-driver"}]);
        assert_eq!(driver_container(&pod(&containers)), "spark-kubernetes-driver");
    }

    #[test]
    fn a_templates_name_is_found_by_the_variable_or_by_being_alone() {
        let containers = json!([{"name": "sidecar"}, {"name": "mine", "env": [{"name": "SPARK_DRIVER_BIND_ADDRESS"}]}]);
        assert_eq!(driver_container(&pod(&containers)), "mine");
        assert_eq!(driver_container(&pod(&json!([{"name": "alone"}]))), "alone");
        assert_eq!(driver_container(&pod(&json!([{"name": "a"}, {"name": "b"}]))), "spark-kubernetes-driver");
    }
}
