package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// resident is what the kernel has given the process: pages, and the tables that find them.
func resident() float64 {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		panic(err)
	}
	defer file.Close()
	all := 0.0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kib float64
		for _, key := range []string{"VmRSS:", "VmPTE:"} {
			if n, _ := fmt.Sscanf(lines.Text(), key+" %f", &kib); n == 1 {
				all += kib * 1024
			}
		}
	}
	return all
}

// allThrough lets n goroutines wait and go through: nanoseconds and resident bytes of each.
func allThrough[G gate](g G, n int, weigh bool) (ns, bytes float64) {
	var queued, ended atomic.Int64
	var before float64
	var weighing time.Duration
	for i := 0; i < permitsOfMany; i++ {
		g.acquire()
	}
	if weigh {
		before = resident()
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
	if weigh {
		begun := time.Now()
		bytes = (resident() - before) / float64(n)
		weighing = time.Since(begun)
	}
	for i := 0; i < permitsOfMany; i++ {
		g.release()
	}
	reached(&ended, n)
	return float64((time.Since(start) - weighing).Nanoseconds()) / float64(n), bytes
}

// cancelMiddle lets n goroutines wait and ends the waits of those in the middle.
func cancelMiddle(w weighted, n int) float64 {
	var queued, ended atomic.Int64
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
			ended.Add(1)
		}()
	}
	reached(&queued, n)
	middle := cancels[n/4 : n-n/4]
	start := time.Now()
	for _, end := range middle {
		end()
	}
	reached(&ended, len(middle))
	ns := float64(time.Since(start).Nanoseconds()) / float64(len(middle))
	w.release()
	reached(&ended, n)
	for _, end := range cancels {
		end()
	}
	return ns
}

// tasks: what a goroutine that waits costs when there are very many. On one processor.
func tasks[G gate](open func(int) G, a arguments) {
	n := a.count("tasks", 1000)
	seconds := a.number("seconds", 0.2)
	runtime.GOMAXPROCS(1)
	cold, bytes := allThrough(open(permitsOfMany), n, true)
	show("cold_ns", cold)
	show("bytes", bytes)
	show("warm_ns", repeat(seconds, func() float64 {
		ns, _ := allThrough(open(permitsOfMany), n, false)
		return ns
	}))
	if w, ok := any(open(1)).(weighted); ok && n < 1000000 {
		show("cancel_ns", repeat(seconds/4, func() float64 { return cancelMiddle(w, n) }))
	}
}

// gather: what it costs to start a goroutine, let it run and collect its result.
func gather(a arguments) {
	n := a.count("tasks", 1000)
	seconds := a.number("seconds", 0.2)
	values := make([]int, n)
	turn := func() {
		var ended sync.WaitGroup
		ended.Add(n)
		for i := 0; i < n; i++ {
			go func(i int) {
				values[i] = i
				ended.Done()
			}(i)
		}
		ended.Wait()
	}
	runtime.GOMAXPROCS(1)
	perOperation(seconds/4, n, turn)
	show("ns", perOperation(seconds, n, turn))
}
