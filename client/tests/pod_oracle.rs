//! The same settings, the same driver pod, headless Service and properties: Spark's own builder, the one that its
//! spark-submit uses, against ours, field by field, for whichever Spark lies at `AIRLOCK_E2E_SPARK_HOME`. What may differ stands in one list with its reason; a line of it that no comparison needs fails
//! the test, and so does every difference that is not in it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "in tests a panic is the report")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::UNIX_EPOCH;

use client::error::Findings;
use client::launch::launch;
use client::objects::driver_objects::headless_service;
use client::objects::driver_pod::{PodContext, driver_pod};
use client::settings::cli::{self, Command, Parsed};
use client::settings::names::{ObjectName, RANDOM_BYTES, SubmissionNames};
use client::settings::prepare::{Prepared, prepare};
use client::settings::resolve::{Environment, load_conf};
use client::settings::spark_version::SparkVersion;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

mod spark_jvm;

use spark_jvm::spark_home;

/// A question is main resource, class, application's id, then keys and values, with NUL between them. The answer is one line
/// of JSON: the pod, an object of each other kind, and the driver's properties.
const ORACLE: &str = r#"
import io.fabric8.kubernetes.client.*;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.kubernetes.api.model.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import org.apache.spark.SparkConf;
import org.apache.spark.deploy.k8s.*;
import org.apache.spark.deploy.k8s.submit.*;
import scala.collection.JavaConverters;

public class PodOracle {
    static MainAppResource resource(String text) {
        if (text.endsWith(".py")) return new PythonMainAppResource(text);
        if (text.endsWith(".R")) return new RMainAppResource(text);
        return new JavaMainAppResource(scala.Option.apply(text));
    }

    public static void main(String[] arguments) throws Exception {
        var config = new io.fabric8.kubernetes.client.ConfigBuilder(io.fabric8.kubernetes.client.Config.empty())
            .withMasterUrl("http://127.0.0.1:1").build();
        KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build();
        var out = new java.io.PrintStream(arguments[1], StandardCharsets.UTF_8);
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = new String(HexFormat.of().parseHex(line), StandardCharsets.UTF_8).split("\0", -1);
            SparkConf conf = new SparkConf(false);
            for (int i = 3; i + 1 < parts.length; i += 2) conf.set(parts[i], parts[i + 1]);
            // Newer ones have a clock at the end, and a second constructor without an option.
            var constructor = Arrays.stream(KubernetesDriverConf.class.getConstructors())
                .filter(it -> it.getParameterTypes()[5] == scala.Option.class).findFirst().get();
            Object[] values = {conf, parts[2], resource(parts[0]), parts[1], new String[0], scala.Option.empty(),
                new org.apache.spark.util.SystemClock()};
            KubernetesDriverConf driver =
                (KubernetesDriverConf) constructor.newInstance(Arrays.copyOf(values, constructor.getParameterCount()));
            KubernetesDriverSpec spec = new KubernetesDriverBuilder().buildFromFeatures(driver, client);
            SparkPod built = spec.pod();
            Map<String, Object> answer = new TreeMap<>();
            answer.put("pod", new PodBuilder(built.pod()).editSpec().addToContainers(built.container()).endSpec().build());
            for (HasMetadata object : JavaConverters.seqAsJavaListConverter(spec.driverKubernetesResources()).asJava())
                answer.put(object.getKind(), object);
            // As the client writes them into the driver's file.
            Map<String, String> properties = new TreeMap<>();
            for (var pair : conf.getAll()) properties.put(pair._1(), pair._2());
            properties.putAll(JavaConverters.mapAsJavaMapConverter(spec.systemProperties()).asJava());
            answer.put("properties", properties);
            String json = Serialization.jsonMapper().writeValueAsString(answer);
            out.println(json.replace(driver.resourceNamePrefix(), "PREFIX"));
        }
        out.close();
        System.exit(0);
    }
}
"#;

