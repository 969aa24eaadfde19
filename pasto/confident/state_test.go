package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A snapshot whose checksum is right and whose numbers cannot be a learner's is refused; those of a
// learner in any state are taken.
func TestDamaged(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	means := pastotest.Table(t, []float64{2, 0, 1}, []float64{-2, 2, 0})
	fresh := func() *Learner {
		l, err := New(f, 3, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := fresh()
	pastotest.Play(t, l, means, 2, 50, 1, random.New(1, "damaged"))
	played, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(s *state){
		"live":             func(s *state) { s.Live = 2 },
		"active":           func(s *state) { s.Active[1] = false },
		"no arm":           func(s *state) { s.Live, s.Active = 0, make([]bool, 3) },
		"fewer arms":       func(s *state) { s.Active = s.Active[:2] },
		"unobserved":       func(s *state) { s.Unobserved = 1 },
		"round":            func(s *state) { s.T = -1 },
		"endless rounds":   func(s *state) { s.T = math.MaxInt },
		"began":            func(s *state) { s.Began = s.T + 1 },
		"next":             func(s *state) { s.Next = -1 },
		"endless next":     func(s *state) { s.Next = math.MaxInt },
		"changes":          func(s *state) { s.Found = -1 },
		"width":            func(s *state) { s.Width = 2 },
		"mixture":          func(s *state) { s.Up[0]++ },
		"no mixture":       func(s *state) { s.Down = nil },
		"serving":          func(s *state) { s.Serving[0] = -1 },
		"rounds":           func(s *state) { s.Sums.Rounds[2] = math.NaN() },
		"negative rounds":  func(s *state) { s.Sums.Rounds[2] = -1 },
		"many rounds":      func(s *state) { s.Sums.Rounds[0] = float64(s.T + 1) },
		"no rounds":        func(s *state) { s.Sums.Rounds[0], s.Unobserved = 0, 1 },
		"weight":           func(s *state) { s.Sums.Weight[0] = math.Inf(1) },
		"heavy":            func(s *state) { s.Sums.Heavy[0] = -1 },
		"mean":             func(s *state) { s.Sums.Mean[0] = math.NaN() },
		"squares":          func(s *state) { s.Sums.Squares[1] = -1 },
		"free":             func(s *state) { s.Sums.Free[0] = s.Sums.Rounds[0] + 1 },
		"pool":             func(s *state) { s.Sums.Pool = nil },
		"freedom":          func(s *state) { s.Sums.Freedom = -1 },
		"freedom NaN":      func(s *state) { s.Sums.Freedom = math.NaN() },
		"no freedom":       func(s *state) { s.Sums.Freedom = 0 },
		"within":           func(s *state) { s.Sums.WithinFree = -1 },
		"units":            func(s *state) { s.Sums.UnitSize = []float64{1} },
		"excess":           func(s *state) { s.Sums.Excess = []float64{1} },
		"memory":           func(s *state) { s.Sums.Short.Weight[0] = 2 * s.Sums.Weight[0] },
		"no memory":        func(s *state) { s.Sums.Long.Weight[0] = 0 },
		"mean of a memory": func(s *state) { s.Sums.Middle.Mean = nil },
		"since":            func(s *state) { s.Sums.Since[0] = 2 * s.Sums.Weight[0] },
	} {
		l := fresh()
		if err := l.UnmarshalBinary(played); err != nil {
			t.Fatal(err)
		}
		damage(&l.s)
		data, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := fresh().UnmarshalBinary(data); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
	l = fresh()
	r := random.New(2, "states")
	for n := range 400 {
		data, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := l.UnmarshalBinary(data); err != nil {
			t.Fatalf("round %d: %v", n, err)
		}
		means.Arm(0)[0] = float64(n / 100 * 30)
		pastotest.Play(t, l, means, 1+n%2, 1, 1, r)
		if n == 250 {
			if err := l.RetireArm(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if l.Changes() == 0 {
		t.Error("no change: the test sees less than it should")
	}
}

// TestRetireUnobserved: retiring the only arms without data leaves a mixture of the others.
func TestRetireUnobserved(t *testing.T) {
	l, err := New(pastotest.Goals(t, 5, false, 0), 3, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for k := range 2 {
		if err := l.Observe([]pasto.Observation{{Arm: k, Metrics: []float64{1, 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.RetireArm(2); err != nil {
		t.Fatal(err)
	}
	for _, p := range [][]float64{l.Serving(), l.Deployed()} {
		if err := check.Mixture("p", p, 3); err != nil || p[2] != 0 {
			t.Errorf("%v: %v", p, err)
		}
	}
}
