//! What a task that waits costs when there are very many: all wait for 3 permits and go through,
//! and those in the middle of the queue are aborted. On one thread.

use crate::{print, repeat, Arguments};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;
use tokio::task::{yield_now, JoinHandle};

const PERMITS: usize = 3;

struct Crowd {
    semaphore: Semaphore,
    queued: AtomicUsize,
    ended: AtomicUsize,
}

/// Counts the task's end, an abort included.
struct End(Arc<Crowd>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Relaxed);
    }
}

async fn pass(end: End) {
    let crowd = &end.0;
    crowd.queued.fetch_add(1, Relaxed);
    drop(crowd.semaphore.acquire().await.unwrap());
}

/// What the kernel has given the process: pages, and the tables that find them.
fn resident_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kib: f64 = status
        .lines()
        .filter(|line| line.starts_with("VmRSS:") || line.starts_with("VmPTE:"))
        .map(|line| line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap())
        .sum();
    kib * 1024.0
}

async fn reached(counter: &AtomicUsize, count: usize) {
    while counter.load(Relaxed) < count {
        yield_now().await;
    }
}

fn crowd() -> Arc<Crowd> {
    Arc::new(Crowd {
        semaphore: Semaphore::new(0),
        queued: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
    })
}

/// Nanoseconds and bytes of each of `count` tasks.
async fn pass_through(count: usize, weigh: bool) -> (f64, f64) {
    let crowd = crowd();
    let before = if weigh { resident_bytes() } else { 0.0 };
    let mut bytes = 0.0;
    let start = Instant::now();

    for _ in 0..count {
        tokio::spawn(pass(End(crowd.clone())));
    }
    reached(&crowd.queued, count).await;
    let weighing = Instant::now();
    if weigh {
        bytes = (resident_bytes() - before) / count as f64;
    }
    let weighing = weighing.elapsed();
    crowd.semaphore.add_permits(PERMITS);
    reached(&crowd.ended, count).await;
    let ns = (start.elapsed() - weighing).as_nanos() as f64 / count as f64;
    (ns, bytes)
}

async fn cancel_middle(count: usize) -> f64 {
    let crowd = crowd();
    let tasks: Vec<JoinHandle<()>> = (0..count)
        .map(|_| tokio::spawn(pass(End(crowd.clone()))))
        .collect();
    let middle = &tasks[count / 4..count - count / 4];

    reached(&crowd.queued, count).await;
    let start = Instant::now();
    for task in middle {
        task.abort();
    }
    reached(&crowd.ended, middle.len()).await;
    let ns = start.elapsed().as_nanos() as f64 / middle.len() as f64;
    crowd.semaphore.add_permits(PERMITS);
    reached(&crowd.ended, count).await;
    ns
}

pub fn measure(arguments: &Arguments) {
    let count = arguments.count("tasks", 1000);
    let seconds = arguments.number("seconds", 0.2);
    let runtime = crate::current_thread_runtime();
    let (cold, bytes) = runtime.block_on(pass_through(count, true));

    print("cold_ns", cold);
    print("bytes", bytes);
    print(
        "warm_ns",
        repeat(seconds, 3, || runtime.block_on(pass_through(count, false)).0),
    );
    print(
        "cancel_ns",
        repeat(seconds / 4.0, 3, || runtime.block_on(cancel_middle(count))),
    );
}
