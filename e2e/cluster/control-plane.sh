# shellcheck shell=bash
# etcd, the API server, the controllers, the scheduler and CoreDNS: plain processes on the first node, no static pods, since a
# process is seconds faster to start and easier to kill in a test.

kubectl_admin() {
  NO_PROXY="*" no_proxy="*" "$bin/kubectl" --kubeconfig "$admin_kubeconfig" "$@"
}

# For polling: without a limit, an unreachable address would hold each question for half a minute.
api_answers() { # path
  kubectl_admin get --request-timeout 5s --raw "$1"
}

# Nothing here outlives the cluster, so etcd need not wait for the disk.
start_etcd() {
  mkdir -p "$state/etcd"
  chmod 700 "$state/etcd"
  start_in_node "$control_plane_node" etcd etcd --data-dir "$state/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
}

start_api_server() {
  start_in_node "$control_plane_node" kube-apiserver kube-apiserver --etcd-servers http://127.0.0.1:2379 \
    --advertise-address "$api_address" --secure-port 6443 --service-cluster-ip-range "$service_network" --allow-privileged \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
    --client-ca-file "$certificates/ca.crt" --cert-dir "$state/kube-apiserver" \
    --tls-cert-file "$certificates/kube-apiserver.crt" --tls-private-key-file "$certificates/kube-apiserver.key" \
    --kubelet-client-certificate "$certificates/apiserver-to-kubelet.crt" \
    --kubelet-client-key "$certificates/apiserver-to-kubelet.key" \
    --kubelet-certificate-authority "$certificates/ca.crt" --kubelet-preferred-address-types InternalIP \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$certificates/service-accounts.pub" \
    --service-account-signing-key-file "$certificates/service-accounts.key"
}

wait_for_api_server() {
  wait_for "the API server" 60 kube-apiserver api_answers /readyz
}

start_controllers() {
  start_in_node "$control_plane_node" kube-controller-manager kube-controller-manager \
    --kubeconfig "$state/kube-controller-manager.kubeconfig" --leader-elect=false --use-service-account-credentials \
    --allocate-node-cidrs=false --root-ca-file "$certificates/ca.crt" \
    --service-account-private-key-file "$certificates/service-accounts.key"
  start_in_node "$control_plane_node" kube-scheduler kube-scheduler \
    --kubeconfig "$state/kube-scheduler.kubeconfig" --leader-elect=false
}

start_dns() {
  render dns.yaml dns_service_address api_address | kubectl_admin apply --server-side --force-conflicts --filename - >/dev/null
  render Corefile api_address state | write_file "$state/Corefile"
  start_in_node "$control_plane_node" coredns coredns -conf "$state/Corefile"
}

# Without its default service account a namespace accepts no pod, and that account is the last thing the controllers make.
wait_for_control_plane() {
  wait_for "the controllers" 60 kube-controller-manager api_answers /api/v1/namespaces/default/serviceaccounts/default
  wait_for "DNS" 60 coredns api_answers "/api/v1/nodes/$control_plane_node:8181/proxy/ready"
}
