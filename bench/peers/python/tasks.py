"""bench: Python's asyncio.Semaphore, asked the questions about tasks.

    tasks.py QUESTION key=value...
"""

import asyncio
import gc
import statistics
import sys
import time

PERMITS = 3


def show(key, value):
    print(key, value)


class Clock:
    """Times chunks of `size` operations until the time is over; the middle one counts."""

    def __init__(self, seconds, size):
        self.size = size
        self.end = time.perf_counter() + seconds
        self.last = time.perf_counter_ns()
        self.times = []

    def more(self):
        now = time.perf_counter_ns()
        self.times.append((now - self.last) / self.size)
        self.last = now
        return time.perf_counter() < self.end

    def ns(self):
        return statistics.median(self.times)


async def pingpong(arguments):
    size = 64
    seconds = arguments.get("seconds", 0.2)
    sides = [asyncio.Semaphore(0), asyncio.Semaphore(0)]
    over = False

    async def pong():
        while True:
            await sides[1].acquire()
            if over:
                return
            sides[0].release()

    async def round_trips(seconds):
        clock = Clock(seconds, size)
        while True:
            for _ in range(size):
                sides[1].release()
                await sides[0].acquire()
            if not clock.more():
                return clock.ns() / 2

    other = asyncio.create_task(pong())
    await round_trips(seconds / 4)
    show("ns", await round_trips(seconds))
    over = True
    sides[1].release()
    await other


def resident_bytes():
    """What the kernel has given the process: pages, and the tables that find them."""
    with open("/proc/self/status", encoding="ascii") as file:
        return sum(int(line.split()[1]) * 1024 for line in file
                   if line.startswith(("VmRSS:", "VmPTE:")))


class Crowd:
    def __init__(self):
        self.semaphore = asyncio.Semaphore(0)
        self.queued = 0
        self.ended = 0

    async def go_through(self):
        self.queued += 1
        try:
            await self.semaphore.acquire()
            self.semaphore.release()
        finally:
            self.ended += 1

    def open(self):
        for _ in range(PERMITS):
            self.semaphore.release()


async def pass_through(count, weigh):
    crowd = Crowd()
    bytes_each = weighing = 0
    before = resident_bytes() if weigh else 0
    start = time.perf_counter_ns()
    all_tasks = [asyncio.create_task(crowd.go_through()) for _ in range(count)]
    while crowd.queued < count:
        await asyncio.sleep(0)
    if weigh:
        begun = time.perf_counter_ns()
        bytes_each = (resident_bytes() - before) / count
        weighing = time.perf_counter_ns() - begun
    crowd.open()
    while crowd.ended < count:
        await asyncio.sleep(0)
    del all_tasks
    return (time.perf_counter_ns() - start - weighing) / count, bytes_each


async def cancel_middle(count):
    crowd = Crowd()
    all_tasks = [asyncio.create_task(crowd.go_through()) for _ in range(count)]
    middle = all_tasks[count // 4:count - count // 4]
    while crowd.queued < count:
        await asyncio.sleep(0)
    start = time.perf_counter_ns()
    for task in middle:
        task.cancel()
    while crowd.ended < len(middle):
        await asyncio.sleep(0)
    ns = (time.perf_counter_ns() - start) / len(middle)
    crowd.open()
    while crowd.ended < count:
        await asyncio.sleep(0)
    return ns


async def tasks(arguments):
    count = int(arguments.get("tasks", 1000))
    cold, bytes_each = await pass_through(count, True)
    show("cold_ns", cold)
    show("bytes", bytes_each)
    show("warm_ns", (await pass_through(count, False))[0])
    show("cancel_ns", await cancel_middle(count))


async def gather(arguments):
    count = int(arguments.get("tasks", 1000))
    seconds = arguments.get("seconds", 0.2)

    async def answer(i):
        return i

    async def turns(seconds):
        clock = Clock(seconds, count)
        while True:
            values = await asyncio.gather(*(asyncio.create_task(answer(i)) for i in range(count)))
            assert values[-1] == count - 1
            if not clock.more():
                return clock.ns()

    await turns(seconds / 4)
    show("ns", await turns(seconds))


def main():
    questions = {"pingpong": pingpong, "tasks": tasks, "gather": gather}
    arguments = dict(argument.split("=", 1) for argument in sys.argv[2:])
    gc.disable()
    asyncio.run(questions[sys.argv[1]]({key: float(value) for key, value in arguments.items()}))


main()
