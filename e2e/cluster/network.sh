# shellcheck shell=bash
# The wires: a bridge on the machine, a cable to each node, routes between the nodes' pods. The machine itself gets no route to the
# pods. That is the point of this cluster: whoever submits from the machine reaches the API server and NodePorts, and no pod, as
# from a laptop outside of a real one. Every function leaves alone what is right and rebuilds what is not.

in_network_of() { # node, command...
  local process
  process=$(running_pid "$1") || die "$1 does not run"
  shift
  nsenter --target "$process" --net -- "$@"
}


build_bridge() {
  ip link show "$bridge" >/dev/null 2>&1 ||
    ip link add "$bridge" address "$bridge_hardware_address" type bridge
  ip address replace "$bridge_address/24" dev "$bridge"
  ip link set "$bridge" up
}

connect_node() { # node
  local node=$1 link process other
  link=$(node_link "$node")
  process=$(running_pid "$node") || die "$node does not run"

  # A cable with one end lost, or with its other end in a dead node, is replaced as a whole.
  if ! ip link show "$link" >/dev/null 2>&1 || ! in_network_of "$node" ip link show eth0 >/dev/null 2>&1; then
    ip link delete "$link" 2>/dev/null || true
    in_network_of "$node" ip link delete eth0 2>/dev/null || true
    ip link add "$link" type veth peer name eth0 address "$(node_hardware_address "$node")" netns "$process"
  fi
  ip link set "$link" master "$bridge" up

  in_network_of "$node" ip link set lo up
  in_network_of "$node" ip address replace "$(node_address "$node")/24" dev eth0
  in_network_of "$node" ip link set eth0 up
  in_network_of "$node" ip route replace default via "$bridge_address"
  for other in "${nodes[@]}"; do
    [ "$other" = "$node" ] || in_network_of "$node" ip route replace "$(node_pods "$other")" via "$(node_address "$other")"
  done
  in_network_of "$node" sysctl -qw net.ipv4.ip_forward=1

  # Answers to a pod would not find their way back from the machine; with the node's address as sender they do. So a pod can reach
  # a server on the machine (a registry, say), as pods in most clusters reach what is outside.
  in_network_of "$node" nft -f - <<EOF
table ip airlock
delete table ip airlock
table ip airlock {
  chain leaving {
    type nat hook postrouting priority srcnat;
    ip saddr $(node_pods "$node") ip daddr $bridge_address masquerade
  }
}
EOF
}

# Docker makes bridges obey iptables, and its FORWARD chain drops what Docker does not know: node1 would not reach node2. Elsewhere
# the rule is left out, since it would bring tables into being that `down` could not tell from somebody else's.
between_nodes=(FORWARD --in-interface "$bridge" --out-interface "$bridge" --jump ACCEPT)

let_nodes_through_firewall() {
  local file=/proc/sys/net/bridge/bridge-nf-call-iptables
  [ -e "$file" ] && [ "$(<"$file")" = 1 ] && command -v iptables >/dev/null || return 0
  iptables --wait --list-rules FORWARD 2>/dev/null | grep -E 'DROP|REJECT' >/dev/null || return 0
  iptables --wait --check "${between_nodes[@]}" 2>/dev/null || iptables --wait --insert "${between_nodes[@]}"
}

close_firewall() {
  ! command -v iptables >/dev/null || ! iptables --wait --check "${between_nodes[@]}" 2>/dev/null ||
    iptables --wait --delete "${between_nodes[@]}"
}

build_network() {
  local node
  build_bridge
  let_nodes_through_firewall
  for node in "${nodes[@]}"; do connect_node "$node"; done
}

remove_network() {
  local node
  for node in "${nodes[@]}"; do ip link delete "$(node_link "$node")" 2>/dev/null || true; done
  ip link delete "$bridge" 2>/dev/null || true
  close_firewall
}
