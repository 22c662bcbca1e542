#!/bin/bash
# What a container of the Spark image runs: `driver …` and `executor` start Spark, anything else is run as it stands.
#
# It behaves as the entry point of Spark's own images does, which PyPI's archive does not hold, and reads the same environment.
# That is its whole purpose, so it adds nothing: what the tests prove with it must hold for other people's images.
set -euo pipefail

# The JVM's login and Ivy fail for a user without a name. Where /etc/passwd takes no line (a read-only root, a group other than
# root's), a library answers in its place.
name_user() {
  local uid gid file folder
  uid=$(id -u) gid=$(id -g)
  getent passwd "$uid" >/dev/null && return
  local line="$uid:x:$uid:$gid:${SPARK_USER_NAME:-anonymous uid}:$SPARK_HOME:/bin/false"
  if [[ -w /etc/passwd ]]; then
    echo "$line" >>/etc/passwd
    return
  fi
  local scratch=${SPARK_LOCAL_DIRS:-}
  for folder in "${TMPDIR:-/tmp}" "${scratch%%,*}" "${HOME:-}" /dev/shm; do
    [[ -n $folder ]] || continue
    file=$(mktemp --tmpdir="$folder" passwd.XXXXXX 2>/dev/null) || continue
    { cat /etc/passwd && echo "$line"; } >"$file"
    export LD_PRELOAD=libnss_wrapper.so NSS_WRAPPER_PASSWD=$file NSS_WRAPPER_GROUP=/etc/group
    return
  done
  echo "entrypoint: user $uid has no name, and no folder is writable to give it one" >&2
}

# The configuration folders come first, so that their log4j2.properties and core-site.xml win over those within jars.
class_path() {
  local path="${SPARK_CLASSPATH:-}:$SPARK_HOME/jars/*"
  [[ -z ${SPARK_EXTRA_CLASSPATH:-} ]] || path+=":$SPARK_EXTRA_CLASSPATH"
  [[ -z ${HADOOP_CONF_DIR:-} ]] || path="$HADOOP_CONF_DIR:$path"
  if [[ -n ${SPARK_CONF_DIR:-} ]]; then
    path="$SPARK_CONF_DIR:$path"
  elif [[ -d $SPARK_HOME/conf ]]; then
    path="$SPARK_HOME/conf:$path"
  fi
  echo "$path:$PWD:${SPARK_DIST_CLASSPATH:-}"
}

# SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, …: one JVM option each, in the order of the numbers.
java_options() {
  local name
  for name in $(compgen -e SPARK_JAVA_OPT_ | sort --field-separator=_ --key=4n); do
    printf '%s\0' "${!name}"
  done
}

driver() {
  argv=("$SPARK_HOME/bin/spark-submit"
    --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS"
    --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS"
    --deploy-mode client "$@")
}

executor() {
  local options
  readarray -d '' -t options < <(java_options)
  argv=("${JAVA_HOME:+$JAVA_HOME/bin/}java" "${options[@]}"
    "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" -cp "$(class_path)"
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend
    --driver-url "$SPARK_DRIVER_URL"
    --executor-id "$SPARK_EXECUTOR_ID"
    --cores "$SPARK_EXECUTOR_CORES"
    --app-id "$SPARK_APPLICATION_ID"
    --hostname "$SPARK_EXECUTOR_POD_IP"
    --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID"
    --podName "$SPARK_EXECUTOR_POD_NAME")
}

name_user
if [[ -n ${HADOOP_HOME:-} && -z ${SPARK_DIST_CLASSPATH:-} ]]; then
  SPARK_DIST_CLASSPATH=$("$HADOOP_HOME/bin/hadoop" classpath)
  export SPARK_DIST_CLASSPATH
fi
case ${1:-} in
  driver | executor) "$@" ;;
  *) argv=("$@") ;;
esac
# Spark leaves orphans (Python workers), which the first process of a container must reap.
exec /usr/bin/tini -s -- "${argv[@]}"
