//! What it costs to start a task, let it run and collect its result. On one thread.

use crate::{print, Arguments, Chunks};

async fn turns(tasks: usize, seconds: f64) -> f64 {
    let mut chunks = Chunks::new(seconds, tasks);
    let mut handles = Vec::with_capacity(tasks);
    let mut values = vec![0; tasks];

    loop {
        for i in 0..tasks {
            handles.push(tokio::spawn(async move { i }));
        }
        for (value, handle) in values.iter_mut().zip(handles.drain(..)) {
            *value = handle.await.unwrap();
        }
        assert_eq!(values[tasks - 1], tasks - 1);
        if !chunks.more() {
            return chunks.ns();
        }
    }
}

pub fn measure(arguments: &Arguments) {
    let tasks = arguments.count("tasks", 1000);
    let seconds = arguments.number("seconds", 0.2);
    let ns = crate::current_thread_runtime().block_on(async {
        turns(tasks, seconds / 4.0).await;
        turns(tasks, seconds).await
    });

    print("ns", ns);
}
