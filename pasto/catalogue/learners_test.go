package catalogue

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/optimum"
)

// All named algorithms: deterministic, a snapshot continues bit for bit, distributions stay
// distributions, nothing is allocated.
func TestAllAlgorithms(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	mu := pastotest.Table(t, []float64{2, 0, 1, -1}, []float64{-2, 2, 0, 1})
	for _, e := range Algorithms() {
		t.Run(e.Name, func(t *testing.T) {
			a, err := e.New(f, 4, 1000, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, _ := e.New(f, 4, 1000, nil)
			r := random.New(1, "test")
			pastotest.Play(t, a, mu, 3, 333, 1, r)
			saved, err := a.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			state, _ := r.MarshalBinary()
			pastotest.Play(t, a, mu, 3, 300, 1, r)
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			r2 := random.New(0, "")
			_ = r2.UnmarshalBinary(state)
			pastotest.Play(t, b, mu, 3, 300, 1, r2)
			x, _ := a.MarshalBinary()
			y, _ := b.MarshalBinary()
			if !bytes.Equal(x, y) {
				t.Error("a restored learner goes on differently")
			}
			for _, p := range [][]float64{a.Serving(), a.Deployed()} {
				if err := check.Mixture("p", p, 4); err != nil {
					t.Error(err)
				}
			}
			saved[len(saved)-1] ^= 1
			if err := b.UnmarshalBinary(saved); err == nil {
				t.Error("a damaged snapshot is taken")
			}
			arms, obs := make([]int, 3), make([]pasto.Observation, 3)
			var row [2]float64
			allocs := testing.AllocsPerRun(1, func() { // of 500 rounds: it rounds down
				for range 500 {
					a.Draw(r, arms)
					for q, k := range arms {
						row = [2]float64{mu.Arm(k)[0] + float64(q), mu.Arm(k)[1] - float64(q)}
						obs[q] = pasto.Observation{Arm: k, Metrics: row[:]}
					}
					if err := a.Observe(obs); err != nil {
						t.Fatal(err)
					}
				}
			})
			if allocs != 0 {
				t.Errorf("%v allocations a round", allocs)
			}
		})
	}
	if _, err := New("nothing", f, 2, 10, nil); err == nil || !strings.Contains(err.Error(), "s-scgd") {
		t.Errorf("%v", err)
	}
}

// What is refused, by every algorithm, and that nothing changes then.
func TestRefusedObservations(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	ok := []float64{1, 1}
	for _, e := range Algorithms() {
		l, err := e.New(f, 2, 100, nil)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, pastotest.Toy(t), 2, 20, 1, random.New(1, "test"))
		before, _ := l.MarshalBinary()
		for name, obs := range map[string][]pasto.Observation{
			"empty":        {},
			"unknown":      {{Arm: 2, Metrics: ok}},
			"negative arm": {{Arm: -1, Metrics: ok}},
			"NaN":          {{Arm: 0, Metrics: ok}, {Arm: 1, Metrics: []float64{1, math.NaN()}}},
			"infinite":     {{Arm: 0, Metrics: []float64{math.Inf(-1), 0}}},
			"huge":         {{Arm: 0, Metrics: []float64{1e200, 0}}},
			"short":        {{Arm: 0, Metrics: ok[:1]}},
			"duplicate":    {{Arm: 0, Metrics: ok, Round: 20}},
			"future":       {{Arm: 0, Metrics: ok, Round: 22}},
			"size":         {{Arm: 0, Metrics: ok, Size: -1}},
			"half sized":   {{Arm: 0, Metrics: ok, Size: 5}, {Arm: 1, Metrics: ok}},
		} {
			err := l.Observe(obs)
			if err == nil || noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: %s: %v", e.Name, name, err)
			}
			if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
				t.Errorf("%s: %s changed the state", e.Name, name)
			}
		}
		if err := l.Observe([]pasto.Observation{{Arm: pastotest.Served(l), Metrics: ok, Round: 21}}); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// What every algorithm refuses, and that one arm is legal.
func TestRefusedProblems(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	for _, e := range Algorithms() {
		if _, err := e.New(f, 0, 10, nil); err == nil {
			t.Errorf("%s: no arms", e.Name)
		}
		if _, err := e.New(pastotest.Goals(t, 5, true, 0), 2, 10, nil); (err == nil) != strings.HasPrefix(e.Name,
			"default") {
			t.Errorf("%s: hard guardrails", e.Name)
		}
		if _, err := e.New(nil, 2, 10, nil); err == nil {
			t.Errorf("%s: nil objective", e.Name)
		}
		if l, err := e.New(f, 1, 10, nil); err != nil || l.Serving()[0] != 1 {
			t.Errorf("%s: one arm is legal: %v", e.Name, err)
		}
	}
	if _, err := optimum.Maximize(f, pastotest.Table(t, []float64{1}), optimum.DefaultOptions()); err == nil {
		t.Error("a table of other metrics is taken")
	}
}
