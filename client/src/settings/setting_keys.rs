//! The one table of settings: every key that this version reads at submit time, with default, unit and meaning; and what
//! becomes of the keys that it does not read. A new setting is one line here and one reader in `resolve`. A name that
//! ends with `*` stands for all keys that begin so; the longest one that fits decides.

use std::fmt::Write;

/// What is done with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Read here, and handed to the driver too.
    Read,
    /// Read here only; it means nothing in the pod.
    ReadHereOnly,
    /// Handed to the driver as it is.
    PassedOn,
    /// Dropped: it does nothing here, and nothing is lost.
    Ignored,
    /// Only this value can be had; another one is refused for the reason in the last column.
    Only(&'static str),
    /// Refused for the reason in the last column, since Spark would have done something with it.
    Refused,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct SettingKey {
    /// The key, or `prefix*`.
    pub name: &'static str,
    /// What is done with it.
    pub treatment: Treatment,
    /// The value when it is not given; empty: none.
    pub default: &'static str,
    /// What the value is, with the unit of a plain number.
    pub unit: &'static str,
    /// What it does, or why it is refused.
    pub meaning: &'static str,
    /// First version with this meaning: of Spark, or of Airlock for its own keys.
    pub since: &'static str,
}

use Treatment::{Ignored, Only, PassedOn, Read, ReadHereOnly, Refused};

const fn key(
    name: &'static str,
    treatment: Treatment,
    default: &'static str,
    unit: &'static str,
    meaning: &'static str,
    since: &'static str,
) -> SettingKey {
    SettingKey { name, treatment, default, unit, meaning, since }
}

const OURS: &str = "is set by airlock itself";
const CLIENT_MODE: &str =
    "of drivers that run where they are submitted; ours has spark.kubernetes.authenticate.driver.*";

/// Every key that is not simply handed to the driver.
#[rustfmt::skip]
pub static SETTING_KEYS: &[SettingKey] = &[
    // The cluster and how it is reached.
    key("spark.master", ReadHereOnly, "", "k8s://…", "API server; the kubeconfig's own when absent", "2.3.0"),
    key("spark.submit.deployMode", ReadHereOnly, "cluster", "cluster", "where the driver runs", "1.5.0"),
    key("spark.kubernetes.context", ReadHereOnly, "", "name", "context of the kubeconfig", "3.0.0"),
    key("spark.kubernetes.namespace", Read, "", "name", "namespace of driver and executors; the context's when absent", "2.3.0"),
    key("spark.kubernetes.submission.connectionTimeout", ReadHereOnly, "10000", "time, ms", "to connect to the API server", "3.0.0"),
    key("spark.kubernetes.submission.requestTimeout", ReadHereOnly, "10000", "time, ms", "for one answer of the API server", "3.0.0"),
    key("spark.kubernetes.authenticate.submission.caCertFile", ReadHereOnly, "", "path", "file on this machine: authority of the API server, in place of the kubeconfig's", "2.3.0"),
    key("spark.kubernetes.authenticate.submission.clientKeyFile", ReadHereOnly, "", "path", "file on this machine: the submitter's key, with the next", "2.3.0"),
    key("spark.kubernetes.authenticate.submission.clientCertFile", ReadHereOnly, "", "path", "file on this machine: the submitter's certificate, in place of the kubeconfig's user", "2.3.0"),
    key("spark.kubernetes.authenticate.submission.oauthToken", ReadHereOnly, "", "text", "the submitter's token, in place of the kubeconfig's user", "2.3.0"),
    key("spark.kubernetes.authenticate.submission.oauthTokenFile", ReadHereOnly, "", "path", "file on this machine with that token", "2.3.0"),
    key("spark.kubernetes.authenticate.submission.*", Refused, "", "", "does not exist", "2.3.0"),
    key("spark.kubernetes.trust.certificates", Only("false"), "false", "true or false", "is refused: certificates are always verified", "3.2.0"),
    // The application and its inputs.
    key("spark.app.name", Read, "", "text", "name of the application; its class or file name when absent", "0.9.0"),
    key("spark.jars", ReadHereOnly, "", "list", "jars for the classpath of driver and executors", "0.9.0"),
    key("spark.files", ReadHereOnly, "", "list", "files for the working directories, as path#name", "1.0.0"),
    key("spark.archives", ReadHereOnly, "", "list", "archives unpacked in the working directories, as path#folder", "3.1.0"),
    key("spark.submit.pyFiles", ReadHereOnly, "", "list", "py, zip and egg files for PYTHONPATH", "1.0.1"),
    key("spark.jars.packages", PassedOn, "", "list", "GROUP:ARTIFACT:VERSION, resolved in the pod", "1.5.0"),
    key("spark.jars.excludes", PassedOn, "", "list", "GROUP:ARTIFACT that are left out of packages", "1.5.0"),
    key("spark.jars.repositories", PassedOn, "", "list", "repositories for packages, beside Maven Central", "2.3.0"),
    key("spark.jars.ivy", PassedOn, "", "path", "Ivy's folder in the pod; /var/airlock/ivy with packages", "1.3.0"),
    key("spark.kubernetes.file.upload.path", Ignored, "", "", "not needed: local files go straight into the driver pod", "3.0.0"),
    // The driver pod.
    key("spark.kubernetes.container.image", Read, "", "image", "image of driver and executors", "2.3.0"),
    key("spark.kubernetes.driver.container.image", Read, "", "image", "image of the driver, if another", "2.3.0"),
    key("spark.kubernetes.container.image.pullPolicy", Read, "IfNotPresent", "Always, IfNotPresent or Never", "when the image is pulled", "2.3.0"),
    key("spark.kubernetes.container.image.pullSecrets", Read, "", "list", "Secrets to pull the image with", "2.4.0"),
    key("spark.kubernetes.driver.pod.name", Read, "", "name", "name of the driver pod; made from the application's when absent", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.serviceAccountName", Read, "", "name", "service account of the driver", "2.3.0"),
    key("spark.driver.memory", Read, "1g", "size, MiB", "heap of the driver", "1.1.1"),
    key("spark.driver.memoryOverhead", Read, "", "size, MiB", "memory beyond the heap, instead of the factor", "2.3.0"),
    key("spark.driver.memoryOverheadFactor", Read, "", "number", "memory beyond the heap, as a part of it", "3.3.0"),
    key("spark.driver.minMemoryOverhead", Read, "384m", "size, MiB", "the least that the factor gives", "4.0.0"),
    key("spark.kubernetes.memoryOverheadFactor", Read, "", "number", "the same for driver and executors; 0.1, for Python and R 0.4", "2.4.0"),
    key("spark.driver.cores", Read, "1", "whole number", "CPUs of the driver", "1.3.0"),
    key("spark.kubernetes.driver.request.cores", Read, "", "quantity", "CPU request instead of spark.driver.cores", "3.0.0"),
    key("spark.kubernetes.driver.limit.cores", Read, "", "quantity", "CPU limit", "2.3.0"),
    key("spark.kubernetes.driver.label.*", Read, "", "text", "label of the driver pod", "2.3.0"),
    key("spark.kubernetes.driver.annotation.*", Read, "", "text", "annotation of the driver pod", "2.3.0"),
    key("spark.kubernetes.driver.service.label.*", Read, "", "text", "label of the headless Service", "3.4.0"),
    key("spark.kubernetes.driver.service.annotation.*", Read, "", "text", "annotation of the headless Service", "3.0.0"),
    key("spark.kubernetes.driverEnv.*", Read, "", "text", "environment variable of the driver", "2.3.0"),
    key("spark.kubernetes.driver.secretKeyRef.*", Read, "", "NAME:KEY", "environment variable from a Secret", "2.4.0"),
    key("spark.kubernetes.node.selector.*", Read, "", "text", "label that nodes must have", "2.3.0"),
    key("spark.kubernetes.driver.node.selector.*", Read, "", "text", "the same for the driver alone", "3.3.0"),
    key("spark.driver.port", Read, "7078", "port", "RPC of the driver", "0.7.0"),
    key("spark.driver.blockManager.port", Read, "7079", "port", "block manager of the driver", "2.1.0"),
    key("spark.blockManager.port", Read, "", "port", "block manager of driver and executors", "1.1.0"),
    key("spark.ui.port", Read, "4040", "port", "web UI of the driver", "0.7.0"),
    key("spark.driver.host", Refused, "", "", OURS, "0.7.0"),
    key("spark.driver.bindAddress", Refused, "", "", OURS, "2.1.0"),
    key("spark.app.id", Refused, "", "", OURS, "1.0.0"),
    key("spark.kubernetes.submitInDriver", Refused, "", "", OURS, "2.4.0"),
    key("spark.kubernetes.resource.type", Refused, "", "", OURS, "2.4.1"),
    key("spark.kubernetes.driver.resourceNamePrefix", Refused, "", "", OURS, "3.0.0"),
    // More of the driver pod, and what is not built yet.
    key("spark.kubernetes.driver.podTemplateFile", ReadHereOnly, "", "path", "pod on this machine that the driver's is built on", "3.0.0"),
    key("spark.kubernetes.driver.podTemplateContainerName", ReadHereOnly, "", "name", "container of it that becomes the driver's; the first one when absent", "3.0.0"),
    key("spark.kubernetes.executor.podTemplateFile", Read, "", "path", "pod that executors' are built on: sent with the bundle, or local:///PATH in the image", "3.0.0"),
    key("spark.kubernetes.driver.volumes.*", Read, "", "text", "volume of the driver, TYPE.NAME.mount.… and TYPE.NAME.options.…; with claimName OnDemand a claim is made, with storageClass, sizeLimit, label.* and annotation.*", "2.4.0"),
    key("spark.kubernetes.legacy.useReadWriteOnceAccessMode", Read, "false", "true or false", "claims are made as ReadWriteOnce instead of ReadWriteOncePod; true before Spark 4.0", "3.4.3"),
    key("spark.kubernetes.driver.secrets.*", Read, "", "path", "mounts the Secret of that name in the driver", "2.3.0"),
    key("spark.kubernetes.scheduler.name", Read, "", "name", "scheduler of driver and executors", "3.3.0"),
    key("spark.kubernetes.driver.scheduler.name", Read, "", "name", "scheduler of the driver, if another", "3.3.0"),
    key("spark.kubernetes.driver.pod.featureSteps", Refused, "", "", "cannot be had: its classes run in spark-submit's JVM", "3.2.0"),
    key("spark.kubernetes.driver.pod.excludedFeatureSteps", Refused, "", "", "cannot be had: its classes run in spark-submit's JVM", "4.1.0"),
    key("spark.kubernetes.driver.service.ipFamilyPolicy", Read, "", "SingleStack, PreferDualStack or RequireDualStack", "of the headless Service; the cluster's choice when absent", "3.4.0"),
    key("spark.kubernetes.driver.service.ipFamilies", Read, "", "list", "IPv4, IPv6 or both; the cluster's choice when absent", "3.4.0"),
    key("spark.kubernetes.driver.service.publishNotReadyAddresses", Only("true"), "", "true or false", "is always true here", "4.3.0"),
    key("spark.kubernetes.driver.securityContext.allowPrivilegeEscalation", Read, "", "true or false", "of the driver's container, instead of the common one", "4.3.0"),
    key("spark.kubernetes.securityContext.allowPrivilegeEscalation", Read, "false", "true or false", "of driver and executors", "4.3.0"),
    key("spark.kubernetes.local.dirs.tmpfs", Read, "false", "true or false", "scratch space in memory", "3.0.0"),
    key("spark.local.dir", Read, "", "list", "absolute paths of scratch space; one folder below /var/data when absent", "0.5.0"),
    key("spark.driver.resource.*", Read, "", "text", "NAME.amount and NAME.vendor: extended resource of the driver, as a GPU", "3.0.0"),
    // What the driver proves itself with: to the API server, and to Hadoop.
    key("spark.kubernetes.authenticate.driver.caCertFile", ReadHereOnly, "", "path", "file on this machine: authority of the API server for the driver; kept in a Secret", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.clientKeyFile", ReadHereOnly, "", "path", "file on this machine: the driver's key for the API server; kept in a Secret", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.clientCertFile", ReadHereOnly, "", "path", "file on this machine: the driver's certificate for the API server; kept in a Secret", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.oauthToken", ReadHereOnly, "", "text", "the driver's token for the API server; kept in a Secret", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.oauthTokenFile", ReadHereOnly, "", "path", "file on this machine with that token", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.mounted.caCertFile", Read, "", "path", "the same four, as paths in the pod that image or template provide", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.mounted.clientKeyFile", Read, "", "path", "see above", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.mounted.clientCertFile", Read, "", "path", "see above", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.mounted.oauthTokenFile", Read, "", "path", "see above", "2.3.0"),
    key("spark.kubernetes.authenticate.driver.*", Refused, "", "", "does not exist", "2.3.0"),
    key("spark.kubernetes.authenticate.caCertFile", Ignored, "", "", CLIENT_MODE, "2.4.0"),
    key("spark.kubernetes.authenticate.clientKeyFile", Ignored, "", "", CLIENT_MODE, "2.4.0"),
    key("spark.kubernetes.authenticate.clientCertFile", Ignored, "", "", CLIENT_MODE, "2.4.0"),
    key("spark.kubernetes.authenticate.oauthToken", Ignored, "", "", CLIENT_MODE, "2.4.0"),
    key("spark.kubernetes.authenticate.oauthTokenFile", Ignored, "", "", CLIENT_MODE, "2.4.0"),
    key("spark.kubernetes.hadoop.configMapName", Read, "", "name", "ConfigMap with Hadoop's configuration, for driver and executors, instead of $HADOOP_CONF_DIR", "3.0.0"),
    key("spark.kubernetes.hadoop.*", Refused, "", "", "does not exist", "3.0.0"),
    key("spark.kubernetes.kerberos.krb5.path", ReadHereOnly, "", "path", "krb5.conf on this machine, for the driver; kept in a ConfigMap", "3.0.0"),
    key("spark.kubernetes.kerberos.krb5.configMapName", Read, "", "name", "ConfigMap with krb5.conf, instead", "3.0.0"),
    key("spark.kubernetes.kerberos.tokenSecret.name", Read, "", "name", "Secret with Hadoop's delegation tokens; with itemKey", "3.0.0"),
    key("spark.kubernetes.kerberos.tokenSecret.itemKey", Read, "", "name", "the tokens' key in it", "3.0.0"),
    key("spark.kubernetes.kerberos.*", Refused, "", "", "does not exist", "3.0.0"),
    key("spark.kerberos.principal", Read, "", "name", "who the driver logs in as; with the keytab", "3.0.0"),
    key("spark.kerberos.keytab", Read, "", "path", "keytab on this machine, kept in a Secret; or local:///PATH in the image", "3.0.0"),
    key("spark.yarn.principal", Refused, "", "", "is spark.kerberos.principal by its old name", "3.0.0"),
    key("spark.yarn.keytab", Refused, "", "", "is spark.kerberos.keytab by its old name", "3.0.0"),
    key("spark.remote", Refused, "", "", "is for Spark Connect clients, not for a submission", "3.4.0"),
    // Checked here, so that a bad value does not wait for the driver.
    key("spark.executor.memory", Read, "", "size, MiB", "heap of an executor", "0.7.0"),
    key("spark.executor.cores", Read, "", "whole number", "CPUs of an executor", "1.0.0"),
    key("spark.executor.instances", Read, "", "whole number", "number of executors", "1.0.0"),
    key("spark.kubernetes.driver.master", Read, "https://kubernetes.default.svc", "URL", "API server as the driver reaches it", "3.0.0"),
    key("spark.kubernetes.executor.podNamePrefix", Read, "", "name", "what executor pods are named after", "2.3.0"),
    // Read by the driver when it makes executors.
    key("spark.kubernetes.executor.container.image", PassedOn, "", "image", "image of executors, if another", "2.3.0"),
    key("spark.kubernetes.executor.request.cores", PassedOn, "", "quantity", "CPU request of an executor instead of spark.executor.cores", "2.4.0"),
    key("spark.kubernetes.executor.limit.cores", PassedOn, "", "quantity", "CPU limit of an executor", "2.3.0"),
    key("spark.kubernetes.executor.label.*", PassedOn, "", "text", "label of executor pods", "2.3.0"),
    key("spark.kubernetes.executor.annotation.*", PassedOn, "", "text", "annotation of executor pods", "2.3.0"),
    key("spark.kubernetes.executor.node.selector.*", PassedOn, "", "text", "label that nodes of executors must have", "3.3.0"),
    key("spark.kubernetes.executor.secrets.*", PassedOn, "", "path", "mounts the Secret of that name in executors", "2.3.0"),
    key("spark.kubernetes.executor.secretKeyRef.*", PassedOn, "", "NAME:KEY", "environment variable of executors from a Secret", "2.4.0"),
    key("spark.kubernetes.executor.volumes.*", PassedOn, "", "text", "volume of executors", "2.4.0"),
    key("spark.kubernetes.executor.podTemplateContainerName", PassedOn, "", "name", "container of the template that becomes the executor's", "3.0.0"),
    key("spark.kubernetes.executor.scheduler.name", PassedOn, "", "name", "scheduler of executors, if another", "3.0.0"),
    key("spark.kubernetes.executor.securityContext.allowPrivilegeEscalation", PassedOn, "", "true or false", "of executors' containers, instead of the common one", "4.3.0"),
    key("spark.kubernetes.authenticate.executor.serviceAccountName", PassedOn, "", "name", "service account of executors; the driver's when absent", "3.1.0"),
    key("spark.kubernetes.executor.deleteOnTermination", PassedOn, "true", "true or false", "executor pods go when they end", "3.0.0"),
    key("spark.kubernetes.executor.terminationGracePeriodSeconds", PassedOn, "30s", "time, s", "for executors to end in", "4.1.0"),
    key("spark.kubernetes.executor.useDriverPodIP", PassedOn, "true", "true or false", "executors call the driver by its pod's address", "4.1.0"),
    key("spark.kubernetes.executor.disableConfigMap", PassedOn, "false", "true or false", "executors get no ConfigMap", "3.2.0"),
    key("spark.kubernetes.executor.checkAllContainers", PassedOn, "true", "true or false", "an executor counts as failed when any of its containers has failed", "3.1.0"),
    key("spark.kubernetes.executor.apiPollingInterval", PassedOn, "30s", "time, ms", "between two looks at executor pods", "2.4.0"),
    key("spark.kubernetes.executor.enableApiPolling", PassedOn, "true", "true or false", "looks at executor pods by listing", "3.4.0"),
    key("spark.kubernetes.executor.enableApiWatcher", PassedOn, "true", "true or false", "looks at executor pods by watching", "3.4.0"),
    key("spark.kubernetes.executor.enablePollingWithResourceVersion", PassedOn, "false", "true or false", "lists from the API server's cache", "3.3.0"),
    key("spark.kubernetes.executor.eventProcessingInterval", PassedOn, "1s", "time, ms", "between two looks at what has happened to executors", "2.4.0"),
    key("spark.kubernetes.executor.missingPodDetectDelta", PassedOn, "30s", "time, ms", "after which an executor without a pod is lost", "3.1.1"),
    key("spark.kubernetes.executor.deletedExecutorsCacheTimeout", PassedOn, "180000ms", "time, ms", "how long deleted executors are remembered", "4.1.0"),
    key("spark.kubernetes.executor.podDeletionCost", PassedOn, "", "whole number", "deletion cost that executors of a Deployment are given", "4.2.0"),
    key("spark.kubernetes.executor.decommissionLabel", PassedOn, "", "name", "label for executors that are being decommissioned", "3.3.0"),
    key("spark.kubernetes.executor.decommissionLabelValue", PassedOn, "", "text", "value of that label", "3.3.0"),
    key("spark.kubernetes.executor.minTasksPerExecutorBeforeRolling", PassedOn, "0", "whole number", "tasks before an executor may be replaced", "3.3.0"),
    key("spark.kubernetes.executor.rollInterval", PassedOn, "0ms", "time, ms", "between two replacements of an executor; 0 for never", "3.3.0"),
    key("spark.kubernetes.executor.rollPolicy", PassedOn, "OUTLIER", "name", "which executor is replaced", "3.3.0"),
    key("spark.kubernetes.executor.resizeFactor", PassedOn, "0.1", "number", "how much more memory an executor is given", "4.2.0"),
    key("spark.kubernetes.executor.resizeInterval", PassedOn, "1m", "time, ms", "between two looks at executors' memory", "4.2.0"),
    key("spark.kubernetes.executor.resizeThreshold", PassedOn, "0.9", "number", "part of the memory from which on more is given", "4.2.0"),
    key("spark.kubernetes.executor.pvc.resizeFactor", PassedOn, "1.0", "number", "how much larger a claim is made", "4.2.0"),
    key("spark.kubernetes.executor.pvc.resizeInterval", PassedOn, "300000ms", "time, ms", "between two looks at claims", "4.2.0"),
    key("spark.kubernetes.executor.pvc.resizeThreshold", PassedOn, "0.5", "number", "part of a claim from which on it is made larger", "4.2.0"),
    key("spark.kubernetes.executor.pod.featureSteps", PassedOn, "", "list", "classes that change executor pods", "3.2.0"),
    key("spark.kubernetes.executor.pod.excludedFeatureSteps", PassedOn, "", "list", "classes that do not", "4.1.0"),
    key("spark.kubernetes.executorSnapshotsSubscribersShutdownGracePeriod", PassedOn, "20s", "time, s", "for what is still to be handled at the end", "3.4.0"),
    key("spark.kubernetes.allocation.batch.size", PassedOn, "20", "whole number", "executors asked for at once", "2.3.0"),
    key("spark.kubernetes.allocation.batch.delay", PassedOn, "1s", "time, ms", "between two batches", "2.3.0"),
    key("spark.kubernetes.allocation.driver.readinessTimeout", PassedOn, "1s", "time, ms", "how long executors wait for the driver to be ready", "3.1.3"),
    key("spark.kubernetes.allocation.executor.timeout", PassedOn, "600s", "time, ms", "after which a pod that did not start is given up", "3.1.0"),
    key("spark.kubernetes.allocation.maxPendingPods", PassedOn, "2147483647", "whole number", "most pods that pend at once", "3.2.0"),
    key("spark.kubernetes.allocation.maxPendingPodsPerRp", PassedOn, "2147483647", "whole number", "the same for one resource profile", "4.1.0"),
    key("spark.kubernetes.allocation.maximum", PassedOn, "2147483647", "whole number", "most executors that are ever asked for", "4.1.0"),
    key("spark.kubernetes.allocation.pods.allocator", PassedOn, "direct", "name", "direct, statefulset, deployment or a class", "3.3.0"),
    key("spark.kubernetes.allocation.recoveryMode.enabled", PassedOn, "", "true or false", "starts executors with fewer tasks after failures", "4.2.0"),
    key("spark.kubernetes.decommission.script", PassedOn, "/opt/decom.sh", "path", "script in the image that decommissions", "3.2.0"),
    key("spark.kubernetes.dynamicAllocation.deleteGracePeriod", PassedOn, "5s", "time, s", "for executors that are no longer wanted", "3.0.0"),
    key("spark.kubernetes.jars.avoidDownloadSchemes", PassedOn, "", "list", "schemes of jars that each executor fetches itself", "4.0.0"),
    key("spark.kubernetes.configMap.maxSize", Ignored, "", "", "not needed: properties and conf files travel in the bundle", "3.1.0"),
    key("spark.kubernetes.driver.connectionTimeout", PassedOn, "", "as Spark's", "the driver's own calls to the API server", "3.0.0"),
    key("spark.kubernetes.driver.requestTimeout", PassedOn, "", "as Spark's", "the driver's own calls to the API server", "3.0.0"),
    key("spark.kubernetes.driver.service.deleteOnTermination", PassedOn, "", "as Spark's", "the driver deletes its Services at its end", "3.2.0"),
    key("spark.kubernetes.driver.annotateExitException", PassedOn, "", "as Spark's", "the driver writes why it failed on its pod", "4.1.0"),
    key("spark.kubernetes.driver.reusePersistentVolumeClaim", PassedOn, "", "as Spark's", "volumes of executors", "3.2.0"),
    key("spark.kubernetes.driver.ownPersistentVolumeClaim", PassedOn, "", "as Spark's", "volumes of executors", "3.2.0"),
    key("spark.kubernetes.driver.waitToReusePersistentVolumeClaim", PassedOn, "", "as Spark's", "volumes of executors", "3.4.0"),
    // What happens after the launch.
    key("spark.kubernetes.submission.waitAppCompletion", Read, "true", "true or false", "wait for the end, and exit as the driver does", "2.3.0"),
    key("spark.kubernetes.report.interval", ReadHereOnly, "1s", "time, s", "between two status lines", "2.3.0"),
    key("spark.kubernetes.appKillPodDeletionGracePeriod", ReadHereOnly, "", "time, s", "for a driver that is killed, to end; the pod's own time when absent", "3.0.0"),
    key("spark.airlock.followLogs", ReadHereOnly, "false", "true or false", "the driver's log on stdout", "0.1.0"),
    key("spark.airlock.sparkVersion", ReadHereOnly, "", "version", "Spark in the image, 3.5 or newer, whose driver pods are made; that of $SPARK_HOME, else 4.3.0", "0.1.0"),
    key("spark.airlock.submissionKey", ReadHereOnly, "", "text", "name of this submission in its namespace: submitting it again follows the driver that is there, and never makes a second one", "0.1.0"),
    key("spark.airlock.exitStatus", ReadHereOnly, "driver", "driver or upstream", "status after waiting: the driver's own, or 0 even if it failed, as spark-submit", "0.1.0"),
    key("spark.airlock.onInterrupt", ReadHereOnly, "detach", "detach or kill", "whether an interrupt while waiting leaves the driver alone or deletes its pod", "0.1.0"),
    // The driver server, the door, the waits.
    key("spark.airlock.driver.command", ReadHereOnly, "/opt/airlock/airlock-driver", "path", "the driver server in the image", "0.1.0"),
    key("spark.airlock.driver.inject", ReadHereOnly, "auto", "auto, never or always", "bring the driver server into an image without it; auto: when spark.airlock.driver.image is set", "0.1.0"),
    key("spark.airlock.driver.image", ReadHereOnly, "", "image", "image that holds /airlock-driver, which an init container copies from it", "0.1.0"),
    key("spark.airlock.driver.entryPoint", ReadHereOnly, "/opt/entrypoint.sh", "path", "the image's own entry point", "0.1.0"),
    key("spark.airlock.upload.maxBytes", ReadHereOnly, "68719476736", "bytes", "largest bundle", "0.1.0"),
    key("spark.airlock.fanOut.warnBytes", ReadHereOnly, "10737418240", "bytes", "warns when all executors together fetch more from the driver", "0.1.0"),
    key("spark.airlock.door.addresses", ReadHereOnly, "", "list", "HOST, HOST:PORT, ADDRESS or [ADDRESS]:PORT to dial instead of the nodes", "0.1.0"),
    key("spark.airlock.door.nodePort", ReadHereOnly, "", "port", "node port of the door; chosen by the API server when absent", "0.1.0"),
    key("spark.airlock.door.externalTrafficPolicy", ReadHereOnly, "auto", "auto, Cluster or Local", "which nodes forward the door's port: the pod's own first and then all, all, or the pod's own alone", "0.1.0"),
    key("spark.airlock.door.kinds", ReadHereOnly, "auto", "list", "the doors to try, in this order: in-cluster, address, gateway, node-port, load-balancer; auto takes what fits", "0.1.0"),
    key("spark.airlock.door.address", ReadHereOnly, "", "list", "HOST:PORT where something forwards to this driver server already", "0.1.0"),
    key("spark.airlock.door.addressAnnotation", ReadHereOnly, "", "name", "annotation of the headless Service into which something in the cluster writes that address", "0.1.0"),
    key("spark.airlock.door.gateway", ReadHereOnly, "", "list", "HOST:PORT of a proxy that forwards TLS by its server name, for all drivers of a cluster", "0.1.0"),
    key("spark.airlock.door.loadBalancer.class", ReadHereOnly, "", "name", "class of the door's load balancer; the cluster's own when absent", "0.1.0"),
    key("spark.airlock.door.loadBalancer.annotation.*", ReadHereOnly, "", "text", "annotation of the door's load balancer", "0.1.0"),
    key("spark.airlock.door.loadBalancer.nodePorts", ReadHereOnly, "true", "true or false", "whether the load balancer gets node ports, which most providers need", "0.1.0"),
    key("spark.airlock.door.sourceRanges", ReadHereOnly, "", "list", "ADDRESS/LENGTH from which the door's load balancer takes connections; all when absent", "0.1.0"),
    key("spark.airlock.timeout.loadBalancer", ReadHereOnly, "5m", "time, s", "for a load balancer to get an address", "0.1.0"),
    key("spark.airlock.networkPolicy", ReadHereOnly, "auto", "auto, always or never", "executors take connections from pods of the same application only; auto: since Spark 4.2, where the submitter may make a network policy", "0.1.0"),
    key("spark.airlock.timeout.schedule", ReadHereOnly, "15min", "time, s", "until a node is found for the pod", "0.1.0"),
    key("spark.airlock.timeout.pull", ReadHereOnly, "20min", "time, s", "until the image is on the node", "0.1.0"),
    key("spark.airlock.timeout.start", ReadHereOnly, "5min", "time, s", "until the container runs", "0.1.0"),
    key("spark.airlock.timeout.reach", ReadHereOnly, "2min", "time, s", "until an address of the door answers", "0.1.0"),
    key("spark.airlock.timeout.idle", ReadHereOnly, "2min", "time, s", "without progress of the upload", "0.1.0"),
    key("spark.airlock.timeout.fault", ReadHereOnly, "1min", "time, s", "for a fault that may heal, as a first failed pull", "0.1.0"),
    key("spark.airlock.timeout.api", ReadHereOnly, "1min", "time, s", "while the API server is busy or out of reach", "0.1.0"),
    key("spark.airlock.timeout.lease", ReadHereOnly, "12h", "time, s", "after which anyone may sweep what was left behind", "0.1.0"),
];

/// Keys of Airlock's own begin so; one that is not in the table does not exist.
pub const OWN_PREFIX: &str = "spark.airlock.";
/// Keys for Kubernetes begin so; all that Spark knows are in the table.
pub const KUBERNETES_PREFIX: &str = "spark.kubernetes.";

/// The line that decides about `key`; none: it is handed to the driver.
#[must_use]
pub fn find(key: &str) -> Option<&'static SettingKey> {
    let fits = |line: &&SettingKey| match line.name.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == line.name,
    };
    // Without its `*` a prefix is shorter than any key that fits it, so an exact name always wins.
    SETTING_KEYS.iter().filter(fits).max_by_key(|line| line.name.trim_end_matches('*').len())
}

/// What is done with `key`.
#[must_use]
pub fn treatment(key: &str) -> Treatment {
    find(key).map_or(PassedOn, |line| line.treatment)
}

/// The default of a key of the table; empty for one that has none.
#[must_use]
pub fn default_of(key: &str) -> &'static str {
    find(key).map_or("", |line| line.default)
}

