package main

import "sync/atomic"

// handoff: from one goroutine's release until the other one runs, half a round trip over two
// semaphores.
func handoff[G gate](ping, pong G, a arguments) {
	const size = 64
	seconds := a.number("seconds", 0.2)
	var over atomic.Bool
	ended := make(chan struct{})
	roundTrips := func() {
		for i := 0; i < size; i++ {
			pong.release()
			ping.acquire()
		}
	}

	ping.acquire()
	pong.acquire()
	go func() {
		defer close(ended)
		for {
			pong.acquire()
			if over.Load() {
				return
			}
			ping.release()
		}
	}()
	perOperation(seconds/4, size, roundTrips)
	show("ns", perOperation(seconds, size, roundTrips)/2)
	over.Store(true)
	pong.release()
	<-ended
}
