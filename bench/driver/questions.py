"""What is asked: every question with its cases. A case is one line-up of all peers."""

import os
from dataclasses import dataclass, field

from driver.peers import THREADS

# What the work in a critical section takes.
WORK_NS = 100


@dataclass(frozen=True)
class Case:
    question: str
    key: str
    title: str
    arguments: dict = field(default_factory=dict)
    cpus: tuple = ()                        # where the program may run; () for anywhere
    admits: object = lambda peer: True
    left_out: str = ""                      # why those who are not admitted are left out
    memory: int = 0                         # bytes that are to be at hand before each run
    across: bool = False                    # it matters how near two processors are to each other


QUESTIONS = ("pair", "contended", "handoff", "waiters", "switch", "pingpong", "tasks", "gather",
             "schedulers", "leases", "sqlite", "command", "costs")

# Of these, those about tasks.
OF_TASKS = ("switch", "pingpong", "tasks", "gather", "schedulers")

# The figure by which the peers of a question are compared, and whether more of it is better.
MEASURES = {
    "pair": ("ns", False),
    "contended": ("pairs_per_second", True),
    "handoff": ("ns", False),
    "waiters": ("through_ns", False),
    "switch": ("ns", False),
    "pingpong": ("ns", False),
    "tasks": ("warm_ns", False),
    "gather": ("ns", False),
    "schedulers": ("pairs_per_second", True),
    "leases": ("ns", False),
    "command": ("ns", False),
}


def siblings(cpu):
    path = f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return str(cpu)


def two_cores():
    """Two processors that are not two faces of one core, if there are."""
    cpus = sorted(os.sched_getaffinity(0))
    for cpu in cpus[1:]:
        if siblings(cpu) != siblings(cpus[0]):
            return (cpus[0], cpu)
    return tuple(cpus[:2])


def pair_cases():
    return [Case("pair", f"pair-{n}", f"Uncontended acquire and release, {n} permit{'s' * (n > 1)}",
                 {"permits": n}, admits=lambda peer, n=n: n == 1 or not peer.one_permit,
                 left_out="a mutex has one permit")
            for n in (1, 3)]


def contended_cases(rounds):
    sizes = [(2, 1), (4, 1), (4, 2), (8, 1), (8, 4)]
    return [Case("contended", f"contended-{t}-{n}",
                 f"Contended, {t} threads over {n} permit{'s' * (n > 1)}",
                 {"threads": t, "permits": n, "rounds": rounds, "workers": 2},
                 admits=lambda peer, n=n: n == 1 or not peer.one_permit,
                 left_out="a mutex has one permit")
            for t, n in sizes]


def handoff_cases():
    pair = two_cores()
    one = Case("handoff", "handoff-one", "Hand-off, both on one core", {"workers": 1}, pair[:1],
               lambda peer: peer.key != "spin", "it would spin away the other's time")
    if len(pair) < 2:
        return [one]
    return [
        Case("handoff", "handoff-two", "Hand-off, two cores, placed by the system",
             {"workers": 2}, pair),
        Case("handoff", "handoff-pinned", "Hand-off, each thread tied to a core of its own",
             {"cpus": "%d,%d" % pair}, pair, lambda peer: peer.program == "native",
             "it places its threads itself"),
        one,
    ]


def waiters_cases():
    sizes = (1000, 100_000, 1_000_000)
    return [Case("waiters", f"waiters-{n}", f"{n:,} async waiters through 3 permits",
                 {"waiters": n}, admits=lambda peer, n=n: n < 1_000_000 or peer.program != "go",
                 left_out="a million goroutines take 4 GB and half a minute")
            for n in sizes]


def one_core():
    """The last of our processors: interrupts mostly go to the first."""
    return (max(os.sched_getaffinity(0)),)


def switch_cases():
    return [Case("switch", "switch", "Switch to another stack and on", cpus=one_core())]


def pingpong_cases():
    return [Case("pingpong", "pingpong", "Ping-pong of two tasks over two semaphores, one thread",
                 cpus=one_core())]


# More than a task of any peer takes.
BYTES_OF_A_TASK = 6 << 10


def tasks_cases():
    def admits(peer, n):
        if peer.program == "python":
            return n <= 100_000
        return n < 1_000_000 or peer.key != "go-channel"

    return [Case("tasks", f"tasks-{n}", f"{n:,} tasks through 3 permits, one thread", {"tasks": n},
                 one_core(), admits=lambda peer, n=n: admits(peer, n),
                 left_out="a million of them take too long", memory=n * BYTES_OF_A_TASK)
            for n in (1000, 100_000, 1_000_000)]


def gather_cases():
    return [Case("gather", "gather", "Spawn and gather 1,000 tasks, one thread", {"tasks": 1000},
                 one_core())]


def schedulers_cases(rounds):
    return [Case("schedulers", f"schedulers-{t}",
                 f"{t} tasks of two schedulers in two threads over 1 permit",
                 {"threads": t, "permits": 1, "rounds": rounds, "workers": 2}, two_cores(),
                 admits=lambda peer, t=t: t == 2 or not peer.floor,
                 left_out="it has one task in each thread", across=True)
            for t in (2, 4, 8)]


def leases_cases():
    return [Case("leases", f"leases-{n}", f"A lease and its release, {n:,} names", {"names": n},
                 admits=lambda peer, n=n: n < 1_000_000 or peer.program == "native",
                 left_out="a million timers take it half a minute")
            for n in (10, 1000, 1_000_000)] + [
        Case("leases", "leases-handoff", "A lease handed from task to task", {"handoff": 1},
             admits=lambda peer: peer.key != "map", left_out="it has no tasks")]


def sqlite_cases():
    return [Case("sqlite", "sqlite", "Leases in a file, and what they are beside")]


def command_cases():
    return [
        Case("command", "command-one", "A command through weir run, with nobody else there",
             {"one": 1}),
        Case("command", "command-many", "200 commands, eight at a time, a limit of 4; each",
             {"many": 200}),
    ]


def costs_cases():
    return [Case("costs", "costs", "What weir takes from the system",
                 admits=lambda peer: peer.waits == THREADS)]


def cases(question, rounds):
    makers = {
        "pair": pair_cases,
        "contended": lambda: contended_cases(rounds),
        "handoff": handoff_cases,
        "waiters": waiters_cases,
        "switch": switch_cases,
        "pingpong": pingpong_cases,
        "tasks": tasks_cases,
        "gather": gather_cases,
        "schedulers": lambda: schedulers_cases(rounds),
        "leases": leases_cases,
        "sqlite": sqlite_cases,
        "command": command_cases,
        "costs": costs_cases,
    }
    return makers[question]()
