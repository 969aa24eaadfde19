package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/internal/testsize"
)

// squeeze lowers the memory of the units that wait below what a configuration may have.
func (w *world) squeeze(memory, disk int64) {
	i := w.server.intake
	i.mu.Lock()
	i.memory, i.disk = memory, disk
	i.mu.Unlock()
	i.pool.SetLimit(memory)
}

// TestUnitsBeyondMemory: ten times the units that fit into memory are all counted, with their
// feedback, also over restarts. The memory keeps to its bound, and the state is that of a fold with
// all memory. Before, 90 % of them were rejected.
func TestUnitsBeyondMemory(t *testing.T) {
	testsize.NoRace(t)
	const memory, n = 80 << 10, 12_000
	w := newWorld(t)
	w.apply(immediateToy(1_000_000))
	w.squeeze(memory, 100<<20)
	var tokens []decision
	most := int64(0)
	for batch := range n / 1000 {
		tokens = append(tokens, w.decide("toy", unitNames(fmt.Sprint(batch, "-"), 1000)...)...)
		most = max(most, w.server.intake.pool.Stats().Memory)
		if batch == 5 || batch == 9 {
			w.settle()
			w.restart()
			w.squeeze(memory, 100<<20)
		}
	}
	needs, _ := w.server.live.state.OpenBytes("toy")
	if needs < 10*memory || most > memory+2*pages.Size {
		t.Errorf("the units need %d bytes and used %d of memory, of %d", needs, most, memory)
	}
	for from := 0; from < n; from += 1000 { // those of the file, too
		var items []item
		for i := from; i < from+1000; i++ {
			items = append(items, item{tokens[i*7919%n].Token, map[string]float64{"x": float64(i % 5), "y": 1}})
		}
		if f := w.post("/v1/feedback", items...); f.Accepted != 1000 {
			t.Fatalf("feedback %d: %+v: %s", from, f, f.Items[0].Error)
		}
		if from == n/2 {
			w.restart()
			w.squeeze(memory, 100<<20)
		}
	}
	_, b := w.do("GET", "/metrics", "")
	if !strings.Contains(string(b), "noregret_open_disk_bytes ") ||
		strings.Contains(string(b), "noregret_open_disk_bytes 0\n") {
		t.Error("the metrics do not say what is on the disk")
	}
	if got := w.problems("toy"); strings.Contains(got, "refused") || strings.Contains(got, "memory") {
		t.Errorf("the problems are %q", got)
	}
	w.checkFolds()
	for range 4 {
		w.wait(11 * time.Minute)
		w.server.Tick()
	}
	w.checkFolds()
	r, err := w.server.Report("toy")
	if err != nil {
		t.Fatal(err)
	}
	units := int64(0)
	for _, a := range r.Arms {
		units += a.N
	}
	all := api.Counts{Accepted: n}
	if h := r.Health; h.Exposures != all || h.Open != 0 || units != n || w.server.intake.waiting.Load() != 0 {
		t.Errorf("%d units of %d count; %+v", units, n, h)
	}
	w.restart()
	w.checkFolds()
	if _, err := os.Stat(filepath.Join(w.config.Data, "open.pages")); err == nil {
		t.Error("a file without use is there")
	}
}

// scratchFault fails operations on the file of units that wait.
type scratchFault struct{ err atomic.Pointer[error] }

func (f *scratchFault) String() string { return "faulty scratch" }

func (f *scratchFault) MaybeError(op errorfs.Op) error {
	if err := f.err.Load(); err != nil && strings.HasSuffix(op.Path, "open.pages") {
		return *err
	}
	return nil
}

func (f *scratchFault) set(err error) { f.err.Store(&err) }

// TestRoomWithoutDisk: while the file of units cannot be written, units are counted up to the
// memory, and then refused, which is a problem. When it can be written again, the next ones are
// counted.
func TestRoomWithoutDisk(t *testing.T) {
	fault := &scratchFault{}
	fault.set(syscall.ENOSPC)
	w := newWorld(t, func(c *Config) { c.FS = errorfs.Wrap(vfs.NewMem(), fault) })
	w.apply(toy)
	const memory = 256 << 10
	w.squeeze(memory, 100<<20)
	expose := func(batch int) api.FeedbackResult {
		var items []item
		for _, d := range w.decide("toy", unitNames(fmt.Sprint(batch, "-"), 500)...) {
			items = append(items, item{Token: d.Token})
		}
		return w.post("/v1/exposures", items...)
	}
	var f api.FeedbackResult
	accepted := 0
	for batch := range 15 {
		f = expose(batch)
		accepted += f.Accepted
	}
	if accepted < 2500 || f.Rejected != 500 || !strings.Contains(f.Items[0].Error, "cannot be written to the disk") {
		t.Errorf("%d units were accepted, then %d rejected: %s", accepted, f.Rejected, f.Items[0].Error)
	}
	w.wait(watchPeriod)
	w.server.Tick()
	if got := w.problems("toy"); !strings.Contains(got, "cannot be written to the disk") ||
		!strings.Contains(w.logs.String(), syscall.ENOSPC.Error()) {
		t.Errorf("the problems are %q", got)
	}
	fault.err.Store(nil)
	w.server.Tick()
	if f := expose(100); f.Accepted != 500 || strings.Contains(w.problems("toy"), "cannot be written") {
		t.Errorf("after the outage %d units were accepted: %q", f.Accepted, w.problems("toy"))
	}
	w.checkFolds()
}

