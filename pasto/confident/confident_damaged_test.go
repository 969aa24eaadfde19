package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A snapshot whose checksum is right and whose numbers cannot be a learner's is refused; those of a
// learner in any state are taken.
func TestConfidentDamaged(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	means := pastotest.Table(t, []float64{2, 0, 1}, []float64{-2, 2, 0})
	var played []byte
	learned := func() *Learner {
		l, err := New(f, 3, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		if played == nil {
			pastotest.Play(t, l, means, 2, 50, 1, random.New(1, "damaged"))
			if played, err = l.MarshalBinary(); err != nil {
				t.Fatal(err)
			}
			return l
		}
		if err := l.UnmarshalBinary(played); err != nil {
			t.Fatal(err)
		}
		return l
	}
	for name, damage := range map[string]func(s *state){
		"live":             func(s *state) { s.Live = 2 },
		"active":           func(s *state) { s.Active[1] = false },
		"no arm":           func(s *state) { s.Live, s.Active = 0, make([]bool, 3) },
		"unobserved":       func(s *state) { s.Unobserved = 1 },
		"count":            func(s *state) { s.Model.Stats.Count[0], s.Unobserved = 0, 1 },
		"negative count":   func(s *state) { s.Model.Stats.Count[0] = -1 },
		"freedom":          func(s *state) { s.Model.Stats.Freedom = -1 },
		"freedom NaN":      func(s *state) { s.Model.Stats.Freedom = math.NaN() },
		"no freedom":       func(s *state) { s.Model.Stats.Freedom = 0 },
		"pairs":            func(s *state) { s.Model.Noise.Pairs = -1 },
		"pairs NaN":        func(s *state) { s.Model.Noise.Pairs = math.NaN() },
		"across":           func(s *state) { s.Model.Noise.Across[0] = math.NaN() },
		"null":             func(s *state) { s.Model.Noise.Null[0] = -1 },
		"excess":           func(s *state) { s.Model.Noise.Excess = nil },
		"weight":           func(s *state) { s.Model.Stats.Standing[0] = 2 * s.Model.Stats.Weight[0] },
		"third":            func(s *state) { s.Model.Stats.Third = nil },
		"limit":            func(s *state) { s.Model.Changes.BlockLimit[0] = 2 * 1024 },
		"segment":          func(s *state) { s.Model.Changes.SegmentWeight[0] = 2 * s.Model.Stats.Weight[0] },
		"block too large":  func(s *state) { s.Model.Changes.BlockWeight[0] = 2 * s.Model.Stats.Weight[0] },
		"rounds":           func(s *state) { s.Model.Stats.Rounds[2] = math.NaN() },
		"negative rounds":  func(s *state) { s.Model.Stats.Rounds[2] = -1 },
		"many rounds":      func(s *state) { s.Model.Stats.Rounds[0] = s.Model.Stats.Count[0] + 1 },
		"free":             func(s *state) { s.Model.Stats.Free[0] = -1 },
		"squares":          func(s *state) { s.Model.Stats.Squares[1] = -1 },
		"pool":             func(s *state) { s.Model.Stats.Pool[1] = -1 },
		"units":            func(s *state) { s.Model.Stats.UnitSize = []float64{1} },
		"no cluster":       func(s *state) { s.Model.Stats.Heavy[0] = 0 },
		"cluster":          func(s *state) { s.Model.Stats.Heavy[0] = 1e300 },
		"small cluster":    func(s *state) { s.Model.Stats.Heavy[0] = 1e-9 },
		"block":            func(s *state) { s.Model.Changes.BlockRounds[0] = -1 },
		"block's size":     func(s *state) { s.Model.Changes.BlockWeight[0] = math.Inf(1) },
		"block's length":   func(s *state) { s.Model.Changes.BlockRounds[0] = s.Model.Stats.Rounds[0] + 1 },
		"half a round":     func(s *state) { s.Model.Changes.BlockRounds[0] = .5 },
		"another's length": func(s *state) { s.Model.Changes.BlockMean = s.Model.Changes.BlockMean[1:] },
		"joint":            func(s *state) { s.Model.Joint.Size = s.Model.Joint.Size[1:] },
		"cross":            func(s *state) { s.Model.Joint.Cross[0] = math.NaN() },
		"level":            func(s *state) { s.Model.Joint.Level = nil },
		"next":             func(s *state) { s.Next = -1 },
		"endless next":     func(s *state) { s.Next = math.MaxInt },
		"round":            func(s *state) { s.T = -1 },
		"endless rounds":   func(s *state) { s.T = math.MaxInt },
		"changes":          func(s *state) { s.Found = -1 },
		"width":            func(s *state) { s.Width = 2 },
		"mixture":          func(s *state) { s.Up[0]++ },
		"serving":          func(s *state) { s.Serving[0] = -1 },
		"safe":             func(s *state) { s.Safe = nil },
	} {
		l := learned()
		damage(&l.s)
		data, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		other := learned()
		if err := other.UnmarshalBinary(data); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: %v", name, err)
		}
	}
	l, err := New(f, 3, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
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
