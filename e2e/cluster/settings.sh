# shellcheck shell=bash
# Every name, address and path of the cluster, in one place. They are fixed on purpose: there is one cluster per machine, and a
# test that fails is easier to read when node1 is always 10.77.0.11.

nodes=(node1 node2)
control_plane_node=node1

bridge=al0
bridge_address=10.77.0.1
pod_network=10.244.0.0/16
service_network=10.96.0.0/16
api_service_address=10.96.0.1
dns_service_address=10.96.0.10

node_number() { echo "${1#node}"; }
node_address() { echo "10.77.0.1$(node_number "$1")"; }
node_pods() { echo "10.244.$(node_number "$1").0/24"; }
# Fixed too: a rebuilt cable with another hardware address would be unreachable until its neighbours forget the old one.
bridge_hardware_address=02:00:0a:4d:00:01
node_hardware_address() { printf '02:00:0a:4d:01:%02x' "$(node_number "$1")"; }
node_link() { echo "al-$1"; }

api_address=$(node_address "$control_plane_node")
api_url="https://$api_address:6443"

# Not under the user's home: the cluster belongs to the machine, and the paths of unix sockets in it must stay below 108 bytes.
# The nodes see it too, at the same path; node-init.sh counts on its being below /var.
state=/var/lib/airlock-cluster
logs=$state/log
certificates=$state/certificates
admin_kubeconfig=$state/admin.kubeconfig
node_folder() { echo "$state/$1"; }
containerd_socket() { echo "$state/$1/run/containerd/containerd.sock"; }

# One control group holds everything that runs, in each hierarchy; `down` finds by it what no file tells of any more.
control_group=airlock-cluster

cache_root=${XDG_CACHE_HOME:-$HOME/.cache}/airlock
