# shellcheck shell=bash
# Starting and finding our own processes. A process is ours when its number and its start time are those we wrote down:
# numbers are used again, names are used by others, so neither alone is a reason to kill.

start_time() { # pid; empty when there is no such process
  local stat
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
  # The second field is the program's name in brackets and may hold blanks; the start time is the 20th after it.
  read -ra stat <<<"${stat##*) }"
  [ "${stat[0]}" = Z ] || echo "${stat[19]}"
}

record_process() { # name, pid
  echo "$2 $(start_time "$2")" | write_file "$state/pids/$1"
}

running_pid() { # name; prints its pid, fails when it does not run
  local pid started
  { read -r pid started <"$state/pids/$1"; } 2>/dev/null || return 1
  [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ] || return 1
  echo "$pid"
}

is_running() { running_pid "$1" >/dev/null; }

kill_process() { # name
  local pid
  pid=$(running_pid "$1") || return 0
  kill -KILL "$pid" 2>/dev/null || true
}

enter_node() { # node, command...
  local node=$1 process
  shift
  process=$(running_pid "$node") || die "$node does not run"
  nsenter --target "$process" --mount --net --uts --pid --wd=/ -- \
    /usr/bin/env -i HOME=/ PATH=/run/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" \
    CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 "$@"
}

# Both unshare and nsenter stay outside and wait for the process that they put inside; that one child is the one to write down.
only_child() { # pid of the waiting parent
  local child
  while ! child=$(pgrep --parent "$1"); do
    [ -n "$(start_time "$1")" ] || return 1
    sleep 0.02
  done
  echo "$child"
}

# A background job marks itself with the node's control group before it turns into the program: from its first moment `down` can
# find it, however early this script is killed. The lock must not live on in a daemon, so it is closed.
start_in_node() { # node, name, command...
  local node=$1 name=$2 inside child
  shift 2
  is_running "$name" && return
  inside=$(running_pid "$node") || die "$node does not run"
  (
    join_control_group "$BASHPID" "$control_group/$node/system"
    exec setsid nsenter --target "$inside" --mount --net --uts --pid --wd=/ -- \
      /usr/bin/env -i HOME=/ PATH=/run/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
  ) >>"$logs/$name.log" 2>&1 </dev/null {cluster_lock}>&- &
  child=$(only_child $!) || die "$name ended at once" "$(tail -n 5 "$logs/$name.log")"
  record_process "$name" "$child"
}
