"""weir on a Redis server that is wrong, wrongly named, or none: what it says, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from support import GIVE_UP, Terminal, check, main, wait_gone  # noqa: E402
from with_redis import Cluster, Server, ask, free_port, need_redis  # noqa: E402

SECRET = "canary-93b1"
QUICK = "attempts=2&min_delay=1ms&connect_timeout=2s&timeout=2s"


@contextmanager
def server(kind="tcp", *options):
    with tempfile.TemporaryDirectory(prefix="weir-redis-") as directory:
        started = Server(kind, directory, *options)
        try:
            started.start()
            yield started
        finally:
            started.stop(kill=True)


def refused(weir, url, code, *words):
    """`true` is not run, the words are there, the secret is not."""
    got, out, err = weir.run("run", "--store", url, "name", "echo", "ran")
    check(got == code, f"exit {code}", url, got, err)
    check(out == "", "the command does not run", out)
    check(SECRET not in err, "no secret in a message", err)
    for word in words:
        check(word in err, f"'{word}' is said", err)
    check(err.count("\n") == 1, "one line", err)


def test_wrong_urls(weir):
    for rest in ("", "//", f"//u:{SECRET}@", f"//u:{SECRET}@h:0", f"//u:{SECRET}@h:x", f"//h/{SECRET}",
                 f"//u:{SECRET}%zz@h", "//h?attempts=none", "//h?no_such=1", f"//h,:{SECRET}@x,"):
        refused(weir, f"redis:{rest}", 64)
    refused(weir, f"redis+sentinel://u:{SECRET}@h", 64, "master")
    refused(weir, "redis+unix:here", 64, "/")
    refused(weir, "radis://h", 64)


def test_nobody_there(weir):
    port = free_port()
    refused(weir, f"redis://u:{SECRET}@127.0.0.1:{port}?{QUICK}", 69, f"127.0.0.1:{port}", "refused", "running")
    refused(weir, f"redis+unix:{weir.directory}/no-socket?{QUICK}", 69, "no-socket", "running")
    refused(weir, f"redis://u:{SECRET}@no-such-host.invalid?{QUICK}", 69, "no-such-host.invalid")
    refused(weir, f"redis+sentinel://127.0.0.1:{port}/main?{QUICK}", 69, "sentinel")


def test_silence(weir):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        port = silent.getsockname()[1]
        refused(weir, f"redis://:{SECRET}@127.0.0.1:{port}?attempts=1&timeout=200ms", 69,
                f"127.0.0.1:{port}", "timeout")


def test_silence_is_not_waited_for(weir):
    """With -w and -n for a time that has to do with what was asked, and not for that of all retries"""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        doctor = weir.start("doctor", "--json", "--store", f"redis://:{SECRET}@127.0.0.1:{silent.getsockname()[1]}?timeout=5m")
        there = weir.run("ls", "--store", "nonsense:")[2]
        for kind in [kind for kind in ("redis", "postgres") if f" {kind}:" in there]:
            store = f"{kind}://u:{SECRET}@127.0.0.1:{silent.getsockname()[1]}/{'0' if kind == 'redis' else 'x'}"
            for words, told in ((["run", "-w", "1", "a", "echo", "ran"], "1s"), (["acquire", "-n", "a"], "5s")):
                begun = time.monotonic()
                code, out, err = weir.run(words[0], "--store", store, *words[1:])
                check(code == 69 and out == "" and f"did not answer within {told}" in err and err.count("\n") == 1,
                      "it is given up", words, code, out, err)
                check(SECRET not in err and time.monotonic() - begun < 20, "in time", words, time.monotonic() - begun)
        code, out, err = doctor.end()
        check(code == 69 and err == "" and SECRET not in out, "doctor has its own end", code, out, err)
        check([one["grade"] for one in json.loads(out)] == ["broken"], "and says why", out)


def stops_its_server(weir, redis, *options):
    """A run whose command stops the server and ends with 3, and when that was."""
    process = weir.start("run", "--store", redis.url, *options, "a", "sh", "-c",
                         f"echo $$; kill -STOP {redis.process.pid}; exit 3")
    wait_gone(int(process.line()), "the command ends")
    return process, time.monotonic()


def test_a_server_that_hangs_at_the_end(weir):
    """The exit code is the command's, and not half a minute later"""
    with server() as redis:
        process, begun = stops_its_server(weir, redis)
        code, _, err = process.end()
        took = time.monotonic() - begun
        redis.process.send_signal(signal.SIGCONT)
        check(code == 3 and "TTL of 30s" in err and err.count("\n") == 1, "what follows is said", code, err)
        check(took < 20, "it is given up", took)
    for number in (signal.SIGTERM, signal.SIGINT):
        times = []
        while not times or (times[-1] > 4 and len(times) < 5):  # a busy machine is forgiven
            with server() as redis:
                process, begun = stops_its_server(weir, redis)
                process.signal(number)
                code, _, err = process.end()
                times.append(time.monotonic() - begun)
                redis.process.send_signal(signal.SIGCONT)
                check(code == 3 and "TTL of 30s" in err, "it is the command's code", number, code, err)
        check(times[-1] <= 4, "a signal ends it sooner", number, times)


