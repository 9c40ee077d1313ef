"""Who takes part: every peer, how it is called, and whether it is there."""

import os
import shutil
import sys
from dataclasses import dataclass, field

# What a peer's turn is given to: the operating system's threads, or tasks of a runtime of its own.
THREADS = "threads"
TASKS = "tasks"

# Whether waiters are served in the order of their arrival.
FIFO = "FIFO"
BARGING = "barging"


@dataclass(frozen=True)
class Peer:
    key: str
    name: str
    questions: tuple
    waits: str = THREADS
    order: str = BARGING
    floor: bool = False
    one_permit: bool = False
    packages: str = ""
    program: str = "native"
    variant: str = ""


ALL = ("pair", "contended", "handoff")
OF_TASKS = ("pingpong", "tasks", "gather")

PEERS = (
    Peer("floor", "compare-and-swap, fetch-add", ("pair",), floor=True),
    Peer("spin", "spinning on a word", ("handoff", "schedulers"), order=FIFO, floor=True),
    Peer("seldom", "looking at it seldom", ("schedulers",), order=FIFO, floor=True),
    Peer("futex", "bare futex", ("handoff",), floor=True),
    Peer("minimal", "minimal switch", ("switch",), floor=True),
    Peer("weir", "weir", ALL + ("waiters", "leases", "sqlite", "command", "costs") + OF_TASKS +
         ("switch", "schedulers"), order=FIFO),
    Peer("yield", "weir_yield", ("switch",), TASKS, FIFO),
    Peer("ucontext", "ucontext", ("switch",), TASKS),
    Peer("true", "the command alone", ("command",), floor=True),
    Peer("flock", "flock", ("command",), packages="util-linux"),
    Peer("gnu-sem", "GNU sem", ("command",), packages="parallel"),
    Peer("sem_t", "sem_t", ALL),
    Peer("mutex", "pthread mutex", ("pair", "contended"), one_permit=True),
    Peer("mutex+cond", "mutex + condition variable", ALL),
    Peer("std", "std::counting_semaphore", ALL),
    Peer("moodycamel", "moodycamel", ALL, packages="libconcurrentqueue-dev"),
    Peer("map", "mutex, map, ordered set", ("leases",)),
    Peer("tokio", "tokio", ALL + ("waiters", "schedulers") + OF_TASKS, TASKS, FIFO,
         packages="cargo rustc librust-tokio-dev", program="tokio"),
    Peer("go-sync", "Go x/sync/semaphore", ALL + ("waiters", "schedulers") + OF_TASKS, TASKS, FIFO,
         packages="golang-go golang-golang-x-sync-dev", program="go", variant="sync"),
    Peer("go-channel", "Go channel", ALL + ("waiters", "schedulers", "pingpong", "tasks"), TASKS, FIFO,
         packages="golang-go golang-golang-x-sync-dev", program="go", variant="channel"),
    Peer("java-fair", "Java Semaphore (fair)", ALL, order=FIFO,
         packages="openjdk-17-jdk-headless", program="java", variant="fair"),
    Peer("java-unfair", "Java Semaphore (unfair)", ALL,
         packages="openjdk-17-jdk-headless", program="java", variant="unfair"),
    Peer("asyncio", "Python asyncio", OF_TASKS + ("leases",), TASKS, FIFO, packages="python3",
         program="python"),
)

# Programs that peers/build.sh builds.
BUILT = ("tokio", "go", "java")

BY_KEY = {peer.key: peer for peer in PEERS}


@dataclass
class Programs:
    """Where the programs are: the native ones and those of the other languages."""

    native: str
    others: str
    java: str = field(default_factory=lambda: shutil.which("java") or "java")

    def command(self, peer, question):
        """The command that asks this peer this question; the question's arguments follow."""
        if question == "command":
            return [sys.executable, self.script(question), peer.key,
                    os.path.join(os.path.dirname(self.native), "src", "weir")]
        if peer.program == "native":
            return [os.path.join(self.native, "bench-" + question), peer.key]
        if peer.program == "python":
            script = self.script("tasks" if question in OF_TASKS else question)
            return [sys.executable, "-B", script, question]
        if peer.program == "java":
            classes = os.path.join(self.others, "java")
            return [self.java, "-cp", classes, "Bench", question, peer.variant]
        return [os.path.join(self.others, "bench-" + peer.program), question] + (
            [peer.variant] if peer.variant else [])

    @staticmethod
    def script(question):
        return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                            "peers", "python", question + ".py")

    def is_there(self, peer):
        if peer.questions == ("command",):
            return bool(shutil.which({"gnu-sem": "sem"}.get(peer.key, peer.key)))
        if peer.key == "moodycamel":
            return os.path.exists("/usr/include/concurrentqueue/lightweightsemaphore.h")
        if peer.program == "java":
            return os.path.exists(os.path.join(self.others, "java", "Bench.class"))
        return os.path.exists(self.command(peer, peer.questions[0])[0])
