package server

import (
	"context"
	"fmt"
	"net/http"
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
