//! What a waiter costs when there are very many: tasks that all queue for 3 permits and go through,
//! and queued acquires that are dropped from the middle of the queue. All on one thread.

use crate::{print, repeat, Arguments};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

const PERMITS: usize = 3;

struct Crowd {
    semaphore: Semaphore,
    queued: AtomicUsize,
    through: AtomicUsize,
}

/// Bytes that the allocator has given out.
fn allocated() -> f64 {
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as f64
}

async fn reached(counter: &AtomicUsize, count: usize) {
    while counter.load(Relaxed) < count {
        yield_now().await;
    }
}

/// Nanoseconds and bytes of each of `count` tasks.
async fn pass_through(count: usize) -> (f64, f64) {
    let crowd = Arc::new(Crowd {
        semaphore: Semaphore::new(0),
        queued: AtomicUsize::new(0),
        through: AtomicUsize::new(0),
    });
    let before = allocated();
    let start = Instant::now();

    for _ in 0..count {
        let crowd = crowd.clone();
        tokio::spawn(async move {
            crowd.queued.fetch_add(1, Relaxed);
            let permit = crowd.semaphore.acquire().await.unwrap();
            crowd.through.fetch_add(1, Relaxed);
            drop(permit);
        });
    }
    reached(&crowd.queued, count).await;
    let bytes = allocated() - before;
    crowd.semaphore.add_permits(PERMITS);
    reached(&crowd.through, count).await;
    (
        start.elapsed().as_nanos() as f64 / count as f64,
        bytes / count as f64,
    )
}

/// Polls each of them once.
struct QueueUp<'a, F>(&'a mut [Option<F>]);

impl<F: Future> Future for QueueUp<'_, F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        for acquire in self.get_mut().0.iter_mut().flatten() {
            // They stay where they are until they are dropped: nobody grows their vector.
            let pinned = unsafe { Pin::new_unchecked(acquire) };
            assert!(pinned.poll(context).is_pending());
        }
        Poll::Ready(())
    }
}

/// Queues `count` acquires that lie side by side, all polled by the task that calls, and drops
/// those at the places given, in that order: nanoseconds each.
async fn cancel(count: usize, places: &[usize]) -> f64 {
    let semaphore = Semaphore::new(0);
    let mut acquires: Vec<_> = (0..count).map(|_| Some(semaphore.acquire())).collect();

    QueueUp(&mut acquires).await;
    let start = Instant::now();
    for place in places {
        acquires[*place] = None;
    }
    start.elapsed().as_nanos() as f64 / places.len() as f64
}

/// A fixed shuffle.
fn shuffled(places: &[usize]) -> Vec<usize> {
    let mut places = places.to_vec();
    let mut x = 1;
    for i in (1..places.len()).rev() {
        x = crate::work(x, 1);
        places.swap(i, (x >> 33) as usize % (i + 1));
    }
    places
}

fn cancel_in_order(runtime: &Runtime, seconds: f64, count: usize, places: &[usize]) -> f64 {
    repeat(seconds, 1, || {
        let places = places.to_vec();
        let task = runtime.spawn(async move { cancel(count, &places).await });
        runtime.block_on(task).unwrap()
    })
}

pub fn measure(arguments: &Arguments) {
    let count = arguments.count("waiters", 1000);
    let seconds = arguments.number("seconds", 0.2);
    let middle: Vec<usize> = (count / 4..count - count / 4).collect();
    let runtime = crate::current_thread_runtime();
    let mut bytes = 0.0;

    let through = repeat(seconds, 1, || {
        runtime.block_on(async {
            let (ns, each) = pass_through(count).await;
            bytes = each;
            ns
        })
    });
    print("through_ns", through);
    print("bytes", bytes);
    print(
        "cancel_ns",
        cancel_in_order(&runtime, seconds / 4.0, count, &middle),
    );
    print(
        "cancel_random_ns",
        cancel_in_order(&runtime, seconds / 4.0, count, &shuffled(&middle)),
    );
}
