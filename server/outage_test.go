package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/server/internal/web"
)

// faultyDisk fails operations of the disk while an error is set.
type faultyDisk struct {
	err   atomic.Pointer[error]
	fails func(errorfs.OpKind) bool
}

func (f *faultyDisk) String() string { return "faulty disk" }

func (f *faultyDisk) MaybeError(op errorfs.Op) error {
	if err := f.err.Load(); err != nil && f.fails(op.Kind) {
		return *err
	}
	return nil
}

func (f *faultyDisk) fail(err error) { f.err.Store(&err) }
func (f *faultyDisk) heal()          { f.err.Store(nil) }

// changes are the operations that a full or read-only disk refuses.
func changes(k errorfs.OpKind) bool {
	return k.ReadOrWrite() == errorfs.OpIsWrite && k != errorfs.OpFileClose
}

// openings are the operations that a process without free descriptors cannot do.
func openings(k errorfs.OpKind) bool {
	return k == errorfs.OpOpen || k == errorfs.OpCreate || k == errorfs.OpOpenDir || k == errorfs.OpReuseForWrite
}

// flushes are the operations that make events durable.
func flushes(k errorfs.OpKind) bool { return k == errorfs.OpFileSync || k == errorfs.OpFileSyncData }

// feedbackFor is the body of feedback for a decision.
func feedbackFor(d decision) string {
	return fmt.Sprintf(`{"items": [{"token": %q, "metrics": {"x": 1}}]}`, d.Token)
}

// checkFolds checks that the state is the fold of the log.
func (w *world) checkFolds() {
	w.t.Helper()
	want, err := w.server.State()
	if err != nil {
		w.t.Fatal(err)
	}
	state := experiment.NewState()
	if err := Fold(context.Background(), w.server.log, state, w.server.log.Stats().Last); err != nil {
		w.t.Fatal(err)
	}
	if digest, err := state.Digest(); err != nil || digest != want.Digest || state.Position() != want.Position {
		w.t.Errorf("the log folds to %s at %d, the state is %+v: %v", digest, state.Position(), want, err)
	}
}

// TestOutageEnds checks that a disk that is full for a while, or a process without free
// descriptors, stops writing only for that while. Before, nothing was accepted until somebody
// restarted the service.
func TestOutageEnds(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		fails func(errorfs.OpKind) bool
	}{"full": {syscall.ENOSPC, changes}, "descriptors": {syscall.EMFILE, openings}, "io": {syscall.EIO, changes}} {
		t.Run(name, func(t *testing.T) {
			var out atomic.Bool // while the service has not noticed, a flush fails, too
			disk := &faultyDisk{fails: func(k errorfs.OpKind) bool { return c.fails(k) || !out.Load() && flushes(k) }}
			w := newLeakyWorld(t, func(c *Config) {
				c.FS, c.SnapshotEvery = errorfs.Wrap(vfs.NewMem(), disk), 5
			})
			w.apply(toy)
			ds := w.decide("toy", "a", "b", "c", "d", "e", "f", "g", "h")
			posted := 0
			post := func() int {
				status, b := w.do("POST", "/v1/feedback", feedbackFor(ds[posted%len(ds)]))
				if posted++; status == 503 && (strings.Contains(string(b), "log/") ||
					!strings.Contains(string(b), "log")) {
					t.Errorf("%s", b)
				}
				return status
			}
			for outage := range 3 {
				disk.fail(c.err)
				for n := 0; w.server.writer.err() == nil; n++ {
					if post(); n > 100 {
						t.Fatal("the disk fails and the service does not notice")
					}
					_ = w.idle() // the error is the failure that the loop waits for
				}
				out.Store(true)
				for range 3 {
					w.wait(time.Second)
					w.server.Tick()
					if status := post(); status != 503 {
						t.Errorf("feedback on a disk that fails: status %d", status)
					}
				}
				w.get(503, nil, "GET", "/readyz/writes", "")
				w.get(200, nil, "GET", "/readyz", "")
				w.get(200, nil, "GET", "/livez", "")
				if len(w.decide("toy", "z")) != 1 {
					t.Error("no decision")
				}
				disk.heal()
				out.Store(false)
				w.wait(lastRetry)
				w.server.Tick()
				if status := post(); status != 200 {
					t.Fatalf("outage %d: feedback after the outage: status %d", outage, status)
				}
				w.get(200, nil, "GET", "/readyz/writes", "")
				w.checkFolds()
			}
			w.settle()
			if _, b := w.do("GET", "/metrics", ""); !strings.Contains(string(b), "noregret_log_failures_total 3\n") ||
				!strings.Contains(string(b), "noregret_log_reopens_total 3\n") {
				t.Error("the metrics do not show three outages")
			}
		})
	}
}

