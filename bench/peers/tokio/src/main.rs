//! bench: tokio's semaphore, asked the same questions as the native peers.
//!
//!     bench-tokio QUESTION key=value...
//!
//! Tasks stand where the others have threads, on a runtime of as many workers as it is told.

mod contended;
mod gather;
mod handoff;
mod pair;
mod tasks;
mod waiters;

use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

pub struct Arguments(Vec<String>);

impl Arguments {
    pub fn number(&self, key: &str, otherwise: f64) -> f64 {
        self.0
            .iter()
            .filter_map(|argument| argument.split_once('='))
            .find(|(name, _)| *name == key)
            .map_or(otherwise, |(_, value)| value.parse().expect(key))
    }

    pub fn count(&self, key: &str, otherwise: usize) -> usize {
        self.number(key, otherwise as f64) as usize
    }
}

pub fn print(key: &str, value: f64) {
    println!("{} {}", key, value);
}

pub fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .build()
        .expect("runtime")
}

pub fn current_thread_runtime() -> Runtime {
    Builder::new_current_thread().build().expect("runtime")
}

/// The work done inside a critical section, the same in every language.
#[inline]
pub fn work(mut x: u64, rounds: usize) -> u64 {
    for _ in 0..rounds {
        x = (x ^ (x >> 29)).wrapping_mul(6364136223846793005);
    }
    x
}

/// Makes the compiler believe that the value is used.
pub fn keep(x: u64) -> u64 {
    unsafe { std::ptr::read_volatile(&x) }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(|a, b| a.total_cmp(b));
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Repeats what takes less than the time given, `least` times at least; the middle result.
pub fn repeat(seconds: f64, least: usize, mut measure: impl FnMut() -> f64) -> f64 {
    let start = Instant::now();
    let mut results = Vec::new();
    while results.len() < least || start.elapsed().as_secs_f64() < seconds {
        results.push(measure());
    }
    median(results)
}

/// Times chunks of `size` operations until the time is over; the middle one counts.
pub struct Chunks {
    size: usize,
    seconds: f64,
    begun: Instant,
    last: Instant,
    times: Vec<f64>,
}

impl Chunks {
    pub fn new(seconds: f64, size: usize) -> Chunks {
        let now = Instant::now();
        Chunks {
            size,
            seconds,
            begun: now,
            last: now,
            times: Vec::new(),
        }
    }

    /// To be called after each chunk: whether there is time for another.
    pub fn more(&mut self) -> bool {
        let now = Instant::now();
        self.times
            .push((now - self.last).as_nanos() as f64 / self.size as f64);
        self.last = now;
        (now - self.begun).as_secs_f64() < self.seconds
    }

    pub fn ns(self) -> f64 {
        median(self.times)
    }
}

fn main() {
    let mut words = std::env::args().skip(1);
    let question = words.next().unwrap_or_default();
    let arguments = Arguments(words.collect());

    match question.as_str() {
        "pair" => pair::measure(&arguments),
        "contended" | "schedulers" => contended::measure(&arguments),
        "handoff" => handoff::measure(&arguments, runtime(arguments.count("workers", 2))),
        "pingpong" => handoff::measure(&arguments, current_thread_runtime()),
        "waiters" => waiters::measure(&arguments),
        "tasks" => tasks::measure(&arguments),
        "gather" => gather::measure(&arguments),
        _ => panic!("no such question: {}", question),
    }
}
