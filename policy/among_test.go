package policy

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/testsize"
)

func amongPolicy(t *testing.T, control int, hold float64, shares ...float64) *Policy {
	t.Helper()
	split, err := NewSplit(shares)
	if err != nil {
		t.Fatal(err)
	}
	p := &Policy{
		Experiment: "e", Version: 3, Salt: "e", Control: control, HoldBack: Fraction(hold), Stream: "arm",
		Links: []Link{{Version: 3, Split: split}},
	}
	for k := range shares {
		p.Arms = append(p.Arms, Arm{Name: strconv.Itoa(k), Value: json.RawMessage(strconv.Itoa(k))})
	}
	if err := p.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDecideAmong counts decisions: their shares must be those stated, each with the propensity of
// its arm, and the units that are not drawn again must be those of the policy itself.
func TestDecideAmong(t *testing.T) {
	testsize.NoRace(t)
	const units = 40_000
	for _, c := range []struct {
		name    string
		control int
		shares  []float64
		allowed []bool
		want    []float64
		redrawn float64
	}{
		{"all", -1, []float64{0.5, 0.3, 0.2}, []bool{true, true, true}, []float64{0.5, 0.3, 0.2}, 0},
		{"two", -1, []float64{0.5, 0.3, 0.2}, []bool{true, false, true}, []float64{5. / 7, 0, 2. / 7}, 0.3},
		{"one", -1, []float64{0.5, 0.3, 0.2}, []bool{false, true, false}, []float64{0, 1, 0}, 0.7},
		{"no share excluded", -1, []float64{0.5, 0, 0.5}, []bool{true, false, true}, []float64{0.5, 0, 0.5}, 0},
		{"no share left", -1, []float64{0, 1, 0}, []bool{true, false, true}, []float64{0.5, 0, 0.5}, 1},
		{"the control", 2, []float64{0, 1, 0}, []bool{true, false, true}, []float64{0, 0, 1}, 1},
		{"whole", -1, []float64{0, 1, 0}, []bool{false, true, true}, []float64{0, 1, 0}, 0},
		{"some without a share", -1, []float64{0.9, 0, 0.1}, []bool{false, true, true}, []float64{0, 0, 1}, 0.9},
	} {
		p := amongPolicy(t, c.control, 0, c.shares...)
		n, redrawn := make([]float64, 3), 0.0
		for i := range units {
			unit := strconv.Itoa(i)
			d, err := p.DecideAmong(unit, nil, c.allowed)
			if err != nil || d.Name != strconv.Itoa(d.Arm) || string(d.Value) != d.Name || d.Unit != p.Unit(unit) {
				t.Fatalf("%s: %+v, error %v", c.name, d, err)
			}
			if own := p.Decide(unit); d.Redrawn == c.allowed[own.Arm] || !d.Redrawn && d.Arm != own.Arm {
				t.Fatalf("%s: %+v, the unit's arm is %d", c.name, d, own.Arm)
			}
			if math.Abs(d.Propensity-c.want[d.Arm]) > 1e-15 {
				t.Fatalf("%s: the propensity %v of arm %d, want %v", c.name, d.Propensity, d.Arm, c.want[d.Arm])
			}
			n[d.Arm]++
			if d.Redrawn {
				redrawn++
			}
		}
		among, err := p.Among(nil, c.allowed)
		if err != nil {
			t.Fatal(err)
		}
		for k := range n {
			// Five standard deviations of a share are at most 0.0125.
			if got := n[k] / units; math.Abs(got-c.want[k]) > 0.0125 || math.Abs(among[k]-c.want[k]) > 1e-15 {
				t.Errorf("%s: arm %d has the share %v and the probability %v, want %v", c.name, k, got, among[k],
					c.want[k])
			}
		}
		if got := redrawn / units; math.Abs(got-c.redrawn) > 0.0125 {
			t.Errorf("%s: a share of %v is drawn again, want %v", c.name, got, c.redrawn)
		}
	}
}

// TestDecideAmongHeldBack checks that units held back keep the control arm, or are drawn again.
func TestDecideAmongHeldBack(t *testing.T) {
	p := amongPolicy(t, 0, 0.3, 0.5, 0.25, 0.25)
	held := 0
	for i := range 1000 {
		unit := strconv.Itoa(i)
		with, err := p.DecideAmong(unit, nil, []bool{true, false, true})
		if err != nil {
			t.Fatal(err)
		}
		without, err := p.DecideAmong(unit, nil, []bool{false, true, true})
		if err != nil {
			t.Fatal(err)
		}
		if !with.HeldBack {
			continue
		}
		held++
		if with.Arm != 0 || with.Propensity != 1 || with.Redrawn {
			t.Fatalf("with the control arm: %+v", with)
		}
		if without.Arm == 0 || without.Propensity != 0.5 || !without.Redrawn {
			t.Fatalf("without the control arm: %+v", without)
		}
	}
	if held < 200 {
		t.Errorf("%d units are held back", held)
	}
}

func TestDecideAmongErrors(t *testing.T) {
	p := amongPolicy(t, -1, 0, 0.5, 0.5)
	for _, allowed := range [][]bool{nil, {true}, {false, false}, {true, true, true}} {
		if _, err := p.DecideAmong("u", nil, allowed); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v: error %v", allowed, err)
		}
	}
}