// TestLongOutage checks that /livez fails when the log has failed for long, so that the process is
// restarted, and that it does not after a start on a disk that is full.
func TestLongOutage(t *testing.T) {
	disk := &faultyDisk{fails: changes}
	w := newLeakyWorld(t, func(c *Config) { c.FS = errorfs.Wrap(vfs.NewMem(), disk) })
	w.apply(toy)
	d := w.decide("toy", "a", "b")
	w.post("/v1/feedback", item{d[0].Token, map[string]float64{"x": 1}})
	disk.fail(syscall.ENOSPC)
	w.get(503, nil, "POST", "/v1/feedback", feedbackFor(d[1]))
	w.wait(w.config.LogRetry)
	w.get(200, nil, "GET", "/livez", "")
	w.wait(time.Second)
	w.get(503, nil, "GET", "/livez", "")
	w.get(200, nil, "GET", "/readyz", "")
	w.http.Close()
	_ = w.server.Close() // which reports the failure
	w.start()            // as an orchestrator does, on a disk that is still full
	w.get(503, nil, "POST", "/v1/feedback", feedbackFor(d[1]))
	w.wait(5 * time.Minute)
	w.server.Tick()
	w.get(200, nil, "GET", "/livez", "")
	w.get(200, nil, "GET", "/readyz", "")
	w.get(503, nil, "GET", "/readyz/writes", "")
	if again := w.decide("toy", "a", "b"); again[0].Arm != d[0].Arm || again[1].Arm != d[1].Arm {
		t.Errorf("%+v became %+v", d, again)
	}
	var r api.Report
	w.get(200, &r, "GET", "/v1/experiments/toy/report", "")
	if r.Feedback.Accepted < 1 {
		t.Errorf("%+v", r.Feedback)
	}
	w.get(200, nil, "GET", "/v1/export", "")
	disk.heal()
	w.wait(lastRetry)
	w.server.Tick()
	w.get(200, nil, "GET", "/readyz/writes", "")
	if f := w.post("/v1/feedback", item{d[1].Token, map[string]float64{"x": 1}}); f.Accepted+f.Duplicate != 1 {
		t.Errorf("%+v", f)
	}
	w.checkFolds()
}

// TestNewOnFullDisk checks that a service without a log does not start on a disk that is full.
func TestNewOnFullDisk(t *testing.T) {
	disk := &faultyDisk{fails: changes}
	disk.fail(syscall.ENOSPC)
	c := testConfig(t)
	c.FS = errorfs.Wrap(vfs.NewMem(), disk)
	if s, err := New(c); err == nil {
		_ = s.Close()
		t.Error("a service without a log was started on a full disk")
	}
}

// TestRecoveryGivesUp checks that a disk that looks sound but on which the log cannot be opened is
// tried a bounded number of times, ever more slowly, and that a defect of the state is not tried.
func TestRecoveryGivesUp(t *testing.T) {
	now := time.Unix(0, 0)
	r := &recovery{now: func() time.Time { return now }, grace: time.Hour}
	if r.due() || r.hopeless() {
		t.Error("without an outage")
	}
	r.begin(outage{err: syscall.ENOSPC})
	attempts := 0
	for range 10_000 {
		if now = now.Add(firstRetry); r.due() {
			attempts++
			r.opened(syscall.ENOSPC)
		}
	}
	if failures, opened := r.counts(); attempts != mostReopens || failures != 1 || opened != mostReopens ||
		!r.hopeless() {
		t.Errorf("%d attempts, %d outages", attempts, failures)
	}
	full := &recovery{now: func() time.Time { return now }, grace: time.Hour}
	full.begin(outage{err: syscall.ENOSPC, fromStart: true})
	if now = now.Add(24 * time.Hour); full.hopeless() {
		t.Error("a service that began on a full disk asks for a restart while it still tries")
	}
	for range mostReopens {
		full.opened(syscall.ENOSPC)
	}
	if full.due() || !full.hopeless() {
		t.Error("a service that began on a full disk gave up and asks for no restart")
	}
	d := &recovery{now: func() time.Time { return now }, grace: time.Hour}
	d.begin(outage{err: errDefect, defect: true})
	if now = now.Add(24 * time.Hour); d.due() || d.hopeless() {
		t.Error("a defect is retried, or asks for a restart, which would find it again")
	}
}

