# shellcheck shell=bash
# Takes the cluster away, also one that never came up, or whose notes are lost: whatever is in its control groups, on its links and
# in its folder goes, and nothing else. The binaries stay in the cache.

# Death of a node's first process takes the whole node with it. SIGKILL from the start: nothing in here is worth saving.
kill_nodes() {
  local node folder pid
  for node in "${nodes[@]}"; do kill_process "$node"; done
  for folder in $(control_group_folders); do
    [ -e "$folder/cgroup.procs" ] || continue
    while read -r pid; do kill -KILL "$pid" 2>/dev/null || true; done <"$folder/cgroup.procs"
  done
  wait_for "the end of all processes" 10 - nothing_runs
}

nothing_runs() {
  local folder name left=
  for name in "$state"/pids/*; do
    if [ -e "$name" ] && is_running "${name##*/}"; then left+=" ${name##*/}"; fi
  done
  for folder in $(control_group_folders); do
    [ ! -e "$folder/cgroup.procs" ] || left+=$(tr '\n' ' ' <"$folder/cgroup.procs")
  done
  [ -z "$left" ] || { echo "still there: $left"; return 1; }
}

remove_control_groups() {
  wait_for "the end of all control groups" 10 - control_groups_are_gone
}

# A group whose last process has just died stays busy for a moment.
control_groups_are_gone() {
  local folder
  for folder in $(control_group_folders); do rmdir "$folder"; done
  [ -z "$(control_group_folders)" ]
}

# All mounts were the nodes' and went with them. Should one be left in spite of it, what is mounted must not be deleted through it.
remove_files() {
  rm -rf --one-file-system "$state"
}

take_down() {
  step "killed all processes" kill_nodes
  step "removed the network" remove_network
  step "removed the control groups" remove_control_groups
  step "removed the files" remove_files
}
