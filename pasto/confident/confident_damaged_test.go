package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto/internal/lists"
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
	for name, damage := range map[string]func(s *State){
		"live":              func(s *State) { s.Live = 2 },
		"active":            func(s *State) { s.Active[1] = false },
		"no arm":            func(s *State) { s.Live, s.Active = 0, make([]bool, 3) },
		"unobserved":        func(s *State) { s.Unobserved = 1 },
		"count":             func(s *State) { s.Model.Stats.Count[0], s.Unobserved = 0, 1 },
		"negative count":    func(s *State) { s.Model.Stats.Count[0] = -1 },
		"freedom":           func(s *State) { s.Model.Stats.Freedom = -1 },
		"freedom NaN":       func(s *State) { s.Model.Stats.Freedom = math.NaN() },
		"no freedom":        func(s *State) { s.Model.Stats.Freedom = 0 },
		"pairs":             func(s *State) { s.Model.Noise.Pairs = -1 },
		"pairs NaN":         func(s *State) { s.Model.Noise.Pairs = math.NaN() },
		"across":            func(s *State) { s.Model.Noise.Across[0] = math.NaN() },
		"null":              func(s *State) { s.Model.Noise.Null[0] = -1 },
		"excess":            func(s *State) { s.Model.Noise.Excess = nil },
		"weight":            func(s *State) { s.Model.Stats.Standing[0] = 2 * s.Model.Stats.Weight[0] },
		"third":             func(s *State) { s.Model.Stats.Third = nil },
		"limit":             func(s *State) { s.Model.Changes.BlockLimit[0] = 2 * 1024 },
		"segment":           func(s *State) { s.Model.Changes.SegmentWeight[0] = 2 * s.Model.Stats.Weight[0] },
		"block too large":   func(s *State) { s.Model.Changes.BlockWeight[0] = 2 * s.Model.Stats.Weight[0] },
		"rounds":            func(s *State) { s.Model.Stats.Rounds[2] = math.NaN() },
		"negative rounds":   func(s *State) { s.Model.Stats.Rounds[2] = -1 },
		"many rounds":       func(s *State) { s.Model.Stats.Rounds[0] = s.Model.Stats.Count[0] + 1 },
		"free":              func(s *State) { s.Model.Stats.Free[0] = -1 },
		"squares":           func(s *State) { s.Model.Stats.Squares[1] = -1 },
		"pool":              func(s *State) { s.Model.Stats.Pool[1] = -1 },
		"units":             func(s *State) { s.Model.Stats.UnitSize = []float64{1} },
		"total of no units": func(s *State) { s.Model.Stats.UnitTotal = []float64{1} },
		"no cluster":        func(s *State) { s.Model.Stats.Heavy[0] = 0 },
		"cluster":           func(s *State) { s.Model.Stats.Heavy[0] = 1e300 },
		"small cluster":     func(s *State) { s.Model.Stats.Heavy[0] = 1e-9 },
		"block":             func(s *State) { s.Model.Changes.BlockRounds[0] = -1 },
		"block's size":      func(s *State) { s.Model.Changes.BlockWeight[0] = math.Inf(1) },
		"block's length":    func(s *State) { s.Model.Changes.BlockRounds[0] = s.Model.Stats.Rounds[0] + 1 },
		"half a round":      func(s *State) { s.Model.Changes.BlockRounds[0] = .5 },
		"another's length":  func(s *State) { s.Model.Changes.BlockMean = s.Model.Changes.BlockMean[1:] },
		"joint":             func(s *State) { s.Model.Joint.Size = s.Model.Joint.Size[1:] },
		"cross":             func(s *State) { s.Model.Joint.Cross[0] = math.NaN() },
		"level":             func(s *State) { s.Model.Joint.Level = nil },
		"next":              func(s *State) { s.Next = -1 },
		"endless next":      func(s *State) { s.Next = math.MaxInt },
		"round":             func(s *State) { s.T = -1 },
		"endless rounds":    func(s *State) { s.T = math.MaxInt },
		"changes":           func(s *State) { s.Found = -1 },
		"width":             func(s *State) { s.Width = 2 },
		"mixture":           func(s *State) { s.Up[0]++ },
		"serving":           func(s *State) { s.Serving[0] = -1 },
		"safe":              func(s *State) { s.Safe = nil },
		"suspects":          func(s *State) { s.Model.Suspects.Before = nil },
		"suspect's change":  func(s *State) { s.Model.Suspects.Change[0] = -1e308 },
		"suspect's weight":  func(s *State) { s.Model.Suspects.Weight[0] = 2 * s.Model.Stats.Standing[0] },
		"suspect's past":    func(s *State) { s.Model.Suspects.Standing[0] = math.Inf(1) },
		"earlier":           func(s *State) { s.Model.Earlier.Mean = nil },
		"earlier rounds":    func(s *State) { s.Model.Earlier.Rounds[0] = s.Model.Stats.Rounds[0] + 1 },
		"earlier weight":    func(s *State) { s.Model.Earlier.Weight[0] = 2 * s.Model.Stats.Standing[0] },
		"suspect's size":    func(s *State) { s.Model.Suspects.Size[0] = 2 * s.Model.Stats.Weight[0] },
	} {
		l := learned()
		lists.Of{&l.s.Model.Earlier}.Give(3, 2)
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