// TestRunEndsWithTheLog checks that a service whose log has failed for longer than LogRetry ends
// with an error, so that systemd, which does not look at /livez, starts it again. Before, it ran on
// and refused all feedback.
func TestRunEndsWithTheLog(t *testing.T) {
	disk := &faultyDisk{fails: changes}
	c := testConfig(t)
	c.FS = errorfs.Wrap(vfs.NewMem(), disk)
	passed := atomic.Int64{}
	c.Now = func() time.Time { return time.Unix(1_800_000_000, passed.Load()) }
	ended := make(chan error, 1)
	started := make(chan *Server, 1)
	go func() {
		ended <- Run(t.Context(), c, "127.0.0.1:0", nil, time.Minute, func(s *Server, _ net.Addr) error {
			started <- s
			return nil
		})
	}()
	s := <-started
	disk.fail(syscall.ENOSPC)
	if err := s.writer.note(t.Context(), experiment.ActionBackup, authorOf(t.Context(), "")); err == nil {
		t.Fatal("the disk takes writes")
	}
	passed.Add(int64(c.LogRetry) - 1)
	s.Tick()
	select {
	case err := <-ended:
		t.Fatalf("it has ended before LogRetry: %v", err)
	case err := <-s.hopeless:
		t.Fatalf("it ends before LogRetry: %v", err)
	default:
	}
	passed.Add(int64(time.Second))
	s.Tick()
	if err := <-ended; noregret.CodeOf(err).ExitStatus() != 1 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("it has ended with the status %d: %v", noregret.CodeOf(err).ExitStatus(), err)
	}
}

// A service whose directory is gone runs on: another process would begin a new log.
func TestVanishedDirectoryRunsOn(t *testing.T) {
	now := time.Unix(0, 0)
	r := &recovery{now: func() time.Time { return now }, grace: time.Minute}
	r.begin(outage{err: eventlog.ErrGone})
	if now = now.Add(time.Hour); !r.hopeless() || r.end() != nil {
		t.Errorf("hopeless: %t, ends with %v", r.hopeless(), r.end())
	}
}

// TestNoPathsInAnswers checks that no answer of a service whose disk has failed names a file or
// directory of the machine, whatever is asked.
func TestNoPathsInAnswers(t *testing.T) {
	disk := &faultyDisk{fails: func(k errorfs.OpKind) bool { return k != errorfs.OpFileClose }}
	w := newLeakyWorld(t, func(c *Config) { c.FS = errorfs.Wrap(vfs.NewMem(), disk) })
	w.apply(toy)
	w.apply(strings.Replace(immediateToy(100), "name: toy", "name: now", 1))
	d := w.decide("toy", "a")[0]
	disk.fail(syscall.EIO)
	bodies := map[string]string{
		"/v1/exposures": `{"items": [{"token": "` + d.Token + `"}]}`, "/v1/feedback": feedbackFor(d),
		"/v1/experiments/{name}/decide": `{"units": ["a"]}`, "/v1/experiments/{name}/veto": `{"arm": "gain"}`,
		"/v1/aggregates": `{"experiment": "toy", "source": "s", "sequence": 1, ` +
			`"items": [{"version": 1, "arm": "gain", "units": 1}]}`,
		"/ofrep/v1/evaluate/flags/{key}": `{"context": {"targetingKey": "a"}}`,
		"/ofrep/v1/evaluate/flags":       `{"context": {"targetingKey": "a"}}`,
		"/v1/experiments/{name}":         strings.Replace(toy, "name: toy", "name: now", 1),
	}
	unavailable := 0
	for range 2 { // the first round meets the failure, the second one the outage
		for _, rt := range w.server.router.all {
			path := strings.NewReplacer("{name}", "now", "{key}", "now", "{$}", "").Replace(rt.Pattern)
			if rt.Method == otherMethod || rt.Stream == web.Dashboards {
				continue
			}
			r, err := http.NewRequest(rt.Method, w.http.URL+path, strings.NewReader(bodies[rt.Pattern]))
			if err != nil {
				t.Fatal(err)
			}
			if r.Header.Set("Content-Type", "application/json"); rt.Method == "PUT" {
				r.Header.Set("Content-Type", "application/yaml")
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				continue // an export that broke off
			}
			b, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusServiceUnavailable {
				unavailable++
			}
			if text := string(b); strings.Contains(text, w.config.Data) || strings.Contains(text, "keys.json") ||
				resp.StatusCode >= 500 && strings.Contains(text, "/log") {
				t.Errorf("%s %s: status %d: %s", rt.Method, rt.Pattern, resp.StatusCode, b)
			}
		}
	}
	if unavailable < 8 {
		t.Errorf("only %d answers were 503: the test asks too little", unavailable)
	}
	disk.heal()
	w.wait(lastRetry)
	w.server.Tick()
}
