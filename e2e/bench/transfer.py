"""Jars over mutual TLS 1.3 on loopback into a folder in memory: ours, verified by SHA-256 on both sides and unpacked,
against `curl -T` to nginx, which does neither. Ours sends the jars themselves, curl one tar of them: its best case, since a
file each costs it a third of its speed. Time counts from the first dial to "verified", for curl to the answer. Both ends run
on the same cores, so speed is that of the sum of both ends' work."""

from __future__ import annotations

import argparse
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measure import Figures, Side, cpu_of, footer, interleave, peak_of, table
from nginx import Nginx
from upload import Uploader, need_space

FIGURES = {
    "mb_per_s": "speed, MB/s",
    "both_ms_per_gb": "CPU of both, ms/GB",
    "client_ms_per_gb": "CPU of client, ms/GB",
    "server_ms_per_gb": "CPU of server, ms/GB",
    "client_mib": "peak of client, MiB",
    "server_mib": "peak of server, MiB",
    "wire": "bytes on the wire / bytes",
}


def choose_jars(folder: Path, limit: int) -> list[Path]:
    """The first jars by name that fit into `limit` bytes."""
    chosen, size = [], 0
    for jar in sorted(folder.glob("*.jar")):
        size += jar.stat().st_size
        if size > limit:
            break
        chosen.append(jar)
    return chosen


def pack(jars: Sequence[Path], tar: Path) -> None:
    with tarfile.open(tar, "w", format=tarfile.USTAR_FORMAT) as archive:
        for jar in jars:
            archive.add(jar, jar.name)


def figures(size: int, seconds: float, cpu: tuple[float, float], peaks: tuple[float, float], wire: float) -> Figures:
    giga = size / 1e9
    return {
        "mb_per_s": size / 1e6 / seconds,
        "both_ms_per_gb": sum(cpu) * 1000 / giga,
        "client_ms_per_gb": cpu[0] * 1000 / giga,
        "server_ms_per_gb": cpu[1] * 1000 / giga,
        "client_mib": peaks[0],
        "server_mib": peaks[1],
        "wire": wire / size,
    }


def ours(uploader: Uploader, jars: Sequence[Path], size: int) -> Side:
    def once() -> Figures:
        result = uploader.upload(jars)
        client, server = result["client"], result["server"]
        cpu = client["cpu_ms"] / 1000, server["cpu_ms"] / 1000
        peaks = client["peak_kib"] / 1024, server["peak_kib"] / 1024
        return figures(size, result["seconds"], cpu, peaks, result["wire_bytes"])

    return Side("airlock", once)


def curl(nginx: Nginx, tar: Path, size: int) -> Side:
    def once() -> Figures:
        before = cpu_of(nginx.process.pid)
        seconds, cpu, peak = nginx.put(tar)
        spent = cpu_of(nginx.process.pid) - before
        return figures(size, seconds, (cpu, spent), (peak, peak_of(nginx.process.pid)), tar.stat().st_size)

    return Side("curl, nginx", once)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="airlock-bench-transfer")
    parser.add_argument("--server", required=True, type=Path, help="airlock-driver")
    parser.add_argument("--jars", required=True, type=Path, help="folder with jars")
    parser.add_argument("--sink", required=True, type=Path)
    parser.add_argument("--rounds", required=True, type=int)
    parser.add_argument("--megabytes", type=int, default=300)
    options = parser.parse_args()

    jars = choose_jars(options.jars, options.megabytes * 1_000_000)
    size = sum(jar.stat().st_size for jar in jars)
    need_space(options.sink, 2 * size)
    with (
        tempfile.TemporaryDirectory(prefix="airlock-bench-") as work,
        tempfile.TemporaryDirectory(prefix="airlock-bench-", dir=options.sink) as sink,
    ):
        tar = Path(work, "jars.tar")
        pack(jars, tar)
        nginx = Nginx(Path(work), Path(sink))
        try:
            uploader = Uploader(options.program, options.server, Path(sink))
            sides = [ours(uploader, jars, size), curl(nginx, tar, size)]
            others = interleave(sides, options.rounds, [nginx.process.pid])
        finally:
            nginx.stop()
    table(f"transfer: {len(jars)} of Spark's jars, {size / 1e6:.0f} MB, into {options.sink}", sides, FIGURES)
    footer(others, options.rounds)


if __name__ == "__main__":
    main()
