"""Builds an image from a Dockerfile without an engine: ARG, FROM, ADD, COPY, ENV, WORKDIR, USER and ENTRYPOINT.

So the Dockerfiles that people copy are the ones that the tests run. There is no RUN, on purpose: every byte of the image comes
from a file of the context, hence the same files give the same digest. What it does not know it refuses.

usage: dockerfile.py STORE DOCKERFILE CONTEXT REFERENCE [ARG=VALUE...]
The context is a folder; FROM names an image of the store, or scratch. An ADDed tar becomes a layer as it is, at / only.
SOURCE_DATE_EPOCH is the time of everything.
"""

import json
import os
import re
import shlex
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from oci_archive import Image, Store

EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))


class Instruction(NamedTuple):
    word: str
    rest: str


def instructions(text: str) -> Iterator[Instruction]:
    """One a line; a backslash at the end joins lines, a line that starts with # is a comment."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield Instruction(word.upper(), rest.strip())


def substitute(text: str, values: dict[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name not in values:
            raise SystemExit(f"dockerfile: ${name} has no value")
        return values[name]

    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", value, text)


class Build:
    """The image so far; each method is one instruction."""

    def __init__(self, store: Store, context: Path, given: dict[str, str]) -> None:
        self.store, self.context, self.given = store, context, given
        self.arguments: dict[str, str] = {}
        self.image = Image([], {})

    def run(self, text: str) -> Image:
        for word, rest in instructions(text):
            step = getattr(self, "do_" + word.lower(), None)
            if step is None:
                raise SystemExit(f"dockerfile: {word} is not supported: {word} {rest}")
            step(rest if word == "ARG" else substitute(rest, self.arguments | self.environment()))
        return self.image

    def environment(self) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.image.run.get("Env", []))

    def do_arg(self, rest: str) -> None:
        name, _, default = rest.partition("=")
        self.arguments[name] = self.given.get(name, default)

    def do_from(self, rest: str) -> None:
        self.image = Image([], {}) if rest == "scratch" else self.store.image(rest)

    def do_add(self, rest: str) -> None:
        source, target = rest.split()
        if target != "/" or not source.endswith(".tar"):
            raise SystemExit(f"dockerfile: ADD takes a .tar and the target / only: ADD {rest}")
        self.image.layers.append(self.store.add_layer(self.context / source))

    def do_copy(self, rest: str) -> None:
        source, target = rest.split()
        if not target.startswith("/") or not (self.context / source).is_file():
            raise SystemExit(f"dockerfile: COPY takes one file and its absolute target only: COPY {rest}")
        with tempfile.TemporaryDirectory(dir=self.store.root) as folder:
            tar = Path(folder) / "layer.tar"
            copy_layer(tar, self.context / source, target.lstrip("/"))
            self.image.layers.append(self.store.add_layer(tar))

    def do_env(self, rest: str) -> None:
        pairs = dict(pair.split("=", 1) for pair in shlex.split(rest))
        self.image.run["Env"] = [f"{name}={value}" for name, value in (self.environment() | pairs).items()]

    def do_workdir(self, rest: str) -> None:
        self.image.run["WorkingDir"] = rest

    def do_user(self, rest: str) -> None:
        self.image.run["User"] = rest

    def do_entrypoint(self, rest: str) -> None:
        self.image.run["Entrypoint"] = json.loads(rest)


def copy_layer(tar: Path, source: Path, name: str) -> None:
    """One file of root's. Only the right to execute is taken over, since umasks differ; the folders above are left to the node,
    which makes the missing ones: an entry here would change the mode of one that a lower layer has."""
    with tarfile.open(tar, "w", format=tarfile.USTAR_FORMAT) as layer:
        member = tarfile.TarInfo(name)
        member.mode, member.mtime = 0o755 if os.access(source, os.X_OK) else 0o644, EPOCH
        member.size = source.stat().st_size
        with source.open("rb") as content:
            layer.addfile(member, content)


def main(arguments: list[str]) -> None:
    store, dockerfile, context, reference = arguments[:4]
    given = dict(pair.split("=", 1) for pair in arguments[4:])
    build = Build(Store(Path(store)), Path(context), given)
    image = build.run(Path(dockerfile).read_text())
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    build.store.tag(reference, image, created)
    build.store.prune()


if __name__ == "__main__":
    main(sys.argv[1:])
