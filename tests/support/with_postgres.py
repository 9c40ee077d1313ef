#!/usr/bin/env python3
"""Runs a command with a PostgreSQL server of its own.

    with_postgres.py unix|durable|tcp|tls|pool|pool+direct COMMAND [ARG...]

POSTGRES_URL in an argument becomes the server's URL, POSTGRES_DIR the directory its socket is in. The
server listens on a socket and a free port of this host, and is reached by one of them (durable: by the
socket, and it waits for the disk, which the others do not), with TLS and certificates made for the
occasion, or through a pgbouncer that pools transactions, and then perhaps knows where the server
itself is. It is started again if it ends, and it and all its files are gone when the command has
ended. Exits with the command's code, or with 77, and says why, where no PostgreSQL is installed.

WEIR_POSTGRES_SETTINGS has more settings of the server, with blanks between: `fsync=on`, without which
no commit waits for a disk. If WEIR_CLOCK_SHIM names that library, the file `clock` in the directory says how
far off the server's clock is.

The server refuses to run as root, so then it runs as another user."""

import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from with_redis import free_port, make_certificates

PASSWORD = "canary-7c1e"


def bin_directory():
    """The newest one that is installed; None: there is none."""
    found = list(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if found:
        return max(found, key=lambda path: int(re.findall(r"\d+", str(path))[0])).parent
    elsewhere = shutil.which("postgres")
    return Path(elsewhere).resolve().parent if elsewhere else None


def server_user():
    """Whom to be; None: who we are."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    sys.exit("there is no user to run a PostgreSQL server as")


USER = server_user()


def as_user():
    if USER is None:
        return {}
    return {"user": USER.pw_uid, "group": USER.pw_gid, "extra_groups": []}


def give(path):
    if USER is not None:
        os.chown(path, USER.pw_uid, USER.pw_gid)


def run(command, **more):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", **as_user(), **more)
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stdout}")
    return done.stdout


class Server:
    """One server below `directory`, which is the user's; its socket is there, too."""

    def __init__(self, directory, *options, data="data"):
        self.bin = bin_directory()
        self.directory, self.data = Path(directory), Path(directory) / data
        self.port, self.process = free_port(), None
        # Shared memory in files of the directory: a server that is killed leaves none elsewhere.
        self.options = ["fsync=off", "dynamic_shared_memory_type=mmap", "max_connections=50",
                        "shared_buffers=16MB", "max_wal_size=128MB",
                        f"unix_socket_directories={directory}", "listen_addresses=127.0.0.1",
                        "log_min_messages=warning", *options,
                        *os.environ.get("WEIR_POSTGRES_SETTINGS", "").split()]
        self.unix_url = f"postgres://root@/postgres?host={directory}&port={self.port}"
        self.tcp_url = f"postgres://app:{PASSWORD}@127.0.0.1:{self.port}/postgres"
        self.url = self.unix_url
        self.environment = None
        if shim := os.environ.get("WEIR_CLOCK_SHIM"):
            self.use_clock(shim)

    def use_clock(self, shim):
        """A copy, for the user may not be let in where it was built."""
        copy, clock = self.directory / "clock_shim.so", self.directory / "clock"
        if not clock.exists():
            copy.write_bytes(Path(shim).read_bytes())
            clock.write_bytes(bytes(8))
        self.environment = {**os.environ, "LD_PRELOAD": str(copy), "WEIR_TEST_CLOCK": str(clock)}

    def create(self):
        run([self.bin / "initdb", "-D", self.data, "-U", "root", "-A", "trust", "--no-sync",
             "--no-instructions", "--locale=C", "-E", "UTF8"])
        (self.data / "pg_hba.conf").write_text(
            "local all all trust\nlocal replication all trust\n"
            "host all all 127.0.0.1/32 scram-sha-256\n")

    def follow(self, port):
        """Makes it a replica of the server at that port, whose socket is in the same directory."""
        run([self.bin / "pg_basebackup", "-D", self.data, "-h", self.directory, "-p", port, "-U", "root",
             "-R", "-X", "stream", "-c", "fast", "--no-sync"])

    def use_tls(self):
        make_certificates(self.data)
        for name in self.data.glob("server.*"):
            name.chmod(0o600)
            give(name)
        (self.directory / "ca.pem").write_text((self.data / "ca.pem").read_text())
        (self.data / "pg_hba.conf").write_text(
            "local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")
        self.options += ["ssl=on", "ssl_cert_file=server.pem", "ssl_key_file=server.key"]
        self.url = (f"postgres://app:{PASSWORD}@localhost:{self.port}/postgres?"
                    f"sslmode=verify-full&sslrootcert={self.directory}/ca.pem")

    def start(self):
        # After a kill -9, what the old one has left behind may need a moment to go.
        for _ in range(100):
            if self.try_start():
                return
            time.sleep(0.1)
        sys.exit(f"postgres does not start:\n{(self.directory / 'log').read_text()}")

    def try_start(self):
        command = [str(self.bin / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        for option in self.options:
            command += ["-c", option]
        with open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True, env=self.environment,
                                            **as_user())
        while self.process.poll() is None:
            if subprocess.run([self.bin / "pg_isready", "-q", "-h", self.directory, "-p",
                               str(self.port)]).returncode == 0:
                return True
            time.sleep(0.02)
        return False

    def sql(self, text, database="postgres"):
        return run([self.bin / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                    self.directory, "-p", self.port, "-U", "root", "-d", database, "-c", text])

    def make_user(self):
        self.sql(f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'; "
                 "GRANT CREATE ON DATABASE postgres TO app")

    def stop(self, how=signal.SIGQUIT):
        """SIGQUIT: at once, as after a crash; SIGINT: in good order."""
        if self.process is None:
            return
        self.process.send_signal(how)
        self.process.wait()
        self.process = None


class Pool:
    """A pgbouncer in front of a server, that gives each transaction the next free connection."""

    def __init__(self, server):
        self.port, self.process, self.directory = free_port(), None, server.directory
        config = server.directory / "pool.ini"
        config.write_text(
            f"[databases]\npostgres = host={server.directory} port={server.port} user=root\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {self.port}\nauth_type = any\n"
            f"pool_mode = transaction\ndefault_pool_size = 3\nunix_socket_dir =\n"
            f"logfile = {server.directory}/pool.log\n")
        give(config)
        self.url = f"postgres://root@127.0.0.1:{self.port}/postgres"

    def start(self):
        program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
        if not Path(program).exists():
            print("skipped: pgbouncer is not installed")
            sys.exit(77)
        self.process = subprocess.Popen([program, "-q", str(self.directory / "pool.ini")], cwd="/",
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **as_user())
        for _ in range(500):
            try:
                with socket.create_connection(("127.0.0.1", self.port)):
                    return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        sys.exit(f"pgbouncer does not start:\n{(self.directory / 'pool.log').read_text()}")

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def need_postgres():
    if bin_directory() is None:
        print("skipped: PostgreSQL is not installed")
        sys.exit(77)


def new_directory():
    directory = tempfile.TemporaryDirectory(prefix="weir-pg-")
    os.chmod(directory.name, 0o711)
    give(directory.name)
    return directory


def prepare(kind, server):
    """Starts a server, and its pool, if it is to have one, which is returned."""
    server.create()
    if kind == "durable":
        server.options.remove("fsync=off")
    if kind == "tls":
        server.use_tls()
    server.start()
    server.make_user()
    pool = None
    if kind.startswith("pool"):
        pool = Pool(server)
        pool.start()
        server.url = pool.url
        if kind == "pool+direct":
            server.url += f"?direct={server.directory}:{server.port}"
    elif kind == "tcp":
        server.url = server.tcp_url
    return pool


def stop_all(directory):
    """Those that somebody else has started, too."""
    for file in Path(directory).glob("*/postmaster.pid"):
        try:
            pid = int(file.read_text().split()[0])
            os.kill(pid, signal.SIGQUIT)
            while file.exists():
                os.kill(pid, 0)
                time.sleep(0.02)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has gone by itself; one that was killed leaves its file behind


def main():
    need_postgres()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so through what cleans up
    with new_directory() as directory:
        server, pool, client = Server(directory), None, None
        try:
            pool = prepare(sys.argv[1], server)
            command = [argument.replace("POSTGRES_URL", server.url)
                       .replace("POSTGRES_DIR", directory).replace("POSTGRES_PORT", str(server.port))
                       for argument in sys.argv[2:]]
            client = subprocess.Popen(command)
            while (code := client.poll()) is None:
                if server.process.poll() is not None:
                    server.start()
                time.sleep(0.02)
        finally:
            if client is not None and client.poll() is None:
                client.kill()
                client.wait()
            if pool is not None:
                pool.stop()
            server.stop()
            stop_all(directory)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
