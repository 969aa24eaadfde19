package main

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// timeDefects are those of recoveries and of the clock.
var timeDefects = []defect{
	{
		id:       "g1",
		measures: "start after kill -9, with 2,000,000 items in events of 500: the port is open; the service decides",
		guards:   "`TestSnapshotsByBytes`, `TestStarting`, `make recovery`", long: true, run: recoveryTime,
	},
	{
		id: "g2", measures: "memory that 1,000,000 open units add to the process, after a restart, GOGC=10",
		guards: "`TestMemoryPerToken`", long: true, run: memoryOfUnits,
	},
}

func recoveryTime(r *rig) finding {
	const units, batch, senders = 1_000_000, 500, 4
	l := r.serve("--log-level", "error")
	r.address = strings.TrimPrefix(l.url, "http://")
	l.apply(toyOf("exposure: immediate\n"))
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			for i := s; i < units/batch; i += senders {
				tokens := l.decide(fmt.Sprint("u", i, "-"), batch)
				l.do("POST", "/v1/feedback", itemsBody(tokens...))
			}
		})
	}
	all.Wait()
	h := l.report()
	if items := h.Health.Exposures.Accepted + h.Feedback.Accepted; items != 2*units {
		r.t.Fatalf("%d items were accepted, want %d", items, 2*units)
	}
	l.kill()
	open := make(chan float64, 1)
	begin := time.Now()
	go func() {
		open <- until(120, func() bool {
			c, err := net.DialTimeout("tcp", r.address, time.Second)
			if err == nil {
				_ = c.Close()
			}
			return err == nil
		})
	}()
	l = r.serve("--log-level", "error")
	if a := l.do("POST", "/v1/experiments/toy/decide", unitsBody("v", 1)); a.status != http.StatusOK {
		r.t.Fatalf("status %d: %s", a.status, a.body)
	}
	decides, opened := time.Since(begin).Seconds(), <-open
	return found(decides < 60 && opened < 1, "%.1f s; %.1f s", opened, decides)
}

func memoryOfUnits(r *rig) finding {
	const units = 1_000_000
	r.limits = "export GOGC=10"
	l := r.serve("--log-level", "error")
	l.apply(toyOf("exposure: immediate\n"))
	none, _ := l.memory()
	l.fill("u", units)
	l.stop()
	l = r.serve("--log-level", "error")
	all, _ := l.memory()
	until(20, func() bool { // the process returns memory to the system by and by
		now, _ := l.memory()
		all = min(all, now)
		return false
	})
	return found(all-none < 150, "%.0f MiB", all-none)
}
