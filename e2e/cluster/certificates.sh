# shellcheck shell=bash
# One certificate authority for everything that speaks to the API server, and a kubeconfig for each of its clients. Made once per
# cluster and thrown away with it.

# The key may be lost half-way, the certificate appears last and complete: so its presence means that all is there.
make_authority() {
  [ -e "$certificates/ca.crt" ] && return
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=airlock-test-cluster \
    -keyout "$certificates/ca.key" -out "$certificates/ca.crt.new" 2>/dev/null
  mv "$certificates/ca.crt.new" "$certificates/ca.crt"
}

make_certificate() { # file name, subject, alternative names, key options for openssl...
  local file=$certificates/$1 subject=$2 names=$3
  shift 3
  [ -e "$file.crt" ] && return
  openssl req -new "$@" -nodes -subj "$subject" -keyout "$file.key" -out "$file.csr" 2>/dev/null
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "$names" >"$file.ext"
  openssl x509 -req -in "$file.csr" -CA "$certificates/ca.crt" -CAkey "$certificates/ca.key" -days 365 \
    -set_serial "0x$(openssl rand -hex 16)" -extfile "$file.ext" -out "$file.crt.new" 2>/dev/null
  rm "$file.csr" "$file.ext"
  mv "$file.crt.new" "$file.crt"
}

# The certificates travel inside: a test may copy the file, or run as a user who may not read this folder.
make_kubeconfig() { # user, path
  [ -e "$2" ] && return
  local authority certificate key
  authority=$(base64 --wrap 0 "$certificates/ca.crt")
  certificate=$(base64 --wrap 0 "$certificates/$1.crt")
  key=$(base64 --wrap 0 "$certificates/$1.key")
  (umask 077 && write_file "$2") <<EOF
apiVersion: v1
kind: Config
clusters:
- name: airlock
  cluster: {server: "$api_url", certificate-authority-data: $authority}
users:
- name: $1
  user: {client-certificate-data: $certificate, client-key-data: $key}
contexts:
- name: airlock
  context: {cluster: airlock, user: $1}
current-context: airlock
EOF
}

make_all_certificates() {
  local ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256) node user
  mkdir -p "$certificates"
  chmod 700 "$certificates"
  make_authority

  make_certificate kube-apiserver /CN=kube-apiserver \
    "IP:127.0.0.1,IP:$api_address,IP:$api_service_address,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local" "${ec[@]}"
  make_certificate apiserver-to-kubelet /O=system:masters/CN=kube-apiserver-kubelet-client DNS:kube-apiserver "${ec[@]}"
  # RSA, because upstream's spark-submit, which tests compare with, cannot read elliptic-curve client keys.
  make_certificate admin /O=system:masters/CN=admin DNS:admin -newkey rsa:2048
  for user in kube-controller-manager kube-scheduler kube-proxy; do
    make_certificate "$user" "/CN=system:$user" "DNS:$user" "${ec[@]}"
  done
  make_certificate coredns /CN=coredns DNS:coredns "${ec[@]}"
  for node in "${nodes[@]}"; do
    make_certificate "kubelet-$node" "/O=system:nodes/CN=system:node:$node" "DNS:$node,IP:$(node_address "$node")" "${ec[@]}"
  done

  if [ ! -e "$certificates/service-accounts.pub" ]; then
    openssl genrsa -out "$certificates/service-accounts.key" 2048 2>/dev/null
    openssl rsa -in "$certificates/service-accounts.key" -pubout 2>/dev/null | write_file "$certificates/service-accounts.pub"
  fi

  for user in kube-controller-manager kube-scheduler kube-proxy coredns "${nodes[@]/#/kubelet-}"; do
    make_kubeconfig "$user" "$state/$user.kubeconfig"
  done
  make_kubeconfig admin "$admin_kubeconfig"
}
