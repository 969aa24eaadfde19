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
		"fresh":            func(s *state) { s.Unobserved = 1 },
		"count":            func(s *state) { s.Count[0], s.Unobserved = 0, 1 },
		"negative count":   func(s *state) { s.Count[0] = -1 },
		"freedom":          func(s *state) { s.Freedom = -1 },
		"freedom NaN":      func(s *state) { s.Freedom = math.NaN() },
		"spread":           func(s *state) { s.Spread = -1 },
		"spread Inf":       func(s *state) { s.Spread = math.Inf(1) },
		"pairs":            func(s *state) { s.Pairs = -1 },
		"pairs NaN":        func(s *state) { s.Pairs = math.NaN() },
		"rounds":           func(s *state) { s.Rounds[2] = math.NaN() },
		"negative rounds":  func(s *state) { s.Rounds[2] = -1 },
		"limit":            func(s *state) { s.NewLimit[0] = 0 },
		"negative limit":   func(s *state) { s.NewLimit[0] = -32 },
		"block":            func(s *state) { s.NewRounds[0] = -1 },
		"segment's count":  func(s *state) { s.LastCount[0] = -1 },
		"block's size":     func(s *state) { s.NewSize[0] = math.Inf(1) },
		"block's cluster":  func(s *state) { s.NewCluster[0] = -1 },
		"solved":           func(s *state) { s.Solved[1] = math.NaN() },
		"squares":          func(s *state) { s.Squares[1] = -1 },
		"pool":             func(s *state) { s.Pool[1] = -1 },
		"clock":            func(s *state) { s.Clock = -1 },
		"next":             func(s *state) { s.Next = -1 },
		"round":            func(s *state) { s.T = -1 },
		"mixture":          func(s *state) { s.Up[0]++ },
		"clock ahead":      func(s *state) { s.Clock = s.T + 1 },
		"endless clock":    func(s *state) { s.Clock, s.T = math.MaxInt, math.MaxInt },
		"endless mix":      func(s *state) { s.Mixed = math.MaxInt },
		"endless next":     func(s *state) { s.Next = math.MaxInt },
		"endless rounds":   func(s *state) { s.T = math.MaxInt },
		"changes":          func(s *state) { s.Changes = math.MaxInt },
		"lone squares":     func(s *state) { s.SingleGroups.Square = nil },
		"lone products":    func(s *state) { s.SingleGroups.Product = s.SingleGroups.Product[1:] },
		"lone product":     func(s *state) { s.SingleGroups.Product[0] = -1 },
		"lone square":      func(s *state) { s.SingleGroups.Square[0] = math.NaN() },
		"lone rounds":      func(s *state) { s.SingleGroups.Rounds = math.NaN() },
		"lone sums":        func(s *state) { s.SingleGroups.Inverse = -1 },
		"lone part":        func(s *state) { s.SingleGroups.Part = math.Inf(1) },
		"lone sized":       func(s *state) { s.SingleGroups.Sized = -1 },
		"lone heavy":       func(s *state) { s.SingleGroups.Heavy = -1 },
		"block too large":  func(s *state) { s.NewSize[0] = 2 * s.Size[0] },
		"block's length":   func(s *state) { s.NewRounds[0] = s.Rounds[0] + 1 },
		"half a round":     func(s *state) { s.NewRounds[0] = .5 },
		"segment":          func(s *state) { s.LastSize[0] = 2 * s.Size[0] },
		"no cluster":       func(s *state) { s.Cluster[0] = 0 },
		"cluster":          func(s *state) { s.Cluster[0] = 1e300 },
		"small cluster":    func(s *state) { s.Cluster[0] = 1e-9 },
		"many rounds":      func(s *state) { s.Rounds[0] = s.Count[0] + 1 },
		"no freedom":       func(s *state) { s.Freedom = 0 },
		"calm":             func(s *state) { s.CommittedFreedom = math.NaN() },
		"third":            func(s *state) { s.Third[0] = -1 },
		"bulge":            func(s *state) { s.Bulge = nil },
		"another's length": func(s *state) { s.NewMean = s.NewMean[1:] },
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
