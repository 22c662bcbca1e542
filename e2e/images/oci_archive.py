"""OCI images as plain files: a store of blobs, layers and manifests that depend on nothing but their input, and archives.

Leaves to others what goes into a layer (`dockerfile.py`, `layer.py`). No engine and no third-party module: `docker` needs a
daemon, buildah's vfs driver copies every layer whole, and neither promises the same digest twice.

usage: oci_archive.py STORE REFERENCE [--config | ARCHIVE [--without REFERENCE]]
Prints the reference and the digest of an image of the store, and writes it as an archive for `ctr images import`. With --without,
the layers of that other image are left out: for a node that has imported it, the small rest is enough. --config prints what
containers of the image start with.
"""

import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"  # not compressed: jars do not shrink, and unpacking is what costs a node time
REFERENCE = "org.opencontainers.image.ref.name"
CONTAINERD_NAME = "io.containerd.image.name"

Descriptor = dict[str, Any]


class Image(NamedTuple):
    """Layers from the bottom up, and the part of the config that containers start with."""

    layers: list[Descriptor]
    run: dict[str, Any]


class Store:
    """A folder of blobs, named by their digests, and of image references."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "blobs" / "sha256").mkdir(parents=True, exist_ok=True)
        (root / "references").mkdir(exist_ok=True)

    def blob(self, digest: str) -> Path:
        return self.root / "blobs" / digest.replace(":", "/")

    def add_json(self, media_type: str, value: object) -> Descriptor:
        text = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        digest = "sha256:" + hashlib.sha256(text).hexdigest()
        write_whole(self.blob(digest), text)
        return {"mediaType": media_type, "digest": digest, "size": len(text)}

    def add_layer(self, tar: Path) -> Descriptor:
        """Takes a tar in as it is; a hard link, so that the cached layers are on disk once."""
        with tar.open("rb") as opened:
            digest = "sha256:" + hashlib.file_digest(opened, "sha256").hexdigest()
        blob = self.blob(digest)
        if not blob.exists():
            try:
                os.link(tar, blob)
            except OSError:  # another file system
                shutil.copyfile(tar, blob)
        return {"mediaType": LAYER, "digest": digest, "size": tar.stat().st_size}

    def tag(self, reference: str, image: Image, created: str) -> Descriptor:
        config = {
            "architecture": architecture(),
            "os": "linux",
            "created": created,
            "config": image.run,
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in image.layers]},
            "history": [{"created": created, "created_by": layer["digest"]} for layer in image.layers],
        }
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": self.add_json(CONFIG, config),
            "layers": image.layers,
        }
        descriptor = self.add_json(MANIFEST, manifest)
        write_whole(self.reference(reference), json.dumps(descriptor).encode())
        return descriptor

    def reference(self, reference: str) -> Path:
        return self.root / "references" / reference.replace("/", "+")

    def find(self, reference: str) -> Descriptor:
        try:
            return read_json(self.reference(reference))
        except FileNotFoundError:
            raise SystemExit(f"oci_archive: no image {reference} in {self.root}") from None

    def manifest(self, reference: str) -> dict[str, Any]:
        return read_json(self.blob(self.find(reference)["digest"]))

    def image(self, reference: str) -> Image:
        manifest = self.manifest(reference)
        config = read_json(self.blob(manifest["config"]["digest"]))
        return Image(manifest["layers"], config["config"])

    def prune(self) -> None:
        """Deletes what no reference leads to: each build of a program leaves a layer behind."""
        used = set()
        for file in (self.root / "references").iterdir():
            descriptor = read_json(file)
            manifest = read_json(self.blob(descriptor["digest"]))
            used |= {blob["digest"].partition(":")[2] for blob in [descriptor, manifest["config"], *manifest["layers"]]}
        for file in (self.root / "blobs" / "sha256").iterdir():
            if file.name not in used:
                file.unlink()


def architecture() -> str:
    """The machine's name as Go and OCI spell it: images are built for the machine that builds them."""
    machine = os.uname().machine
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def read_json(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def write_whole(path: Path, content: bytes) -> None:
    """All or nothing, since an interrupted build must not leave half a blob under a digest's name."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)


def append(archive: tarfile.TarFile, name: str, content: BinaryIO, size: int) -> None:
    member = tarfile.TarInfo(name)  # owner 0, time 0: the archive too depends on its content alone
    member.size = size
    member.mode = 0o444
    archive.addfile(member, content)


def write_archive(store: Store, target: Path, reference: str, left_out: Iterable[str]) -> None:
    descriptor, manifest, skip = store.find(reference), store.manifest(reference), set(left_out)
    names = {REFERENCE: reference.rpartition(":")[2], CONTAINERD_NAME: reference}
    index = {"schemaVersion": 2, "manifests": [descriptor | {"annotations": names}]}
    texts = {"oci-layout": {"imageLayoutVersion": "1.0.0"}, "index.json": index}
    part = target.with_name(f"{target.name}.{os.getpid()}")
    with tarfile.open(part, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, value in texts.items():
            text = json.dumps(value, sort_keys=True).encode()
            append(archive, name, io.BytesIO(text), len(text))
        for blob in [descriptor, manifest["config"], *manifest["layers"]]:
            if blob["digest"] not in skip:
                with store.blob(blob["digest"]).open("rb") as content:
                    append(archive, "blobs/" + blob["digest"].replace(":", "/"), content, blob["size"])
    part.replace(target)


def main(arguments: list[str]) -> None:
    store, reference = Store(Path(arguments[0])), arguments[1]
    if arguments[2:] == ["--config"]:
        print(json.dumps(store.image(reference).run))
        return
    left_out: list[str] = []
    if arguments[3:4] == ["--without"]:
        left_out = [layer["digest"] for layer in store.image(arguments[4]).layers]
    if len(arguments) > 2:
        write_archive(store, Path(arguments[2]), reference, left_out)
    print(reference, store.find(reference)["digest"])


if __name__ == "__main__":
    main(sys.argv[1:])
