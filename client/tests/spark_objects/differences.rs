//! Where what we make for a driver may differ from what Spark makes: one list, each line with its reason. Users read the same in
//! `docs/differences.md`.

/// Which of the two may have what the other has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Only we have it.
    Ours,
    /// Only they have it.
    Theirs,
    /// Both have it, each another one; or now one, now the other.
    Either,
}

use Side::{Either, Ours, Theirs};

/// Where it stands (pod, properties, or kind and name of an object), `*` for any one step; on which side; and why.
pub(crate) const DIFFERENCES: &[(&str, Side, &str)] = &[
    ("pod/metadata/labels/app.kubernetes.io|managed-by", Ours, "to find and sweep"),
    ("pod/metadata/annotations/airlock|submission-id", Ours, "to know a submission again"),
    ("pod/metadata/annotations/airlock|lease-until", Ours, "after it, leftovers are anyone's to remove"),
    ("pod/initContainers/airlock-install", Ours, "brings the driver server, where that was asked for"),
    ("pod/container/volumeMounts/airlock-tmp", Ours, "the JVM needs a /tmp where the root is read-only"),
    ("pod/volumes/airlock-tmp", Ours, "the same"),
    ("pod/metadata/namespace", Either, "theirs is left to the client"),
    ("pod/container/command", Either, "the driver server's"),
    ("pod/container/args", Either, "the driver server's; the launch travels in the bundle"),
    ("pod/container/ports/airlock", Ours, "the driver server's port"),
    ("pod/container/volumeMounts/airlock", Ours, "the bundle"),
    ("pod/container/volumeMounts/airlock-tls", Ours, "the driver server's key"),
    ("pod/volumes/airlock", Ours, "the bundle"),
    ("pod/volumes/airlock-tls", Ours, "the driver server's key"),
    ("pod/container/env/SPARK_CONF_DIR", Ours, "the bundle's"),
    ("pod/container/resources/requests/ephemeral-storage", Ours, "room for the bundle"),
    (
        "pod/container/securityContext/capabilities",
        Ours,
        "as far towards Pod Security `restricted` as any image can follow",
    ),
    ("pod/container/securityContext/seccompProfile", Ours, "the same"),
    ("pod/container/name", Either, "the driver's container has the same name over every template"),
    ("pod/container/workingDir", Theirs, "the driver's own lies in the bundle"),
    ("pod/container/volumeMounts/pod-template-volume", Theirs, "the executors' template travels in the bundle"),
    ("pod/volumes/pod-template-volume", Theirs, "the same"),
    ("ConfigMap/PREFIX-driver-podspec-conf-map", Theirs, "the same"),
    ("properties/spark.kubernetes.executor.podTemplateFile", Either, "the same"),
    (
        "pod/volumes/krb5-file/configMap/items",
        Either,
        "always `krb5.conf`, as which it is mounted, whatever it is called here",
    ),
    ("ConfigMap/PREFIX-krb5-file/data", Either, "the same"),
    ("ConfigMap/*/metadata/labels", Ours, "to find and sweep"),
    ("Secret/*/metadata/labels", Ours, "the same"),
    ("Service/*/metadata/labels", Ours, "the same"),
    ("PersistentVolumeClaim/*/metadata/labels", Ours, "the same"),
    ("*/*/metadata/annotations/airlock|submission-id", Ours, "to know a submission again"),
    ("*/*/metadata/annotations/airlock|lease-until", Ours, "after it, leftovers are anyone's to remove"),
    ("*/*/metadata/namespace", Ours, "theirs is left to the client"),
    ("Service/*/spec/ports/airlock", Ours, "the driver server's port"),
    ("Service/*/spec/ports/*/protocol", Ours, "theirs is left to the API server, which says TCP too"),
    ("Service/*/spec/publishNotReadyAddresses", Either, "the name must hold before the pod is ready"),
    ("Service/*/spec/selector/team", Theirs, "Spark's own labels select the driver"),
    ("Service/*/spec/selector/example.com|tier", Theirs, "the same"),
    ("Service/*/spec/ipFamilies", Theirs, "the cluster's own choice unless said otherwise"),
    ("Service/*/spec/ipFamilyPolicy", Theirs, "the same"),
    (
        "Service/*/spec/ports/blockmanager",
        Either,
        "theirs says `spark.blockManager.port` in the pod only, and listens elsewhere",
    ),
    ("properties/spark.driver.blockManager.port", Either, "the same"),
    ("properties/spark.submit.deployMode", Ours, "plain client mode in the pod"),
    ("properties/spark.kubernetes.submitInDriver", Theirs, "the same"),
    ("properties/spark.kubernetes.resource.type", Theirs, "the same"),
    ("properties/spark.airlock.driver.image", Theirs, "means nothing in the pod"),
    ("properties/spark.master", Either, "the API server as the driver reaches it"),
    ("properties/spark.app.submitTime", Ours, "set by their client, not by their builder"),
    ("properties/spark.jars.ivy", Ours, "where every user may write"),
    ("properties/spark.kubernetes.executor.podNamePrefix", Ours, "executors are named after their driver"),
    ("properties/spark.kubernetes.authenticate.caCertFile", Either, "where a driver in client mode looks"),
    ("properties/spark.kubernetes.authenticate.clientCertFile", Ours, "the same"),
    ("properties/spark.kubernetes.authenticate.clientKeyFile", Ours, "the same"),
    ("properties/spark.kubernetes.authenticate.oauthTokenFile", Ours, "the same"),
    ("properties/spark.kubernetes.authenticate.driver.caCertFile", Theirs, "means nothing in the pod"),
    ("properties/spark.kubernetes.authenticate.driver.clientCertFile", Theirs, "the same"),
    ("properties/spark.kubernetes.authenticate.driver.clientKeyFile", Theirs, "the same"),
    ("properties/spark.kubernetes.authenticate.driver.oauthToken", Theirs, "the same"),
    ("properties/spark.kubernetes.driver.podTemplateContainerName", Theirs, "the same"),
    ("properties/spark.kubernetes.driver.podTemplateFile", Theirs, "the same"),
    ("properties/spark.kubernetes.kerberos.krb5.path", Theirs, "the same"),
];

