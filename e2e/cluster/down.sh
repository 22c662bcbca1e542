# shellcheck shell=bash
# Takes the cluster away, also one that never came up, or whose notes are lost: whatever is in its control groups, on its links and
# in its folder goes, and nothing else. The binaries stay in the cache.

# Death of a node's first process takes the whole node with it. SIGKILL from the start: nothing in here is worth saving.
kill_nodes() {
  local node pid
  for node in "${nodes[@]}"; do kill_process "$node"; done
  for pid in $(control_group_processes "$control_group"); do kill -KILL "$pid" 2>/dev/null || true; done
  wait_for "the end of all processes" 10 - nothing_runs
}

nothing_runs() {
  local name left
  left=$(control_group_processes "$control_group")
  for name in "$state"/pids/*; do
    if is_running "${name##*/}"; then left+=" ${name##*/}"; fi
  done
  [ -z "$left" ] || { echo "still there: ${left//$'\n'/ }"; return 1; }
}

# All mounts were the nodes' and went with them. Should one be left in spite of it, what is mounted must not be deleted through it.
# Many hands, because on a disk that others keep busy each deletion waits for the file system's journal, and there are thousands.
remove_files() {
  [ -e "$state" ] || return 0
  find "$state" -xdev ! -type d -print0 | xargs --null --no-run-if-empty --max-args 50 --max-procs 32 rm -f
  # Deep enough to divide the folders of an unpacked image, all at one depth so that no two hands meet.
  find "$state" -xdev -mindepth 11 -maxdepth 11 -print0 | xargs --null --no-run-if-empty --max-args 10 --max-procs 32 rm -rf
  rm -rf --one-file-system "$state"
}

take_down() {
  step "killed all processes" kill_nodes
  step "removed the network" remove_network
  step "removed the control groups" remove_control_group "$control_group"
  step "removed the files" remove_files
}
