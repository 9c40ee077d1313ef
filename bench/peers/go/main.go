// bench: Go's x/sync semaphore and a buffered channel, asked what the native peers are asked.
//
//	bench-go QUESTION sync|channel key=value...
//
// Goroutines stand where the others have threads.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

type arguments map[string]string

func (a arguments) number(key string, otherwise float64) float64 {
	text, ok := a[key]
	if !ok {
		return otherwise
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return value
}

func (a arguments) count(key string, otherwise int) int {
	return int(a.number(key, float64(otherwise)))
}

func show(key string, value float64) {
	fmt.Println(key, value)
}

// gate is what both peers can do. The questions are generic over it, so that each is called as
// directly as its users call it.
type gate interface {
	acquire()
	release()
}

type weighted struct {
	semaphore *semaphore.Weighted
	context   context.Context
}

func newWeighted(permits int) weighted {
	return weighted{semaphore.NewWeighted(int64(permits)), context.Background()}
}

func (w weighted) acquire() {
	if err := w.semaphore.Acquire(w.context, 1); err != nil {
		panic(err)
	}
}

func (w weighted) release() { w.semaphore.Release(1) }

type channel chan struct{}

func newChannel(permits int) channel { return make(channel, permits) }

func (c channel) acquire() { c <- struct{}{} }

func (c channel) release() { <-c }

// work is what is done inside a critical section, the same in every language.
func work(x uint64, rounds int) uint64 {
	for i := 0; i < rounds; i++ {
		x = (x ^ x>>29) * 6364136223846793005
	}
	return x
}

// kept makes the compiler believe that a value is used.
var kept uint64

func median(values []float64) float64 {
	sort.Float64s(values)
	return values[len(values)/2]
}

// perOperation runs chunks of operations until the time is over: nanoseconds of one in the middle
// chunk.
func perOperation(seconds float64, size int, chunk func()) float64 {
	var times []float64
	begun := time.Now()
	start := begun
	for time.Since(begun).Seconds() < seconds {
		chunk()
		after := time.Now()
		times = append(times, float64(after.Sub(start).Nanoseconds())/float64(size))
		start = after
	}
	return median(times)
}

func ask[G gate](question string, open func(int) G, a arguments) {
	switch question {
	case "pair":
		pair(open(a.count("permits", 1)), a)
	case "contended", "schedulers":
		contended(open(a.count("permits", 1)), a)
	case "handoff":
		handoff(open(1), open(1), a)
	case "pingpong":
		runtime.GOMAXPROCS(1)
		handoff(open(1), open(1), a)
	case "waiters":
		waiters(open, a)
	case "tasks":
		tasks(open, a)
	case "gather":
		gather(a)
	default:
		panic("no such question: " + question)
	}
}

func main() {
	a := arguments{}
	for _, argument := range os.Args[3:] {
		key, value, _ := strings.Cut(argument, "=")
		a[key] = value
	}
	switch os.Args[2] {
	case "sync":
		ask(os.Args[1], newWeighted, a)
	case "channel":
		ask(os.Args[1], newChannel, a)
	default:
		panic("no such peer: " + os.Args[2])
	}
}
