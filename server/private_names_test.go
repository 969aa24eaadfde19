package server

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
)

// olderState replaces the latest snapshot of a service that does not run by what an earlier version
// would have saved, which did not know the names of deleted private experiments.
func (w *world) olderState() {
	w.t.Helper()
	log, err := eventlog.Open(w.config.FS, LogDir(w.config.Data), eventlog.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	saved, err := log.LatestSnapshot(w.t.Context())
	old := bytes.Replace(saved.State, []byte(`"secret":["secret"],`), nil, 1)
	if err != nil || len(old) == len(saved.State) {
		w.t.Fatalf("%v: the snapshot of position %d has no list of names", err, saved.Position)
	}
	if err := errors.Join(log.SaveSnapshot(w.t.Context(), saved.Position, old), log.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// TestPrivateNamesWithoutLedger deletes a private experiment and loses the ledger. Neither a
// service that starts without it nor the offline export shows a reported value: the state knows the
// name, also where the log has lost the events that say that the experiment was private, and the
// log knows it where an earlier version has saved the state.
func TestPrivateNamesWithoutLedger(t *testing.T) {
	for name, c := range map[string]struct {
		older   bool // the state is that of an earlier version
		dropped bool // the log has dropped the events of the creation
		reused  bool // an experiment that is not private has the name since
	}{
		"a state": {}, "dropped events": {dropped: true},
		"an older state": {older: true}, "an older state and a new experiment": {older: true, reused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := privateServer(t, func(c *Config) { c.Retain, c.SnapshotEvery = 30*time.Minute, 1<<40 })
			if c.dropped {
				w.wait(time.Hour)
			}
			tokens := w.privateRound(unitNames("u", 50), func(int) map[string]float64 {
				return map[string]float64{"buy": 73.125}
			})
			w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
			w.server.Tick()
			w.settle()
			if first := w.server.log.Stats().First; (first > 2) != c.dropped {
				t.Fatalf("the log begins with event %d", first)
			}
			w.http.Close()
			if err := w.server.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(w.config.Data, "privacy")); err != nil {
				t.Fatal(err)
			}
			if c.older {
				w.olderState()
			}
			w.start()
			public := strings.Replace(toy, "name: toy", "name: secret", 1)
			if c.reused {
				w.apply(public)
			} else if !c.older {
				for _, text := range []string{public, privateToy} {
					status, b := w.do("PUT", "/v1/experiments/secret", text, "Content-Type", "application/yaml")
					if status != 409 || !strings.Contains(string(b), "choose another one") {
						t.Errorf("the name again: %d %s", status, b)
					}
				}
			}
			for range 2 {
				answers := w.allAnswers("secret", tokens[0])
				for path, body := range answers {
					if strings.Contains(body, "73.125") {
						t.Errorf("%s has a reported value: %.2000s", path, body)
					}
				}
				for _, path := range []string{"/v1/export", "/v1/state", "/", "/live"} {
					if !strings.HasPrefix(answers[path], "200 ") {
						t.Errorf("%s: %.200s", path, answers[path])
					}
				}
				hidden := 0
				for rec, err := range w.server.log.Read(t.Context(), w.server.log.Stats().First) {
					if err != nil {
						t.Fatal(err)
					}
					if experiment.IsHidden(rec.Kind) {
						hidden++
					}
				}
				if hidden == 0 {
					t.Error("the log has no feedback: the test tests nothing")
				}
				w.restart()
			}
			names, err := LoggedPrivateNames(t.Context(), w.server.log, w.server.log.Stats().First)
			if err != nil || !slices.Equal(names, []string{"secret"}) {
				t.Errorf("names by the log: %q, %v", names, err)
			}
		})
	}
}

// TestPrivateSnapshot deletes a private experiment while the oldest snapshot, after which the log
// begins, still has its raw feedback: nobody gets that snapshot.
func TestPrivateSnapshot(t *testing.T) {
	w := privateServer(t, func(c *Config) { c.Retain, c.SnapshotEvery = 30*time.Minute, 1<<40 })
	w.privateRound(unitNames("u", 50), func(int) map[string]float64 { return map[string]float64{"buy": 73.125} })
	w.wait(time.Hour)
	w.server.Tick()
	w.settle()
	origin, err := Origin(t.Context(), w.server.log)
	if err != nil || !origin.Private("secret") {
		t.Fatalf("%v: the oldest snapshot has no private experiment", err)
	}
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	w.get(403, nil, "GET", "/v1/snapshot", "")
	w.wait(2 * time.Hour)
	w.apply(toy)
	w.server.Tick()
	w.settle()
	if origin, err = Origin(t.Context(), w.server.log); err != nil || origin.Private("secret") {
		t.Fatalf("%v: the oldest snapshot still has the private experiment", err)
	}
	status, b := w.do("GET", "/v1/snapshot", "")
	if again := experiment.NewState(); status != 200 || again.UnmarshalBinary(b) != nil ||
		!slices.Equal(experiment.PrivateNames(again), []string{"secret"}) {
		t.Errorf("after the events were dropped: status %d: %.200s", status, b)
	}
}

// TestPrivateDamagedLog has a log that cannot say which deleted experiments were private: all of
// them may have been.
func TestPrivateDamagedLog(t *testing.T) {
	w := newWorld(t)
	d := newDeletedNames(experiment.NewState(), damagedLog{w.server.log}, w.config.Logger)
	d.names["gone"] = true
	for range 2 {
		if !d.private(t.Context(), "gone") || d.private(t.Context(), "other") {
			t.Error("want the deleted experiment, and no other one, to be private")
		}
	}
	if n := strings.Count(w.logs.String(), "all of them count as private"); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, w.logs)
	}
}

// damagedLog is a log whose events cannot be read.
type damagedLog struct{ eventlog.Log }

// Read implements [eventlog.Reader].
func (damagedLog) Read(context.Context, uint64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) { yield(eventlog.Record{}, errors.New("damaged")) }
}
