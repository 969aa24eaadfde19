//go:build unix

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
)

// mostRecovery is the time that a recovery may take.
const mostRecovery = 5 * time.Second

// BenchmarkRecovery (make recovery) stores exposures in events of 500, 50,000 units a second, ends
// the service as a crash does, without a last snapshot, and measures how long the next one takes in
// a process of its own until it is ready, which must not be longer than mostRecovery. With a window
// of 10 s at most 800,000 units wait then, with one of a day all do.
func BenchmarkRecovery(b *testing.B) {
	for _, c := range []struct {
		items  int
		window string
	}{
		{5_000_000, "10s"},
		{20_000_000, "10s"},
		{5_000_000, "24h"},
		{20_000_000, "24h"},
	} {
		b.Run(fmt.Sprintf("items=%d/window=%s", c.items, c.window), func(b *testing.B) {
			measureRecovery(b, c.items, c.window)
		})
	}
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func measureRecovery(b *testing.B, items int, window string) {
	const second = 50_000 // units
	c := DefaultConfig(b.TempDir())
	now := time.Now()
	c.Now = func() time.Time { return now }
	c.Tick, c.Logger = time.Hour, slog.New(slog.DiscardHandler)
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Replace(immediateToy(100_000_000), "attribution_window: 10m", "attribution_window: "+window, 1)
	if window == "10s" {
		text = strings.Replace(text, "round: {length: 1m", "round: {length: 5s", 1)
	}
	d, err := definition.Parse("d", []byte(text))
	if err != nil {
		b.Fatal(err)
	}
	define := func(state *experiment.State, now int64) ([]experiment.Event, error) { return state.Plan(d, now) }
	if _, err := s.writer.submit(context.Background(), &command{make: define}); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < items; from += 500 {
		if from%second == 0 {
			now = now.Add(time.Second)
			s.Tick()
		}
		p, e := s.Policy("toy"), join.Units{Experiment: "toy"}
		for i := range 500 {
			d := p.Decide(fmt.Sprint("unit", from+i))
			e.Items = append(e.Items, join.UnitOf(policy.Token{
				Experiment: "toy", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit, Time: now,
			}, nil))
		}
		ev, err := experiment.NewUnits(experiment.KindExposures, 0, &e)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.writer.submit(context.Background(), &command{events: []experiment.Event{ev}}); err != nil {
			b.Fatal(err)
		}
	}
	s.Drain()
	s.writer.close()
	s.background.Wait()
	s.writer.snapshots.running.Wait()
	want, err := s.State()
	if err != nil {
		b.Fatal(err)
	}
	stats := s.log.Stats()
	if err := s.log.Close(); err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	next := exec.Command(self)
	next.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", recoveryChild, c.Data, now.UnixNano()))
	next.Stderr = os.Stderr
	b.ResetTimer()
	out, err := next.Output()
	b.StopTimer()
	var got recovered
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.ReportMetric(got.Took.Seconds(), "s/recovery")
	b.ReportMetric(got.Used.Seconds(), "processor-s/recovery")
	b.ReportMetric(float64(got.Open), "open-units")
	b.ReportMetric(float64(stats.Last-stats.Snapshot), "events-folded")
	if got.Took > mostRecovery {
		b.Errorf("the recovery took %v, %v at most", got.Took, mostRecovery)
	}
	if got.State != want {
		b.Errorf("%+v: want %+v", got.State, want)
	}
}

// recoveryChild is the variable by which this test binary runs as the service that recovers: the
// data directory and the time.
const recoveryChild = "NOREGRET_RECOVERY_CHILD"

// recovered is what the service says once it is ready.
type recovered struct {
	Took, Used time.Duration
	State      api.StateName
	Open       int64 // units
}

func init() {
	var data string
	var now int64
	if _, err := fmt.Sscan(os.Getenv(recoveryChild), &data, &now); err != nil {
		return
	}
	r, err := recoverOnce(data, time.Unix(0, now))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func recoverOnce(data string, now time.Time) (r recovered, err error) {
	c := DefaultConfig(data)
	c.Now = func() time.Time { return now }
	c.Tick, c.Logger = time.Hour, slog.New(slog.DiscardHandler)
	begin, used := time.Now(), processorTime()
	s, err := New(c)
	if err != nil {
		return r, err
	}
	r.Took, r.Used = time.Since(begin), processorTime()-used
	v, err := s.live.state.Vitals("toy")
	if err != nil {
		return r, err
	}
	r.Open = v.Open
	if r.State, err = s.State(); err != nil {
		return r, err
	}
	return r, s.Close()
}
