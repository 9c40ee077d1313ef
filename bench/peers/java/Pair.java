import java.util.concurrent.Semaphore;

/** What an acquire and a release cost when nobody else wants the permit. */
final class Pair {
	private static final int CHUNK = 10000;

	static void measure(Bench bench) throws InterruptedException {
		Semaphore semaphore = bench.semaphore(bench.count("permits", 1));
		double seconds = bench.number("seconds", 0.2);
		Bench.Chunk chunk = () -> {
			for (int i = 0; i < CHUNK; i++) {
				semaphore.acquire();
				semaphore.release();
			}
		};

		/* As long as the measurement: the compiler has to see the loop first. */
		Bench.perOperation(seconds, CHUNK, chunk);
		Bench.print("ns", Bench.perOperation(seconds, CHUNK, chunk));
	}
}
