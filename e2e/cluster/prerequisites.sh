# shellcheck shell=bash
# What the machine must offer. Everything is asked at the start, so that a machine where the cluster cannot work says so in the
# first second and names the way out: a cluster from elsewhere.

another_cluster=(
  "to test against another cluster instead, set"
  "  AIRLOCK_E2E_KUBECONFIG  its kubeconfig file"
  "  AIRLOCK_E2E_IMAGE       a Spark image with the driver server in it, which its nodes can pull"
)

require_root() {
  [ "$(id -u)" = 0 ] || die "needs root, for network namespaces, mounts and control groups" "${another_cluster[@]}"
}

require_linux_features() {
  local complaint
  complaint=$(unshare --mount --net --uts --pid --fork mount -t proc proc /proc 2>&1) ||
    die "this machine does not let root make namespaces: $complaint" "${another_cluster[@]}"
  grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null ||
    die "this kernel has no overlayfs, which containerd needs" "${another_cluster[@]}"
  [ -n "$(control_group_hierarchies)" ] ||
    die "no control groups are mounted at /sys/fs/cgroup" "${another_cluster[@]}"
  # The second version hands controllers down from the root only; inside many containers that is not allowed.
  local root=/sys/fs/cgroup/cgroup.subtree_control
  if [ -e "$root" ] && ! grep -qw memory "$root"; then
    { echo +memory >"$root"; } 2>/dev/null ||
      die "control groups below /sys/fs/cgroup may not limit memory (is this a container?)" "${another_cluster[@]}"
  fi
}

require_go() {
  command -v go >/dev/null ||
    die "needs Go (any version from 1.21 on fetches the right one) to build Kubernetes, once" "${another_cluster[@]}"
}

# Distributions disagree on the folder of the network plugins.
network_plugins() {
  local folder
  for folder in /usr/lib/cni /usr/libexec/cni /opt/cni/bin; do
    if [ -x "$folder/ptp" ] && [ -x "$folder/host-local" ] && [ -x "$folder/loopback" ]; then
      echo "$folder"
      return
    fi
  done
}

missing_packages() {
  local pair
  for pair in runc:runc nft:nftables ip:iproute2 openssl:openssl curl:curl pgrep:procps flock:util-linux sysctl:procps; do
    command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}"
  done | sort -u
  [ -n "$(network_plugins)" ] || echo containernetworking-plugins
}

install_missing_packages() {
  local packages
  mapfile -t packages < <(missing_packages)
  [ "${#packages[@]}" -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "missing: ${packages[*]} (install them by hand; there is no apt-get here)"
  local log
  log=$(mktemp)
  local -a install=(apt-get install --yes --no-install-recommends -o DPkg::Lock::Timeout=300 "${packages[@]}")
  if ! DEBIAN_FRONTEND=noninteractive "${install[@]}" >"$log" 2>&1; then
    apt-get update -o DPkg::Lock::Timeout=300 >>"$log" 2>&1 || true
    DEBIAN_FRONTEND=noninteractive "${install[@]}" >>"$log" 2>&1 ||
      die "cannot install: ${packages[*]}" "$(tail -n 5 "$log")"
  fi
  rm -f "$log"
}