/// A field in which the pods may differ: where it stands, `*` for any one step, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("metadata/labels/app.kubernetes.io|managed-by", "to find and sweep"),
    ("metadata/annotations/airlock|submission-id", "to know a submission again"),
    ("metadata/annotations/airlock|lease-until", "after it, leftovers are anyone's to remove"),
    ("metadata/namespace", "theirs is left to the client"),
    ("container/command", "the driver server's"),
    ("container/args", "the driver server's; the launch travels in the bundle"),
    ("container/ports/airlock", "the driver server's port"),
    ("container/volumeMounts/airlock", "the bundle"),
    ("container/volumeMounts/airlock-tls", "the driver server's key"),
    ("volumes/airlock", "the bundle"),
    ("volumes/airlock-tls", "the driver server's key"),
    ("container/env/SPARK_CONF_DIR", "the bundle's"),
    ("container/resources/requests/ephemeral-storage", "room for the bundle"),
    ("container/securityContext/capabilities", "as far towards Pod Security `restricted` as any image can follow"),
    ("container/securityContext/seccompProfile", "the same"),
    ("container/name", "the driver's container has the same name over every template"),
    ("container/workingDir", "the driver's own lies in the bundle"),
    ("initContainers/airlock-install", "brings the driver server, where that was asked for"),
    ("container/volumeMounts/airlock-tmp", "the JVM needs a /tmp where the root is read-only"),
    ("volumes/airlock-tmp", "the same"),
    ("service/metadata/labels/*", "all labels of the submission, to find and sweep"),
    ("service/metadata/annotations/airlock|submission-id", "to know a submission again"),
    ("service/metadata/annotations/airlock|lease-until", "after it, leftovers are anyone's to remove"),
    ("service/metadata/namespace", "theirs is left to the client"),
    ("service/spec/ports/airlock", "the driver server's port"),
    ("service/spec/ports/*/protocol", "TCP is said where theirs leaves it to the API server"),
    (
        "service/spec/ports/blockmanager",
        "theirs has another port than the pod where only spark.blockManager.port is set",
    ),
    ("service/spec/selector", "Spark's own four labels are enough"),
    ("service/spec/ipFamilies", "the cluster's choice unless it is said, so that IPv6 clusters work as they are"),
    ("service/spec/ipFamilyPolicy", "the same"),
    ("service/spec/publishNotReadyAddresses", "the name must hold before the pod is ready"),
    ("properties/spark.app.submitTime", "theirs is set by spark-submit, not by the builder"),
    ("properties/spark.driver.blockManager.port", "as in the pod, see the Service"),
    ("properties/spark.jars.ivy", "a folder that any user may write, with packages"),
    ("properties/spark.kubernetes.executor.podNamePrefix", "executors are named after their driver"),
    ("properties/spark.kubernetes.driver.podTemplateFile", "means nothing in the pod"),
    ("properties/spark.kubernetes.driver.podTemplateContainerName", "means nothing in the pod"),
    ("properties/spark.airlock.driver.image", "means nothing in the pod"),
    ("properties/spark.kubernetes.resource.type", "of upstream's in-driver mode"),
    ("properties/spark.kubernetes.submitInDriver", "of upstream's in-driver mode"),
    ("properties/spark.master", "the API server as the driver reaches it"),
    ("properties/spark.submit.deployMode", "plain client mode"),
];

/// Differences from versions before the one that is named.
const OLDER: &[(&str, u32, u32, &str)] = &[(
    "container/securityContext/allowPrivilegeEscalation",
    4,
    3,
    "Pod Security `restricted` asks for it whatever the version",
)];

/// Differences from versions since the one that is named.
const NEWER: &[(&str, u32, u32, &str)] = &[("objects/NetworkPolicy", 4, 2, "not made yet")];

