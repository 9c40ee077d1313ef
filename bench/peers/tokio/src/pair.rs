//! What an acquire and a release cost when nobody else wants the permit.

use crate::{print, Arguments, Chunks};
use tokio::sync::Semaphore;

const CHUNK: usize = 10_000;

async fn pairs(semaphore: &Semaphore, seconds: f64) -> f64 {
    let mut chunks = Chunks::new(seconds, CHUNK);
    loop {
        for _ in 0..CHUNK {
            drop(semaphore.acquire().await.unwrap());
        }
        if !chunks.more() {
            return chunks.ns();
        }
    }
}

pub fn measure(arguments: &Arguments) {
    let semaphore = Semaphore::new(arguments.count("permits", 1));
    let seconds = arguments.number("seconds", 0.2);

    crate::current_thread_runtime().block_on(async {
        pairs(&semaphore, seconds / 4.0).await;
        print("ns", pairs(&semaphore, seconds).await);
    });
}
