package main

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	warmUp = iota
	count
	timing
	stop
)

type turns struct {
	pairs, timed int
	longest      time.Duration
}

func takeTurns[G gate](g G, phase *atomic.Int32, rounds int) (t turns) {
	x := uint64(1)
	for phase.Load() == warmUp {
		g.acquire()
		x = work(x, rounds)
		g.release()
	}
	for phase.Load() == count {
		g.acquire()
		x = work(x, rounds)
		g.release()
		t.pairs++
	}
	for phase.Load() == timing {
		start := time.Now()
		g.acquire()
		if wait := time.Since(start); wait > t.longest {
			t.longest = wait
		}
		x = work(x, rounds)
		g.release()
		t.timed++
	}
	atomic.StoreUint64(&kept, x)
	return t
}

func spend(phase *atomic.Int32, which int32, seconds float64) time.Duration {
	start := time.Now()
	phase.Store(which)
	time.Sleep(time.Duration(seconds * 1e9))
	return time.Since(start)
}

func report(all []turns, counted, timed time.Duration) {
	sum, least, most := 0, all[0].pairs, all[0].pairs
	longest := time.Duration(0)
	for _, t := range all {
		sum += t.pairs
		if t.pairs < least {
			least = t.pairs
		}
		if t.pairs > most {
			most = t.pairs
		}
		if t.timed == 0 {
			t.longest = timed // whoever got nothing waited throughout
		}
		if t.longest > longest {
			longest = t.longest
		}
	}
	equal := float64(sum) / float64(len(all))
	if sum == 0 {
		equal = 1
	}
	show("pairs_per_second", float64(sum)/counted.Seconds())
	show("share_min", float64(least)/equal)
	show("share_max", float64(most)/equal)
	show("longest_wait_ns", float64(longest.Nanoseconds()))
}

// contended: how much gets through when several goroutines want the permits all the time, who gets
// how much of it, and how long somebody waits at worst. The phases are those of the native program.
func contended[G gate](g G, a arguments) {
	rounds := a.count("rounds", 80)
	seconds := a.number("seconds", 0.2)
	results := make([]turns, a.count("threads", 2))
	var phase atomic.Int32
	var ended sync.WaitGroup
	start := make(chan struct{})

	show("work_ns", perOperation(0.005, 100, func() {
		x := uint64(1)
		for i := 0; i < 100; i++ {
			x = work(x, rounds)
		}
		atomic.StoreUint64(&kept, x)
	}))
	for i := range results {
		ended.Add(1)
		go func(result *turns) {
			defer ended.Done()
			<-start
			*result = takeTurns(g, &phase, rounds)
		}(&results[i])
	}
	close(start)
	spend(&phase, warmUp, seconds/4)
	counted := spend(&phase, count, seconds)
	timed := spend(&phase, timing, seconds/2)
	phase.Store(stop)
	ended.Wait()
	report(results, counted, timed)
}
