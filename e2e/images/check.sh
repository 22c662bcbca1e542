# shellcheck shell=bash
# What must hold for the images and needs no cluster. Part of scripts/images, which sets the variables used here.
#
# The builder is our own, so another one must agree: buildah reads deploy/Dockerfile as image authors' engines will, and its
# containers try the entry point out. Not the other way round: buildah builds slower, and gives another digest every time.
# shellcheck disable=SC2154

checked() {
  buildah --root "$cache/buildah/root" --runroot "$cache/buildah/run" "$@"
}

check_same_image() {
  local pulled built ours digest
  pulled=$(checked pull --quiet "oci-archive:$cache/base.tar")
  checked tag "$pulled" "$base_image"
  checked build --quiet --pull-never --build-arg SPARK_IMAGE="$base_image" --tag check --file deploy/Dockerfile "$cache/driver"
  built=$(checked inspect --type image check)
  ours=$(python3 "$parts/oci_archive.py" "$store" "$spark_image" --config)
  python3 - "$built" "$ours" <<'PYTHON'
import json, sys
built, ours = map(json.loads, sys.argv[1:])
built = built["OCIv1"]["config"]
built.pop("Labels", None)  # buildah's own version
if built != ours:
    sys.exit(f"another builder makes another config of deploy/Dockerfile:\n{built}\n{ours}")
PYTHON
  container=$(checked from --pull-never check)
  digest=$(sha256sum <"$cache/driver/airlock-driver" | cut -d' ' -f1)
  checked run "$container" -- sha256sum --check - <<<"$digest  /opt/airlock/airlock-driver"
}

# expect TEXT OPTION… -- COMMAND…: the entry point, run so, must print the text.
expect() {
  local text=$1 output options=()
  shift
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  output=$(checked run --isolation chroot "${options[@]}" "$container" -- /opt/entrypoint.sh "${@:2}")
  [[ $output == *"$text"* ]] || fail "instead of '$text', ${options[*]} ${*:2} printed: $output"
}

check_entry_point() {
  local java=$cache/fake-java status=0
  expect "uid=185(spark) gid=0" --user 185:0 -- id
  # In root's group passwd takes a line; in another the library must answer.
  expect ":anonymous uid:" --user 12345:0 -- getent passwd 12345
  expect ":anonymous uid:" --user 23456:23456 -- getent passwd 23456
  checked run --user 185:0 "$container" -- /opt/entrypoint.sh sh -c 'exit 7' || status=$?
  ((status == 7)) || fail "the status of a command is $status and not its own, 7"

  mkdir -p "$java/bin"
  printf '#!/bin/sh\nexec printf "<%%s>" "$@"\n' >"$java/bin/java"
  chmod +x "$java/bin/java"
  expect "<-Dtwo=a b><-Dten><-Xms300m><-Xmx300m><-cp></conf:/hadoop:/first:/opt/spark/jars/*:/extra:" --user 185:0 \
    --volume "$java:/java:ro" --env JAVA_HOME=/java --env SPARK_EXECUTOR_MEMORY=300m --env SPARK_DRIVER_URL=spark://d \
    --env SPARK_JAVA_OPT_10=-Dten --env "SPARK_JAVA_OPT_2=-Dtwo=a b" --env SPARK_EXECUTOR_ID=1 --env SPARK_EXECUTOR_CORES=1 \
    --env SPARK_CLASSPATH=/first --env SPARK_EXTRA_CLASSPATH=/extra --env HADOOP_CONF_DIR=/hadoop --env SPARK_CONF_DIR=/conf \
    --env SPARK_APPLICATION_ID=a --env SPARK_EXECUTOR_POD_IP=10.0.0.1 --env SPARK_RESOURCE_PROFILE_ID=0 \
    --env SPARK_EXECUTOR_POD_NAME=p -- executor
}

check_spark() {
  expect "Pi is roughly 3.1" --user 34567:34567 --env SPARK_LOCAL_IP=127.0.0.1 \
    --env SPARK_DRIVER_BIND_ADDRESS=127.0.0.1 --volume /etc/hosts:/etc/hosts:ro -- driver --master 'local[1]' \
    --conf spark.driver.host=127.0.0.1 --conf spark.ui.enabled=false /opt/spark/examples/src/main/python/pi.py 2
}

# By buildah itself first, which unmounts what it has mounted.
remove_containers() {
  [[ ! -e $cache/buildah ]] || checked rm --all >/dev/null
  rm -rf "$cache/buildah" "$cache/fake-java"
}

check_images() {
  remove_containers
  export BUILDAH_ISOLATION=chroot
  step "buildah agrees on deploy/Dockerfile" check_same_image
  step "the entry point does what Spark's own does" check_entry_point
  step "Spark runs a Python program as a user without a name" check_spark
  remove_containers
}
