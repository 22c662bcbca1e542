# shellcheck shell=bash
# Puts OCI archives into both nodes' containerd. There is no registry: pods use what is imported, with `imagePullPolicy:
# IfNotPresent` or `Never`.

# The index names every image in the archive by its digest, and those stand for all bytes below them. So this one small member
# tells archives apart, and half a gigabyte need not be read to find that it is already there.
archive_index() { # file
  tar --extract --to-stdout --occurrence=1 --file "$1" index.json 2>/dev/null ||
    die "$1 is no OCI archive: it holds no index.json"
}

images_on() { # node; prints name and digest of each
  ctr_on "$1" images list | awk '{ print $1, $3 }'
}

# A name may since have been given to another image or been deleted; so the record is compared with what containerd holds now.
is_imported() { # node, record of an earlier import
  [ -s "$2" ] || return 1
  local now
  now=$(images_on "$1")
  ! grep --invert-match --line-regexp --fixed-strings --quiet --file <(echo "$now") "$2"
}

import_on_node() { # node, file, its index
  local node=$1 file=$2 index=$3 record digests
  record=$state/$node/imported/$(sha256sum <<<"$index" | cut -d' ' -f1)
  is_imported "$node" "$record" && return
  ctr_on "$node" images import "$file" >"$logs/import-$node.log" 2>&1 ||
    die "$node does not take $file" "$(tail -n 5 "$logs/import-$node.log")"
  mkdir -p "$state/$node/imported"
  digests=$(grep -oE 'sha256:[0-9a-f]{64}' <<<"$index")
  images_on "$node" | grep --fixed-strings "$digests" | write_file "$record"
}

import_archive() { # file
  local index node imports=() import
  index=$(archive_index "$1")
  for node in "${nodes[@]}"; do
    import_on_node "$node" "$1" "$index" &
    imports+=($!)
  done
  for import in "${imports[@]}"; do wait "$import"; done
}
