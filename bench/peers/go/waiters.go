package main

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// permitsOfMany is what all those waiters go through.
const permitsOfMany = 3

// inUse is what the waiters occupy: their stacks and their share of the heap.
func inUse() float64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc + stats.StackInuse)
}

func reached(counter *atomic.Int64, goal int) {
	for counter.Load() < int64(goal) {
		runtime.Gosched()
	}
}

// passThrough lets n goroutines queue and go through: nanoseconds of each, and if it is to weigh
// them, what each adds while all of them wait. Weighing does not count.
func passThrough[G gate](g G, n int, weigh func() float64) (ns, bytes float64) {
	var queued, ended atomic.Int64
	var before float64
	var weighing time.Duration
	for i := 0; i < permitsOfMany; i++ {
		g.acquire()
	}
	if weigh != nil {
		before = weigh()
	}
	start := time.Now()
	for i := 0; i < n; i++ {
		go func() {
			queued.Add(1)
			g.acquire()
			g.release()
			ended.Add(1)
		}()
	}
	reached(&queued, n)
	if weigh != nil {
		begun := time.Now()
		bytes = (weigh() - before) / float64(n)
		weighing = time.Since(begun)
	}
	for i := 0; i < permitsOfMany; i++ {
		g.release()
	}
	reached(&ended, n)
	return float64((time.Since(start) - weighing).Nanoseconds()) / float64(n), bytes
}

// cancel lets n goroutines queue, ends the waits of those in the middle through their contexts and
// waits until these are gone: nanoseconds of each.
func cancel(w weighted, n int) float64 {
	var queued, left atomic.Int64
	cancels := make([]context.CancelFunc, n)
	w.acquire()
	for i := range cancels {
		mine, end := context.WithCancel(w.context)
		cancels[i] = end
		go func() {
			queued.Add(1)
			if w.semaphore.Acquire(mine, 1) == nil {
				w.release()
			}
			left.Add(1)
		}()
	}
	reached(&queued, n)
	middle := cancels[n/4 : n-n/4]
	start := time.Now()
	for _, end := range middle {
		end()
	}
	reached(&left, len(middle))
	ns := float64(time.Since(start).Nanoseconds()) / float64(len(middle))
	for _, end := range cancels {
		end()
	}
	reached(&left, n)
	w.release()
	return ns
}

func repeat(seconds float64, measure func() float64) float64 {
	var results []float64
	start := time.Now()
	for len(results) == 0 || time.Since(start).Seconds() < seconds {
		results = append(results, measure())
	}
	return median(results)
}

// waiters: what a waiter costs when there are very many. On one thread, as for the others.
func waiters[G gate](open func(int) G, a arguments) {
	n := a.count("waiters", 1000)
	seconds := a.number("seconds", 0.2)
	runtime.GOMAXPROCS(1)
	show("through_ns", repeat(seconds, func() float64 {
		ns, _ := passThrough(open(permitsOfMany), n, nil)
		return ns
	}))
	_, bytes := passThrough(open(permitsOfMany), n, inUse)
	show("bytes", bytes)
	if w, ok := any(open(1)).(weighted); ok {
		show("cancel_ns", repeat(seconds/4, func() float64 { return cancel(w, n) }))
	}
}