/// The key of the table that `key` was probably meant to be.
#[must_use]
pub fn nearest(key: &str) -> Option<&'static str> {
    let prefix = [OWN_PREFIX, KUBERNETES_PREFIX].into_iter().find(|prefix| key.starts_with(prefix))?;
    let key = key[prefix.len()..].to_lowercase();
    let rests = SETTING_KEYS.iter().filter_map(|line| Some((line.name, line.name.strip_prefix(prefix)?)));
    let far = |rest: &str| {
        let part = like(&key, rest);
        let far = distance(&part, rest.trim_end_matches('*').to_lowercase().as_str());
        (far <= part.len() / 3).then_some(far)
    };
    rests.filter_map(|(name, rest)| Some((far(rest)?, name))).min().map(|(_, name)| name)
}

/// As much of `key` as is to be compared with `name`: where any name may follow, only what stands before it.
fn like(key: &str, name: &str) -> String {
    let Some(before) = name.strip_suffix(".*") else { return key.to_owned() };
    let words = before.split('.').count();
    let mut start: Vec<_> = key.split('.').take(words).collect();
    start.push("");
    start.join(".")
}

/// How many single letters must change, come or go to make `a` of `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

/// The table as Markdown, for the reference in the documentation.
#[must_use]
pub fn reference_table() -> String {
    let mut text = "| key | default | value | meaning | since |\n|---|---|---|---|---|\n".to_owned();
    for line in SETTING_KEYS {
        let SettingKey { name, treatment, default, unit, meaning, since } = line;
        let meaning = match treatment {
            Refused => format!("**refused:** {meaning}"),
            Only(value) => format!("**only `{value}`:** another value {meaning}"),
            _ => (*meaning).to_owned(),
        };
        let _ = writeln!(text, "| `{name}` | {default} | {unit} | {meaning} | {since} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_key_stands_there_once_and_with_all_that_a_reader_needs() {
        let names: HashSet<_> = SETTING_KEYS.iter().map(|line| line.name).collect();
        assert_eq!(names.len(), SETTING_KEYS.len());
        for line in SETTING_KEYS {
            assert!(!line.meaning.is_empty() && !line.since.is_empty(), "{}", line.name);
            let has_unit = !matches!(line.treatment, Refused | Ignored);
            assert_eq!(!line.unit.is_empty(), has_unit, "{}", line.name);
        }
    }

    #[test]
    fn the_longest_name_that_fits_decides() {
        assert_eq!(treatment("spark.kubernetes.authenticate.driver.serviceAccountName"), Read);
        assert_eq!(treatment("spark.kubernetes.authenticate.driver.oauthToken"), ReadHereOnly);
        assert_eq!(treatment("spark.kubernetes.authenticate.driver.oauthtoken"), Refused);
        assert_eq!(treatment("spark.kubernetes.driver.label.team"), Read);
        for key in [
            "spark.kubernetes.executor.limit.cores",
            "spark.kubernetes.allocation.batch.size",
            "spark.sql.shuffle.partitions",
        ] {
            assert_eq!(treatment(key), PassedOn, "{key}");
        }
    }

    #[test]
    fn p04_a_misspelt_key_finds_the_one_that_was_meant() {
        assert_eq!(nearest("spark.airlock.door.nodeport"), Some("spark.airlock.door.nodePort"));
        assert_eq!(nearest("spark.airlock.timeouts.pull"), Some("spark.airlock.timeout.pull"));
        assert_eq!(nearest("spark.airlock.q"), None);
        assert_eq!(nearest("spark.kubernetes.driver.lable.team"), Some("spark.kubernetes.driver.label.*"));
        assert_eq!(nearest("spark.kubernetes.executor.limits.core"), Some("spark.kubernetes.executor.limit.cores"));
        assert_eq!(nearest("spark.kubernetes.driver.docker.image"), Some("spark.kubernetes.driver.container.image"));
        assert_eq!(nearest("spark.kubernetes.zzz"), None);
    }

    #[test]
    fn defaults_that_both_halves_know_are_the_same() {
        use shared::driver_contract::{DEFAULT_MAX_BYTES, DRIVER_SERVER_COMMAND, ENTRY_POINT};
        assert_eq!(default_of("spark.airlock.upload.maxBytes"), DEFAULT_MAX_BYTES.to_string());
        assert_eq!(default_of("spark.airlock.driver.command"), DRIVER_SERVER_COMMAND);
        assert_eq!(default_of("spark.airlock.driver.entryPoint"), ENTRY_POINT);
    }
}
