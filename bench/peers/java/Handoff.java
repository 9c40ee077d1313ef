import java.util.concurrent.Semaphore;

/** From one thread's release until the other one runs: half a round trip over two semaphores. */
final class Handoff {
	private static final int CHUNK = 64;
	private static volatile boolean over;

	static void measure(Bench bench) throws InterruptedException {
		Semaphore ping = bench.semaphore(0);
		Semaphore pong = bench.semaphore(0);
		double seconds = bench.number("seconds", 0.2);
		Bench.Chunk roundTrips = () -> {
			for (int i = 0; i < CHUNK; i++) {
				pong.release();
				ping.acquire();
			}
		};
		Thread other = new Thread(() -> {
			for (;;) {
				pong.acquireUninterruptibly();
				if (over)
					return;
				ping.release();
			}
		});

		other.start();
		Bench.perOperation(seconds / 2, CHUNK, roundTrips);
		Bench.print("ns", Bench.perOperation(seconds, CHUNK, roundTrips) / 2);
		over = true;
		pong.release();
		other.join();
	}
}
