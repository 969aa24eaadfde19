package pasto

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// A snapshot whose checksum is right and whose numbers cannot be a learner's is refused; those of a
// learner in any state are taken.
func TestConfidentDamaged(t *testing.T) {
	f := goals(t, 5, false, 0)
	means := table(t, []float64{2, 0, 1}, []float64{-2, 2, 0})
	learned := func() *Confident {
		l, err := NewConfident(f, 3, ConfidentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		play(t, l, means, 2, 50, 1, random.New(1, "damaged"))
		return l
	}
	for name, damage := range map[string]func(s *confidentState){
		"live":             func(s *confidentState) { s.Live = 2 },
		"active":           func(s *confidentState) { s.Active[1] = false },
		"no arm":           func(s *confidentState) { s.Live, s.Active = 0, make([]bool, 3) },
		"fresh":            func(s *confidentState) { s.Fresh = 1 },
		"count":            func(s *confidentState) { s.Count[0], s.Fresh = 0, 1 },
		"negative count":   func(s *confidentState) { s.Count[0] = -1 },
		"freedom":          func(s *confidentState) { s.Freedom = -1 },
		"freedom NaN":      func(s *confidentState) { s.Freedom = math.NaN() },
		"spread":           func(s *confidentState) { s.Spread = -1 },
		"spread Inf":       func(s *confidentState) { s.Spread = math.Inf(1) },
		"pairs":            func(s *confidentState) { s.Pairs = -1 },
		"pairs NaN":        func(s *confidentState) { s.Pairs = math.NaN() },
		"rounds":           func(s *confidentState) { s.Rounds[2] = math.NaN() },
		"negative rounds":  func(s *confidentState) { s.Rounds[2] = -1 },
		"limit":            func(s *confidentState) { s.NewLimit[0] = 0 },
		"negative limit":   func(s *confidentState) { s.NewLimit[0] = -32 },
		"block":            func(s *confidentState) { s.NewRounds[0] = -1 },
		"segment's count":  func(s *confidentState) { s.LastCount[0] = -1 },
		"block's size":     func(s *confidentState) { s.NewSize[0] = math.Inf(1) },
		"block's cluster":  func(s *confidentState) { s.NewCluster[0] = -1 },
		"solved":           func(s *confidentState) { s.Solved[1] = math.NaN() },
		"squares":          func(s *confidentState) { s.Squares[1] = -1 },
		"pool":             func(s *confidentState) { s.Pool[1] = -1 },
		"clock":            func(s *confidentState) { s.Clock = -1 },
		"next":             func(s *confidentState) { s.Next = -1 },
		"round":            func(s *confidentState) { s.T = -1 },
		"mixture":          func(s *confidentState) { s.Up[0]++ },
		"clock ahead":      func(s *confidentState) { s.Clock = s.T + 1 },
		"endless clock":    func(s *confidentState) { s.Clock, s.T = math.MaxInt, math.MaxInt },
		"endless mix":      func(s *confidentState) { s.Mixed = math.MaxInt },
		"endless next":     func(s *confidentState) { s.Next = math.MaxInt },
		"endless rounds":   func(s *confidentState) { s.T = math.MaxInt },
		"changes":          func(s *confidentState) { s.Changes = math.MaxInt },
		"lone squares":     func(s *confidentState) { s.Lone.Square = nil },
		"lone products":    func(s *confidentState) { s.Lone.Product = s.Lone.Product[1:] },
		"lone product":     func(s *confidentState) { s.Lone.Product[0] = -1 },
		"lone square":      func(s *confidentState) { s.Lone.Square[0] = math.NaN() },
		"lone rounds":      func(s *confidentState) { s.Lone.Rounds = math.NaN() },
		"lone sums":        func(s *confidentState) { s.Lone.Inverse = -1 },
		"lone part":        func(s *confidentState) { s.Lone.Part = math.Inf(1) },
		"lone sized":       func(s *confidentState) { s.Lone.Sized = -1 },
		"lone heavy":       func(s *confidentState) { s.Lone.Heavy = -1 },
		"block too large":  func(s *confidentState) { s.NewSize[0] = 2 * s.Size[0] },
		"block's length":   func(s *confidentState) { s.NewRounds[0] = s.Rounds[0] + 1 },
		"half a round":     func(s *confidentState) { s.NewRounds[0] = .5 },
		"segment":          func(s *confidentState) { s.LastSize[0] = 2 * s.Size[0] },
		"no cluster":       func(s *confidentState) { s.Cluster[0] = 0 },
		"cluster":          func(s *confidentState) { s.Cluster[0] = 1e300 },
		"small cluster":    func(s *confidentState) { s.Cluster[0] = 1e-9 },
		"many rounds":      func(s *confidentState) { s.Rounds[0] = s.Count[0] + 1 },
		"no freedom":       func(s *confidentState) { s.Freedom = 0 },
		"calm":             func(s *confidentState) { s.CalmFreedom = math.NaN() },
		"third":            func(s *confidentState) { s.Third[0] = -1 },
		"bulge":            func(s *confidentState) { s.Bulge = nil },
		"another's length": func(s *confidentState) { s.NewMean = s.NewMean[1:] },
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
	l, err := NewConfident(f, 3, ConfidentOptions{})
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
		play(t, l, means, 1+n%2, 1, 1, r)
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