// TestUnitsLost: if the file of units cannot be read, the service stops writing and /livez fails,
// so that it is restarted. Then it has all units again, from the log.
func TestUnitsLost(t *testing.T) {
	fault := &scratchFault{}
	w := newWorld(t, func(c *Config) { c.FS = errorfs.Wrap(vfs.NewMem(), fault) })
	w.apply(toy)
	w.squeeze(64<<10, 100<<20)
	var items []item
	for _, d := range w.decide("toy", unitNames("u", 5000)...) {
		items = append(items, item{Token: d.Token})
	}
	w.post("/v1/exposures", items...)
	fault.set(syscall.EIO)
	if status, b := w.do("POST", "/v1/feedback", feedbackFor(decision{Token: items[0].Token})); status != 503 {
		t.Errorf("feedback for a unit in the file: status %d: %s", status, b)
	}
	if status, _ := w.do("GET", "/livez", ""); status != 503 {
		t.Error("/livez does not fail")
	}
	if status, b := w.do("POST", "/v1/feedback", feedbackFor(decision{Token: items[1].Token})); status != 503 ||
		!strings.Contains(string(b), "restarted") {
		t.Errorf("status %d: %s", status, b)
	}
	fault.err.Store(nil)
	w.restart()
	w.squeeze(64<<10, 100<<20)
	if f := w.post("/v1/exposures", items...); f.Duplicate != 5000 {
		t.Errorf("%+v", f)
	}
	w.checkFolds()
}

// TestUnitsLostToReaders: if a reader is the first to find that the file of units cannot be read,
// it gets an error, and the service stops writing as if the writer had found it. Before, an
// explanation panicked, and a report panicked with the lock of the state.
func TestUnitsLostToReaders(t *testing.T) {
	for _, reader := range []string{"an explanation", "the page of an explanation", "a report"} {
		t.Run(reader, func(t *testing.T) {
			fault := &scratchFault{}
			w := newWorld(t, func(c *Config) { c.FS = errorfs.Wrap(vfs.NewMem(), fault) })
			w.apply(news + "exposure: immediate\n")
			w.squeeze(2<<20, 100<<20)
			var units []api.UnitContext
			for _, name := range unitNames("u", 5000) {
				units = append(units, api.UnitContext{ID: name, Context: json.RawMessage(`{"age": 30}`)})
			}
			ds := w.decideIn("news", units...)
			explain := "/v1/experiments/news/explain?token=" + ds[0].Token
			w.get(200, nil, "GET", explain, "")
			w.server.intake.pool.SetLimit(0) // all of them go to the file
			fault.set(syscall.EIO)
			var status int
			var b []byte
			switch reader {
			case "an explanation":
				status, b = w.do("GET", explain, "")
			case "the page of an explanation":
				status, b = w.do("GET", "/experiments/news/explain?token="+ds[0].Token, "")
			default:
				w.squeeze(0, 0) // so that units which wait already are looked for
				status, b = w.do("POST", "/v1/feedback", `{"items": [{"token": "`+ds[1].Token+`", "metrics": {"like": 1}}]}`)
			}
			if status != 503 {
				t.Errorf("status %d: %s", status, b)
			}
			w.get(503, nil, "GET", "/livez", "")
			if status, b := w.do("POST", "/v1/feedback", feedbackFor(ds[1])); status != 503 ||
				!strings.Contains(string(b), "restarted") {
				t.Errorf("feedback afterwards: status %d: %s", status, b)
			}
			if strings.Contains(w.logs.String(), "panicked") {
				t.Error("a request has panicked")
			}
			fault.err.Store(nil)
			w.restart()
			w.get(200, nil, "GET", explain, "")
		})
	}
}
