#!/bin/bash
# The first process of a node, run by nodes.sh in namespaces of its own. It gives the node a /run, a /var and a /proc that are not
# the machine's, so that kubelet and containerd can use their usual paths (two of them on one machine would delete each other's
# files, and some paths cannot be changed), and so that every mount they make dies with the node. Then it turns into `pause`.
set -euo pipefail
state=$1 node=$2 binaries=$3
folder=$state/$node

# Containers that ask for mount propagation need a shared tree; shared among this node's processes only, since unshare has already
# cut it from the machine's.
mount --make-rshared /
mount -t proc proc /proc
hostname "$node"

# Sockets in /run may be left from a node that died; nobody listens on them any more.
rm -rf "$folder/run"
mkdir -p "$folder/run/bin" "$folder/run/lock" "$folder$state" "$folder"/var/{cache,log,tmp,lib/{cni,containerd,kubelet}}
rm -f "$folder/var/run" "$folder/var/lock"
ln -s /run "$folder/var/run"
ln -s /run/lock "$folder/var/lock"

# Before /var is covered: the cache may lie below it.
mount --bind "$binaries" "$folder/run/bin"
mount --bind "$state" "$folder$state"
mount --rbind "$folder/run" /run
mount --rbind "$folder/var" /var

# kubelet sets these for the whole machine and gives up when it cannot. Here it sets files of the node's own.
for setting in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  mkdir -p "/run/kernel/${setting%/*}"
  cat "/proc/sys/$setting" >"/run/kernel/$setting"
  mount --bind "/run/kernel/$setting" "/proc/sys/$setting"
done

exec /run/bin/pause
