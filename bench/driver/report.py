"""The answers as tables."""

from driver.peers import BY_KEY, TASKS
from driver.questions import MEASURES, OF_TASKS

# The floor that a case's ratios refer to, and what the column is called; the others refer to weir.
FLOORS = {
    "pair-1": ("floor", "x floor"),
    "pair-3": ("floor", "x floor"),
    "handoff-two": ("spin", "x spinning"),
    "handoff-pinned": ("spin", "x spinning"),
    "handoff-one": ("futex", "x futex"),
    "switch": ("minimal", "x minimal"),
}


def waits_as(case, peer):
    """weir waits as either, whatever the question is about."""
    if peer.floor:
        return "-"
    return TASKS if case.question in OF_TASKS else peer.waits


def base_of(case):
    return FLOORS.get(case.key, ("weir", "x weir"))


def rate(value):
    """Pairs in a second, in millions."""
    return f"{value / 1e6:.3f}" if value < 1e6 else f"{value / 1e6:.2f}"


def nanoseconds(value):
    if value < 100:
        return f"{value:.2f}" if value < 20 else f"{value:.1f}"
    return f"{value:,.0f}"


def duration(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def ratio(value, base):
    if not base:
        return "-"
    times = value / base
    return f"{times:.2f}" if times < 10 else f"{times:,.0f}"


def spread(sample, key, shown):
    return f"{shown(sample.least(key))} .. {shown(sample.most(key))}"


def ranked(case, samples):
    """Peers that answered, the best first, floors at the top."""
    key, more_is_better = MEASURES[case.question]
    there = [(BY_KEY[name], sample) for (where, name), sample in samples.items()
             if where == case.key and sample.values(key)]
    sign = -1 if more_is_better else 1
    return sorted(there, key=lambda item: (not item[0].floor, sign * item[1].median(key)))


def absent(case, samples, chosen, missing):
    """Reasons, each with the names of those who take part but have no answer in this case."""
    reasons = {}
    for peer in chosen:
        sample = samples.get((case.key, peer.key))
        reason = None
        if case.question not in peer.questions:
            if case.question == "waiters" and not peer.floor:
                reason = "without async waiters"
        elif peer.key in missing:
            reason = f"not installed ({peer.packages})"
        elif not case.admits(peer):
            reason = f"left out ({case.left_out})"
        elif sample and sample.error:
            reason = f"failed ({sample.error})"
        if reason:
            reasons.setdefault(reason, []).append(peer.name)
    return reasons


def layout(header, rows):
    """Columns as wide as needed, the first one to the left and the others to the right."""
    widths = [max(len(row[i]) for row in [header] + rows) for i in range(len(header))]
    for row in [header] + rows:
        yield "  ".join([row[0].ljust(widths[0])] +
                        [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip()


def time_rows(case, samples):
    base_key, base_name = base_of(case)
    base = samples[case.key, base_key].median("ns") if (case.key, base_key) in samples else None
    header = ["", "ns", base_name, "min .. max", "waits as"]
    rows = [[peer.name, nanoseconds(sample.median("ns")), ratio(sample.median("ns"), base),
             spread(sample, "ns", nanoseconds),
             waits_as(case, peer)]
            for peer, sample in ranked(case, samples)]
    return header, rows


def contended_rows(case, samples):
    weir = samples.get((case.key, "weir"))
    base = weir.median("pairs_per_second") if weir else None
    header = ["", "M pairs/s", "x weir", "min .. max", "share of a thread", "longest wait", "order",
              "waits as", "work ns"]
    rows = []
    for peer, sample in ranked(case, samples):
        rows.append([
            peer.name, rate(sample.median("pairs_per_second")),
            ratio(sample.median("pairs_per_second"), base),
            spread(sample, "pairs_per_second", rate),
            f"{sample.median('share_min'):.3f} .. {sample.median('share_max'):.3f}",
            duration(sample.most("longest_wait_ns")), peer.order, waits_as(case, peer),
            f"{sample.median('work_ns'):.0f}"])
    return header, rows


def waiters_rows(case, samples):
    weir = samples.get((case.key, "weir"))
    base = weir.median("through_ns") if weir else None
    header = ["", "ns each", "x weir", "min .. max", "bytes each", "cancel ns",
              "cancel ns, random order"]
    rows = []
    for peer, sample in ranked(case, samples):
        cancels = [sample.median(key) for key in ("cancel_ns", "cancel_random_ns")]
        rows.append([
            peer.name, nanoseconds(sample.median("through_ns")),
            ratio(sample.median("through_ns"), base), spread(sample, "through_ns", nanoseconds),
            f"{sample.median('bytes'):.0f}"] +
            ["-" if ns is None else nanoseconds(ns) for ns in cancels])
    return header, rows


def tasks_rows(case, samples):
    weir = samples.get((case.key, "weir"))
    base = weir.median("warm_ns") if weir else None
    header = ["", "warm ns each", "x weir", "min .. max", "cold ns each", "resident bytes each",
              "cancel ns"]
    rows = []
    for peer, sample in ranked(case, samples):
        cancel = sample.median("cancel_ns")
        rows.append([
            peer.name, nanoseconds(sample.median("warm_ns")),
            ratio(sample.median("warm_ns"), base), spread(sample, "warm_ns", nanoseconds),
            nanoseconds(sample.median("cold_ns")), f"{sample.median('bytes'):,.0f}",
            "-" if cancel is None else nanoseconds(cancel)])
    return header, rows


def costs_lines(samples):
    sample = samples["costs", "weir"]
    texts = (
        ("sizeof_sem", "bytes of a struct weir_sem"),
        ("sizeof_waiter", "bytes of a struct weir_waiter"),
        ("allocations", "allocations in a million uncontended pairs"),
        ("kernel_calls", "system calls in a million uncontended pairs"),
        ("allocations_contended", "allocations while 4 threads contend"),
        ("kernel_calls_contended", "system calls while 4 threads contend"),
        ("wakes", "of these futex wakes"),
        ("granted_after_wait", "grants after a wait meanwhile"),
    )
    for key, text in texts:
        if sample.values(key):
            yield f"{sample.median(key):>12,.0f}  {text}"


# What is measured, its unit, and beside what: keys of the answers.
SQLITE = (
    ("a lease and its release, us", "pair_us", "pair_bare_us", "two bare transactions"),
    ("pairs in a second, 64 threads", "threads_64_per_s", "threads_1_per_s", "one thread"),
    ("release to held elsewhere, p50, us", "wake_p50_us", "wake_pipe_p50_us", "a pipe"),
    ("release to held elsewhere, p99, us", "wake_p99_us", "wake_pipe_p99_us", "a pipe"),
    ("the same after a rest, p50, us", "rested_wake_p50_us", "rested_wake_pipe_p50_us", "a pipe"),
    ("kill -9 to held elsewhere, p50, us", "kill_p50_us", None, ""),
    ("kill -9 to held elsewhere, p99, us", "kill_p99_us", None, ""),
    ("a pair, 9,999 leases live, us", "live_9999_us", "live_10_us", "10 live"),
)


def sqlite_rows(case, samples):
    sample = samples.get((case.key, "weir"))
    rows = []
    for text, key, beside, what in SQLITE if sample else ():
        value, base = sample.median(key), sample.median(beside) if beside else None
        if value is not None:
            rows.append([text, f"{value:,.0f}", f"{base:,.0f}" if base else "-",
                         ratio(value, base), what])
    return ["", "weir", "beside", "ratio", "which is"], rows


ROWS = {
    "pair": time_rows,
    "contended": contended_rows,
    "handoff": time_rows,
    "waiters": waiters_rows,
    "switch": time_rows,
    "pingpong": time_rows,
    "tasks": tasks_rows,
    "gather": time_rows,
    "schedulers": contended_rows,
    "leases": time_rows,
    "sqlite": sqlite_rows,
    "command": time_rows,
}


def table(case, samples, chosen, missing):
    """The lines of one case."""
    yield case.title
    if case.question == "costs":
        yield from costs_lines(samples)
    else:
        yield from layout(*ROWS[case.question](case, samples))
        for reason, names in absent(case, samples, chosen, missing).items():
            yield f"{reason}: {', '.join(names)}"
