#!/usr/bin/env python3
"""Runs a command with a Redis server of its own, or several.

    with_redis.py tcp|unix|tls|cluster|replicas COMMAND [ARG...]

REDIS_URL in an argument becomes the server's URL, REDIS_DIR the directory it lives in. The server
listens on a free port, on a socket, or with TLS and certificates made for the occasion; it is started
again if it ends. A cluster is three servers in the directories 0, 1 and 2; `replicas` is a cluster with
a replica of each, in 3, 4 and 5, and whoever ends there stays down. Each server's own socket is `s` in its
directory. They and all their files are gone when the command has ended. Exits with the command's code,
or with 77, and says why, where no Redis server is installed."""

import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def openssl(directory, *arguments):
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def make_certificates(directory):
    """ca.pem signs server.pem, for localhost and 127.0.0.1; other.pem signs nothing."""
    for name in ("ca", "other"):
        openssl(directory, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN=weir test {name}")
    openssl(directory, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key",
            "-out", "server.csr", "-subj", "/CN=localhost")
    (directory / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(directory, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", "server.pem")


class Server:
    """One redis-server; `url` is how to reach it."""

    def __init__(self, kind, directory, *options):
        self.directory, self.options = Path(directory), list(options)
        self.port = 0 if kind == "unix" else free_port()
        socket_path = self.directory / "s"
        listen = ["--port", str(self.port), "--unixsocket", str(socket_path)]
        self.url = f"redis://127.0.0.1:{self.port}"
        if kind == "unix":
            self.url = f"redis+unix:{socket_path}"
        elif kind == "tls":
            make_certificates(self.directory)
            listen = ["--port", "0", "--tls-port", str(self.port), "--tls-auth-clients", "no",
                      "--tls-cert-file", "server.pem", "--tls-key-file", "server.key",
                      "--tls-ca-cert-file", "ca.pem", "--bind", "127.0.0.1", "127.0.0.2",
                      "--unixsocket", str(socket_path)]
            self.url = f"rediss://localhost:{self.port}?ca_file={self.directory}/ca.pem"
        self.listen = listen
        self.process = None

    def start(self):
        command = ["redis-server", *self.listen, "--save", "", "--dir", str(self.directory),
                   "--logfile", str(self.directory / "log"), *self.options]
        self.process = subprocess.Popen(command, cwd=self.directory, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(self.directory / "s"))
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        sys.exit(f"redis-server does not start:\n{(self.directory / 'log').read_text()}")

    def watch(self):
        if self.process.poll() is not None:
            self.start()

    def stop(self, kill=False):
        if self.process is None:
            return
        self.process.kill() if kill else self.process.terminate()
        self.process.wait()
        self.process = None


class Cluster:
    """Three masters, each with as many replicas as asked for; `url` names the first."""

    def __init__(self, directory, replicas):
        self.servers, self.replicas = [], replicas
        for number in range(3 * (1 + replicas)):
            place = Path(directory) / str(number)
            place.mkdir()
            self.servers.append(Server("tcp", place, "--cluster-enabled", "yes",
                                       "--cluster-node-timeout", "1000",
                                       "--cluster-replica-validity-factor", "0",
                                       "--repl-diskless-sync-delay", "0",
                                       "--cluster-port", str(free_port())))
        self.url = self.servers[0].url

    def cli(self, server, *arguments):
        return subprocess.run(["redis-cli", "-p", str(server.port), *arguments],
                              check=True, capture_output=True, text=True).stdout

    def is_whole(self, server):
        return ("cluster_state:ok" in self.cli(server, "cluster", "info") and
                self.cli(server, "cluster", "slots").count("127.0.0.1") == len(self.servers) and
                self.cli(server, "info", "replication").count("state=online") +
                self.cli(server, "info", "replication").count("link_status:up") == self.replicas)

    def start(self):
        for server in self.servers:
            server.start()
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        self.cli(self.servers[0], "--cluster", "create", *addresses, "--cluster-replicas",
                 str(self.replicas), "--cluster-yes")
        while not all(self.is_whole(server) for server in self.servers):
            time.sleep(0.02)

    def watch(self):
        pass

    def stop(self):
        for server in self.servers:
            server.stop(kill=True)


def need_redis():
    if shutil.which("redis-server") is None:
        print("skipped: redis-server is not installed")
        sys.exit(77)


def main():
    need_redis()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so through what cleans up
    with tempfile.TemporaryDirectory(prefix="weir-redis-") as directory:
        kind = sys.argv[1]
        server = (Cluster(directory, int(kind == "replicas")) if kind in ("cluster", "replicas") else
                  Server(kind, directory))
        client = None
        try:
            server.start()
            command = [argument.replace("REDIS_URL", server.url).replace("REDIS_DIR", directory)
                       for argument in sys.argv[2:]]
            client = subprocess.Popen(command)
            while (code := client.poll()) is None:
                server.watch()
                time.sleep(0.02)
        finally:
            if client is not None and client.poll() is None:
                client.kill()
                client.wait()
            server.stop()
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
