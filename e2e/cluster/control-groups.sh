# shellcheck shell=bash
# Control groups of the nodes: made for kubelet, which wants its root to exist, and kept as the one mark on everything that runs in
# the cluster, so that `down` finds processes of which no file tells any more.

# Version 1 mounts one hierarchy per controller, version 2 a single one at the top.
control_group_hierarchies() {
  awk '$3 ~ /^cgroup2?$/ && $2 ~ "^/sys/fs/cgroup" { print $2 }' /proc/mounts
}

make_control_group() { # path below each hierarchy
  local hierarchy parent part controller file
  for hierarchy in $(control_group_hierarchies); do
    parent=$hierarchy
    for part in ${1//\// }; do
      if [ "$hierarchy" = /sys/fs/cgroup ]; then
        for controller in cpuset cpu io memory hugetlb pids; do
          echo "+$controller" >"$parent/cgroup.subtree_control" 2>/dev/null || true
        done
      fi
      mkdir -p "$parent/$part"
      # A new group of the old cpuset controller has no cores and no memory, and takes no process before it has.
      for file in cpuset.mems cpuset.cpus; do
        if [ -e "$parent/$part/$file" ] && [ -e "$parent/cgroup.clone_children" ] && [ -z "$(<"$parent/$part/$file")" ]; then
          cat "$parent/$file" >"$parent/$part/$file"
        fi
      done
      parent=$parent/$part
    done
  done
}

# One hierarchy is enough to find a process again, and the others stay as they are: whoever limits the memory of this shell also
# limits the cluster's.
join_control_group() { # pid, path
  local hierarchy
  for hierarchy in /sys/fs/cgroup/pids /sys/fs/cgroup; do
    if [ -e "$hierarchy/$2/cgroup.procs" ]; then
      echo "$1" >"$hierarchy/$2/cgroup.procs"
      return
    fi
  done
}

control_group_folders() { # path; deepest first
  local hierarchy
  for hierarchy in $(control_group_hierarchies); do
    [ ! -d "$hierarchy/$1" ] || find "$hierarchy/$1" -depth -type d
  done
}

control_group_processes() { # path
  local folder
  for folder in $(control_group_folders "$1"); do
    [ ! -e "$folder/cgroup.procs" ] || cat "$folder/cgroup.procs" 2>/dev/null || true
  done
}

remove_control_group() { # path
  wait_for "the end of the control groups $1" 10 - control_group_is_gone "$1"
}

# A group whose last process has just died stays busy for a moment.
control_group_is_gone() { # path
  local folder
  for folder in $(control_group_folders "$1"); do rmdir "$folder"; done
  [ -z "$(control_group_folders "$1")" ]
}
