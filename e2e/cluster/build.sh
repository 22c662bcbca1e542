# shellcheck shell=bash
# Builds the cluster's binaries from the pinned Go modules, once per set of pins, into the user's cache folder. No prebuilt binary
# is downloaded: Go modules are checked against go.sum, release archives would be checked against nothing. What is built and with
# which flags stands in components.sh.

cache_key() {
  local folder
  {
    uname -m
    (cd "$cluster_source/kubernetes" && go env GOVERSION)
    cat "$cluster_source/components.sh"
    for folder in kubernetes containerd coredns pause; do
      (cd "$cluster_source/$folder" && find . -type f \( -name '*.go' -o -name 'go.*' \) | LC_ALL=C sort | xargs sha256sum)
    done
  } | sha256sum | cut -c1-16
}

# These set `cache` and `bin`: to what the pins ask for, or to what the cluster that runs was started with.
use_wanted_cache() {
  require_go
  cache=$cache_root/cluster-$(cache_key)
  bin=$cache/bin
}

use_running_cache() {
  cache=$(<"$state/cache")
  bin=$cache/bin
}

build_component() { # binary, module folder, package
  local binary=$1 folder=$2 package=$3 unfinished=$cache/unfinished
  mkdir -p "$unfinished"
  # The version control stamp is off, because it would make every commit of this repository relink all of Kubernetes.
  (cd "$cluster_source/$folder" &&
    CGO_ENABLED=0 GOFLAGS=-mod=readonly GOWORK=off nice go build -trimpath -buildvcs=false -tags "$(go_build_tags "$folder")" \
      -ldflags "$(go_link_flags "$folder")" -o "$unfinished/$binary" "$package") >"$cache/build.log" 2>&1 ||
    die "cannot build $binary" "$(tail -n 10 "$cache/build.log")" "all of it: $cache/build.log"
  mv "$unfinished/$binary" "$bin/$binary"
}

# Each binary appears in the cache when it is complete, so an interrupted build goes on where it was.
build_missing_components() {
  local component binary folder package missing=()
  for component in "${components[@]}"; do
    read -r binary _ <<<"$component"
    [ -x "$bin/$binary" ] || missing+=("$component")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  require_go
  mkdir -p "$bin"
  say "building ${#missing[@]} binaries into $cache (all of them, with nothing cached: 15 to 25 minutes on two cores)"
  for component in "${missing[@]}"; do
    read -r binary folder package <<<"$component"
    step "built $binary" build_component "$binary" "$folder" "$package"
  done
  rm -rf "$cache/unfinished" "$cache/build.log"
}

# Two builds at once would fight over the cores and the same files; the second waits, then finds everything done.
build() {
  mkdir -p "$cache"
  exec {build_lock}>"$cache/lock"
  if ! flock --nonblock "$build_lock"; then
    say "another build of the same binaries is running; waiting for it"
    flock "$build_lock"
  fi
  build_missing_components
  [ -e "$cache/pause.tar" ] || pack_pause_image
  exec {build_lock}>&-
}

# The pause image is written by hand, tar and JSON: for one static file, that is less than what any image builder needs.
pack_pause_image() {
  local work=$cache/pause.unfinished architecture layer config manifest
  case $(uname -m) in x86_64) architecture=amd64 ;; aarch64) architecture=arm64 ;; *) architecture=$(uname -m) ;; esac
  rm -rf "$work"
  mkdir -p "$work/blobs/sha256"
  tar --create --file "$work/layer.tar" --owner 0 --group 0 --mtime @0 --directory "$bin" pause
  layer=$(store_blob "$work" <"$work/layer.tar")
  config=$(printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/pause"],"User":"65535:65535"},"rootfs":{"type":"layers","diff_ids":["%s"]}}' \
    "$architecture" "${layer% *}" | store_blob "$work")
  manifest=$(printf '{"schemaVersion":2,"mediaType":"%s","config":{"mediaType":"%s","digest":"%s","size":%d},"layers":[{"mediaType":"%s","digest":"%s","size":%d}]}' \
    application/vnd.oci.image.manifest.v1+json application/vnd.oci.image.config.v1+json "${config% *}" "${config#* }" \
    application/vnd.oci.image.layer.v1.tar "${layer% *}" "${layer#* }" | store_blob "$work")
  printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s","digest":"%s","size":%d,"annotations":{"io.containerd.image.name":"localhost/pause:1"}}]}' \
    application/vnd.oci.image.manifest.v1+json "${manifest% *}" "${manifest#* }" >"$work/index.json"
  printf '{"imageLayoutVersion":"1.0.0"}' >"$work/oci-layout"
  tar --create --file "$cache/pause.tar.new" --directory "$work" oci-layout index.json blobs
  mv "$cache/pause.tar.new" "$cache/pause.tar"
  rm -rf "$work"
}

store_blob() { # layout folder; prints digest and size
  local digest
  cat >"$1/blob"
  digest=$(sha256sum "$1/blob" | cut -d' ' -f1)
  printf 'sha256:%s %d\n' "$digest" "$(stat --format %s "$1/blob")"
  mv "$1/blob" "$1/blobs/sha256/$digest"
}
