//! Settings, names and context that tests of several modules start from.

use std::time::Duration;

use shared::driver_contract as contract;
use shared::manifest::MemberKind;

use client::objects::driver_pod::PodContext;
use client::settings::memory::Memory;
use client::settings::names::{ObjectName, RANDOM_BYTES, SubmissionNames};
use client::settings::spark_version::SparkVersion;
use client::settings::{
    Application, Deadlines, DoorSettings, DriverPorts, DriverSettings, FollowSettings, InputPlace, InputReference,
    Language, NetworkPolicyChoice, Settings,
};

/// A jar from this machine, 1 GiB, one core.
pub(crate) fn settings() -> Settings {
    let resource = InputReference {
        kind: MemberKind::App,
        text: "app.jar".into(),
        place: InputPlace::Here("app.jar".into()),
        alias: None,
    };
    let application = Application {
        name: "T_1 %x".into(),
        language: Language::Jvm,
        main_class: Some("org.example.Main".into()),
        resource,
        arguments: vec![],
        proxy_user: None,
    };
    Settings {
        access: client::settings::AccessSettings {
            connection_timeout: Duration::from_secs(10),
            request_timeout: Duration::from_secs(10),
            ..Default::default()
        },
        namespace: ObjectName::label("spark").ok(),
        application,
        inputs: vec![],
        spark_version: SparkVersion::default(),
        submission_key: None,
        fan_out_warn_bytes: u64::MAX,
        driver: driver(),
        door: DoorSettings::default(),
        network_policy: NetworkPolicyChoice::Auto,
        deadlines: deadlines(),
        follow: FollowSettings { wait: true, report_interval: Duration::from_secs(1), ..FollowSettings::default() },
        conf_dir: None,
        properties: [].into(),
    }
}

fn driver() -> DriverSettings {
    DriverSettings {
        pod_name: None,
        image: "registry.example/spark:4.3.0".into(),
        pull_policy: "IfNotPresent".into(),
        pull_secrets: vec!["pull".into()],
        service_account: ObjectName::label("spark").ok(),
        memory: Memory::from_mib(1024),
        memory_overhead: Memory::from_mib(384),
        memory_overhead_factor: 0.1,
        ports: DriverPorts { rpc: 7078, block_manager: 7079, ui: 4040 },
        cores_request: "1".into(),
        cores_limit: Some("2".into()),
        labels: [("team".into(), "x".into())].into(),
        annotations: [("note".into(), "y".into())].into(),
        service_labels: [].into(),
        service_annotations: [].into(),
        env: [("TZ".into(), "UTC".into())].into(),
        secret_env: [("PASSWORD".into(), ("db".into(), "password".into()))].into(),
        node_selector: [("disk".into(), "ssd".into())].into(),
        template: None,
        volumes: vec![],
        files: vec![],
        secret_mounts: [].into(),
        local_dirs: vec![],
        local_dirs_in_memory: false,
        scheduler: None,
        resources: [].into(),
        allow_privilege_escalation: false,
        ip_family_policy: None,
        ip_families: vec![],
        server_command: contract::DRIVER_SERVER_COMMAND.into(),
        injected_from: None,
        entry_point: contract::ENTRY_POINT.into(),
        max_bundle_bytes: contract::DEFAULT_MAX_BYTES,
    }
}

fn deadlines() -> Deadlines {
    Deadlines {
        schedule: Duration::from_mins(5),
        pull: Duration::from_mins(10),
        start: Duration::from_mins(1),
        reach: Duration::from_mins(1),
        load_balancer: Duration::from_mins(1),
        idle: Duration::from_mins(2),
        fault: Duration::from_secs(45),
        api: Duration::from_mins(1),
        lease: Duration::from_hours(1),
    }
}

/// Names that do not change from run to run.
pub(crate) fn names() -> SubmissionNames {
    SubmissionNames::new("T_1 %x", None, &[0xab; RANDOM_BYTES])
}

/// Namespace `spark`, a bundle of 3 MiB and a byte.
pub(crate) fn context() -> PodContext {
    PodContext {
        spark_version: SparkVersion::default(),
        namespace: "spark".into(),
        user: "ann".into(),
        lease_until: jiff::Timestamp::from_second(1_767_229_200).unwrap_or_default(),
        bundle_bytes: (3 << 20) + 1,
        non_root: false,
    }
}