/// Keys that Spark has known since a version; to know them for older drivers too does no harm.
const SINCE: &[(&str, u32, u32)] = &[
    ("spark.driver.minMemoryOverhead", 4, 0),
    ("spark.kubernetes.driver.label.id=", 4, 0),
    ("spark.kubernetes.driver.volumes.hostPath.h.options.type", 4, 0),
    ("spark.kubernetes.driver.volumes.persistentVolumeClaim.c.mount.subPathExpr", 4, 0),
    ("spark.kubernetes.driver.securityContext.", 4, 3),
    ("spark.kubernetes.securityContext.", 4, 3),
];

/// Pod templates; fragments name them by their index.
const TEMPLATES: &[&str] = &[
    "spec: {containers: [{name: main, image: ignored:1, workingDir: /w, env: [{name: T, value: t}]}]}",
    "
apiVersion: v1
kind: Pod
metadata:
  name: ignored
  namespace: ignored
  labels: {team: template, app.kubernetes.io/part-of: thing}
  annotations: {example.com/note: template, sidecar.istio.io/inject: 'false'}
spec:
  activeDeadlineSeconds: 600
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]
  dnsPolicy: ClusterFirst
  hostAliases: [{ip: 10.0.0.1, hostnames: [a, b]}]
  imagePullSecrets: [{name: from-template}]
  initContainers: [{name: init, image: init:1, command: [sh, -c, 'true']}]
  nodeSelector: {disk: hdd, arch: amd64}
  priorityClassName: high
  restartPolicy: Always
  schedulerName: template
  securityContext: {runAsUser: 1000, fsGroup: 1000}
  serviceAccountName: template
  terminationGracePeriodSeconds: 5
  tolerations: [{key: spark, operator: Exists, effect: NoSchedule}]
  volumes: [{name: extra, emptyDir: {}}]
  containers:
  - {name: proxy, image: proxy:1, ports: [{name: http, containerPort: 8080}]}
  - name: chosen
    command: [ignored]
    args: [ignored]
    env: [{name: FROM, value: template}]
    imagePullPolicy: Never
    lifecycle: {preStop: {exec: {command: [sleep, '1']}}}
    livenessProbe: {tcpSocket: {port: 4040}}
    ports: [{name: metrics, containerPort: 9090, protocol: TCP}]
    resources: {limits: {example.com/fpga: '1', cpu: '7'}, requests: {example.com/fpga: '1', memory: 9Gi}}
    securityContext: {runAsUser: 185, readOnlyRootFilesystem: true, capabilities: {add: [NET_BIND_SERVICE]}}
    volumeMounts: [{name: extra, mountPath: /extra}]
",
    "metadata: {labels: {only: labels}}\nspec: {priorityClassName: low}",
];

