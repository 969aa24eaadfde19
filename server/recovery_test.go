package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment"
)

// TestRecovery checks that a restart, with or without snapshots, gives the same state, and that it
// is the fold of the log.
func TestRecovery(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.SnapshotEvery = 5; c.Retain = time.Hour })
	w.apply(toy)
	for round := range 12 {
		var items []item
		var units []string
		for i := range 20 {
			units = append(units, fmt.Sprintf("u%d-%d", round, i))
		}
		for _, d := range w.decide("toy", units...) {
			items = append(items, item{d.Token, map[string]float64{"x": float64(round), "y": 1}})
		}
		w.post("/v1/feedback", items...)
		for i := range items {
			items[i].Metrics = nil
		}
		w.post("/v1/exposures", items...)
		w.wait(time.Minute)
		w.server.Tick()
		if round == 8 {
			w.wait(2 * time.Hour) // older events may be compacted away
			w.server.Tick()
		}
		w.settle()
		want, err := w.server.State()
		if err != nil {
			t.Fatal(err)
		}
		if round%3 == 1 {
			before := w.decide("toy", units...)
			w.restart()
			after := w.decide("toy", units...)
			if got, err := w.server.State(); err != nil || got != want {
				t.Fatalf("round %d: %+v became %+v, %v", round, want, got, err)
			}
			if before[0].Token != after[0].Token || before[3].Token != after[3].Token {
				t.Error("the tokens differ: the keys were lost")
			}
		}
		if stats := w.server.log.Stats(); stats.First == 1 {
			state := experiment.NewState()
			if err := Fold(context.Background(), w.server.log, state, stats.Last); err != nil {
				t.Fatal(err)
			}
			if digest, err := state.Digest(); err != nil || digest != want.Digest || state.Position() != want.Position {
				t.Fatalf("round %d: the log folds to %s at %d, the state is %+v", round, digest, state.Position(),
					want)
			}
		}
	}
	if w.server.log.Stats().First == 1 {
		t.Error("nothing was compacted")
	}
	if status, b := w.do("GET", "/v1/export?from=1", ""); status != http.StatusGone {
		t.Errorf("status %d: %s", status, b)
	}
}

// TestSnapshotsByBytes checks that events with many items each are covered by snapshots, and that a
// recovery folds few of them. Before, only the number of events counted, so that five million items
// in batches of 500 had no snapshot.
func TestSnapshotsByBytes(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.SnapshotEvery, c.SnapshotBytes = 1_000_000, 64<<10 })
	w.apply(toy)
	covered, most := 0, uint64(0)
	for batch := range 40 {
		var items []item
		for _, d := range w.decide("toy", unitNames(fmt.Sprint(batch, "-"), 100)...) {
			items = append(items, item{Token: d.Token})
		}
		w.post("/v1/exposures", items...)
		w.settle()
		stats := w.server.log.Stats()
		if stats.Snapshot > 0 {
			covered++
		}
		most = max(most, stats.Last-stats.Snapshot)
	}
	// An event has some 9 kB, the state at most 250 kB.
	if covered < 30 || most > 30 {
		t.Errorf("after %d of 40 events there was a snapshot, and up to %d events were not covered", covered, most)
	}
	saved := w.server.log.Stats().Snapshot
	w.server.writer.snapshots.last, w.server.writer.snapshots.since = 0, 0
	if w.server.writer.snapshots.due(w.server.live.state.Position()) {
		t.Errorf("a snapshot is due without events since that of position %d", saved)
	}
}

// TestSnapshotDue: however large a snapshot is, at most twice --snapshot-bytes of events follow it,
// on which the time of a recovery depends.
func TestSnapshotDue(t *testing.T) {
	s := &snapshotter{every: 1000, bytes: 100}
	for size, want := range map[int64]int64{0: 100, 200: 100, 300: 150, 400: 200, 1 << 40: 200} {
		s.size.Store(size)
		s.since = want - 1
		before := s.due(999)
		s.since = want
		if after := s.due(999); before || !after {
			t.Errorf("after a snapshot of %d bytes one is due after %d bytes: %t, after %d: %t", size, want-1, before,
				want, after)
		}
	}
	if s.since = 0; !s.due(1000) {
		t.Error("none is due after 1,000 events")
	}
}

// TestRetentionWithoutTraffic checks that events beyond the retention time are dropped although no
// further event comes, whether a snapshot covers them already or not, and that nothing is lost.
func TestRetentionWithoutTraffic(t *testing.T) {
	for name, every := range map[string]uint64{"no snapshot": 1000, "a snapshot": 3} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(c *Config) { c.SnapshotEvery, c.Retain = every, time.Hour })
			w.apply(strings.Replace(toy, "attribution_window: 10m", "attribution_window: 10h", 1))
			ds := w.decide("toy", "a", "b", "c", "d")
			for _, d := range ds[:3] {
				w.post("/v1/feedback", item{d.Token, map[string]float64{"x": 1}})
				w.settle()
			}
			last := w.server.log.Stats().Last
			w.wait(59 * time.Minute)
			w.server.Tick()
			w.settle()
			if first := w.server.log.Stats().First; first != 1 {
				t.Fatalf("before its time: the log begins at %d", first)
			}
			w.wait(3 * time.Minute)
			w.server.Tick()
			w.settle()
			if first := w.server.log.Stats().First; first != last+1 {
				t.Fatalf("the log begins at %d, want %d", first, last+1)
			}
			before, err := w.server.State()
			if err != nil {
				t.Fatal(err)
			}
			w.restart()
			after, err := w.server.State()
			if err != nil || after.Digest != before.Digest {
				t.Errorf("%+v became %+v: %v", before, after, err)
			}
			if f := w.post("/v1/feedback", item{ds[3].Token, map[string]float64{"x": 1}}); f.Accepted != 1 {
				t.Errorf("%+v", f)
			}
			if f := w.post("/v1/feedback", item{ds[0].Token, map[string]float64{"x": 1}}); f.Duplicate != 1 {
				t.Errorf("%+v", f)
			}
		})
	}
}
