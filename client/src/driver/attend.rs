//! Following a driver on behalf of a user: its status lines, its log if wanted, and leaving it alone at an interrupt. Both
//! submit after its launch and attach end here, so both end alike.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;

use crate::cluster::Cluster;
use crate::driver::driver_log::DriverLog;
use crate::driver::driver_watch::{DriverPod, ended_early};
use crate::driver::follow::follow;
use crate::driver::phase_lines::Application;
use crate::driver::pod_state::Ended;
use crate::error::SubmitError;
use crate::interrupt::{Interrupt, Interrupts};
use crate::objects::driver_pod::APP_LABEL;
use crate::progress::Progress;
use crate::settings::{FollowSettings, OnInterrupt};

/// Label of the application's name, in the form that labels allow.
const APP_NAME_LABEL: &str = "spark-app-name";

/// The application of a driver pod, whoever made it.
#[must_use]
pub fn application_of(pod: &Pod) -> Application {
    let label = |key| pod.labels().get(key).filter(|value| !value.is_empty()).cloned();
    Application {
        name: label(APP_NAME_LABEL).unwrap_or_else(|| pod.name_any()),
        id: label(APP_LABEL).unwrap_or_else(|| "unknown".to_owned()),
        namespace: pod.namespace().unwrap_or_default(),
        pod: pod.name_any(),
    }
}

/// Follows the driver whose container is called `container` until it has ended.
pub async fn attend(
    cluster: &Cluster,
    driver: &DriverPod,
    container: &str,
    application: &Application,
    settings: &FollowSettings,
    interrupts: &mut Interrupts,
    progress: &Progress,
) -> Result<Ended, SubmitError> {
    let mut log = DriverLog::new(cluster, &driver.name, container, std::io::stdout());
    let showing = async {
        if settings.logs {
            log.follow().await;
        }
        // Whoever closed stdout does not want the log; the driver goes on.
        std::future::pending().await
    };
    let ended = tokio::select! {
        ended = follow(cluster, driver, application, settings, progress) => ended?,
        never = showing => match never {},
        interrupt = interrupts.next() => {
            let rule = settings.on_interrupt;
            return Err(interrupted(cluster, driver, application, rule, interrupt, interrupts, progress).await);
        }
    };
    if settings.logs {
        log.finish().await;
    }
    // The launch was decided and the entry point could not be executed: the server's last words say why.
    if ended.stated_failure().is_some() {
        return Err(ended_early(&driver.name, &ended));
    }
    Ok(ended)
}

/// An interrupt after the launch: the job goes on, unless the user wants otherwise.
pub async fn interrupted(
    cluster: &Cluster,
    driver: &DriverPod,
    application: &Application,
    rule: OnInterrupt,
    interrupt: Interrupt,
    interrupts: &mut Interrupts,
    progress: &Progress,
) -> SubmitError {
    let problem = |interrupt: Interrupt, what| SubmitError::new(interrupt.code(), what);
    if rule == OnInterrupt::Detach {
        return how_to_look(problem(interrupt, "interrupted; the driver runs on"), application);
    }
    progress.say("interrupted: deleting the driver pod, interrupt again to leave at once");
    let killed = tokio::select! {
        killed = cluster.delete::<Pod>(&driver.name, &driver.uid, None) => killed,
        again = interrupts.next() => {
            let what = "interrupted twice; whether the driver pod is deleted is not known";
            return how_to_look(problem(again, what), application);
        }
    };
    match killed {
        Ok(()) => problem(interrupt, "interrupted; the driver pod is deleted"),
        Err(error) => {
            let what = "interrupted; the driver pod could not be deleted";
            how_to_look(problem(interrupt, what).because(error), application)
        }
    }
}

/// With the commands that find the driver again (X03).
#[must_use]
pub fn how_to_look(error: SubmitError, Application { namespace, pod, .. }: &Application) -> SubmitError {
    error
        .hint(format!("follow it: airlock attach {namespace}:{pod}"))
        .hint(format!("end it: airlock kill {namespace}:{pod}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pods_of_others_have_what_their_labels_say() {
        let labels = json!({"spark-app-selector": "spark-01", "spark-app-name": "pi"});
        let pod = |labels| {
            serde_json::from_value(json!({"metadata": {"name": "x", "namespace": "n", "labels": labels}})).unwrap()
        };
        let application = application_of(&pod(labels));
        assert_eq!((application.name.as_str(), application.id.as_str()), ("pi", "spark-01"));
        let application = application_of(&pod(json!({"spark-app-name": ""})));
        assert_eq!((application.name.as_str(), application.id.as_str()), ("x", "unknown"));
    }
}
