# shellcheck shell=bash
# What the cluster is made of, and how each binary is built. The versions stand in the go.mod files beside this one and nowhere
# else. The cache key is the hash of this file, the modules and the Go version: whatever changes a binary belongs in here, whatever
# does not belongs in build.sh, where a change costs nobody a rebuild.

# binary, module folder, package. The order is chosen for the clock of a cold build: the kubelet first, because nearly every
# package that the other Kubernetes binaries need is compiled for it or for the API server.
components=(
  "kubelet                 kubernetes k8s.io/kubernetes/cmd/kubelet"
  "kube-apiserver          kubernetes k8s.io/kubernetes/cmd/kube-apiserver"
  "kube-controller-manager kubernetes k8s.io/kubernetes/cmd/kube-controller-manager"
  "kube-scheduler          kubernetes k8s.io/kubernetes/cmd/kube-scheduler"
  "kube-proxy              kubernetes k8s.io/kubernetes/cmd/kube-proxy"
  "kubectl                 kubernetes k8s.io/kubernetes/cmd/kubectl"
  "etcd                    kubernetes go.etcd.io/etcd/server/v3"
  "containerd              containerd github.com/containerd/containerd/v2/cmd/containerd"
  "containerd-shim-runc-v2 containerd github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2"
  "ctr                     containerd github.com/containerd/containerd/v2/cmd/ctr"
  "coredns                 coredns    airlock.test/cluster/coredns"
  "pause                   pause      airlock.test/cluster/pause"
)

module_version() { # folder, module
  awk -v module="$2" '$1 == module && $2 ~ /^v/ { print $2; exit }' "$cluster_source/$1/go.mod"
}

# Kubernetes and containerd learn their own version from the linker only; without it the API server calls itself v0.0.0 and clients
# that look at the server's version behave as towards an ancient one.
go_link_flags() { # folder
  case $1 in
    kubernetes) printf '%s' "-s -w -X k8s.io/component-base/version.gitVersion=$(module_version kubernetes k8s.io/kubernetes)" ;;
    containerd) printf '%s' "-s -w -X github.com/containerd/containerd/v2/version.Version=$(module_version containerd github.com/containerd/containerd/v2)" ;;
    *) printf '%s' "-s -w" ;;
  esac
}

# The storage drivers left out need C libraries or programs that a plain machine does not have; the cluster uses overlayfs.
go_build_tags() { # folder
  if [ "$1" = containerd ]; then echo no_btrfs,no_devmapper,no_zfs; fi
}
