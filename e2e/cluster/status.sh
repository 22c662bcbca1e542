# shellcheck shell=bash
# Tells what runs. Asks the processes themselves, since the API server goes on calling a dead node Ready for 40 s.

all_processes() {
  local node
  echo etcd kube-apiserver kube-controller-manager kube-scheduler coredns
  for node in "${nodes[@]}"; do echo "$node containerd-$node kubelet-$node kube-proxy-$node"; done
}

report_status() {
  local name node pid answer healthy=true
  for name in $(all_processes); do
    if pid=$(running_pid "$name"); then
      printf '%-24s runs, pid %s\n' "$name" "$pid"
    else
      printf '%-24s DOES NOT RUN\n' "$name"
      healthy=false
    fi
  done
  [ -e "$admin_kubeconfig" ] || return 1
  for node in "${nodes[@]}"; do
    if ! answer=$(api_answers "/api/v1/nodes/$node/proxy/healthz" 2>&1); then
      printf '%-24s kubelet does not answer: %s\n' "$node" "${answer##*$'\n'}"
      healthy=false
    elif answer=$(node_is_ready "$node" 2>&1); then
      printf '%-24s Ready, %s\n' "$node" "$(node_address "$node")"
    else
      printf '%-24s NOT READY: %s\n' "$node" "$answer"
      healthy=false
    fi
  done
  $healthy
}

print_environment() {
  # A proxy for the outside cannot reach the nodes.
  if [ -n "${HTTPS_PROXY:-${https_proxy:-${ALL_PROXY:-}}}" ]; then
    printf 'export NO_PROXY=%q no_proxy=%q\n' "${NO_PROXY:+$NO_PROXY,}$api_address" "${no_proxy:+$no_proxy,}$api_address"
  fi
  printf 'export KUBECONFIG=%q\n' "$admin_kubeconfig"
  printf 'export AIRLOCK_E2E_KUBECONFIG=%q\n' "$admin_kubeconfig"
  printf 'export PATH=%q:"%s"\n' "$bin" "\$PATH"
}
