package confident

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/stretch"
)

// newShop returns a learner of clicks under a hard guardrail on orders, at most 5 % below the first
// arm, which is the control.
func newShop(t *testing.T, arms int) *Learner {
	t.Helper()
	f, err := pasto.NewGoals([]pasto.Metric{
		{Name: "clicks", Upper: 1},
		{Name: "orders", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -0.05, Upper: 1},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Control = 0
	l, err := New(f, arms, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// leveled plays four arms under a hard relative guardrail. The second is by far the best, and is
// served nearly alone after a while. All rates of a round are multiplied by its level, and those of
// the second arm by what own says. It returns the learner, the mean share of that arm, and the
// number of rounds in which the guardrail was broken.
func leveled(t *testing.T, seed uint64, units float64, level, own func(n int) float64) (*Learner, float64, int) {
	t.Helper()
	l := newShop(t, 4)
	const rounds = 200
	r, share, broken := random.New(seed, "levels"), 0.0, 0
	rates := [][2]float64{{.05, .02}, {.07, .0205}, {.05, .019}, {.045, .018}}
	for n := range rounds {
		var obs []pasto.Observation
		orders := 0.0
		for k, p := range l.Serving() {
			factor := 1.0
			if k == 1 {
				factor = own(n)
				share += p / rounds
			}
			orders += p * factor * rates[k][1]
			size := int64(p*units + r.Float64())
			if size < 2 {
				continue
			}
			row, variances := make([]float64, 2), make([]float64, 2)
			for i, v := range rates[k] {
				row[i] = stat.Binomial(r, size, v*level(n)*factor) / float64(size)
				variances[i] = row[i] * (1 - row[i]) * float64(size) / float64(size-1)
			}
			obs = append(obs, pasto.Observation{Arm: k, Size: float64(size), Metrics: row, Variances: variances})
		}
		if orders < 0.95*rates[0][1]-1e-12 {
			broken++
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
	return l, share, broken
}

// A level that all arms have in common is no change, whatever it is like, also where the best arm
// is served alone, so that only rounds with others tell.
func TestLevelsOfLoneArmsAreNoChange(t *testing.T) {
	steady := func(int) float64 { return 1 }
	for name, level := range map[string]func(n int) float64{
		"steady":       steady,
		"half from 60": func(n int) float64 { return 1 - .5*math.Trunc(float64(n)/(60+float64(n))*2) },
		"30 rounds": func(n int) float64 {
			if n/30%2 == 0 {
				return 1
			}
			return .6
		},
		"a week":     func(n int) float64 { return 1 + .6*math.Sin(2*math.Pi*float64(n)/7) },
		"a month":    func(n int) float64 { return 1 + .6*math.Sin(2*math.Pi*float64(n)/28) },
		"100 rounds": func(n int) float64 { return 1 + .6*math.Sin(2*math.Pi*float64(n)/100) },
		"campaigns": func(n int) float64 {
			if n%60 < 15 {
				return 1.5
			}
			return 1
		},
	} {
		for _, units := range []float64{20_000, 200_000} {
			runs, changes, shares, broken := testsize.Of(40, 8), 0, 0.0, 0
			for seed := range uint64(runs) {
				l, share, n := leveled(t, seed, units, level, steady)
				changes += l.Changes()
				shares += share / float64(runs)
				broken += n
			}
			if changes > 0 || shares < 0.75 || broken > 0 {
				t.Errorf("%s, %v units: %d changes in %d runs, the best arm has a share of %.3f, %d rounds broken",
					name, units, changes, runs, shares, broken)
			}
		}
	}
}

// An arm that is served alone and loses half of its orders breaks the guardrail for hardly more
// than the round in which that shows, also in a season.
func TestLoneArmCrashes(t *testing.T) {
	crash := func(n int) float64 {
		if n < 100 {
			return 1
		}
		return .5
	}
	for name, level := range map[string]func(n int) float64{
		"steady":        func(int) float64 { return 1 },
		"with a season": func(n int) float64 { return 1 + .3*math.Sin(2*math.Pi*float64(n)/28) },
	} {
		runs, broken, missed := testsize.Of(100, 20), 0, 0
		for seed := range uint64(runs) {
			l, _, n := leveled(t, seed, 20_000, level, crash)
			broken += n
			if l.Serving()[1] > 0.2 || l.Deployed()[1] > 0.2 {
				missed++
			}
		}
		if mean := float64(broken) / float64(runs); mean > 2 || missed > 0 {
			t.Errorf("%s: %.2f rounds broken in the mean, and in %d of %d runs the arm is still used", name, mean,
				missed, runs)
		}
	}
}

// A snapshot in the middle of a suspicion goes on as the learner does, and one without the numbers
// of suspects is refused.
func TestSnapshotOfSuspects(t *testing.T) {
	fall := func(n int) float64 {
		if n < 199 {
			return 1
		}
		return .6
	}
	l, _, _ := leveled(t, 1, 20_000, fall, func(int) float64 { return 1 })
	if _, is := l.model.Suspects.Of(1); !is {
		t.Fatal("the arm is no suspect: the test sees nothing")
	}
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(l.objective, 4, l.options)
	if err == nil {
		err = other.UnmarshalBinary(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		var obs []pasto.Observation
		for k := range 4 {
			obs = append(obs, pasto.Observation{
				Arm: k, Size: 1000, Metrics: []float64{.03, .012}, Variances: []float64{.03, .012}, Earlier: true,
			})
		}
		for _, x := range []*Learner{l, other} {
			if err := x.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(l.Serving(), other.Serving()) {
			t.Fatalf("round %d: restored it serves %v, not %v", n, other.Serving(), l.Serving())
		}
	}
	l.s.Model.Suspects = stretch.Suspects{}
	if data, err = l.MarshalBinary(); err != nil {
		t.Fatal(err)
	}
	if err := other.UnmarshalBinary(data); err == nil {
		t.Error("a state without the numbers of suspects was accepted")
	}
}
