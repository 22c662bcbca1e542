//! What is compared: sets of settings that change what is made for a driver, each alone and in combinations by chance, the same
//! ones in every run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

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

/// Other files of this machine that fragments name.
const FILES: &[(&str, &str)] = &[
    ("ca.pem", "-----BEGIN CERTIFICATE-----\n"),
    ("client.key", "-----BEGIN PRIVATE KEY-----\n"),
    ("client.pem", "-----BEGIN CERTIFICATE-----\nx\n"),
    ("krb5.conf", "[libdefaults]\n  default_realm = REALM\n"),
    ("other.conf", "[libdefaults]\n"),
    ("me.keytab", "\u{5}\u{2}key"),
    ("hadoop/core-site.xml", "<configuration/>"),
    ("hadoop/hdfs-site.xml", "<configuration>é</configuration>"),
    ("hadoop/below/ignored.xml", ""),
];

/// Settings that change something, one fragment each: pairs that belong together. What does not begin with `spark.` is a
/// variable of the environment.
pub(crate) const FRAGMENTS: &[&[&str]] = &[
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
    &["spark.airlock.driver.image=registry.example/airlock-driver:1"],
    &["spark.kubernetes.driverEnv.TZ=UTC", "spark.kubernetes.driverEnv.A_b=x=y z"],
    &["spark.kubernetes.driver.secretKeyRef.PASSWORD=db:password"],
    &["spark.kubernetes.driver.secrets.db=/etc/db", "spark.kubernetes.driver.secrets.tls-files=/etc/tls"],
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
    &["spark.kubernetes.driver.podTemplateFile=FOLDER/pod-0"],
    &["spark.kubernetes.driver.podTemplateFile=FOLDER/pod-1"],
    &[
        "spark.kubernetes.driver.podTemplateFile=FOLDER/pod-1",
        "spark.kubernetes.driver.podTemplateContainerName=chosen",
    ],
    &["spark.kubernetes.driver.podTemplateFile=FOLDER/pod-2"],
    &["spark.kubernetes.executor.podTemplateFile=FOLDER/pod-2"],
    &[
        "spark.kubernetes.driver.service.label.team=data",
        "spark.kubernetes.driver.service.annotation.example.com/note=any text",
    ],
    &[
        "spark.kubernetes.driver.service.ipFamilyPolicy=PreferDualStack",
        "spark.kubernetes.driver.service.ipFamilies=IPv6,IPv4",
    ],
    &["spark.kubernetes.driver.service.ipFamilies=IPv6"],
    &[
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.made.mount.path=/made",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.made.options.claimName=OnDemand",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.made.options.storageClass=fast",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.made.options.sizeLimit=5Gi",
    ],
    &[
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-made.mount.path=/made-too",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-made.options.claimName=OnDemand",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-made.options.storageClass=slow",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-made.options.sizeLimit=500M",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-made.label.team=data",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-made.annotation.example.com/note=x",
    ],
    &[
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.named.mount.path=/named",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.named.mount.readOnly=true",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.named.options.claimName=my-OnDemand",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.named.options.storageClass=fast",
        "spark.kubernetes.driver.volumes.persistentVolumeClaim.named.options.sizeLimit=1Ti",
    ],
    &["spark.kubernetes.legacy.useReadWriteOnceAccessMode=true"],
    &["spark.kubernetes.authenticate.driver.caCertFile=FOLDER/ca.pem"],
    &[
        "spark.kubernetes.authenticate.driver.clientKeyFile=FOLDER/client.key",
        "spark.kubernetes.authenticate.driver.clientCertFile=FOLDER/client.pem",
    ],
    &["spark.kubernetes.authenticate.driver.oauthToken=a.b.c"],
    &[
        "spark.kubernetes.authenticate.driver.mounted.caCertFile=/in/pod/ca",
        "spark.kubernetes.authenticate.driver.mounted.oauthTokenFile=/in/pod/token",
    ],
    &[
        "spark.kubernetes.authenticate.driver.mounted.clientKeyFile=/in/pod/key",
        "spark.kubernetes.authenticate.driver.mounted.clientCertFile=/in/pod/cert",
    ],
    &["spark.kubernetes.authenticate.caCertFile=/here/only"],
    &["HADOOP_CONF_DIR=FOLDER/hadoop"],
    &["spark.kubernetes.hadoop.configMapName=their-hadoop"],
    &["spark.kubernetes.kerberos.krb5.path=FOLDER/krb5.conf"],
    &["spark.kubernetes.kerberos.krb5.path=FOLDER/other.conf"],
    &["spark.kubernetes.kerberos.krb5.configMapName=their-krb5"],
    &["spark.kerberos.principal=me@REALM", "spark.kerberos.keytab=FOLDER/me.keytab"],
    &["spark.kerberos.principal=me@REALM", "spark.kerberos.keytab=local:///etc/me.keytab"],
    &[
        "spark.kubernetes.kerberos.tokenSecret.name=their-tokens",
        "spark.kubernetes.kerberos.tokenSecret.itemKey=tokens",
    ],
    &["spark.kerberos.renewal.credentials=ccache", "spark.kerberos.access.hadoopFileSystems=hdfs://nn"],
    &[
        "spark.jars=local:///opt/a.jar,local:///opt/b.jar",
        "spark.files=local:///opt/f",
        "spark.archives=local:///a.zip#a",
    ],
    &["spark.submit.pyFiles=local:///opt/lib.zip"],
    &["spark.executor.memory=2g", "spark.executor.instances=3", "spark.sql.shuffle.partitions=7"],
];

