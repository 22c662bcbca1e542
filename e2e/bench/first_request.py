"""How long it takes from exec to the first byte of the first request to the API server: `airlock submit` and upstream's
`spark-submit`, the same command line, against one listener that notes the time and answers 403. No cluster is needed, and
none would change the figure: what comes after the first request is the cluster's time."""

from __future__ import annotations

import argparse
import os
import socket
import tempfile
import threading
import time
from pathlib import Path

from measure import Figures, Side, footer, interleave, run, table

REFUSAL = b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"refused","reason":"Forbidden","code":403}'
ANSWER = (
    b"HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\nconnection: close\r\n"
    + f"content-length: {len(REFUSAL)}\r\n\r\n".encode()
    + REFUSAL
)
REQUEST_LIMIT = 1024 * 1024
SOCKET_LIMIT = 10.0

FIGURES = {
    "first_ms": "first request, ms",
    "wall_ms": "whole process, ms",
    "cpu_ms": "CPU, ms",
    "peak_mib": "peak memory, MiB",
    "requests": "requests",
}


class Listener:
    """Answers every request with 403 and keeps the time of the first byte."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self.socket.getsockname()[1]
        self.first: float | None = None
        self.requests = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(SOCKET_LIMIT)
            try:
                self.read_request(connection)
                connection.sendall(ANSWER)
            except OSError:
                return

    def read_request(self, connection: socket.socket) -> None:
        """Head and body: a connection that is closed with unread bytes in it is reset, and the answer lost."""
        request = bytearray()
        while self.incomplete(request) and len(request) < REQUEST_LIMIT:
            piece = connection.recv(65536)
            now = time.monotonic()
            if not piece:
                raise ConnectionError
            if not request:
                self.requests += 1
            if self.first is None:
                self.first = now
            request += piece

    @staticmethod
    def incomplete(request: bytearray) -> bool:
        head, end, body = bytes(request).partition(b"\r\n\r\n")
        if not end:
            return True
        lengths = [line.partition(b":")[2] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        return len(body) < int(lengths[0] if lengths else 0)

    def reset(self) -> None:
        self.first, self.requests = None, 0


def submit_arguments(port: int) -> list[str]:
    return [
        "--master", f"k8s://http://127.0.0.1:{port}",
        "--deploy-mode", "cluster",
        "--name", "bench",
        "--class", "org.apache.spark.examples.SparkPi",
        "--conf", "spark.kubernetes.container.image=example/spark:1",
        "--conf", "spark.kubernetes.namespace=default",
        "local:///opt/spark/examples/jars/spark-examples.jar", "10",
    ]  # fmt: skip


def side(name: str, command: list[str | Path], listener: Listener, env: dict[str, str], log: Path) -> Side:
    def once() -> Figures:
        listener.reset()
        ended = run([*command, *submit_arguments(listener.port)], env, log)
        if listener.first is None:
            raise SystemExit(f"bench: {name} sent no request, and ended with {ended.status}:\n{log.read_text()}")
        return {
            "first_ms": (listener.first - ended.started) * 1000,
            "wall_ms": ended.wall * 1000,
            "cpu_ms": ended.cpu * 1000,
            "peak_mib": ended.peak_mib,
            "requests": listener.requests,
        }

    return Side(name, once)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--airlock", required=True, type=Path, help="the client's binary")
    parser.add_argument("--spark-home", required=True, type=Path)
    parser.add_argument("--rounds", required=True, type=int)
    options = parser.parse_args()

    listener = Listener()
    with tempfile.TemporaryDirectory(prefix="airlock-bench-") as work:
        # Neither reads a kubeconfig or an account of this machine.
        env = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "KUBE"))}
        env |= {"HOME": work, "SPARK_HOME": os.fspath(options.spark_home)}
        sides = [
            side("airlock", [options.airlock, "submit"], listener, env, Path(work, "airlock.log")),
            side("spark-submit", [options.spark_home / "bin/spark-submit"], listener, env, Path(work, "spark.log")),
        ]
        others = interleave(sides, options.rounds)
    table("first request: exec to the first byte at the API server", sides, FIGURES)
    footer(others, options.rounds)


if __name__ == "__main__":
    main()
