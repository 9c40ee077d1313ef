#!/usr/bin/env python3
"""Runs a command with a Redis server of its own, or several.

    with_redis.py tcp|unix|tls|aof|pair|cluster|replicas|sentinel COMMAND [ARG...]

REDIS_URL in an argument becomes the server's URL, REDIS_DIR the directory it lives in. The server
listens on a free port, on a socket, or with TLS and certificates made for the occasion; it is started
again if it ends. `aof` writes everything to disk before it answers. A `pair` is two such servers in the
directories 0 and 1, the second a replica; if WEIR_CLOCK_SHIM names that library, the file `clock` says how far off
their clocks are. A cluster is three servers in 0, 1 and 2; `replicas` is a cluster with
a replica of each, in 3, 4 and 5, and whoever ends there stays down. `sentinel` is a master in 0, a replica in 1, and
three sentinels. Each server's own socket is `s` in its directory. They and all their files are gone when the command has ended. Exits with the command's code,
or with 77, and says why, where no Redis server is installed."""

import os
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
        self.environment = None

    def start(self):
        command = ["redis-server", *self.listen, "--save", "", "--dir", str(self.directory),
                   "--logfile", str(self.directory / "log"), *self.options]
        self.process = subprocess.Popen(command, cwd=self.directory, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, env=self.environment)
        for _ in range(500):
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(self.directory / "s"))
                return
            except OSError:
                if self.process.poll() == -signal.SIGKILL:
                    return  # a test was here between two looks and has killed it: watch() starts it again
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


DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--enable-debug-command", "local")


def numbered(directory, number, *options):
    place = Path(directory) / str(number)
    place.mkdir()
    return Server("tcp", place, *options)


class Pair:
    """A master and a replica of it; `url` names the master."""

    def __init__(self, directory, *options):
        sync = ("--repl-diskless-sync-delay", "0", *options)
        self.servers = [numbered(directory, 0, *sync)]
        self.servers.append(numbered(directory, 1, *sync, "--replicaof", "127.0.0.1",
                                     str(self.servers[0].port)))
        self.url = self.servers[0].url
        if shim := os.environ.get("WEIR_CLOCK_SHIM"):
            clock = Path(directory) / "clock"
            clock.write_bytes(bytes(8))
            for server in self.servers:
                server.environment = {**os.environ, "LD_PRELOAD": shim, "WEIR_TEST_CLOCK": str(clock)}

    def start(self):
        for server in self.servers:
            server.start()
        while "link_status:up" not in ask(self.servers[1], "info", "replication"):
            time.sleep(0.02)

    def watch(self):
        for server in self.servers:
            server.watch()

    def stop(self):
        for server in self.servers:
            server.stop(kill=True)


class Sentinels(Pair):
    """A pair, and three sentinels that watch it; whoever is killed stays dead."""

    def __init__(self, directory):
        super().__init__(directory)
        self.sentinels, self.processes = [], []
        for number in range(3):
            place = Path(directory) / f"sentinel{number}"
            place.mkdir()
            port = free_port()
            self.sentinels.append(port)
            (place / "conf").write_text(
                f"port {port}\nbind 127.0.0.1\ndir {place}\nlogfile {place}/log\n"
                f"unixsocket {place}/s\n"
                f"sentinel monitor main 127.0.0.1 {self.servers[0].port} 2\n"
                "sentinel down-after-milliseconds main 500\n"
                "sentinel failover-timeout main 3000\n")
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        self.url = f"redis+sentinel://{hosts}/main"

    def knows_all(self, place):
        answer = subprocess.run(["redis-cli", "-s", f"{place}/s", "sentinel", "master", "main"],
                                capture_output=True, text=True).stdout.split("\n")
        found = dict(zip(answer[::2], answer[1::2]))
        return found.get("num-other-sentinels") == "2" and found.get("num-slaves") == "1"

    def start(self):
        super().start()
        places = [self.servers[0].directory.parent / f"sentinel{number}" for number in range(3)]
        for place in places:
            self.processes.append(subprocess.Popen(["redis-server", "conf", "--sentinel"], cwd=place,
                                                   stdin=subprocess.DEVNULL,
                                                   stdout=subprocess.DEVNULL))
        while not all(self.knows_all(place) for place in places):
            time.sleep(0.02)

    def watch(self):
        pass

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        super().stop()


def ask(server, *arguments):
    return subprocess.run(["redis-cli", "-p", str(server.port), *arguments],
                          check=True, capture_output=True, text=True).stdout


class Cluster:
    """Three masters, each with as many replicas as asked for; `url` names the first."""

    def __init__(self, directory, replicas):
        self.servers, self.replicas = [], replicas
        for number in range(3 * (1 + replicas)):
            self.servers.append(numbered(directory, number, "--cluster-enabled", "yes",
                                         "--cluster-node-timeout", "1000",
                                         "--cluster-replica-validity-factor", "0",
                                         "--repl-diskless-sync-delay", "0",
                                         "--cluster-port", str(free_port())))
        self.url = self.servers[0].url

    def is_whole(self, server):
        return ("cluster_state:ok" in ask(server, "cluster", "info") and
                ask(server, "cluster", "slots").count("127.0.0.1") == len(self.servers) and
                ask(server, "info", "replication").count("state=online") +
                ask(server, "info", "replication").count("link_status:up") == self.replicas)

    def start(self):
        for server in self.servers:
            server.start()
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        ask(self.servers[0], "--cluster", "create", *addresses, "--cluster-replicas",
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


def servers_of(kind, directory):
    if kind in ("cluster", "replicas"):
        return Cluster(directory, int(kind == "replicas"))
    if kind == "sentinel":
        return Sentinels(directory)
    if kind == "pair":
        return Pair(directory, *DURABLE)
    if kind == "aof":
        return Server("tcp", directory, *DURABLE)
    return Server(kind, directory)


def main():
    need_redis()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so through what cleans up
    # Killed servers lose nothing that is in memory, so there is no need to wait for a disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="weir-redis-", dir=memory) as directory:
        server = servers_of(sys.argv[1], directory)
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
