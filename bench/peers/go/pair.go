package main

// pair: what an acquire and a release cost when nobody else wants the permit.
func pair[G gate](g G, a arguments) {
	const size = 10000
	seconds := a.number("seconds", 0.2)
	chunk := func() {
		for i := 0; i < size; i++ {
			g.acquire()
			g.release()
		}
	}

	perOperation(seconds/4, size, chunk)
	show("ns", perOperation(seconds, size, chunk))
}
