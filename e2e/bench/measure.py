"""What the measurements share: running a process and what it used, rounds that alternate between two sides, and tables of
median, least, most and ratio. What is measured is the matter of the other files here. Nothing is asserted: a figure of a
shared machine proves nothing by itself, so each table says how busy the machine was."""

from __future__ import annotations

import os
import resource
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Figures = dict[str, float]

# Longest time of one process in seconds.
PROCESS_LIMIT = 300.0


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    status: int
    started: float
    wall: float
    cpu: float
    peak_mib: float


def run(command: Sequence[str | Path], env: Mapping[str, str] | None = None, output: Path | None = None) -> Finished:
    """Runs `command` to its end; `output` gets both of its streams. One that takes too long is killed, and an error."""
    sink = os.open(output or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    words = [os.fspath(word) for word in command]
    try:
        streams = [(os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, sink, 2)]
        started = time.monotonic()
        pid = os.posix_spawnp(words[0], words, dict(os.environ if env is None else env), file_actions=streams)
    finally:
        os.close(sink)
    status, used = wait(pid, started + PROCESS_LIMIT)
    wall = time.monotonic() - started
    return Finished(os.waitstatus_to_exitcode(status), started, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def wait(pid: int, deadline: float) -> tuple[int, resource.struct_rusage]:
    """Waits for a child. A descriptor of the process tells its end at once, without a poll that would blur the time."""
    descriptor = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        if not ended:
            os.kill(pid, 9)
        _, status, used = os.wait4(pid, 0)
    finally:
        os.close(descriptor)
    if not ended:
        raise SystemExit(f"bench: a process took longer than {PROCESS_LIMIT:.0f} s and was killed")
    return status, used


def cpu_of(pid: int) -> float:
    """CPU seconds of a running process, in steps of the kernel's clock tick."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_of(pid: int) -> float:
    """Peak resident memory of a running process in MiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"process {pid} has no VmHWM")


def machine_cpu() -> tuple[float, float]:
    """CPU seconds that the machine spent at work, and in all, since it started."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    total, tick = sum(fields), os.sysconf("SC_CLK_TCK")
    return (total - fields[3] - fields[4]) / tick, total / tick


@dataclass
class Side:
    """One of the things that are compared: what runs it once, and what came of it."""

    name: str
    once: Callable[[], Figures]
    rounds: list[Figures] = field(default_factory=list)

    def values(self, figure: str) -> list[float]:
        return [round_[figure] for round_ in self.rounds]


def interleave(sides: Sequence[Side], rounds: int, servants: Sequence[int] = ()) -> float:
    """Runs the sides in turn, after one round that does not count, so that what disturbs the machine disturbs all of them.
    Returns the share of the machine's CPU time that went to others; `servants` are ours and outlive a round."""
    for side in sides:
        side.once()
    before, own_before = machine_cpu(), own_cpu(servants)
    for round_ in range(1, rounds + 1):
        print(f"bench: round {round_} of {rounds}", file=sys.stderr)
        for side in sides:
            side.rounds.append(side.once())
    after = machine_cpu()
    others = after[0] - before[0] - (own_cpu(servants) - own_before)
    return max(0.0, others / max(after[1] - before[1], 0.01))


def own_cpu(servants: Sequence[int]) -> float:
    """CPU seconds of this process, of its children that have ended, and of `servants`."""
    return sum(os.times()[:4]) + sum(map(cpu_of, servants))


def table(title: str, sides: Sequence[Side], figures: Mapping[str, str]) -> None:
    """Prints a row for each figure and side. The ratio is that of the first side to this one."""
    widths = max(map(len, figures.values())) + 2, max(len(side.name) for side in sides) + 2
    print(f"\n{title}\n{'':{sum(widths)}}{'median':>10}{'least':>10}{'most':>10}{'ratio':>10}")
    for figure, text in figures.items():
        for side in sides:
            values = side.values(figure)
            row = [number(value) for value in (statistics.median(values), min(values), max(values))]
            row.append("" if side is sides[0] else number(ratio(sides[0], side, figure)))
            print(f"{text:{widths[0]}}{side.name:{widths[1]}}" + "".join(f"{cell:>10}" for cell in row))
            text = ""


def ratio(first: Side, other: Side, figure: str) -> float:
    """Median of the ratios within each round: what slows one round down slows both sides of it."""
    pairs = zip(first.values(figure), other.values(figure), strict=True)
    return statistics.median(mine / max(theirs, 1e-9) for mine, theirs in pairs)


def number(value: float) -> str:
    """Three digits that count."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def footer(others: float, rounds: int) -> None:
    """How far the figures can be trusted."""
    model = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    name = model.partition(":")[2].strip() or "unknown processor"
    print(f"{rounds} interleaved rounds; {os.cpu_count()} x {name}; other processes used {others:.0%} of the CPU time")
    if others > 0.1:
        print("the machine was busy: compare the ratios, not the figures")


def must_succeed(command: Sequence[str | Path]) -> str:
    """Standard output of a command that has to work."""
    done = subprocess.run(list(command), capture_output=True, text=True, timeout=PROCESS_LIMIT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"bench: {command[0]} failed:\n{done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
