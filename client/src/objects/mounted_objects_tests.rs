use super::*;
use crate::objects::driver_pod::driver_pod;
use crate::settings::Settings;
use crate::settings::driver_files::CREDENTIALS_VOLUME;
use crate::settings::driver_volume::DriverVolume;
use crate::settings::names::ObjectName;
use crate::test_settings::{context, names, settings};

fn files(volume: &'static str, store: Store, suffix: &'static str, content: &[(&str, &[u8])]) -> DriverFiles {
    let files = content.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec().into())).collect();
    let source = Source::Made { suffix, files };
    DriverFiles { volume, store, source, path: "/mounted", only: None, variable: None, name_property: None }
}

fn with_all() -> Settings {
    let mut settings = settings();
    let variable = Some(("HADOOP_CONF_DIR", "/mounted".to_owned()));
    settings.driver.files = vec![
        files("kerberos-keytab", Store::Secret, "-kerberos-keytab", &[("me.keytab", b"CANARY\xff")]),
        DriverFiles {
            variable,
            ..files("hadoop-properties", Store::ConfigMap, "-hadoop-config", &[("a.xml", b"<a/>"), ("b.bin", b"\xff")])
        },
    ];
    let claim = NewClaim {
        name: "OnDemand".into(),
        storage_class: Some("fast".into()),
        size: "5Gi".into(),
        access_mode: "ReadWriteOncePod",
        labels: [("team".into(), "x".into())].into(),
        annotations: [("note".into(), "y".into())].into(),
    };
    settings.driver.volumes = vec![DriverVolume {
        name: "data".into(),
        path: "/data".into(),
        read_only: false,
        sub_path: None,
        sub_path_expr: None,
        source: VolumeSource::NewClaim(claim),
    }];
    settings
}

#[test]
fn d07_all_that_is_made_for_the_pod_can_be_found_and_swept() {
    let settings = with_all();
    let (driver, names, context) = (&settings.driver, names(), context());
    let mut all: Vec<_> = secrets(driver, &names, &context).into_iter().map(|it| it.metadata).collect();
    all.extend(config_maps(driver, &names, &context).into_iter().map(|it| it.metadata));
    all.extend(claims(driver, &names, &context).into_iter().map(|it| it.metadata));
    let called: Vec<_> =
        all.iter().map(|metadata| metadata.name.as_deref().unwrap().replace(&names.prefix, "X")).collect();
    assert_eq!(called, ["X-kerberos-keytab", "X-hadoop-config", "X-driver-pvc-0"]);
    for metadata in all {
        assert_eq!(metadata.labels.unwrap()["app.kubernetes.io/managed-by"], "airlock");
        assert_eq!(metadata.annotations.unwrap()["airlock/lease-until"], "2026-01-01T01:00:00Z");
    }
}

#[test]
fn t08_what_is_secret_stands_in_the_secret_and_is_shown_nowhere() {
    let settings = with_all();
    let secret = secrets(&settings.driver, &names(), &context()).remove(0);
    assert_eq!(secret.data.unwrap()["me.keytab"].0, b"CANARY\xff");
    let pod = driver_pod(&settings, &names(), &context());
    assert!(!serde_json::to_string(&pod).unwrap().contains("CANARY"));
    assert!(!format!("{settings:?}").contains("CANARY"));
}

#[test]
fn a_driver_with_credentials_of_its_own_has_no_service_account() {
    let mut settings = with_all();
    let account = |settings: &Settings| driver_pod(settings, &names(), &context()).spec.unwrap().service_account_name;
    assert_eq!(account(&settings).as_deref(), Some("spark"));
    settings.driver.files.push(files(
        CREDENTIALS_VOLUME,
        Store::Secret,
        "-kubernetes-credentials",
        &[("ca-cert", b"")],
    ));
    assert_eq!(account(&settings), None);
}

#[test]
fn a_file_that_is_no_text_is_kept_byte_for_byte() {
    let config_map = config_maps(&with_all().driver, &names(), &context()).remove(0);
    assert_eq!(config_map.data.unwrap()["a.xml"], "<a/>");
    assert_eq!(config_map.binary_data.unwrap()["b.bin"].0, [0xff]);
}

#[test]
fn the_pod_mounts_what_is_made_and_what_exists() {
    let mut settings = with_all();
    settings.driver.files[0].source = Source::Existing(ObjectName::subdomain("theirs").unwrap());
    let spec = driver_pod(&settings, &names(), &context()).spec.unwrap();
    let volume = |name: &str| spec.volumes.as_ref().unwrap().iter().find(|volume| volume.name == name).unwrap().clone();
    assert_eq!(volume("kerberos-keytab").secret.unwrap().secret_name.as_deref(), Some("theirs"));
    assert_eq!(volume("hadoop-properties").config_map.unwrap().name, format!("{}-hadoop-config", names().prefix));
    let claim = volume("data").persistent_volume_claim.unwrap().claim_name;
    assert_eq!(claim, format!("{}-driver-pvc-0", names().prefix));
    let environment = spec.containers[0].env.clone().unwrap();
    assert!(environment.iter().any(|it| it.name == "HADOOP_CONF_DIR" && it.value.as_deref() == Some("/mounted")));
}