/// Settings that change the pod, one fragment each: pairs that belong together.
const FRAGMENTS: &[&[&str]] = &[
    &["spark.driver.memory=3g"],
    &["spark.driver.memory=700m"],
    &["spark.driver.memoryOverhead=512m"],
    &["spark.driver.memoryOverheadFactor=0.3"],
    &["spark.driver.minMemoryOverhead=500m"],
    &["spark.kubernetes.memoryOverheadFactor=0.25"],
    &["spark.driver.cores=3"],
    &["spark.kubernetes.driver.request.cores=500m"],
    &["spark.kubernetes.driver.limit.cores=4"],
    &["spark.kubernetes.driver.container.image=other/image:7"],
    &["spark.kubernetes.container.image.pullPolicy=Always"],
    &["spark.kubernetes.container.image.pullSecrets=one, two"],
    &["spark.kubernetes.driver.label.team=data", "spark.kubernetes.driver.label.example.com/tier=gold"],
    &["spark.kubernetes.driver.annotation.example.com/note=any text, {\"json\": 1}"],
    &["spark.kubernetes.driver.label.id={{APP_ID}}", "spark.kubernetes.driver.label.e=x{{EXECUTOR_ID}}y"],
    &["spark.kubernetes.driver.annotation.id=of {{APP_ID}}, {{EXECUTOR_ID}}"],
    &["spark.kubernetes.driverEnv.TZ=UTC", "spark.kubernetes.driverEnv.A_b=x=y z"],
    &["spark.kubernetes.driver.secretKeyRef.PASSWORD=db:password"],
    &["spark.kubernetes.driver.secrets.db=/etc/db", "spark.kubernetes.driver.secrets.tls-files=/etc/tls"],
    &["spark.kubernetes.driver.service.label.tier=gold", "spark.kubernetes.driver.service.annotation.note=a b"],
    &["spark.kubernetes.driver.service.ipFamilyPolicy=PreferDualStack"],
    &["spark.kubernetes.driver.service.ipFamilies=IPv6,IPv4"],
    &["spark.kubernetes.node.selector.disk=ssd"],
    &["spark.kubernetes.driver.node.selector.zone=a", "spark.kubernetes.node.selector.zone=b"],
    &["spark.kubernetes.scheduler.name=common"],
    &["spark.kubernetes.driver.scheduler.name=own"],
    &["spark.kubernetes.authenticate.driver.serviceAccountName=runner"],
    &["spark.driver.port=17078", "spark.driver.blockManager.port=17079", "spark.ui.port=14040"],
    &["spark.blockManager.port=18000"],
    &["spark.driver.resource.gpu.amount=2", "spark.driver.resource.gpu.vendor=nvidia.com"],
    &["spark.kubernetes.securityContext.allowPrivilegeEscalation=true"],
    &["spark.kubernetes.driver.securityContext.allowPrivilegeEscalation=true"],
    &["spark.kubernetes.driver.securityContext.allowPrivilegeEscalation=false"],
    &["spark.kubernetes.local.dirs.tmpfs=true"],
    &["spark.local.dir=/scratch/a,/scratch/b"],
    &[
        "spark.kubernetes.driver.volumes.hostPath.h.mount.path=/h",
        "spark.kubernetes.driver.volumes.hostPath.h.mount.readOnly=true",
        "spark.kubernetes.driver.volumes.hostPath.h.options.path=/srv",
        "spark.kubernetes.driver.volumes.hostPath.h.options.type=Directory",
    ],
    &[
        "spark.kubernetes.driver.volumes.hostPath.plain.mount.path=/plain",
        "spark.kubernetes.driver.volumes.hostPath.plain.options.path=/srv",
    ],
    &[
        "spark.kubernetes.driver.volumes.emptyDir.e.mount.path=/e",
        "spark.kubernetes.driver.volumes.emptyDir.e.options.medium=Memory",
        "spark.kubernetes.driver.volumes.emptyDir.e.options.sizeLimit=5Gi",
    ],
    &["spark.kubernetes.driver.volumes.emptyDir.bare.mount.path=/bare"],
    &[
        "spark.kubernetes.driver.volumes.nfs.n.mount.path=/n",
        "spark.kubernetes.driver.volumes.nfs.n.mount.subPath=a/b",
        "spark.kubernetes.driver.volumes.nfs.n.options.path=/export",
        "spark.kubernetes.driver.volumes.nfs.n.options.server=nas",
    ],
    &[
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.c.mount.path=/c",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.c.mount.subPathExpr=$(SPARK_USER)/x",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.c.mount.readOnly=true",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.c.options.claimName=data",
    ],
    &[
        "spark.kubernetes.driver.volumes.hostPath.spark-local-dir-fast.mount.path=/fast",
        "spark.kubernetes.driver.volumes.hostPath.spark-local-dir-fast.options.path=/mnt/nvme",
    ],
    &["spark.kubernetes.driver.pod.name=my-own-pod"],
    &["spark.app.name=Spark π ✓ Job"],
    &["spark.jars.packages=org.example:thing:1.0"],
    &["spark.kubernetes.driver.podTemplateFile=TEMPLATE-0"],
    &["spark.kubernetes.driver.podTemplateFile=TEMPLATE-1"],
    &["spark.kubernetes.driver.podTemplateFile=TEMPLATE-1", "spark.kubernetes.driver.podTemplateContainerName=chosen"],
    &["spark.kubernetes.driver.podTemplateFile=TEMPLATE-2"],
    &["spark.airlock.driver.image=registry.example/airlock-driver:1"],
    &["spark.executor.memory=2g", "spark.executor.instances=3", "spark.sql.shuffle.partitions=7"],
];

