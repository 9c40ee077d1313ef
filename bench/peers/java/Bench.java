import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;

/**
 * bench: java.util.concurrent.Semaphore, asked the same questions as the native peers.
 *
 *     java Bench QUESTION fair|unfair key=value...
 */
public final class Bench {
	private final boolean fair;
	private final Map<String, String> values = new HashMap<>();

	private Bench(String[] arguments) {
		fair = arguments[1].equals("fair");
		for (int i = 2; i < arguments.length; i++) {
			String[] parts = arguments[i].split("=", 2);
			values.put(parts[0], parts[1]);
		}
	}

	double number(String key, double otherwise) {
		String value = values.get(key);
		return value == null ? otherwise : Double.parseDouble(value);
	}

	int count(String key, int otherwise) {
		return (int) number(key, otherwise);
	}

	Semaphore semaphore(int permits) {
		return new Semaphore(permits, fair);
	}

	static void print(String key, double value) {
		System.out.println(key + " " + value);
	}

	/** Written so that a value counts as used. */
	static volatile long kept;

	/** The work done inside a critical section, the same in every language. */
	static long work(long x, int rounds) {
		for (int i = 0; i < rounds; i++)
			x = (x ^ (x >>> 29)) * 6364136223846793005L;
		return x;
	}

	interface Chunk {
		void run() throws InterruptedException;
	}

	/** Runs chunks of operations until the time is over: nanoseconds of one in the middle chunk. */
	static double perOperation(double seconds, int size, Chunk chunk) throws InterruptedException {
		List<Double> times = new ArrayList<>();
		long start = System.nanoTime();
		long end = start + (long) (seconds * 1e9);

		while (start < end) {
			chunk.run();
			long after = System.nanoTime();
			times.add((after - start) / (double) size);
			start = after;
		}
		Collections.sort(times);
		return times.get(times.size() / 2);
	}

	public static void main(String[] arguments) throws InterruptedException {
		Bench bench = new Bench(arguments);

		switch (arguments[0]) {
		case "pair":
			Pair.measure(bench);
			break;
		case "contended":
			Contended.measure(bench);
			break;
		case "handoff":
			Handoff.measure(bench);
			break;
		default:
			throw new IllegalArgumentException("no such question: " + arguments[0]);
		}
	}
}
