package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// BenchmarkRecovery (make recovery) stores exposures in events of 500, of which some million wait,
// ends the service as a crash does, without a last snapshot, and measures how long the next one
// takes until it is ready.
func BenchmarkRecovery(b *testing.B) {
	for _, items := range []int{5_000_000, 20_000_000} {
		b.Run(fmt.Sprint("items=", items), func(b *testing.B) { measureRecovery(b, items) })
	}
}

func measureRecovery(b *testing.B, items int) {
	const second = 50_000 // units
	c := DefaultConfig(b.TempDir())
	now := time.Now()
	c.Now = func() time.Time { return now }
	c.Tick, c.Logger = time.Hour, slog.New(slog.DiscardHandler)
	open := func() *Server {
		s, err := New(c)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	s := open()
	text := strings.Replace(immediateToy(100_000_000), "attribution_window: 10m", "attribution_window: 10s", 1)
	text = strings.Replace(text, "round: {length: 1m", "round: {length: 5s", 1)
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
		p, e := s.Policy("toy"), experiment.UnitsEvent{Experiment: "toy"}
		for i := range 500 {
			d := p.Decide(fmt.Sprint("unit", from+i))
			e.Items = append(e.Items, experiment.UnitOf(policy.Token{
				Experiment: "toy", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit, Time: now,
			}, nil))
		}
		ev, err := experiment.NewEvent(experiment.KindExposures, 0, e)
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
	b.ResetTimer()
	begin := time.Now()
	s = open()
	b.ReportMetric(time.Since(begin).Seconds(), "s/recovery")
	b.StopTimer()
	if got, err := s.State(); err != nil || got != want {
		b.Errorf("%+v, %v: want %+v", got, err, want)
	}
	v, err := s.live.state.Vitals("toy")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(v.Open), "open-units")
	b.ReportMetric(float64(stats.Last-stats.Snapshot), "events-folded")
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