const RESOURCES: [&str; 3] = ["local:///opt/app.jar", "local:///opt/main.py", "local:///opt/main.R"];

/// What is compared: a main resource and the numbers of fragments.
type Set = (usize, BTreeSet<usize>);

fn words(set: &Set) -> Vec<String> {
    let (resource, fragments) = set;
    let mut words: Vec<String> =
        ["airlock", "submit", "--master", "k8s://https://h:6443"].map(ToOwned::to_owned).into();
    if *resource == 0 {
        words.extend(["--class", "org.example.Main"].map(ToOwned::to_owned));
    }
    let usual = ["spark.kubernetes.container.image=spark:4", "spark.kubernetes.namespace=spark"];
    let pairs = usual.iter().chain(fragments.iter().flat_map(|index| FRAGMENTS[*index]));
    let template = |number: &str| format!("{}{number}", templates().display());
    words.extend(pairs.flat_map(|pair| ["-c".to_owned(), pair.replace("TEMPLATE-", &template("/pod-"))]));
    words.push(RESOURCES[*resource].to_owned());
    words
}

/// The folder in which the templates lie, `pod-0` and so on.
fn templates() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pod-templates");
        std::fs::create_dir_all(&folder).unwrap();
        let paths = (0..).map(|number| folder.join(format!("pod-{number}")));
        TEMPLATES.iter().zip(paths).for_each(|(template, path)| std::fs::write(path, template).unwrap());
        folder
    });
    &FOLDER
}

/// What we make, in the shape of the oracle's answer, and the question to Spark that the same settings make.
fn ours(set: &Set) -> (Value, String) {
    let Parsed::Run(cli) = cli::parse(words(set).into_iter().map(OsString::from)).unwrap() else { panic!("help") };
    let Command::Submit(arguments) = cli.command else { panic!("no submission") };
    let environment = Environment { spark_home: Some(spark_home()), ..Environment::default() };
    let mut findings = Findings::default();
    let conf = load_conf(&arguments, &environment, &mut findings);
    let (prepared, _) = prepare(&arguments, &environment);
    let Prepared { settings, inputs, .. } = prepared.unwrap_or_else(|problems| panic!("{set:?}: {problems:?}"));
    let names =
        SubmissionNames::new(&settings.application.name, settings.driver.pod_name.as_ref(), &[0xab; RANDOM_BYTES]);
    let context = PodContext {
        namespace: "spark".into(),
        spark_version: settings.spark_version.clone(),
        user: "ann".into(),
        lease_until: "2026-01-01T01:00:00Z".parse().unwrap(),
        bundle_bytes: 1,
        non_root: false,
    };
    let namespace = ObjectName::label("spark").unwrap();
    let answer = json!({
        "pod": driver_pod(&settings, &names, &context),
        "Service": headless_service(&settings, &names, &context, None),
        "properties": launch(&settings, &inputs, &names, &namespace, UNIX_EPOCH).properties,
    });
    let answer = answer.to_string().replace(&names.prefix, "PREFIX");
    let class = settings.application.main_class.clone().unwrap_or_default();
    let mut question = vec![RESOURCES[set.0].to_owned(), class, names.app_id.clone()];
    let pairs: BTreeMap<_, _> = conf.iter().map(|(key, value)| (key.to_owned(), value.text.clone())).collect();
    question.extend(["spark.app.name".to_owned(), settings.application.name.clone()]);
    question.extend(pairs.into_iter().flat_map(|(key, value)| [key, value]));
    (serde_json::from_str(&answer).unwrap(), question.join("\0"))
}

