"""One upload by our own code: `airlock-bench-transfer` sends files to an `airlock-driver` that it starts, into a folder that
is emptied afterwards. What it is compared with is the matter of `transfer` and `memory`."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import run


@dataclass(frozen=True)
class Uploader:
    """The binaries, and the folder that uploads go to."""

    program: Path
    server: Path
    sink: Path

    def upload(self, files: Sequence[Path]) -> dict[str, Any]:
        """What the program printed."""
        directory = Path(tempfile.mkdtemp(dir=self.sink))
        said = directory / "said"
        try:
            ended = run([self.program, self.server, directory, *files], output=said)
            if ended.status != 0:
                raise SystemExit(f"bench: the upload ended with {ended.status}:\n{said.read_text()}")
            check_sizes(directory / "data/bundle/jars", files)
            result: dict[str, Any] = json.loads(said.read_text())
            return result
        finally:
            shutil.rmtree(directory)


def check_sizes(arrived: Path, files: Sequence[Path]) -> None:
    """The server has checked every digest; this only makes sure that it wrote where we looked."""
    for file in files:
        if (arrived / file.name).stat().st_size != file.stat().st_size:
            raise SystemExit(f"bench: {file.name} did not arrive as it was sent")


def need_space(folder: Path, size: int) -> None:
    """Ends here rather than with a full disk."""
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < size:
        found_and_needed = f"{folder} has {free >> 20} MiB free, {size >> 20} MiB are needed"
        raise SystemExit(f"bench: {found_and_needed}; choose another: --sink, TMPDIR")
