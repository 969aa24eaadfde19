package bandit_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
)

// greedy is a player of the caller's own: it draws an arm evenly with probability ¼, and otherwise
// the allowed arm of the lowest mean.
type greedy struct {
	Sums, Counts []float64
	lost         int
	masks        [][]bool
	bad          bool
}

func newGreedy(arms int) *greedy {
	return &greedy{Sums: make([]float64, arms), Counts: make([]float64, arms)}
}

func (g *greedy) Arms() int { return len(g.Sums) }

func (g *greedy) Distribution(p []float64, allowed []bool) {
	best, n := -1, 0.0
	mean := func(k int) float64 { return g.Sums[k] / max(g.Counts[k], 1) }
	for k := range p {
		p[k] = 0
		if allowed == nil || allowed[k] {
			n++
			if best < 0 || mean(k) < mean(best) {
				best = k
			}
		}
	}
	for k := range p {
		if allowed == nil || allowed[k] {
			p[k] = .25 / n
		}
	}
	p[best] += .75
}

func (g *greedy) Choose(r bandit.Rand, allowed []bool) (arm int, propensity float64) {
	p := make([]float64, g.Arms())
	if g.bad {
		return len(p), 1
	}
	g.Distribution(p, allowed)
	u := r.Float64()
	for k, x := range p {
		if u -= x; u < 0 {
			return k, x
		}
	}
	return slices.Index(p, slices.Max(p)), slices.Max(p)
}

func (g *greedy) Learn(o bandit.Outcome) error {
	if !(o.Loss >= 0 && o.Loss <= 1) {
		return noregret.BadInputf("loss", "%v: want one in [0, 1]", o.Loss)
	}
	g.Sums[o.Arm] += o.Loss
	g.Counts[o.Arm]++
	g.masks = append(g.masks, slices.Clone(o.Allowed))
	return nil
}

func (g *greedy) LearnLost(_ bandit.Outcome, mean float64) bool {
	g.lost++
	return !math.IsNaN(mean)
}

func (g *greedy) Draw(bandit.Rand) int           { panic("Delayed chooses") }
func (g *greedy) Update(int, float64) error      { panic("Delayed learns") }
func (g *greedy) MarshalBinary() ([]byte, error) { return json.Marshal([][]float64{g.Sums, g.Counts}) }

func (g *greedy) UnmarshalBinary(data []byte) error {
	var s [][]float64
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	g.Sums, g.Counts = s[0], s[1]
	return nil
}

// TestDelayedPlayerFromOutside: Delayed plays a player of the caller's own, with masks, late and
// lost losses, and snapshots with choices that wait.
func TestDelayedPlayerFromOutside(t *testing.T) {
	t.Parallel()
	g := newGreedy(3)
	d, err := bandit.NewDelayed(g, bandit.DelayedOptions{Window: 20, Propensities: true})
	if err != nil {
		t.Fatal(err)
	}
	if d.Player() != bandit.Algorithm(g) {
		t.Errorf("the player is %v", d.Player())
	}
	r, counts := random.New(1, "outside"), make([]int, 3)
	var open []bandit.Choice
	learned := 0
	for round := range 3000 {
		var allowed []bool
		if round%3 == 0 {
			allowed = []bool{round%2 == 0, true, true}
		}
		p, bound, err := d.Distribution(allowed)
		if err != nil || bound != 0 {
			t.Fatal(p, bound, err)
		}
		p = slices.Clone(p)
		c, err := d.Choose(r, allowed)
		if err != nil || c.Propensity != p[c.Arm] || allowed != nil && !allowed[c.Arm] {
			t.Fatalf("%+v, %v", c, err)
		}
		if counts[c.Arm]++; c.Arm != 2 || round%2 == 0 { // half of the losses of arm 2 are lost
			open = append(open, c)
		}
		if len(open) > 5 {
			loss := 0.0
			if r.Float64() < []float64{.1, .6, .9}[open[0].Arm] {
				loss = 1
			}
			if err := d.Learn(open[0].ID, loss); err != nil {
				t.Fatal(err)
			}
			learned++
			open = open[1:]
		}
	}
	if counts[0] < 2000 || g.lost == 0 || int(d.Lost()) != g.lost || d.Replaced() != d.Lost() ||
		len(g.masks) != learned || !slices.ContainsFunc(g.masks, func(m []bool) bool { return len(m) == 3 && !m[0] }) {
		t.Errorf("%v choices, %d lost, %d replaced, %d learned", counts, d.Lost(), d.Replaced(), len(g.masks))
	}
	if err := d.Learn(open[0].ID, 2); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a loss of 2: %v", err)
	}
	data, err := d.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	e, err := bandit.NewDelayed(newGreedy(3), bandit.DelayedOptions{Window: 20, Propensities: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if again, err := e.MarshalBinary(); err != nil || !bytes.Equal(again, data) || e.Pending() != d.Pending() {
		t.Errorf("the snapshot changed by a restore: %v", err)
	}
	if _, err := d.AddArm(); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("an arm was added: %v", err)
	}
	g.bad = true
	if _, err := d.Choose(r, nil); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("an arm that does not exist was chosen: %v", err)
	}
}