/// Scratch space without what is random in theirs: the id in its path, and which of several folders is the first one.
fn settle_scratch(container: &mut Value) {
    for mount in container["volumeMounts"].as_array_mut().unwrap() {
        let number = mount["name"].as_str().unwrap().strip_prefix("spark-local-dir-");
        let is_numbered = number.is_some_and(|number| number.parse::<u32>().is_ok());
        let path = without_id(mount["mountPath"].as_str().unwrap());
        if is_numbered {
            mount["name"] = json!(format!("scratch at {}", path.replace('/', "|")));
        }
        mount["mountPath"] = json!(path);
    }
    for variable in container["env"].as_array_mut().unwrap() {
        if variable["name"] == "SPARK_LOCAL_DIRS" {
            let mut paths: Vec<_> = variable["value"].as_str().unwrap().split(',').map(without_id).collect();
            paths.sort();
            variable["value"] = json!(paths.join(","));
        }
    }
}

fn without_id(path: &str) -> String {
    let id =
        path.strip_prefix("/var/data/spark-").filter(|id| id.len() == "00000000-0000-0000-0000-000000000000".len());
    id.map_or(path.to_owned(), |_| "/var/data/spark-ID".to_owned())
}

/// An answer with lists by name instead of by place, the container beside the rest of the pod, and nothing empty in it.
fn normal(answer: &Value) -> Value {
    let mut all = normal_pod(&answer["pod"]);
    let mut service = answer["Service"].clone();
    service["spec"]["ports"] = by_name(&service["spec"]["ports"]);
    all["service"] = json!({"metadata": service["metadata"], "spec": service["spec"]});
    all["properties"] = answer["properties"].clone();
    let known = ["pod", "Service", "properties"];
    let others = answer.as_object().unwrap().keys().filter(|kind| !known.contains(&kind.as_str()));
    all["objects"] = others.map(|kind| (kind.clone(), json!(true))).collect();
    without_empty(all).unwrap_or_default()
}

fn normal_pod(pod: &Value) -> Value {
    let mut spec = pod["spec"].clone();
    let containers = spec["containers"].as_array().unwrap().clone();
    let (container, others) = containers.split_last().unwrap();
    let mut container = container.clone();
    settle_scratch(&mut container);
    for list in ["env", "ports", "volumeMounts"] {
        container[list] = by_name(&container[list]);
    }
    for list in ["volumes", "initContainers"] {
        spec[list] = by_name(&spec[list]);
    }
    spec.as_object_mut().unwrap().remove("containers");
    let mut all = spec;
    all["container"] = container;
    all["others"] = json!(others);
    all["metadata"] = pod["metadata"].clone();
    all
}

fn by_name(list: &Value) -> Value {
    let items = list.as_array().into_iter().flatten();
    let pairs: Vec<_> = items.map(|item| (item["name"].as_str().unwrap().to_owned(), item.clone())).collect();
    let map: BTreeMap<_, _> = pairs.iter().cloned().collect();
    assert_eq!(map.len(), pairs.len(), "two of one name: {list}");
    json!(map)
}

/// An absent field, an empty list and an empty text are the same to the API server where the two builders differ in them.
fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        // An empty volume source still says of which kind it is.
        Value::Object(map) => {
            let kept = |(key, value): (String, Value)| {
                let is_source = key == "emptyDir";
                without_empty(value).or_else(|| is_source.then(|| json!({}))).map(|value| (key, value))
            };
            let map: serde_json::Map<_, _> = map.into_iter().filter_map(kept).collect();
            (!map.is_empty()).then_some(Value::Object(map))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.into_iter().filter_map(without_empty).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        other => Some(other),
    }
}