/// Beginnings of pairs of which one set can have one only: both tools refuse two.
const APART: &[&[&str]] =
    &[&["HADOOP_CONF_DIR", "spark.kubernetes.hadoop.configMapName"], &["spark.kubernetes.kerberos.krb5."]];

/// Main resources.
pub(crate) const RESOURCES: [&str; 3] = ["local:///opt/app.jar", "local:///opt/main.py", "local:///opt/main.R"];

/// A main resource, and pairs of key and value.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub(crate) resource: &'static str,
    /// Without those of the environment.
    pub(crate) conf: Vec<String>,
    pub(crate) hadoop_conf_dir: Option<PathBuf>,
}

impl Set {
    fn new(resource: usize, fragments: &BTreeSet<usize>) -> Self {
        let usual = ["spark.kubernetes.container.image=spark:4", "spark.kubernetes.namespace=spark"];
        let fragments = without_clashes(fragments);
        let pairs = usual.iter().chain(fragments.iter().flat_map(|fragment| fragment.iter()));
        let pairs = pairs.map(|pair| pair.replace("FOLDER", &folder().display().to_string()));
        let (conf, environment): (Vec<_>, Vec<_>) = pairs.partition(|pair| pair.starts_with("spark."));
        let hadoop_conf_dir = environment.first().and_then(|pair| pair.split_once('=')).map(|(_, path)| path.into());
        Self { resource: RESOURCES[resource], conf, hadoop_conf_dir }
    }

    /// The command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> =
            ["airlock", "submit", "--master", "k8s://https://h:6443"].map(ToOwned::to_owned).into();
        if self.resource == RESOURCES[0] {
            words.extend(["--class", "org.example.Main"].map(ToOwned::to_owned));
        }
        words.extend(self.conf.iter().flat_map(|pair| ["-c".to_owned(), pair.clone()]));
        words.push(self.resource.to_owned());
        words
    }
}

/// Of fragments that exclude each other, the first.
fn without_clashes(indices: &BTreeSet<usize>) -> Vec<&'static [&'static str]> {
    let mut kept: Vec<&[&str]> = Vec::new();
    let group = |fragment: &[&str]| {
        APART.iter().position(|group| group.iter().any(|begin| fragment.iter().any(|pair| pair.starts_with(begin))))
    };
    for fragment in indices.iter().map(|index| FRAGMENTS[*index]) {
        if group(fragment).is_none() || kept.iter().all(|other| group(other) != group(fragment)) {
            kept.push(fragment);
        }
    }
    kept
}

/// The folder with all files, made once.
fn folder() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("spark-objects");
        let templates = TEMPLATES.iter().enumerate().map(|(number, text)| (format!("pod-{number}"), *text));
        for (name, text) in templates.chain(FILES.iter().map(|(name, text)| ((*name).to_owned(), *text))) {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    });
    &FOLDER
}

/// Each resource alone, each fragment alone, and combinations.
pub(crate) fn sets() -> Vec<Set> {
    let mut sets: Vec<Set> = (0..RESOURCES.len()).map(|resource| Set::new(resource, &BTreeSet::new())).collect();
    sets.extend((0..FRAGMENTS.len()).map(|index| Set::new(0, &[index].into())));
    let any = (0..RESOURCES.len(), prop::collection::btree_set(0..FRAGMENTS.len(), 2..14));
    let mut runner = TestRunner::deterministic();
    sets.extend(
        (0..400).map(|_| any.new_tree(&mut runner).unwrap().current()).map(|(resource, set)| Set::new(resource, &set)),
    );
    sets
}
