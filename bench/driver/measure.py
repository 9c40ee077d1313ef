"""Runs the programs in turns and collects what they print."""

import math
import os
import random
import resource
import statistics
import subprocess
import time
from collections import defaultdict

from driver import memory
from driver.peers import BY_KEY
from driver.questions import WORK_NS

TICKS = os.sysconf("SC_CLK_TCK")
CPUS = os.sched_getaffinity(0)

# A run during which others used more of the machine than this is repeated, as long as there are
# tries left, and does not count where there are ENOUGH undisturbed ones. All that is repeated may
# take REPEATS of the time that the rest takes: a machine that is always busy is not waited for.
TOO_BUSY = 0.05
ENOUGH = 3
REPEATS = 0.5

# Two processors are near each other if a word that both spin on goes from the one to the other within
# so many nanoseconds.
NEAR_NS = WORK_NS


class Failed(Exception):
    """A program that did not answer."""


def busy_seconds():
    """Time that our processors have spent since they started, for whomever: a hypervisor, too."""
    busy = 0
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            name, *times = line.split()
            if name.startswith("cpu") and name[3:].isdigit() and int(name[3:]) in CPUS:
                user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, times[:8])
                busy += user + nice + system + irq + softirq + steal
    return busy / TICKS


def own_seconds():
    return sum(sum(resource.getrusage(who)[:2])
               for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def run(command, cpus):
    """One run: what the program printed, as numbers."""
    place = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                              preexec_fn=place)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(str(error)) from error
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return {key: float(value) for key, value in (line.split() for line in done.stdout.splitlines())}


def watched_run(command, case):
    """One run; `others` is how much of the machine somebody else used meanwhile."""
    if case.memory:
        memory.fetch(case.memory)
    busy, own, start = busy_seconds(), own_seconds(), time.monotonic()
    answer = run(command, case.cpus)
    others = (busy_seconds() - busy) - (own_seconds() - own)
    answer["took"] = time.monotonic() - start
    answer["others"] = max(0.0, others / (answer["took"] * len(CPUS)))
    return answer


def is_disturbed(answer):
    return answer["others"] > TOO_BUSY


def is_any(_answer):
    return True


def is_near(answer):
    """Before and after the run; not if that was not looked at, as with one processor."""
    return answer.get("word_most_ns", math.inf) <= NEAR_NS


def is_far(answer):
    return answer.get("word_least_ns", 0) > NEAR_NS


class Samples:
    """All answers of one peer in one case."""

    def __init__(self):
        self.answers = []
        self.error = None

    def counted(self):
        clean = [answer for answer in self.answers if not is_disturbed(answer)]
        return clean if len(clean) >= ENOUGH else self.answers

    def values(self, key):
        return [answer[key] for answer in self.counted() if key in answer]

    def by_turn(self, key, which):
        return {answer["turn"]: answer[key] for answer in self.counted()
                if key in answer and which(answer)}

    def median(self, key):
        values = self.values(key)
        return statistics.median(values) if values else None

    def least(self, key):
        return min(self.values(key), default=None)

    def most(self, key):
        return max(self.values(key), default=None)


class Session:
    """Asks all peers in turns, so that a change of the machine's mood meets everyone."""

    def __init__(self, programs, peers, progress):
        self.programs = programs
        self.peers = peers
        self.progress = progress
        self.order = random.Random(1)
        self.repeated = 0
        self.disturbed = 0
        self.runs = 0
        self.seconds = 0.0
        self.repeat_seconds = 0.0

    def lineup(self, case):
        return [peer for peer in self.peers
                if case.question in peer.questions and case.admits(peer)]

    def shuffled(self, things):
        return self.order.sample(things, len(things))

    def pairs(self, cases):
        """Those of one case after each other: they are compared."""
        return [(case, peer) for case in self.shuffled(cases)
                for peer in self.shuffled(self.lineup(case))]

    def ask(self, cases, repeats, seconds):
        """Samples by case and peer."""
        samples = defaultdict(Samples)
        tries_left = sum(len(self.lineup(case)) for case in cases) * repeats // 3
        for turn in range(repeats):
            pairs = self.pairs(cases)
            for done, (case, peer) in enumerate(pairs):
                self.progress(f"{case.question}: turn {turn + 1} of {repeats}, "
                              f"{done + 1} of {len(pairs)}: {peer.name}")
                sample = samples[case.key, peer.key]
                tries_left = self.take(sample, case, peer, turn, seconds, tries_left)
        self.progress("")
        return samples

    def may_repeat(self, seconds):
        return self.repeat_seconds + seconds <= self.seconds * REPEATS

    def word_ns(self, case):
        """What a word takes now from one of the case's processors to the other."""
        command = self.programs.command(BY_KEY["spin"], "handoff")
        return run(command + ["seconds=0.004", "cpus=%d,%d" % case.cpus], case.cpus)["ns"]

    def placed_run(self, command, case):
        """One run; if that matters, with how near the processors were just before and just after."""
        if not case.across or len(case.cpus) < 2:
            return watched_run(command, case)
        before = self.word_ns(case)
        answer = watched_run(command, case)
        both = before, self.word_ns(case)
        return answer | {"word_least_ns": min(both), "word_most_ns": max(both)}

    def take(self, sample, case, peer, turn, seconds, tries_left):
        """Adds one answer; how many tries are left."""
        command = self.programs.command(peer, case.question)
        command += [f"{key}={value}" for key, value in case.arguments.items()]
        command.append(f"seconds={seconds}")
        if sample.error:
            return tries_left
        try:
            answer = self.placed_run(command, case)
            self.seconds += answer["took"]
            while is_disturbed(answer) and tries_left > 0 and self.may_repeat(answer["took"]):
                tries_left -= 1
                self.repeated += 1
                answer = self.placed_run(command, case)
                self.repeat_seconds += answer["took"]
        except Failed as error:
            sample.error = str(error)
            return tries_left
        self.runs += 1
        self.disturbed += is_disturbed(answer)
        sample.answers.append(answer | {"turn": turn})
        return tries_left
