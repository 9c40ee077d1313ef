//! How long it takes from one task's release until the other one runs: half a round trip of two
//! tasks that play ping-pong over two semaphores.

use crate::{print, Arguments, Chunks};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

const CHUNK: usize = 64;

struct Table {
    sides: [Semaphore; 2],
    over: AtomicBool,
}

impl Table {
    fn give(&self, to: usize) {
        self.sides[to].add_permits(1);
    }

    async fn wait(&self, mine: usize) {
        self.sides[mine].acquire().await.unwrap().forget();
    }
}

async fn round_trips(table: &Table, seconds: f64) -> f64 {
    let mut chunks = Chunks::new(seconds, CHUNK);
    loop {
        for _ in 0..CHUNK {
            table.give(1);
            table.wait(0).await;
        }
        if !chunks.more() {
            return chunks.ns();
        }
    }
}

pub fn measure(arguments: &Arguments, runtime: Runtime) {
    let seconds = arguments.number("seconds", 0.2);
    let table = Arc::new(Table {
        sides: [Semaphore::new(0), Semaphore::new(0)],
        over: AtomicBool::new(false),
    });
    let theirs = table.clone();

    let pong = runtime.spawn(async move {
        loop {
            theirs.wait(1).await;
            if theirs.over.load(Relaxed) {
                return;
            }
            theirs.give(0);
        }
    });
    let ping = runtime.spawn(async move {
        round_trips(&table, seconds / 4.0).await;
        let ns = round_trips(&table, seconds).await;
        table.over.store(true, Relaxed);
        table.give(1);
        ns
    });
    print("ns", runtime.block_on(ping).unwrap() / 2.0);
    runtime.block_on(pong).unwrap();
}
