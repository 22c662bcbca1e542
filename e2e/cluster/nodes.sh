# shellcheck shell=bash
# A node: namespaces held open by one process, and in them containerd, kubelet and kube-proxy. Killing that one process makes the
# kernel kill every other in the node, containers too, and drop its mounts and its network: nothing has to be hunted down.

start_node() { # node
  local node=$1 child
  is_running "$node" && return
  # After a node's death its pods' groups are left, empty; a new kubelet would ask containerd about each for seconds.
  remove_control_group "$control_group/$node"
  make_control_group "$control_group/$node/system"
  mkdir -p "$(node_folder "$node")"
  (
    join_control_group "$BASHPID" "$control_group/$node/system"
    exec setsid unshare --mount --net --uts --pid --fork -- "$cluster_source/node-init.sh" "$state" "$node" "$bin"
  ) >"$logs/$node.log" 2>&1 </dev/null {cluster_lock}>&- &
  child=$(only_child $!) || die "$node ended at once" "$(tail -n 5 "$logs/$node.log")"
  record_process "$node" "$child"
  wait_for "$node's own /run and /var" 10 "$node" node_is_set_up "$node"
}

node_is_set_up() { # node
  [ "$(<"/proc/$(running_pid "$1")/comm")" = pause ]
}

start_nodes() {
  local node
  for node in "${nodes[@]}"; do start_node "$node"; done
}

start_containerd() { # node
  local node=$1 folder pods plugins
  folder=$(node_folder "$node")
  pods=$(node_pods "$node") plugins=$(network_plugins)
  mkdir -p "$folder/etc/network"
  render containerd.toml folder plugins | write_file "$folder/etc/containerd.toml"
  render pods.conflist pods | write_file "$folder/etc/network/10-pods.conflist"
  start_in_node "$node" "containerd-$node" containerd --config "$folder/etc/containerd.toml"
}

# Each only waits for its own socket, so all nodes start at once before the first is asked.
start_all_containerd() {
  local node
  for node in "${nodes[@]}"; do start_containerd "$node"; done
  for node in "${nodes[@]}"; do
    wait_for "containerd on $node" 30 "containerd-$node" ctr_on "$node" version
  done
}

ctr_on() { # node, ctr arguments...
  local node=$1
  shift
  # The machine's first version of control groups is old news on every call.
  CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 "$bin/ctr" --address "$(containerd_socket "$node")" --namespace k8s.io "$@"
}

start_kubelet() { # node
  local node=$1 folder node_control_group=$control_group/$1
  folder=$(node_folder "$node")
  render kubelet.yaml certificates node node_control_group dns_service_address | write_file "$folder/etc/kubelet.yaml"
  start_in_node "$node" "kubelet-$node" kubelet --config "$folder/etc/kubelet.yaml" --kubeconfig "$state/kubelet-$node.kubeconfig" \
    --hostname-override "$node" --node-ip "$(node_address "$node")"
}

# The kernel's connection tracking limits belong to the machine, not to the node: kube-proxy may not set them and is told not to try.
start_kube_proxy() { # node
  local node=$1
  start_in_node "$node" "kube-proxy-$node" kube-proxy --kubeconfig "$state/kube-proxy.kubeconfig" --hostname-override "$node" \
    --proxy-mode nftables --cluster-cidr "$pod_network" \
    --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0 --conntrack-tcp-timeout-close-wait 0
}

start_kubelets_and_proxies() {
  local node
  for node in "${nodes[@]}"; do
    start_kubelet "$node"
    start_kube_proxy "$node"
  done
}

# A node's word that it is Ready stays for 40 s after its death. So the processes are asked, and the word must be younger than the
# kubelet.
wait_for_nodes() {
  local node
  for node in "${nodes[@]}"; do
    wait_for "kubelet on $node" 60 "kubelet-$node" api_answers "/api/v1/nodes/$node/proxy/healthz"
    wait_for "$node to be Ready" 60 "kubelet-$node" node_is_ready "$node"
    wait_for "kube-proxy on $node" 60 "kube-proxy-$node" api_answers "/api/v1/nodes/$node:10256/proxy/healthz"
  done
}

node_is_ready() { # node; prints the reason when it is not
  local status said reason
  IFS=' ' read -r status said reason < <(kubectl_admin get node "$1" --request-timeout 5s --output \
    'jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.lastHeartbeatTime} {.message}{end}')
  if [ "$status" != True ]; then
    echo "${reason:-no status}"
    return 1
  fi
  if [ "$(date --date "$said" +%s)" -lt "$(stat --format %Y "$state/pids/kubelet-$1")" ]; then
    echo "last said so before its kubelet was started"
    return 1
  fi
}