/// Differences from versions before the one that is named.
pub(crate) const OLDER: &[(&str, (u32, u32), Side, &str)] = &[(
    "pod/container/securityContext/allowPrivilegeEscalation",
    (4, 3),
    Ours,
    "Pod Security `restricted` asks for it whatever the version",
)];

/// Differences from versions since the one that is named.
pub(crate) const NEWER: &[(&str, (u32, u32), Side, &str)] = &[
    ("NetworkPolicy/*/metadata/labels", (4, 2), Ours, "to find and sweep"),
    ("Service/*/spec/selector/id", (4, 0), Theirs, "Spark's own labels select the driver"),
    ("Service/*/spec/selector/e", (4, 0), Theirs, "the same"),
];

/// Keys that Spark has known since a version; to know them for older drivers too does no harm.
pub(crate) const SINCE: &[(&str, (u32, u32))] = &[
    ("spark.driver.minMemoryOverhead", (4, 0)),
    ("spark.kubernetes.driver.label.id=", (4, 0)),
    ("spark.kubernetes.driver.volumes.persistentVolumeClaim.spark-local-dir-made.annotation.", (4, 0)),
    ("spark.kubernetes.driver.volumes.hostPath.h.options.type", (4, 0)),
    ("spark.kubernetes.driver.volumes.persistentVolumeClaim.c.mount.subPathExpr", (4, 0)),
    ("spark.kubernetes.driver.securityContext.", (4, 3)),
    ("spark.kubernetes.securityContext.", (4, 3)),
];
