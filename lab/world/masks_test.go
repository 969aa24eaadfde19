package world

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
)

// TestJoining: an arm that has not joined gets nothing, and units that would have had it are not
// learned from.
func TestJoining(t *testing.T) {
	w := worldOf(t, "joining", 0)
	p := []float64{0.1, 0.1, 0.2, 0.2, 0.2, 0.2}
	served, learned := w.Serve(49, p)
	if want := []float64{0.25, 0.25, 0.5, 0, 0, 0}; !near(served, want) {
		t.Errorf("shares %v, want %v", served, want)
	}
	if want := []float64{0.1, 0.1, 0.2, 0, 0, 0}; !near(learned, want) {
		t.Errorf("learned from %v, want %v", learned, want)
	}
	if served, learned = w.Serve(100, p); !near(served, p) || !near(learned, p) {
		t.Errorf("shares %v and %v of %v when all have joined", served, learned, p)
	}
	for _, round := range []int{0, 49, 50, 99} {
		best := w.Truth(w.StateAt(round)).Best
		for k := range best {
			if w.Away(round, k) && best[k] != 0 {
				t.Errorf("round %d: the optimum %v has arm %d, which has not joined", round, best, k)
			}
		}
	}
	if w.StateAt(0) != 0 || w.StateAt(50) != 1 || w.StateAt(199) != 2 || len(w.truths) != 3 {
		t.Errorf("states %v", w.states)
	}
	only, _ := w.Serve(0, []float64{0, 0, 0, 0, 0, 1})
	if !near(only, []float64{1, 0, 0, 0, 0, 0}) {
		t.Errorf("shares %v, want the control alone", only)
	}
}

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-12 })
}

// TestServeIsWhatUnitsGet: shares are those of units that are drawn one by one, each among the arms
// that it allows.
func TestServeIsWhatUnitsGet(t *testing.T) {
	w := worldOf(t, "eligible", 0)
	w.Away = func(t, k int) bool { return k == 1 && t == 1 }
	p, s, r := []float64{0.3, 0.4, 0.1, 0, 0.2}, NewSampler(w, 7), random.New(3, "units")
	const units = 40_000
	for round := range 2 {
		got, seen := make([]float64, 5), make([]float64, 5)
		for range units {
			allowed, arm := s.Allowed(round, r.Uint64()), drawn(r, p, nil)
			if allowed[arm] {
				seen[arm] += 1.0 / units
			} else {
				arm = drawn(r, p, allowed)
			}
			got[arm] += 1.0 / units
		}
		served, learned := w.Serve(round, p)
		for k := range seen {
			if math.Abs(got[k]-served[k]) > 0.01 || math.Abs(seen[k]-learned[k]) > 0.01 {
				t.Errorf("round %d: units got %v and %v, want %v and %v", round, got, seen, served, learned)
			}
		}
	}
}

// drawn draws an arm of mixture p, among the allowed ones unless allowed is nil.
func drawn(r *random.Source, p []float64, allowed []bool) int {
	for {
		u := r.Float64()
		for k, share := range p {
			if u -= share; u < 0 {
				if allowed == nil || allowed[k] {
					return k
				}
				break
			}
		}
	}
}

// TestBestOfMasks: no mixture, served among the arms that units allow, is worth more than the
// optimum of the masks, and one comes near to it.
func TestBestOfMasks(t *testing.T) {
	for _, family := range []string{"weekend", "stock", "eligible"} {
		for run := range 5 {
			w := worldOf(t, family, run)
			theta, r := make([]float64, w.Goals.Dim()), random.New(uint64(run), "mixtures")
			for state := range w.truths {
				round := 0
				for w.StateAt(round) != state {
					round++
				}
				best, most := w.Rate(state, w.truths[state].Best, theta), math.Inf(-1)
				if best.Broken || best.Value < 0 {
					t.Errorf("%s: the optimum has %+v", family, best)
				}
				for range 20_000 {
					p, sum := make([]float64, w.Arms()), 0.0
					for k := range p { // many of them with shares of almost 0 or 1
						p[k] = math.Pow(r.Float64(), 12*r.Float64())
						sum += p[k]
					}
					for k := range p {
						p[k] /= sum
					}
					served, _ := w.Serve(round, p)
					most = max(most, w.Rate(state, served, theta).Value)
				}
				if most > best.Value+1e-9 || most < best.Value-0.15 {
					t.Errorf("%s, run %d, state %d: mixtures are worth %v at most, the optimum %v", family, run, state,
						most, best.Value)
				}
			}
		}
	}
}

// TestAwayCosts: the mixture that is best with all arms breaks the guardrail where the arm that
// makes up for it is away, and what is deployed counts in these rounds too.
func TestAwayCosts(t *testing.T) {
	w := worldOf(t, "weekend", 0)
	theta, best := make([]float64, w.Goals.Dim()), w.Truth(w.StateAt(0)).Best
	if s := w.Rate(w.StateAt(0), best, theta); s.Broken || math.Abs(s.Value-1) > 1e-6 {
		t.Errorf("the optimum of weekdays has %+v", s)
	}
	served, _ := w.Serve(5, best)
	if s := w.Rate(w.StateAt(5), served, theta); !s.Broken {
		t.Errorf("%v, served on a Saturday as %v, has %+v", best, served, s)
	}
	if s := w.RateDeployed(best, theta); !s.Broken || s.Value > 0.9 {
		t.Errorf("the optimum of weekdays, deployed, has %+v", s)
	}
}

// TestMaskedRound: units that were drawn again are in no group.
func TestMaskedRound(t *testing.T) {
	w := worldOf(t, "weekend", 0)
	p := []float64{0.2, 0.2, 0.6, 0, 0}
	_, learned := w.Serve(5, p)
	groups := NewSampler(w, 1).Round(5, learned)
	if len(groups) != 2 || groups[0].Units != 4000 || groups[1].Units != 4000 {
		t.Errorf("groups %+v", groups)
	}
}

// TestManyChoices: a world in which a policy could do too many different things is refused.
func TestManyChoices(t *testing.T) {
	w := worldOf(t, "twenty-arms", 0)
	w.Segments = slices.Repeat([]Segment{{0.25, slices.Repeat([]bool{true}, 20)}}, 4)
	if err := w.Solve(); err == nil {
		t.Error("160,000 assignments were solved")
	}
}