def wait_for_waiter(weir, redis):
    end = time.monotonic() + GIVE_UP
    while json.loads(weir.run("ls", "--json", "--store", redis.url)[1])[0]["waiting"] == 0:
        check(time.monotonic() < end, "it waits")


def test_a_server_that_hangs_while_waiting(weir):
    """Signals end a wait, though the place in the queue cannot be given back"""
    with server() as redis:
        holder = weir.holder("--store", redis.url)
        waiter = weir.start("run", "--store", redis.url, "a", "echo", "ran")
        wait_for_waiter(weir, redis)
        redis.process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        waiter.signal(signal.SIGTERM)
        code, out, _ = waiter.end()
        took = time.monotonic() - begun
        redis.process.send_signal(signal.SIGCONT)
        check(code == 143 and out == "" and took < 20, "it ends", code, out, took)
        check(weir.let_go(holder)[0] == 0, "and the holder as ever")


def test_a_server_that_was_started_again(weir):
    """It grants nothing until what it may have lost is over, and everybody who looks is told so"""
    with server("tcp", "--appendonly", "yes") as redis:
        store = ("--store", redis.url)
        weir.run("limit", *store, "a", "3")
        check(weir.run("acquire", *store, "--ttl", "1h", "a")[0] == 0, "a lease")
        check(json.loads(weir.run("ls", "--json", *store)[1])[0]["closed"] == 0, "open to all")
        check("closed" not in "".join(weir.run(*words, *store)[1] for words in (["ls"], ["show", "a"], ["doctor"])),
              "nothing is said of it")
        redis.stop(kill=True)
        redis.start()
        for words, code in ((["ls"], 0), (["show", "a"], 0), (["run", "-n", "a", "echo", "ran"], 75), (["doctor"], 0)):
            got, out, err = weir.run(words[0], *store, *words[1:])
            check(got == code and out != "ran\n", "how it ends", words, got, out, err)
            check("closed" in out or "no permit of a for another " in err, "that it is closed", words, out, err)
            check(words == ["ls"] or "started again" in out + err, "and why", words, out, err)
        closed = json.loads(weir.run("show", "--json", *store, "a")[1])[0]["closed"]
        check(3000 < closed <= 3600, "for how long", closed)


def keep_telling(process, number):
    """Sends a signal again and again, until the process has ended."""
    end = time.monotonic() + GIVE_UP
    while process.popen.poll() is None:
        process.signal(number)
        check(time.monotonic() < end, "it ends, however often it is told to")
        time.sleep(0.02)
    return process.end()


def test_more_signals_do_not_put_it_off(weir):
    """Each one may bring the end nearer, and none takes it farther away"""
    with server() as redis:
        holder = weir.holder("--store", redis.url)
        waiter = weir.start("run", "--store", f"{redis.url}?timeout=5m", "a", "echo", "ran")
        wait_for_waiter(weir, redis)
        redis.process.send_signal(signal.SIGSTOP)
        check(keep_telling(waiter, signal.SIGTERM)[:2] == (143, ""), "while it waits")
        redis.process.send_signal(signal.SIGCONT)
        weir.let_go(holder)
    with server() as redis:
        process, _ = stops_its_server(weir, redis, "--store", f"{redis.url}?timeout=5m")
        check(keep_telling(process, signal.SIGTERM)[0] == 3, "while it gives back")
        redis.process.send_signal(signal.SIGCONT)


def test_interrupt_key_and_a_server_that_hangs(weir):
    """The script ends with weir, wherever the patience with the server runs out; the status line is cleared"""
    for command in ("true", "sh -c 'echo ready; exec sleep 1000'"):
        with server() as redis:
            holder = weir.holder("--store", redis.url) if command == "true" else None
            terminal = Terminal(weir, ["bash", "-c", f"{weir.binary} run --store {redis.url} a {command}; echo went on"])
            terminal.expect("waiting for a" if holder else "ready", "it waits, or runs")
            redis.process.send_signal(signal.SIGSTOP)
            terminal.send(b"\x03")
            status, rest = terminal.end()
            redis.process.send_signal(signal.SIGCONT)
            check(os.WIFSIGNALED(status) and b"went on" not in rest, "the script ends, too", command, status, rest)
            if holder:
                check(rest.endswith(b"\r\x1b[K"), "the line is cleared", rest)
                weir.let_go(holder)


