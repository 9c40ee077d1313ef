"""What tests of a PostgreSQL store as its administrator sees it have in common."""

import json
import os
import socket
import subprocess
import sys

from with_postgres import PASSWORD, Server, need_postgres, new_directory

WEIR = sys.argv[1] if len(sys.argv) > 1 else None
said = []


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def weir(url, *arguments, environment=None):
    done = subprocess.run([WEIR, *arguments], env={**os.environ, "WEIR_STORE": url,
                                                   **(environment or {})},
                          text=True, capture_output=True, stdin=subprocess.DEVNULL)
    said.append(done.stdout + done.stderr)
    return done.returncode, done.stdout, done.stderr


def shown(url, name):
    code, out, err = weir(url, "show", "--json", name)
    check(code == 0, err)
    return json.loads(out)[0]


def use_v6(server):
    """Where this host has it."""
    server.addresses = ["127.0.0.1"]
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            server.addresses.append("::1")
    except OSError:
        return
    server.options.append("listen_addresses=" + ",".join(server.addresses))
    with open(server.data / "pg_hba.conf", "a", encoding="ascii") as file:
        file.write("host all all ::1/128 scram-sha-256\n")


def play(*tests):
    """Runs tests one after the other on one server, with a role that may do nothing yet."""
    need_postgres()
    with new_directory() as directory:
        server = Server(directory)
        try:
            server.create()
            use_v6(server)
            server.start()
            server.sql(f"ALTER ROLE root PASSWORD '{PASSWORD}'; CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'; "
                       "REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
            for test in tests:
                test(server)
                print("ok", test.__name__, flush=True)
        finally:
            server.stop()
    check(not any(PASSWORD in text for text in said), "no output has a password in it")
