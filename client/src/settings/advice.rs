//! Warnings about settings and inputs that are valid and will hurt later: they go to stderr and change no status. Pure, so
//! that each is a test of its own; faults are `resolve`'s matter.

use std::collections::BTreeSet;

use shared::manifest::MemberKind;

use crate::error::Findings;
use crate::inputs::{Inputs, Placed};
use crate::settings::redaction::is_secret;
use crate::settings::{Language, Settings};

const GIB: f64 = 1_073_741_824.0;
/// Upstream's number of executors where nothing is said.
const EXECUTORS: u64 = 2;

/// Says what will hurt.
pub fn advise(settings: &Settings, inputs: &Inputs, findings: &mut Findings) {
    fan_out(settings, inputs, findings);
    secrets_in_clear(settings, findings);
}

/// Every executor fetches every input from the driver (X06).
fn fan_out(settings: &Settings, inputs: &Inputs, findings: &mut Findings) {
    let (bytes, executors) = (fetched_bytes(settings, inputs), executors(settings));
    let all = bytes.saturating_mul(executors);
    if all <= settings.fan_out_warn_bytes {
        return;
    }
    findings.warn(format!(
        "{executors} executors fetch {:.1} GiB each from the driver, {:.1} GiB in all: put large inputs into the image \
         (local:///path) or name them by a remote address; spark.airlock.fanOut.warnBytes sets the limit of this warning",
        gib(bytes),
        gib(all)
    ));
}

#[expect(clippy::cast_precision_loss, reason = "for one decimal in a message")]
fn gib(bytes: u64) -> f64 {
    bytes as f64 / GIB
}

/// Jars, files, archives and Python files; the main resource only where it is a jar; never conf files.
fn fetched_bytes(settings: &Settings, inputs: &Inputs) -> u64 {
    let is_fetched = |kind| match kind {
        MemberKind::App => settings.application.language == Language::Jvm,
        MemberKind::Conf => false,
        MemberKind::Jar | MemberKind::File | MemberKind::PyFile | MemberKind::Archive => true,
    };
    let member = |place: &Placed| match place {
        Placed::Member(index) => Some(*index),
        Placed::Elsewhere(_) => None,
    };
    let fetched = inputs.placed.iter().filter(|input| is_fetched(input.kind));
    let once: BTreeSet<_> = fetched.filter_map(|input| member(&input.place)).collect();
    once.into_iter().map(|index| inputs.members[index].member.size).sum()
}

/// How many executors there may be at once, as far as the settings say.
fn executors(settings: &Settings) -> u64 {
    let number = |key: &str| settings.properties.get(key).and_then(|text| text.trim().parse::<u64>().ok());
    let fixed = number("spark.executor.instances");
    if settings.properties.get("spark.dynamicAllocation.enabled").is_none_or(|text| text != "true") {
        return fixed.unwrap_or(EXECUTORS);
    }
    let least = ["spark.dynamicAllocation.minExecutors", "spark.dynamicAllocation.initialExecutors"].map(number);
    let least = least.into_iter().flatten().chain(fixed).max().unwrap_or(0);
    number("spark.dynamicAllocation.maxExecutors").unwrap_or(least)
}

/// As upstream, but whoever may read pods reads them.
fn secrets_in_clear(settings: &Settings, findings: &mut Findings) {
    for name in settings.driver.env.keys().filter(|name| is_secret(name)) {
        findings.warn(format!(
            "spark.kubernetes.driverEnv.{name} stands in the driver pod in clear: \
             spark.kubernetes.driver.secretKeyRef.{name}=NAME:KEY takes it from a Secret"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::PlacedInput;
    use crate::inputs::inspected_input::InspectedInput;
    use crate::test_settings::settings;

    fn warnings(properties: &[(&str, &str)], kind: MemberKind, gib: u64) -> Vec<String> {
        let mut settings = settings();
        settings.fan_out_warn_bytes = 10 << 30;
        settings.properties = properties.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(gib << 30).unwrap();
        let input = InspectedInput::open(kind, "big".into(), None, file.path().into()).unwrap();
        let placed = PlacedInput { kind, place: Placed::Member(0), alias: None };
        // The main jar may stand in --jars again.
        let inputs = Inputs { members: vec![input], placed: vec![placed.clone(), placed] };
        let mut findings = Findings::default();
        advise(&settings, &inputs, &mut findings);
        findings.warnings.into_iter().filter(|line| line.contains("executors")).collect()
    }

    #[test]
    fn x06_what_many_executors_will_fetch_is_said() {
        let lines = warnings(&[("spark.executor.instances", "200")], MemberKind::Jar, 1);
        assert!(
            lines[0].starts_with("200 executors fetch 1.0 GiB each from the driver, 200.0 GiB in all"),
            "{lines:?}"
        );
        let dynamic = [("spark.dynamicAllocation.enabled", "true"), ("spark.dynamicAllocation.maxExecutors", "50")];
        assert_eq!(warnings(&dynamic, MemberKind::App, 1).len(), 1);
    }

    #[test]
    fn x06_a_few_executors_and_what_they_do_not_fetch_are_no_trouble() {
        assert!(warnings(&[], MemberKind::Jar, 5).is_empty());
        assert!(warnings(&[("spark.executor.instances", "200")], MemberKind::Conf, 1).is_empty());
        let off = [("spark.dynamicAllocation.enabled", "false"), ("spark.dynamicAllocation.maxExecutors", "50")];
        assert!(warnings(&off, MemberKind::Archive, 1).is_empty());
    }

    #[test]
    fn t08_a_secret_in_a_variable_of_the_pod_is_said_without_its_value() {
        let mut settings = settings();
        settings.driver.env = [("DB_PASSWORD".into(), "hunter2".into()), ("TZ".into(), "UTC".into())].into();
        let mut findings = Findings::default();
        advise(&settings, &Inputs::default(), &mut findings);
        assert_eq!(findings.warnings.len(), 1);
        assert!(findings.warnings[0].contains("secretKeyRef.DB_PASSWORD") && !findings.warnings[0].contains("hunter2"));
    }
}