class Web(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_no_redis(weir):
    web = HTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    refused(weir, f"redis://:{SECRET}@127.0.0.1:{web.server_port}?{QUICK}", 69,
            f"127.0.0.1:{web.server_port}", "not")
    web.shutdown()


def relay(target, pretend=None, last=None):
    """A port behind which is the server at `target`, except that its words are changed. After the last, it is silent."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def pump(source, sink, change):
        while data := source.recv(65536):
            if not change or not over.is_set():
                sink.sendall(data.replace(*pretend) if change and pretend else data)
            if change and last and last in data:
                over.set()
        sink.shutdown(socket.SHUT_WR)

    def serve():
        while True:
            client, _ = listener.accept()
            behind = socket.create_connection(("127.0.0.1", target))
            for pair in ((client, behind, False), (behind, client, True)):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def test_a_server_that_hangs_when_it_is_asked_why(weir):
    """The limit that a weight does not fit is one more question, and -w is for that, too"""
    with server() as redis:
        check(weir.run("limit", "--store", redis.url, "a", "1")[0] == 0, "a limit")
        port = relay(redis.port, last=b":-7\r\n")  # E2BIG
        code, out, err = weir.run("run", "--store", f"redis://127.0.0.1:{port}?timeout=5m", "-w", "0.5", "--weight", "2", "a",
                                  "echo", "ran")
        check(code == 69 and out == "" and "did not answer within 500ms" in err, "it is given up", code, out, err)


def test_a_server_that_hangs_when_a_lease_is_not_wanted(weir):
    """weir acquire, that cannot say what it has, gives it back with no more patience than weir run"""
    with server() as redis, open("/dev/full", "w", encoding="ascii") as full:
        check(weir.run("limit", "--store", redis.url, "a", "1")[0] == 0, "a limit")
        port = relay(redis.port, last=b"$64\r\n")  # the lease
        code, _, err = weir.run("acquire", "--store", f"redis://127.0.0.1:{port}?timeout=5m", "-n", "a", stdout=full)
        check(code == 125 and "TTL of 30s" in err, "what follows is said", code, err)


def test_servers_that_will_not_do(weir):
    with server() as redis:
        old = relay(redis.port, (b"redis_version:7.", b"redis_version:5."))
        refused(weir, f"redis://127.0.0.1:{old}?{QUICK}", 69, "version 5.", "6.2", f":{old}")
        ask(redis, "config", "set", "maxmemory-policy", "allkeys-lru")
        refused(weir, f"{redis.url}?{QUICK}", 69, "allkeys-lru", str(redis.port))
        ask(redis, "config", "set", "maxmemory-policy", "noeviction")
        ask(redis, "replicaof", "127.0.0.1", "1")
        refused(weir, f"{redis.url}?{QUICK}", 69, "replica", str(redis.port))
        ask(redis, "replicaof", "no", "one")
        ask(redis, "rpush", "weir:{name}:h", "x")
        refused(weir, f"{redis.url}?{QUICK}", 69, "namespace", str(redis.port))
        check(ask(redis, "lrange", "weir:{name}:h", "0", "-1") == "x\n", "what is foreign is left")
        check(ask(redis, "keys", "*") == "weir:{name}:h\n", "nothing is left behind")


def test_passwords(weir):
    with server("tcp", "--requirepass", SECRET + "x") as redis:
        where = redis.url.replace("redis://", "")
        refused(weir, f"redis://:{SECRET}@{where}?{QUICK}", 69, where, "password")
        refused(weir, f"redis://u:{SECRET}@{where}?{QUICK}", 69, where, "password")
        refused(weir, f"redis://{where}?{QUICK}", 69, where, "password")
        code, out, err = weir.run("run", "--store", f"redis://:{SECRET}x@{where}", "name", "echo",
                                  "ran")
        check((code, out, err) == (0, "ran\n", ""), "the right one is accepted", err)


def test_certificates(weir):
    with server("tls") as redis:
        place, port = redis.directory, redis.port
        for host, ca in (("localhost", "other"), ("127.0.0.2", "ca"), ("localhost", "none")):
            refused(weir, f"rediss://:{SECRET}@{host}:{port}?{QUICK}&ca_file={place}/{ca}.pem", 69,
                    f"{host}:{port}")
        refused(weir, f"redis://127.0.0.1:{port}?{QUICK}", 69, f"127.0.0.1:{port}")
        refused(weir, f"rediss://localhost:{port}?{QUICK}&cert_file=/dev/null", 69)
        code, out, err = weir.run("run", "--store", redis.url, "name", "echo", "ran")
        check((code, out, err) == (0, "ran\n", ""), "the right one is accepted", err)


def examine(weir, url, *option):
    """What doctor says about the server: the words of each remark, of those that matter with a ! before them."""
    code, out, err = weir.run("doctor", "--json", "--store", "?".join((url, *option)))
    check(err == "" and SECRET not in out, "no error, no secret", out, err)
    found = {f"{'!' if of['grade'] == 'attention' else ''}{of['about']}": of["text"] for of in json.loads(out)}
    check(code == (1 if any(about[0] == "!" for about in found) else 0), "the exit code agrees", code, out)
    found.pop("open")
    found.pop("store")
    return found


def test_doctor(weir):
    with server("tcp", "--enable-protected-configs", "local") as redis:
        where, far = f"127.0.0.1:{redis.port}", redis.url.replace("127.0.0.1", "0.0.0.0")
        found = examine(weir, redis.url)
        check(list(found) == ["server", "!disk"], "what it is, and that it keeps nothing", found)
        check(where in found["server"] and "Redis " in found["server"] and "without a replica" in found["server"],
              "which it is", found)
        check(where in found["!disk"] and "appendonly yes" in found["!disk"], "what to do", found)
        check("in vain" in examine(weir, redis.url, "failover=durable")["!disk"], "it is not durable")

        ask(redis, "config", "set", "appendonly", "yes")
        found = examine(weir, redis.url)
        check(list(found) == ["server", "disk"] and "last second" in found["disk"], "nothing to do", found)
        check("nobody is granted then" in found["disk"], "what follows", found)
        check("in vain" in examine(weir, redis.url, "failover=durable")["!disk"], "it is still not durable")
        ask(redis, "config", "set", "appendfsync", "always")
        check("loses nothing" in examine(weir, redis.url, "failover=durable")["disk"], "now it is")
        found = examine(weir, redis.url, "failover=continue")
        check("more holders" in found["!failover"] and "nobody" not in found["disk"], "that is bold", found)

        ask(redis, "config", "set", "maxmemory", str(int(1.05 * used_memory(redis))))
        check("maxmemory" in examine(weir, redis.url)["!memory"], "memory is nearly full")
        ask(redis, "config", "set", "maxmemory", str(2 * used_memory(redis)))
        ask(redis, "config", "set", "maxclients", "30")
        check(list(examine(weir, redis.url)) == ["server", "disk"], "there is enough of both")
        others = [socket.create_connection(("127.0.0.1", redis.port)) for _ in range(27)]
        check("maxclients" in examine(weir, redis.url)["!clients"], "there are nearly too many")
        for other in others:
            other.close()

        found = examine(weir, far)
        check(list(found) == ["server", "disk", "!network", "!password"], "others may listen, or ask", found)
        check("rediss:" in found["!network"] and "password" not in found["!network"], "what to say", found)
        ask(redis, "config", "set", "requirepass", SECRET)
        found = examine(weir, far.replace("//", f"//:{SECRET}@"))
        check(list(found) == ["server", "disk", "!network"], "others may listen", found)
        check("the password too" in found["!network"], "to more than leases", found)
        ask(redis, "-a", SECRET, "config", "set", "requirepass", "")

        (redis.directory / "data").mkdir()
        ask(redis, "config", "set", "dir", str(redis.directory / "data"))
        (redis.directory / "data").rmdir()
        while "started" not in ask(redis, "bgsave"):
            pass  # the log is being rewritten, as it is when it begins
        while "rdb_bgsave_in_progress:0" not in ask(redis, "info", "persistence"):
            pass
        check("see its log" in examine(weir, redis.url)["!disk"], "its disk is not there")


def used_memory(redis):
    return int(re.search(r"used_memory:(\d+)", ask(redis, "info", "memory")).group(1))


def test_doctor_of_many(weir):
    with tempfile.TemporaryDirectory(prefix="weir-redis-") as directory:
        cluster = Cluster(directory, 0)
        try:
            cluster.start()
            code, out, err = weir.run("doctor", "--json", "--store", cluster.url)
            said = [of["text"] for of in json.loads(out) if of["about"] == "server"]
            check(code == 1 and len(said) == len(cluster.servers) and len(set(said)) == len(said), "each of them", out, err)
        finally:
            cluster.stop()


if __name__ == "__main__":
    need_redis()
    main()
