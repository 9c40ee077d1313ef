"""Named semaphores with a time to live, as one writes them with asyncio: the same questions as
bench/native/leases.cc.

    leases.py leases names=10 seconds=0.2
"""

import asyncio
import random
import sys
import time

TTL = 30


class Leases:
    def __init__(self):
        self.names = {}
        self.fence = 0

    async def acquire(self, name):
        semaphore = self.names.get(name)
        if semaphore is None:
            semaphore = self.names[name] = asyncio.Semaphore(1)
        await semaphore.acquire()
        self.fence += 1
        timer = asyncio.get_running_loop().call_later(TTL, semaphore.release)
        return semaphore, timer, self.fence

    def release(self, lease):
        lease[1].cancel()
        lease[0].release()


async def pairs(leases, names, seconds):
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for name in names[:1000]:
            leases.release(await leases.acquire(name))
            done += 1
    return (time.perf_counter() - start) / done * 1e9


async def relay(leases, until, count):
    while time.perf_counter() < until:
        lease = await leases.acquire("relay")
        count[0] += 1
        await asyncio.sleep(0)
        leases.release(lease)


async def main():
    arguments = dict(word.split("=") for word in sys.argv[2:])
    seconds = float(arguments.get("seconds", 0.2))
    leases = Leases()
    if int(float(arguments.get("handoff", 0))):
        count, start = [0], time.perf_counter()
        await asyncio.gather(*(relay(leases, start + seconds, count) for _ in range(2)))
        print("ns", (time.perf_counter() - start) / count[0] * 1e9)
        return
    names = [f"service/name-{i}" for i in range(int(float(arguments.get("names", 10))))]
    for name in names:
        leases.release(await leases.acquire(name))
    print("ns", await pairs(leases, names[:: max(len(names) // 10, 1)], seconds))
    random.Random(1).shuffle(names)
    print("cold_ns", await pairs(leases, names, seconds))


asyncio.run(main())
