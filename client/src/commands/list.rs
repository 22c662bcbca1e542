//! `airlock list`: the driver pods of one namespace, or of all, as a table for people or as JSON for programs. An empty list
//! is an answer. The text is made by plain functions of pods and the present time.

use std::io::Write;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde::Serialize;

use crate::cluster::{Cluster, SUBMISSION_ANNOTATION};
use crate::commands::driver_name::all_drivers;
use crate::driver::attend::application_of;
use crate::driver::phase_lines;
use crate::driver::pod_state::driver_status;
use crate::error::SubmitError;
use crate::objects::driver_pod::APP_LABEL;
use crate::progress::Progress;
use crate::settings::cli::ListFormat;

/// One driver, as programs read it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    namespace: String,
    name: String,
    /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`; `Terminating` while it is being deleted.
    phase: String,
    /// RFC 3339.
    created: Option<Timestamp>,
    application_name: String,
    /// None for pods that somebody else labelled.
    application_id: Option<String>,
    /// None for drivers that spark-submit made.
    submission_id: Option<String>,
    /// The driver's own, once it has ended.
    exit_code: Option<i32>,
}

impl Line {
    fn of(pod: &Pod) -> Self {
        let application = application_of(pod);
        let terminated = driver_status(pod).and_then(|status| status.state.as_ref()?.terminated.as_ref());
        let is_leaving = pod.metadata.deletion_timestamp.is_some();
        Self {
            namespace: application.namespace,
            name: application.pod,
            phase: if is_leaving { "Terminating" } else { phase_lines::phase(pod) }.to_owned(),
            created: pod.metadata.creation_timestamp.as_ref().map(|time| time.0),
            application_name: application.name,
            application_id: pod.labels().get(APP_LABEL).cloned(),
            submission_id: pod.annotations().get(SUBMISSION_ANNOTATION).cloned(),
            exit_code: terminated.map(|terminated| terminated.exit_code),
        }
    }
}

/// Lists the drivers, oldest first.
pub async fn list(
    cluster: &Cluster,
    everywhere: bool,
    format: ListFormat,
    mut output: impl Write,
    progress: &Progress,
) -> Result<(), SubmitError> {
    let params = all_drivers();
    let pods = if everywhere { cluster.list_everywhere(&params).await } else { cluster.list(&params).await }?;
    let mut lines: Vec<_> = pods.iter().map(Line::of).collect();
    lines.sort_by(|a, b| (a.created, &a.namespace, &a.name).cmp(&(b.created, &b.namespace, &b.name)));
    let text = match format {
        ListFormat::Json => json(&lines)?,
        ListFormat::Table if lines.is_empty() => {
            let place =
                if everywhere { "any namespace".to_owned() } else { format!("namespace {}", cluster.namespace()) };
            progress.say(format!("there is no driver in {place}"));
            return Ok(());
        }
        ListFormat::Table => table(&lines, everywhere, Timestamp::now()),
    };
    // A reader that has gone away has seen enough.
    let _ = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    Ok(())
}

fn json(lines: &[Line]) -> Result<String, SubmitError> {
    let text = serde_json::to_string_pretty(lines);
    text.map(|text| text + "\n").map_err(|error| SubmitError::bug("the list makes no JSON").because(error))
}

fn table(lines: &[Line], everywhere: bool, now: Timestamp) -> String {
    let header = ["NAMESPACE", "NAME", "PHASE", "AGE", "APPLICATION"].map(str::to_owned);
    let row = |line: &Line| {
        let age = line.created.map_or_else(|| "unknown".to_owned(), |created| age(now.duration_since(created)));
        [line.namespace.clone(), line.name.clone(), line.phase.clone(), age, line.application_name.clone()]
    };
    let rows: Vec<_> = std::iter::once(header).chain(lines.iter().map(row)).collect();
    let skip = usize::from(!everywhere);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3, 4].map(width);
    let text = |row: &[String; 5]| {
        let cells = row.iter().zip(widths).skip(skip).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(text).collect()
}

/// In the largest unit that still tells two ages apart, as kubectl does.
fn age(age: SignedDuration) -> String {
    let seconds = age.as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(name: &str, created: &str, phase: &str, labels: &serde_json::Value) -> Pod {
        let metadata = json!({"name": name, "namespace": "team", "creationTimestamp": created, "labels": labels});
        serde_json::from_value(json!({"metadata": metadata, "status": {"phase": phase}})).unwrap()
    }

    fn lines() -> Vec<Line> {
        let labels = json!({"spark-app-selector": "spark-01", "spark-app-name": "word-count"});
        let mut ended = pod("pi-driver", "2026-01-01T00:00:00Z", "Failed", &json!({}));
        ended.status.as_mut().unwrap().container_statuses = serde_json::from_value(json!([{"image": "", "imageID": "",
            "name": "spark-kubernetes-driver", "ready": false, "restartCount": 0, "state": {"terminated": {"exitCode": 3}}}]))
        .unwrap();
        let mut ours = pod("word-count-0a1b-driver", "2026-01-03T11:59:00Z", "Running", &labels);
        ours.metadata.annotations = Some([(SUBMISSION_ANNOTATION.to_owned(), "cafe".to_owned())].into());
        [ended, ours].iter().map(Line::of).collect()
    }

    #[test]
    fn table_snapshot() {
        let now = "2026-01-03T12:00:00Z".parse().unwrap();
        insta::assert_snapshot!(table(&lines(), false, now) + "\n" + &table(&lines(), true, now));
    }

    #[test]
    fn json_snapshot() {
        insta::assert_snapshot!(json(&lines()).unwrap());
    }

    #[test]
    fn a_pod_that_is_being_deleted_is_said_to_be() {
        let mut pod = pod("x", "2026-01-01T00:00:00Z", "Running", &json!({}));
        pod.metadata.deletion_timestamp = pod.metadata.creation_timestamp.clone();
        assert_eq!(Line::of(&pod).phase, "Terminating");
    }

    #[test]
    fn ages_have_one_unit() {
        let table = [(-5, "0s"), (119, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"), (172_800, "2d")];
        for (seconds, text) in table {
            assert_eq!(age(SignedDuration::from_secs(seconds)), text);
        }
    }
}
