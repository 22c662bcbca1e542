"""The peer of the transfer: Debian's nginx that takes a file by PUT over mutual TLS 1.3, and curl that sends it. Both are
ordinary programs that people would use, neither checks a digest nor unpacks. Everything lies in a folder of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

from measure import PROCESS_LIMIT, must_succeed, run

START_LIMIT = 5.0
PORT_ATTEMPTS = 5

CONFIGURATION = """
daemon off;
master_process off;
pid {work}/nginx.pid;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_max_body_size 0;
  client_body_buffer_size 1m;
  client_body_temp_path {sink}/body;
  proxy_temp_path {work}/unused; fastcgi_temp_path {work}/unused;
  uwsgi_temp_path {work}/unused; scgi_temp_path {work}/unused;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_protocols TLSv1.3;
    ssl_certificate {work}/server.crt;
    ssl_certificate_key {work}/server.key;
    ssl_client_certificate {work}/ca.crt;
    ssl_verify_client on;
    root {sink}/root;
    location / {{ dav_methods PUT; }}
  }}
}}
"""


class Nginx:
    """A running nginx."""

    def __init__(self, work: Path, sink: Path) -> None:
        self.work, self.root = work, sink / "root"
        self.root.mkdir()
        make_certificates(work)
        for _ in range(PORT_ATTEMPTS):
            self.port = free_port()
            configuration = CONFIGURATION.format(work=work, sink=sink, port=self.port)
            (work / "nginx.conf").write_text(configuration)
            command: list[str | Path] = ["nginx", "-p", work, "-c", work / "nginx.conf", "-e", work / "nginx.log"]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
            if self.answers():
                return
        raise SystemExit(f"bench: nginx does not start:\n{(work / 'nginx.log').read_text()}")

    def answers(self) -> bool:
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return True
            except OSError:
                time.sleep(0.02)
        self.stop()
        return False

    def put(self, file: Path) -> tuple[float, float, float]:
        """Seconds of curl's transfer, its CPU seconds, its peak memory in MiB."""
        said = self.work / "curl.log"
        ended = run(
            ["curl", "--silent", "--show-error", "--fail", "--http1.1", "--tlsv1.3", "--noproxy", "*",
             "--cacert", self.work / "ca.crt", "--cert", self.work / "client.crt", "--key", self.work / "client.key",
             "--write-out", "%{time_total}", "--upload-file", file, f"https://localhost:{self.port}/{file.name}"],
            output=said,
        )  # fmt: skip
        arrived = self.root / file.name
        if ended.status != 0 or arrived.stat().st_size != file.stat().st_size:
            raise SystemExit(f"bench: curl ended with {ended.status}:\n{said.read_text()}")
        arrived.unlink()
        return float(said.read_text()), ended.cpu, ended.peak_mib

    def stop(self) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGTERM)
            self.process.wait(timeout=PROCESS_LIMIT)


def free_port() -> int:
    """A port that the kernel finds free. Another process may take it before nginx does, so the caller tries again."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def make_certificates(work: Path) -> None:
    """An authority and two leaves on P-256, as the client makes them."""
    key: list[str | Path] = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    authority: list[str | Path] = ["-keyout", work / "ca.key", "-out", work / "ca.crt", "-subj", "/CN=bench authority"]
    must_succeed(["openssl", "req", "-x509", *key, *authority])
    for name, extension in (("server", "subjectAltName=DNS:localhost"), ("client", "extendedKeyUsage=clientAuth")):
        leaf: list[str | Path] = ["-keyout", work / f"{name}.key", "-out", work / f"{name}.crt", "-subj", f"/CN={name}"]
        signer: list[str | Path] = ["-CA", work / "ca.crt", "-CAkey", work / "ca.key", "-addext", extension]
        must_succeed(["openssl", "req", "-x509", *key, *leaf, *signer, "-addext", "basicConstraints=critical,CA:FALSE"])
