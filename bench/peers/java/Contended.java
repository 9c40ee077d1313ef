import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;

/**
 * How much gets through when several threads want the permits all the time, who gets how much of
 * it, and how long somebody waits at worst. The phases are those of the native program.
 */
final class Contended {
	private static final int WARM_UP = 0;
	private static final int COUNT = 1;
	private static final int TIME = 2;
	private static final int STOP = 3;
	private static volatile int phase = WARM_UP;

	private static final class Worker extends Thread {
		private final Semaphore semaphore;
		private final CyclicBarrier start;
		private final int rounds;
		long pairs;
		long timed;
		long longest;

		Worker(Semaphore semaphore, CyclicBarrier start, int rounds) {
			this.semaphore = semaphore;
			this.start = start;
			this.rounds = rounds;
		}

		@Override
		public void run() {
			try {
				start.await();
				/* Each phase is a method, and the first two are the same one, so that the
				 * compiler has seen it before it counts. */
				takeTurns(WARM_UP);
				pairs = takeTurns(COUNT);
				timed = takeTimedTurns();
			} catch (InterruptedException | BrokenBarrierException e) {
				throw new IllegalStateException(e);
			}
		}

		private long takeTurns(int during) throws InterruptedException {
			long turns = 0;
			long x = 1;

			while (phase == during) {
				semaphore.acquire();
				x = Bench.work(x, rounds);
				semaphore.release();
				turns++;
			}
			Bench.kept = x;
			return turns;
		}

		private long takeTimedTurns() throws InterruptedException {
			long turns = 0;
			long most = 0;
			long x = 1;

			while (phase == TIME) {
				long before = System.nanoTime();

				semaphore.acquire();
				most = Math.max(most, System.nanoTime() - before);
				x = Bench.work(x, rounds);
				semaphore.release();
				turns++;
			}
			Bench.kept = x;
			longest = most;
			return turns;
		}
	}

	private static double spend(int which, double seconds) throws InterruptedException {
		long start = System.nanoTime();

		phase = which;
		Thread.sleep((long) (seconds * 1000));
		return System.nanoTime() - start;
	}

	private static void report(Worker[] workers, double countedNs, double timedNs) {
		long least = Long.MAX_VALUE;
		long most = 0;
		long all = 0;
		double longest = 0;

		for (Worker worker : workers) {
			least = Math.min(least, worker.pairs);
			most = Math.max(most, worker.pairs);
			all += worker.pairs;
			/* Whoever got nothing waited throughout. */
			longest = Math.max(longest, worker.timed > 0 ? worker.longest : timedNs);
		}

		double equal = Math.max(all, 1) / (double) workers.length;

		Bench.print("pairs_per_second", all / countedNs * 1e9);
		Bench.print("share_min", least / equal);
		Bench.print("share_max", most / equal);
		Bench.print("longest_wait_ns", longest);
	}

	private static double workNs(int rounds) throws InterruptedException {
		return Bench.perOperation(0.03, 100, () -> {
			long x = 1;

			for (int i = 0; i < 100; i++)
				x = Bench.work(x, rounds);
			Bench.kept = x;
		});
	}

	static void measure(Bench bench) throws InterruptedException {
		int rounds = bench.count("rounds", 80);
		double seconds = bench.number("seconds", 0.2);
		Semaphore semaphore = bench.semaphore(bench.count("permits", 1));
		Worker[] workers = new Worker[bench.count("threads", 2)];
		CyclicBarrier start = new CyclicBarrier(workers.length);

		Bench.print("work_ns", workNs(rounds));
		for (int i = 0; i < workers.length; i++) {
			workers[i] = new Worker(semaphore, start, rounds);
			workers[i].start();
		}
		spend(WARM_UP, seconds / 2);

		double counted = spend(COUNT, seconds);
		double timed = spend(TIME, seconds / 2);

		phase = STOP;
		for (Worker worker : workers)
			worker.join();
		report(workers, counted, timed);
	}
}
