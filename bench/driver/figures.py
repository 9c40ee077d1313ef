"""The figures to reach, what was measured, and whether they were reached. Information only: what is
fast enough on one machine is not on another, and nothing fails for it."""

import statistics

from driver.measure import is_any, is_far, is_near
from driver.peers import FIFO, PEERS


class Answers:
    """Medians by case and peer, None where nobody was asked."""

    def __init__(self, samples):
        self.samples = samples

    def get(self, case, peer, key):
        sample = self.samples.get((case, peer))
        return sample.median(key) if sample else None

    def quotients(self, case, key, peer, base, which=is_any):
        """How many times as much as the other one, in each turn of both: a machine may change its
        speed between two turns, and rarely does within one. `which`: only such answers."""
        both = [self.samples.get((case, each)) for each in (peer, base)]
        if None in both:
            return []
        mine, theirs = [sample.by_turn(key, which) for sample in both]
        return [mine[turn] / theirs[turn] for turn in mine if theirs.get(turn)]

    def times(self, case, key, peer, base):
        """The same in the middle of the turns."""
        return middle(self.quotients(case, key, peer, base))

    def others(self, case, key):
        """(value, name) of everybody but weir and the floors."""
        for peer in PEERS:
            value = self.get(case, peer.key, key)
            if value is not None and peer.key != "weir" and not peer.floor:
                yield value, peer.name


def middle(values):
    return statistics.median(values) if values else None


def figure(text, value, goal, at_most=True, shown="{:.2f}"):
    """One line: what is asked, what was measured, whether it was reached."""
    if value is None or goal is None:
        return text, "not measured", None
    reached = value <= goal if at_most else value >= goal
    sign = "at most" if at_most else "at least"
    return text, f"{shown.format(value)} ({sign} {shown.format(goal)})", reached


def quotient(value, base):
    return value / base if value is not None and base else None


def pair_figures(a):
    for case, permits in (("pair-1", "1 permit"), ("pair-3", "3 permits")):
        mine = a.get(case, "weir", "ns")
        yield figure(f"uncontended pair, {permits}, x the floor",
                     quotient(mine, a.get(case, "floor", "ns")), 1.15)
        best = min(a.others(case, "ns"), default=(None, "nobody"))
        yield figure(f"uncontended pair, {permits}, x the fastest peer ({best[1]})",
                     quotient(mine, best[0]), 1.0)


def handoff_figures(a):
    for case, where in (("handoff-two", "two cores"), ("handoff-pinned", "two cores, tied")):
        yield figure(f"hand-off, {where}, x the spinning floor",
                     quotient(a.get(case, "weir", "ns"), a.get(case, "spin", "ns")), 3.0)
    one = [a.get("handoff-one", peer, "ns") for peer in ("weir", "futex")]
    yield figure("hand-off, one core, x a bare futex", quotient(*one), 1.1)


def contended_figures(a):
    key = "pairs_per_second"
    two = [a.get("contended-2-1", peer, key) for peer in ("weir", "tokio")]
    yield figure("2 threads over 1, x tokio's throughput", quotient(*two), 1.0, at_most=False)
    for case in ("2-1", "4-1", "4-2", "8-1", "8-4"):
        both = [a.get("contended-" + case, peer, key) for peer in ("weir", "java-fair")]
        where = "{} threads over {}".format(*case.split("-"))
        yield figure(f"{where}, x Java's fair semaphore", quotient(*both), 3.0, at_most=False)
    for case in ("2-1", "4-1", "8-1"):
        shares = [a.get("contended-" + case, "weir", key) for key in ("share_min", "share_max")]
        off = None if None in shares else max(1 - shares[0], shares[1] - 1) * 100
        yield figure(f"{case[0]} threads over 1, a share's distance from equal in %", off, 5.0)


def waiters_figures(a):
    many = "waiters-1000000"
    for key, what, goal in (("through_ns", "ns", 100), ("bytes", "bytes", 128)):
        mine = a.get(many, "weir", key)
        yield figure(f"1,000,000 async waiters, {what} each", mine, goal, shown="{:.0f}")
        yield figure(f"1,000,000 async waiters, {what}, x tokio's tasks",
                     quotient(mine, a.get(many, "tokio", key)), 1.0)
    cancels = [a.get(f"waiters-{n}", "weir", "cancel_ns") for n in (1000, 100_000, 1_000_000)]
    spread = None if None in cancels else max(cancels) / min(cancels)
    yield figure("cancel from the middle, slowest x fastest from 1,000 to 1,000,000", spread, 2.0)
    yield figure("cancel from the middle of 1,000,000, x tokio's",
                 quotient(cancels[-1], a.get(many, "tokio", "cancel_ns")), 1.0)


def switch_figures(a):
    yield figure("switch, x a minimal one", a.times("switch", "ns", "weir", "minimal"), 2.0)


def times_faster(a, case, key, peer, goal, what, name):
    return figure(f"{what}, times faster than {name}", a.times(case, key, peer, "weir"), goal,
                  at_most=False)


def pingpong_figures(a):
    yield times_faster(a, "pingpong", "ns", "tokio", 3.0, "ping-pong of tasks", "tokio")
    yield times_faster(a, "pingpong", "ns", "go-sync", 6.0, "ping-pong of tasks", "Go")


