package stretch

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto/internal/lists"
)

// Evidence is the logarithm of the ratio of two normal densities of what a stretch is above the
// values before it.
func TestEvidence(t *testing.T) {
	test := Test{Variance: 4, Noise: 8}
	const old, weight, before, mean, c = 300., 100., 1., 2.5, 2.
	sd := math.Sqrt(4*(1/old+1/weight) + 8*(1/old/old+1/weight/weight))
	log := func(x float64) float64 { return -x * x / 2 }
	want := log((mean-before-c)/sd) - log((mean-before)/sd)
	if got := test.Evidence(before, old, mean, weight, c); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v, want %v", got, want)
	}
	for _, got := range []float64{
		test.Evidence(before, old, mean, 0, c), test.Evidence(before, 0, mean, weight, c),
		test.Evidence(before, old, mean, weight, 0),
	} {
		if got != 0 {
			t.Errorf("evidence of %v where there is nothing to compare", got)
		}
	}
	exact := Test{}
	if a, b := exact.Evidence(1, 10, 3, 10, 2), exact.Evidence(1, 10, 1, 10, 2); !(a > 1e50) || !(b < -1e50) {
		t.Errorf("evidence of %v and %v without scatter", a, b)
	}
}

// play looks at rounds of an arm of 1,000 units beside so many units of others. After round 40 its
// second metric falls by drop, in standard deviations of a unit, and both metrics of all arms by
// common. It returns the rounds in which the arm is found to have changed and in which it is
// cleared, 0 for never.
func play(seed uint64, drop, common, others float64) (found, cleared int) {
	const size = 1000.
	var s Suspects
	var d Means
	all := Part{Adjusted: make([]float64, 2)}
	lists.Of{&s, &d}.Grow(1, 2)
	r := random.New(seed, "suspects")
	tests := []Test{{Threshold: 5, Variance: 1, Sign: 1}, {Threshold: 5, Variance: 1, Sign: 1}}
	for n := 1; n <= 300; n++ {
		x := Part{Size: size, Raw: make([]float64, 2), Weight: 1 / (1/size + 1/others), Adjusted: make([]float64, 2)}
		for i := range x.Raw {
			own, fall := stat.Normal(r)/math.Sqrt(size), 0.0
			if i == 1 && n > 40 {
				fall = drop
			}
			level := 0.0
			if n > 40 {
				level = common
			}
			x.Raw[i] = own - fall - level
			x.Adjusted[i] = own - fall + stat.Normal(r)/math.Sqrt(others)
		}
		if others == 0 {
			x.Weight = 0
			clear(x.Adjusted)
		} else {
			lists.Average(0, []float64{all.Weight}, all.Adjusted, x.Weight, x.Adjusted)
			all.Weight += x.Weight
		}
		d.Add(0, x)
		_, before := s.Of(0)
		var parts []Part
		if d.Newest(0) {
			parts = append(parts, x)
		}
		if p, ok := d.Segment(0); ok {
			parts = append(parts, p)
		}
		sign, _ := s.Look(0, x, all, tests, parts)
		d.End(0)
		if sign > 1 {
			return n, cleared
		}
		if _, is := s.Of(0); before && !is && cleared == 0 {
			cleared = n
		}
	}
	return 0, cleared
}

// A fall of an arm that others do not share is found, however few units they have, and one that all
// share is cleared.
func TestLook(t *testing.T) {
	for _, others := range []float64{20, 100, 1000} {
		late, missed, wrong, kept := 0, 0, 0, 0
		for seed := range uint64(100) {
			if n, cleared := play(seed, 0.4, 0, others); n == 0 || cleared > 0 && cleared < n {
				missed++
			} else if n > 41+int(4*20/0.08/others) {
				late++
			}
			if n, _ := play(seed, 0, 0.4, others); n > 0 {
				wrong++
			}
			if _, n := play(seed, 0, 0.4, others); n == 0 {
				kept++
			}
		}
		if missed > 0 || wrong > 0 || late > 10 || kept > 5 {
			t.Errorf("beside %v units: of 100 falls %d are missed and %d found late, of 100 common ones %d are taken "+
				"for the arm's and %d not cleared", others, missed, late, wrong, kept)
		}
	}
	if n, cleared := play(1, 0.4, 0, 0); n != 0 || cleared != 0 {
		t.Errorf("alone it is settled in round %d or %d", n, cleared)
	}
}

// Nothing is found where nothing happens.
func TestLookAtNothing(t *testing.T) {
	for seed := range uint64(200) {
		if n, _ := play(seed, 0, 0, 100); n > 0 {
			t.Errorf("seed %d: a change in round %d", seed, n)
		}
	}
}

// TestOf: an arm is a suspect while one of its metrics seems to have changed.
func TestOf(t *testing.T) {
	s := Suspects{}
	lists.Of{&s}.Grow(2, 2)
	if _, ok := s.Of(1); ok {
		t.Error("a suspect without a change")
	}
	s.Change[3] = -1
	if change, ok := s.Of(1); !ok || len(change) != 2 || change[1] != -1 {
		t.Errorf("%v %v, want the change of the second metric", change, ok)
	}
	if _, ok := s.Of(0); ok {
		t.Error("the other arm is a suspect")
	}
}
