# shellcheck shell=bash
# How the scripts speak, wait and fail. Each step is one line with its time; what a step's programs print is kept for its failure.

step_name=
step_start=

say() { printf '%s\n' "$*" >&2; }

die() {
  say "cluster: $1"
  shift
  local line
  for line in "$@"; do say "  $line"; done
  step_name=
  exit 1
}

seconds_since() { # a value of EPOCHREALTIME
  local microseconds=$((${EPOCHREALTIME/[.,]/} - ${1/[.,]/}))
  printf '%d.%d' $((microseconds / 1000000)) $((microseconds / 100000 % 10))
}

# Not `if "$@"`: that would switch off errexit inside the step. A step that fails ends the script, and the exit trap says which.
step() { # what it does, command...
  local name=$1 start=$EPOCHREALTIME
  step_name=$name step_start=$start
  shift
  "$@"
  printf '%7ss  %s\n' "$(seconds_since "$start")" "$name" >&2
  step_name=
}

report_failed_step() {
  local status=$?
  if [ "$status" != 0 ] && [ -n "$step_name" ]; then
    printf '%7ss  %s: FAILED\n' "$(seconds_since "$step_start")" "$step_name" >&2
  fi
}
trap report_failed_step EXIT

# A dead process never becomes ready, so its death ends the wait at once, with its last words.
wait_for() { # what, seconds, process that must stay alive or "-", command...
  local what=$1 seconds=$2 process=$3
  shift 3
  local deadline=$((SECONDS + seconds)) complaint
  until complaint=$("$@" 2>&1); do
    if [ "$process" != - ] && ! is_running "$process"; then
      die "$process died while waiting for: $what" "$(tail -n 5 "$logs/$process.log")"
    fi
    if [ "$SECONDS" -ge "$deadline" ]; then
      die "gave up after ${seconds}s waiting for: $what" "${complaint:-no answer}" "logs: $logs"
    fi
    sleep 0.1
  done
}

# Files appear whole or not at all: an interrupted `up` must not leave a half-written one for the next to trust.
write_file() { # path; text on standard input
  cat >"$1.new"
  mv "$1.new" "$1"
}

render() { # template; names of variables, written as @name@ in it
  local text name
  text=$(<"$cluster_source/config/$1")
  shift
  for name in "$@"; do text=${text//"@$name@"/${!name}}; done
  printf '%s\n' "$text"
}
