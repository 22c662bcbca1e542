# Sourced by scripts/test, scripts/quickstart and scripts/bench: everything that they need before they begin. A cluster that
# was given is used as it is; otherwise ours is brought up, and taken down again at the end unless it ran already.
# The sourcing script sets `program`, its name in messages.
# shellcheck shell=bash disable=SC2154

# A fresh checkout need not compile the same packages again: its target folder lies in the cache, by compiler and versions.
if [[ -z ${CARGO_TARGET_DIR:-} ]]; then
  targets=${XDG_CACHE_HOME:-$HOME/.cache}/airlock/target
  CARGO_TARGET_DIR=$targets/$({ rustc -vV && cat Cargo.lock; } 2>/dev/null | sha256sum | cut -c1-16)
  mkdir -p "$CARGO_TARGET_DIR"
  # Earlier versions' folders are of no use any more, and large.
  find "$targets" -mindepth 1 -maxdepth 1 ! -path "$CARGO_TARGET_DIR" -exec rm -rf {} +
  export CARGO_TARGET_DIR
fi

say() {
  echo "$program: $*" >&2
}

die() {
  say "$1"
  shift
  printf '  hint: %s\n' "$@" >&2
  exit 1
}

# timed WHAT COMMAND…: says how long it took.
timed() {
  local start=$EPOCHREALTIME
  say "$1 …"
  "${@:2}"
  say "$1: $(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }')"
}

# Names everything that is missing at once, with the way to get it.
check_machine() {
  local missing=()
  command -v cargo >/dev/null || missing+=("Rust 1.95 or newer (rustup.rs)")
  { command -v javac && command -v jar; } >/dev/null || missing+=("a JDK 17 (apt-get install openjdk-17-jdk-headless)")
  command -v python3 >/dev/null || missing+=("Python 3 (apt-get install python3 python3-venv python3-pip)")
  if [[ -z ${AIRLOCK_E2E_KUBECONFIG:-} ]]; then
    command -v go >/dev/null || missing+=("Go 1.26 (go.dev), which builds the test cluster")
    ((EUID == 0)) || missing+=("root, which the test cluster needs")
  fi
  ((${#missing[@]} == 0)) || die "this machine lacks what is needed" "${missing[@]}" \
    "for a cluster that exists already, set AIRLOCK_E2E_KUBECONFIG and AIRLOCK_E2E_IMAGE"
}

# install_packages PACKAGE=COMMAND…: Debian packages whose command is not there.
install_packages() {
  local pair missing=()
  for pair; do
    command -v "${pair#*=}" >/dev/null || missing+=("${pair%%=*}")
  done
  ((${#missing[@]})) || return 0
  ((EUID == 0)) || die "missing Debian packages, which only root can install: ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}" >/dev/null
}

bring_up_cluster() {
  if ! scripts/cluster status >/dev/null 2>&1; then
    trap 'scripts/cluster down' EXIT
    scripts/cluster up
  fi
  scripts/images import
  eval "$(scripts/cluster env)"
  export AIRLOCK_E2E_IMAGE=localhost/airlock-spark:4.3.0
}

# Afterwards: AIRLOCK_E2E_KUBECONFIG, AIRLOCK_E2E_IMAGE and AIRLOCK_E2E_SPARK_HOME are set, the image is on the nodes.
prepare_cluster() {
  if [[ -n ${AIRLOCK_E2E_KUBECONFIG:-} ]]; then
    [[ -n ${AIRLOCK_E2E_IMAGE:-} ]] || die "AIRLOCK_E2E_KUBECONFIG is set, AIRLOCK_E2E_IMAGE is not" \
      "scripts/images archive FILE writes the image; bring it to the cluster and set AIRLOCK_E2E_IMAGE to its name there"
    say "using the cluster of $AIRLOCK_E2E_KUBECONFIG"
    scripts/images build
  else
    bring_up_cluster
  fi
  AIRLOCK_E2E_SPARK_HOME=${AIRLOCK_E2E_SPARK_HOME:-$(scripts/spark-home)}
  export AIRLOCK_E2E_KUBECONFIG AIRLOCK_E2E_SPARK_HOME
}
