package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
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

// tasks: what a goroutine that waits costs when there are very many. On one processor.
func tasks[G gate](open func(int) G, a arguments) {
	n := a.count("tasks", 1000)
	seconds := a.number("seconds", 0.2)
	runtime.GOMAXPROCS(1)
	cold, bytes := passThrough(open(permitsOfMany), n, resident)
	show("cold_ns", cold)
	show("bytes", bytes)
	show("warm_ns", repeat(seconds, func() float64 {
		ns, _ := passThrough(open(permitsOfMany), n, nil)
		return ns
	}))
	if w, ok := any(open(1)).(weighted); ok && n < 1000000 {
		show("cancel_ns", repeat(seconds/4, func() float64 { return cancel(w, n) }))
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
