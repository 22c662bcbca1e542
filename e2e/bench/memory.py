"""Whether memory grows with the bundle: the peak of both sides for 4 GiB and for 40 MiB, once of bytes that nothing can
compress and once of zeros, which compress a thousandfold."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from measure import Figures, Side, footer, interleave, table
from upload import Uploader, need_space

MIB = 1024 * 1024
BLOCK = 16 * MIB
FIGURES = {"client_mib": "peak of client, MiB", "server_mib": "peak of server, MiB", "seconds": "seconds"}


def write_random(file: Path, size: int) -> None:
    """One random block again and again: it lies further back than any window of deflate."""
    block = os.urandom(BLOCK)
    with file.open("wb") as sink:
        for start in range(0, size, BLOCK):
            sink.write(block[: size - start])


def write_zeros(file: Path, size: int) -> None:
    with file.open("wb") as sink:
        sink.truncate(size)


def side(name: str, uploader: Uploader, file: Path) -> Side:
    def once() -> Figures:
        result = uploader.upload([file])
        client, server = result["client"]["peak_kib"] / 1024, result["server"]["peak_kib"] / 1024
        return {"client_mib": client, "server_mib": server, "seconds": result["seconds"]}

    return Side(name, once)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, type=Path, help="airlock-bench-transfer")
    parser.add_argument("--server", required=True, type=Path, help="airlock-driver")
    parser.add_argument("--sink", required=True, type=Path)
    parser.add_argument("--rounds", required=True, type=int)
    parser.add_argument("--large-mib", type=int, default=4096)
    options = parser.parse_args()

    sizes = {f"{options.large_mib} MiB": options.large_mib * MIB, "40 MiB": 40 * MIB}
    for what, write in (("random bytes", write_random), ("zeros", write_zeros)):
        with (
            tempfile.TemporaryDirectory(prefix="airlock-bench-") as work,
            tempfile.TemporaryDirectory(prefix="airlock-bench-", dir=options.sink) as sink,
        ):
            need_space(Path(work), sum(sizes.values()))
            need_space(Path(sink), max(sizes.values()))
            uploader = Uploader(options.program, options.server, Path(sink))
            sides = []
            for name, size in sizes.items():
                file = Path(work, f"{size}.bin")
                write(file, size)
                sides.append(side(name, uploader, file))
            others = interleave(sides, options.rounds)
        table(f"memory: {what}", sides, FIGURES)
        footer(others, options.rounds)


if __name__ == "__main__":
    main()
