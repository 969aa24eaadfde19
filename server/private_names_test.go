package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/experiment"
)

// TestPrivateNamesWithoutLedger deletes a private experiment and loses the ledger. Neither a
// service that starts without it nor the offline export shows a reported value: the state knows the
// name, also where the log has lost the events that say that the experiment was private.
func TestPrivateNamesWithoutLedger(t *testing.T) {
	for _, dropped := range []bool{false, true} { // the events of the creation
		t.Run(fmt.Sprint("dropped ", dropped), func(t *testing.T) {
			w := privateServer(t, func(c *Config) { c.Retain, c.SnapshotEvery = 30*time.Minute, 1<<40 })
			if dropped {
				w.wait(time.Hour)
			}
			tokens := w.privateRound(unitNames("u", 50), func(int) map[string]float64 {
				return map[string]float64{"buy": 73.125}
			})
			w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
			w.server.Tick()
			w.settle()
			if first := w.server.log.Stats().First; (first > 2) != dropped {
				t.Fatalf("the log begins with event %d", first)
			}
			w.http.Close()
			if err := w.server.Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(w.config.Data, "privacy")); err != nil {
				t.Fatal(err)
			}
			w.start()
			public := strings.Replace(toy, "name: toy", "name: secret", 1)
			for _, text := range []string{public, privateToy} {
				status, b := w.do("PUT", "/v1/experiments/secret", text, "Content-Type", "application/yaml")
				if status != 409 || !strings.Contains(string(b), "choose another one") {
					t.Errorf("the name again: %d %s", status, b)
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