def tasks_figures(a):
    for n in (100_000, 1_000_000):
        case = f"tasks-{n}"
        what = f"{n:,} tasks"
        yield times_faster(a, case, "warm_ns", "tokio", 1.5, what + ", warm", "tokio")
        yield times_faster(a, case, "warm_ns", "go-sync", 5.0, what + ", warm", "Go")
        yield times_faster(a, case, "cold_ns", "go-sync", 1.0, what + ", cold", "Go")
        yield figure(f"{what}, resident bytes of each that waits", a.get(case, "weir", "bytes"),
                     4.5 * 1024, shown="{:.0f}")


def gather_figures(a):
    yield figure("spawn and gather of 1,000, ns of each", a.get("gather", "weir", "ns"), 1000,
                 shown="{:.0f}")


def schedulers_figures(a):
    key = "pairs_per_second"
    for tasks in (2, 4, 8):
        case = f"schedulers-{tasks}"
        yield figure(f"{tasks} tasks of two schedulers, x tokio's throughput",
                     a.times(case, key, "weir", "tokio"), 1.0, at_most=False)
        for where, which in (("near each other", is_near), ("far apart", is_far)):
            turns = a.quotients(case, key, "weir", "tokio", which)
            yield figure(f"  the same with the processors {where}, turns: {len(turns)}",
                         middle(turns), 1.0, at_most=False)
        shares = [a.get(case, "weir", share) for share in ("share_min", "share_max")]
        off = None if None in shares else max(1 - shares[0], shares[1] - 1) * 100
        yield figure(f"{tasks} tasks of two schedulers, a share's distance from equal in %", off,
                     5.0)


def costs_figures(a):
    def cost(key):
        return a.get("costs", "weir", key)

    yield figure("sizeof(struct weir_sem)", cost("sizeof_sem"), 64, shown="{:.0f}")
    kept = [cost("allocations"), cost("allocations_contended")]
    yield figure("allocations anywhere", None if None in kept else sum(kept), 0, shown="{:.0f}")
    # Without a single call under contention the counting itself did not work.
    calls = cost("kernel_calls") if cost("kernel_calls_contended") else None
    yield figure("system calls uncontended", calls, 0, shown="{:.0f}")
    wakes = quotient(cost("wakes"), cost("granted_after_wait")) if calls is not None else None
    yield figure("futex wakes for a grant, under contention", wakes, 1.0, shown="{:.4f}")


def leases_figures(a):
    def ns(case, peer="weir"):
        return a.get("leases-" + case, peer, "ns")

    yield figure("lease and release, TTL armed, ns", ns("10"), 1000, shown="{:.0f}")
    yield figure("lease and release, x asyncio's", quotient(ns("10"), ns("10", "asyncio")), 0.1)
    yield figure("lease from task to task, ns", ns("handoff"), 1000, shown="{:.0f}")
    yield figure("lease from task to task, x asyncio's",
                 quotient(ns("handoff"), ns("handoff", "asyncio")), 0.1)
    yield figure("1,000,000 idle names, bytes each", a.get("leases-1000000", "weir", "bytes"), 512,
                 shown="{:.0f}")
    yield figure("lease and release, with 1,000,000 names x with 10",
                 quotient(ns("1000000"), ns("10")), 1.2)


def sqlite_figures(a):
    def got(key):
        return a.get("sqlite", "weir", key)

    yield figure("lease in a file, x two bare transactions", got("pair_ratio"), 2.5)
    yield figure("lease in a file, 64 threads x one", got("threads_ratio"), 4.0, at_most=False)
    yield figure("release to held in another process, p50, us", got("wake_p50_us"), 150,
                 shown="{:.0f}")
    yield figure("kill -9 to held in another process, p99, us", got("kill_p99_us"), 10_000,
                 shown="{:.0f}")
    yield figure("lease in a file, with 9,999 live x with 10", got("live_ratio"), 2.0)


def command_figures(a):
    def x(case, peer):
        return quotient(a.get("command-" + case, "weir", "ns"),
                        a.get("command-" + case, peer, "ns"))

    def faster(case):
        return quotient(1, x(case, "gnu-sem"))

    yield figure("weir run NAME true, x flock FILE true", x("one", "flock"), 2.0)
    yield figure("weir run NAME true, times faster than GNU sem", faster("one"), 25, at_most=False)
    yield figure("200 runs with a limit of 4, x flock", x("many", "flock"), 3.0)
    yield figure("200 runs with a limit of 4, times faster than GNU sem", faster("many"), 30,
                 at_most=False)


MAKERS = {
    "pair": pair_figures,
    "handoff": handoff_figures,
    "contended": contended_figures,
    "waiters": waiters_figures,
    "switch": switch_figures,
    "pingpong": pingpong_figures,
    "tasks": tasks_figures,
    "gather": gather_figures,
    "schedulers": schedulers_figures,
    "leases": leases_figures,
    "sqlite": sqlite_figures,
    "command": command_figures,
    "costs": costs_figures,
}


def figures(questions, samples):
    """(text, measured, reached) of every figure of the questions that were asked."""
    answers = Answers(samples)
    for question in questions:
        yield from MAKERS[question](answers)


def waits_beside(samples):
    """The longest waits under contention, ours beside those of peers who let newcomers overtake."""
    for case in ("contended-4-1", "contended-8-1"):
        waits = {}
        for peer in PEERS:
            sample = samples.get((case, peer.key))
            if sample and sample.values("longest_wait_ns"):
                waits[peer] = sample.most("longest_wait_ns")
        barging = [wait for peer, wait in waits.items() if peer.order != FIFO]
        mine = [wait for peer, wait in waits.items() if peer.key == "weir"]
        if mine and barging:
            yield case, mine[0], min(barging), max(barging)