/// Every leaf with its path; `/` in a key is written `|`.
fn leaves(value: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}/{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(value, &below(&key.replace('/', "|")), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| leaves(value, &below(&index.to_string()), found));
        }
        other => {
            found.insert(path.to_owned(), other.to_string());
        }
    }
}

/// The paths at which two pods differ, with both values.
fn differences(ours: &Value, theirs: &Value) -> Vec<(String, String)> {
    let (mut a, mut b) = (BTreeMap::new(), BTreeMap::new());
    leaves(&normal(ours), "", &mut a);
    leaves(&normal(theirs), "", &mut b);
    let paths: BTreeSet<_> = a.keys().chain(b.keys()).cloned().collect();
    let differ = paths.into_iter().filter(|path| a.get(path) != b.get(path));
    differ.map(|path| (path.clone(), format!("ours {:?}, theirs {:?}", a.get(&path), b.get(&path)))).collect()
}

fn explains(line: &str, path: &str) -> bool {
    let mut steps = path.split('/');
    line.split('/').all(|wanted| steps.next().is_some_and(|step| wanted == "*" || wanted == step))
}

/// Each fragment alone, each resource alone, and combinations by chance, the same ones in every run.
fn sets() -> Vec<Set> {
    let mut sets: Vec<Set> = (0..RESOURCES.len()).map(|resource| (resource, BTreeSet::new())).collect();
    sets.extend((0..FRAGMENTS.len()).map(|index| (0, [index].into())));
    let any = (0..RESOURCES.len(), prop::collection::btree_set(0..FRAGMENTS.len(), 2..12));
    let mut runner = TestRunner::deterministic();
    sets.extend((0..300).map(|_| any.new_tree(&mut runner).unwrap().current()));
    sets
}

/// Whether the Spark under test knows every key of `set`.
fn is_known(set: &Set, version: &SparkVersion) -> bool {
    let is_new = |pair: &str| {
        SINCE.iter().any(|(key, major, minor)| pair.starts_with(key) && !version.is_at_least(*major, *minor))
    };
    !set.1.iter().flat_map(|index| FRAGMENTS[*index]).any(|pair| is_new(pair))
}

#[test]
#[ignore = "needs Spark: scripts/images"]
fn the_driver_pod_its_service_and_its_properties_are_those_that_spark_builds() {
    let version = SparkVersion::of_home(&spark_home()).unwrap();
    let sets: Vec<_> = sets().into_iter().filter(|set| is_known(set, &version)).collect();
    assert!(sets.len() > 120, "{}", sets.len());
    let (ours, questions): (Vec<_>, Vec<_>) = sets.iter().map(ours).unzip();
    let older = OLDER.iter().filter(|(_, major, minor, _)| !version.is_at_least(*major, *minor));
    let newer = NEWER.iter().filter(|(_, major, minor, _)| version.is_at_least(*major, *minor));
    let of_version = older.chain(newer).map(|(line, _, _, reason)| (*line, *reason));
    let lines: Vec<_> = DIFFERENCES.iter().copied().chain(of_version).collect();
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for ((set, ours), theirs) in sets.iter().zip(&ours).zip(spark_jvm::ask("PodOracle", ORACLE, &questions)) {
        for (path, values) in differences(ours, &serde_json::from_str(&theirs).unwrap()) {
            match lines.iter().find(|(line, _)| explains(line, &path)) {
                Some((line, _)) => {
                    used.insert(*line);
                }
                None => wrong.push(format!("{path}: {values}\n    {:?}", words(set))),
            }
        }
    }
    let count = wrong.len();
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{count} differences that no line explains:\n{}", wrong.join("\n"));
    let unused: Vec<_> = lines.iter().filter(|(line, _)| !used.contains(line)).collect();
    assert!(unused.is_empty(), "no comparison needs these lines: {unused:?}");
}
