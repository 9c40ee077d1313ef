//! How much gets through when several tasks want the permits all the time, who gets how much of it,
//! and how long somebody waits at worst. The phases are those of the native program.

use crate::{keep, print, work, Arguments, Chunks};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Barrier, Semaphore};

const WARM_UP: u8 = 0;
const COUNT: u8 = 1;
const TIME: u8 = 2;
const STOP: u8 = 3;

#[derive(Default)]
struct Turns {
    pairs: u64,
    timed: u64,
    longest: Duration,
}

async fn take_turns(semaphore: &Semaphore, phase: &AtomicU8, rounds: usize) -> Turns {
    let mut turns = Turns::default();
    let mut x = 1;

    while phase.load(Relaxed) == WARM_UP {
        let permit = semaphore.acquire().await.unwrap();
        x = work(x, rounds);
        drop(permit);
    }
    while phase.load(Relaxed) == COUNT {
        let permit = semaphore.acquire().await.unwrap();
        x = work(x, rounds);
        drop(permit);
        turns.pairs += 1;
    }
    while phase.load(Relaxed) == TIME {
        let start = Instant::now();
        let permit = semaphore.acquire().await.unwrap();
        turns.longest = turns.longest.max(start.elapsed());
        x = work(x, rounds);
        drop(permit);
        turns.timed += 1;
    }
    keep(x);
    turns
}

fn spend(phase: &AtomicU8, which: u8, seconds: f64) -> Duration {
    let start = Instant::now();
    phase.store(which, Relaxed);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    start.elapsed()
}

fn report(turns: &[Turns], counted: Duration, timed: Duration) {
    let all: u64 = turns.iter().map(|t| t.pairs).sum();
    let equal = all.max(1) as f64 / turns.len() as f64;
    let share = |pairs: Option<u64>| pairs.unwrap_or(0) as f64 / equal;
    // Whoever got nothing waited throughout.
    let longest = turns
        .iter()
        .map(|t| if t.timed > 0 { t.longest } else { timed })
        .max();

    print("pairs_per_second", all as f64 / counted.as_secs_f64());
    print("share_min", share(turns.iter().map(|t| t.pairs).min()));
    print("share_max", share(turns.iter().map(|t| t.pairs).max()));
    print(
        "longest_wait_ns",
        longest.unwrap_or_default().as_nanos() as f64,
    );
}

fn work_ns(rounds: usize) -> f64 {
    let mut chunks = Chunks::new(0.005, 100);
    let mut x = 1;
    loop {
        for _ in 0..100 {
            x = keep(work(x, rounds));
        }
        if !chunks.more() {
            return chunks.ns();
        }
    }
}

pub fn measure(arguments: &Arguments) {
    let count = arguments.count("threads", 2);
    let rounds = arguments.count("rounds", 80);
    let seconds = arguments.number("seconds", 0.2);
    let semaphore = Arc::new(Semaphore::new(arguments.count("permits", 1)));
    let phase = Arc::new(AtomicU8::new(WARM_UP));
    let start = Arc::new(Barrier::new(count + 1));
    let runtime = crate::runtime(arguments.count("workers", 2));

    print("work_ns", work_ns(rounds));
    let tasks: Vec<_> = (0..count)
        .map(|_| {
            let (semaphore, phase, start) = (semaphore.clone(), phase.clone(), start.clone());
            runtime.spawn(async move {
                start.wait().await;
                take_turns(&semaphore, &phase, rounds).await
            })
        })
        .collect();
    runtime.block_on(start.wait());
    spend(&phase, WARM_UP, seconds / 4.0);
    let counted = spend(&phase, COUNT, seconds);
    let timed = spend(&phase, TIME, seconds / 2.0);
    phase.store(STOP, Relaxed);

    let turns: Vec<Turns> = tasks
        .into_iter()
        .map(|task| runtime.block_on(task).unwrap())
        .collect();
    report(&turns, counted, timed);
}
