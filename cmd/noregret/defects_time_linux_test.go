package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
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
		id: "g2",
		measures: "memory (RssAnon) that 1,000,000 open units add, after kill -9 and two restarts; " +
			"how much more it is after one",
		guards: "`TestMemoryPerToken`, `TestOutsideTheHeap`", long: true, run: memoryOfUnits,
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
	return found(decides <= 5 && opened < 1, "%.1f s; %.1f s", opened, decides)
}

// memoryOfUnits ends the service by kill -9, and once more in order: a log that has just been
// opened has no buffers yet, which do not depend on the units that wait.
func memoryOfUnits(r *rig) finding {
	const units = 1_000_000
	l := r.serve("--log-level", "error")
	l.apply(toyOf("exposure: immediate\n"))
	none := l.anonymous()
	l.fill("u", units)
	l.kill()
	l = r.serve("--log-level", "error")
	killed := l.settled()
	l.stop()
	l = r.serve("--log-level", "error")
	if n := l.report().Health.Exposures.Accepted; n != units {
		r.t.Fatalf("%d units were exposed, want %d", n, units)
	}
	all := l.settled()
	return found(all-none <= 100, "%.0f MB; %.0f MB more with the buffers of the log", all-none, killed-all)
}

// settled returns the least of anonymous within 20 s, as the process returns memory to the system
// by and by.
func (l *living) settled() (mb float64) {
	mb = l.anonymous()
	until(20, func() bool {
		mb = min(mb, l.anonymous())
		return false
	})
	return mb
}

// anonymous returns the memory of the process that is not of a file, in units of 10^6 bytes.
func (l *living) anonymous() (mb float64) {
	l.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		l.t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(b), "RssAnon:")
	if _, err := fmt.Sscanf(text, "%f kB", &mb); err != nil {
		l.t.Fatalf("%s: %v", b, err)
	}
	return mb * 1024 / 1e6
}
