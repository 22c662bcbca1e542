"""Makes the two big layers of the Spark image: canonical tars, so that the same packages give the same bytes.

Leaves to `scripts/images` where the inputs come from, and to `dockerfile.py` what is laid on top. Both inputs are read once, in
their own order, which is fixed already: mmdebstrap sorts, and Spark's archive is pinned by its digest.

usage: layer.py rootfs LAYER <DEBIAN.tar        a root file system as mmdebstrap writes it, less what no container reads
       layer.py spark LAYER <PYSPARK.tar.gz     PyPI's source archive, laid out as in Spark's own distribution
SOURCE_DATE_EPOCH is the latest time that a file may have.
"""

import hashlib
import io
import os
import re
import struct
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))

# Documentation, translations, caches, logs, devices (the container runtime makes its own), and what only a Java compiler reads.
USELESS = re.compile(
    r"(usr/share/(doc|info|lintian|locale|man)|var/cache/(apt|debconf|ldconfig)|var/lib/apt/lists|var/log|dev)/."
    r"|var/lib/dpkg/[^/]*-old$|etc/[^/]*-$|usr/lib/jvm/[^/]+/lib/ct\.sym$"
)
KEY_STORE = "etc/ssl/certs/java/cacerts"

# Where the parts of the source archive lie in the image. The tests run Python's examples, so they stay.
SPARK_PARTS = {
    "deps/bin": "bin",
    "deps/sbin": "sbin",
    "deps/jars": "jars",
    "deps/licenses": "licenses",
    "deps/examples": "examples/src/main/python",
    "pyspark": "python/pyspark",
    "lib": "python/lib",
    "LICENSE": "LICENSE",
    "NOTICE": "NOTICE",
}
# Windows, R, tests, and the Connect shell's own jars, which no driver has on its class path.
SPARK_USELESS = re.compile(r"\.cmd$|/sparkR$|docker-image-tool\.sh$|/tests/|__pycache__|/connect-repl(/|$)")


class Member(NamedTuple):
    info: tarfile.TarInfo
    content: bytes | None  # None: as in the source


Selection = Callable[[tarfile.TarFile, tarfile.TarInfo], Member | None]


def rootfs_member(source: tarfile.TarFile, info: tarfile.TarInfo) -> Member | None:
    name = info.name.removeprefix("./")
    if USELESS.match(name) or info.isdev():
        return None
    info.name = name or "."
    info.linkname = info.linkname.removeprefix("./") if info.islnk() else info.linkname
    if name != KEY_STORE:
        return Member(info, None)
    opened = source.extractfile(info)
    assert opened is not None
    return Member(info, canonical_key_store(opened.read()))


def canonical_key_store(store: bytes) -> bytes:
    """Java's list of authorities holds the second of its making, and is in the order of a hash table."""
    magic, version, count = struct.unpack_from(">III", store)
    if (magic, version) != (0xFEEDFEED, 2):
        raise SystemExit(f"layer: {KEY_STORE} is not a Java key store of version 2")
    entries, at = [], 12
    for _ in range(count):
        start = at
        (length,) = struct.unpack_from(">4xH", store, at)
        alias_end = at + 6 + length
        at = alias_end + 8
        (length,) = struct.unpack_from(">H", store, at)
        at += 2 + length
        (length,) = struct.unpack_from(">I", store, at)
        at += 4 + length
        entries.append(store[start:alias_end] + struct.pack(">Q", EPOCH * 1000) + store[alias_end + 8 : at])
    body = store[:12] + b"".join(sorted(entries))
    # The format's own keyed digest; password and salt are the same everywhere.
    return body + hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + body).digest()


def spark_member(_: tarfile.TarFile, info: tarfile.TarInfo) -> Member | None:
    name = info.name.partition("/")[2]
    for part, place in SPARK_PARTS.items():
        if name == part or name.startswith(part + "/"):
            if SPARK_USELESS.search(name):
                return None
            info.name = "opt/spark/" + place + name[len(part) :]
            info.uid = info.gid = 0
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            return Member(info, None)
    return None


def work_dir() -> tarfile.TarInfo:
    """For any user and group: which one a cluster chooses is not known here."""
    info = tarfile.TarInfo("opt/spark/work-dir")
    info.type, info.mode = tarfile.DIRTYPE, 0o1777
    return info


def add(layer: tarfile.TarFile, member: Member, content: IO[bytes] | None) -> None:
    info = member.info
    info.mtime = min(int(info.mtime), EPOCH)
    info.uname = info.gname = ""
    info.pax_headers = {}
    if member.content is not None:
        info.size, content = len(member.content), io.BytesIO(member.content)
    layer.addfile(info, content)


def write_layer(source: BinaryIO, target: Path, select: Selection) -> None:
    part = target.with_name(f"{target.name}.{os.getpid()}")
    with tarfile.open(fileobj=source, mode="r|*") as tar, tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as layer:
        for info in tar:
            member = select(tar, info)
            if member is not None:
                content = tar.extractfile(info) if info.isreg() and member.content is None else None
                add(layer, member, content)
        if select is spark_member:
            add(layer, Member(work_dir(), None), None)
    part.replace(target)


if __name__ == "__main__":
    write_layer(sys.stdin.buffer, Path(sys.argv[2]), {"rootfs": rootfs_member, "spark": spark_member}[sys.argv[1]])
