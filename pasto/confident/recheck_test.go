package confident

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// exchange plays 30 arms of which the best and the worst exchange their means in round 1,000, and
// returns the mean share of the new best one in what is deployed over the 300 rounds
// after that.
func exchange(t *testing.T, o Options, seed uint64) (share float64, l *Learner) {
	l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 30, o)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, 30)
	for k := range row {
		row[k] = float64(k) / 30
	}
	row[29] = 2
	means, r := pastotest.Table(t, row), random.New(seed, "exchange")
	pastotest.Play(t, l, means, 5, 1000, 1, r)
	means.Arm(0)[0], means.Arm(29)[0] = means.Arm(29)[0], means.Arm(0)[0]
	for range 10 {
		pastotest.Play(t, l, means, 5, 30, 1, r)
		share += l.Deployed()[0] / 10
	}
	return share, l
}

// without returns o with a rule switched off.
func without(t *testing.T, o Options, rule string) Options {
	t.Helper()
	o, err := o.Without(rule)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// When the best arm gets worse, the others are looked at again, as one that was bad and has hardly
// been served since may have become the best. Only arms that have changed begin anew. Without this
// rule the new best arm is deployed much later.
func TestChangeOfOneArmRechecksOthers(t *testing.T) {
	blindly := without(t, DefaultOptions(), "since")
	with, blind, runs := 0.0, 0.0, testsize.Of(20, 6)
	for seed := range uint64(runs) {
		share, l := exchange(t, DefaultOptions(), seed)
		with += share / float64(runs)
		if l.s.Model.Earlier.Rounds == nil {
			t.Error("no change was found: the test sees nothing")
		}
		begun := 0
		for k := range 30 {
			if l.model.Rounds(k) < l.s.Model.Earlier.Rounds[k] || l.s.Model.Earlier.Rounds[k] == 0 {
				begun++
			}
		}
		if begun > 4 {
			t.Errorf("seed %d: %d arms began anew, and 2 have changed", seed, begun)
		}
		share, _ = exchange(t, blindly, seed)
		blind += share / float64(runs)
	}
	t.Logf("share of the new best arm: %.3f, %.3f without the rule", with, blind)
	if with < .5 || blind > with-.3 {
		t.Errorf("the new best arm has %.3f, and %.3f without the rule: want at least 0.5 and 0.3 less", with, blind)
	}
}

// What arms have had since a change never makes optimism smaller, and it is finite where an arm
// that began anew has been served only alone: else no exploration would be left.
func TestRecheckIsOptimistic(t *testing.T) {
	alone := func(l *Learner, k int) {
		for range 3 {
			if err := l.Observe([]pasto.Observation{{Arm: k, Metrics: []float64{1}, Earlier: true}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for seed := range uint64(5) {
		_, l := exchange(t, DefaultOptions(), seed)
		for k := range 30 {
			if l.model.Rounds(k) < 64 {
				l.model.Begin([]int{k})
				alone(l, k)
				break
			}
		}
		l.model.Estimate(l.s.Active)
		for k := range 30 {
			v, square := l.seen(k, 0)
			if up := l.model.Moved(k, 0, v, square, 2); !(up >= v+2*math.Sqrt(square)) || math.IsInf(up, 0) {
				t.Errorf("seed %d, arm %d: optimism of %v for %v ± %v", seed, k, up, v, math.Sqrt(square))
			}
		}
	}
}

// A learner that looks at its arms again goes on from a snapshot as it does itself.
func TestSnapshotOfRecheck(t *testing.T) {
	_, l := exchange(t, DefaultOptions(), 1)
	data, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(l.objective, 30, l.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if len(other.s.Model.Earlier.Rounds) != 30 {
		t.Fatal("the snapshot has no earlier means")
	}
	row := make([]float64, 30)
	for k := range row {
		row[k] = float64(k%3) / 2
	}
	means := pastotest.Table(t, row)
	for _, x := range []*Learner{l, other} {
		pastotest.Play(t, x, means, 5, 200, 1, random.New(7, "on"))
	}
	if !slices.Equal(l.Serving(), other.Serving()) {
		t.Errorf("restored it serves %v, not %v", other.Serving(), l.Serving())
	}
}

// What explores where nothing is promised, and the part of it that goes to all arms, by the formula
// of [Exploration]. Up to four arms it does not depend on their number.
func TestExploredShare(t *testing.T) {
	for _, c := range []struct {
		arms int
		o    Options
		many float64
	}{
		{2, DefaultOptions(), 1},
		{4, DefaultOptions(), 1},
		{5, DefaultOptions(), math.Sqrt(1.25)},
		{100, DefaultOptions(), 5},
		{100, without(t, DefaultOptions(), "number"), 1},
	} {
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), c.arms, c.o)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []float64{0, 1e-9, .0004, .004, .03, 1} {
			l.s.Width = w
			share, spread := l.exploredShare()
			pastotest.Near(t, "share", share, math.Min(.5, 5*math.Pow(w, 2./3)*c.many), 1e-12)
			want := math.Min(math.Min(share/2, .15), 2.5*math.Pow(w, 2./3)/c.many)
			pastotest.Near(t, "what goes to all arms", spread, want, 1e-12)
		}
	}
}

// There is a solution in a round in which the size of an arm's groups reaches or passes a power of
// two, unless there are more than 128 arms.
func TestSolvesWhereSizeDoubles(t *testing.T) {
	// Sizes of the groups of arm 0 in rounds after the first, in which it had one of size 1.
	rounds := [][]float64{{1}, {1}, {1}, {2}, {2}, {3}, {3}, {1, 1}, {7, 7}, {2}, {99}}
	double := []float64{2, 4, 8, 16, 32, 131}
	for _, c := range []struct {
		arms int
		o    Options
		want []float64
	}{
		{2, DefaultOptions(), double},
		{128, DefaultOptions(), double},
		{129, DefaultOptions(), nil},
		{2, without(t, DefaultOptions(), "doubled"), nil},
	} {
		c.o.Floor = .1 // arm 0 is served in every round
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), c.arms, c.o)
		if err != nil {
			t.Fatal(err)
		}
		var first []pasto.Observation
		for k := range c.arms {
			first = append(first, pasto.Observation{Arm: k, Metrics: []float64{float64(k % 2)}})
		}
		if err := l.Observe(first); err != nil {
			t.Fatal(err)
		}
		const never = 1 << 30
		var got []float64
		for _, sizes := range rounds {
			var obs []pasto.Observation
			for _, size := range sizes {
				obs = append(obs, pasto.Observation{Arm: 0, Size: size, Metrics: []float64{0}})
			}
			l.s.Next = never
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
			if l.s.Next != never {
				got = append(got, l.model.Stats.Weight[0])
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d arms: solutions at sizes of %v, want %v", c.arms, got, c.want)
		}
	}
}

// Exploration does not end where the best arm fell slowly after a change was found: an arm that
// becomes the best by far long after that is served.
func TestExplorationOutlivesChange(t *testing.T) {
	for seed := range uint64(testsize.Of(20, 5)) {
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 4, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, drawn, obs := random.New(seed, "quiet"), make([]int, 4), make([]pasto.Observation, 4)
		for n := range 12_000 {
			means := []float64{0, 1, .2, .1}
			switch { // arm 0 changes, the best arm falls slowly, and much later arm 3 is the best
			case n > 7000:
				means[1], means[3] = .4, 4
			case n > 1500:
				means[1] = .4
			case n > 500:
				means[1] -= .6 * float64(n-500) / 1000
			}
			if n > 300 {
				means[0] = -3
			}
			l.Draw(r, drawn)
			u := stat.Normal(r)
			for q, k := range drawn {
				obs[q] = pasto.Observation{Arm: k, Metrics: []float64{means[k] + u + .5*stat.Normal(r)}}
			}
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		if l.Deployed()[3] < .5 {
			t.Errorf("seed %d: deployed %v with a width of %v", seed, l.Deployed(), l.s.Width)
		}
	}
}
