package offpolicy

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// uniformLog draws rows of a uniform logging policy over arms of the given rates, and the target
// that prefers the last arm.
func uniformLog(t *testing.T, src *random.Source, o EvaluatorOptions, rates []float64, rows int) *Evaluator {
	t.Helper()
	k := len(rates)
	target := make([]float64, k)
	for a := range target {
		target[a] = 0.1 / float64(k)
	}
	target[k-1] += 0.9
	e := newEvaluator(t, o)
	for range rows {
		r := Row{Arm: src.IntN(k), Propensity: 1 / float64(k)}
		if src.Float64() < rates[r.Arm] {
			r.Reward = 1
		}
		if err := e.Add(&r, target, nil); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// The guaranteed intervals hold at 100, 400 and 4,000 rows, and at 400 rows of a uniform log they
// are not wider than 1.6 times the normal interval of the same estimator, with and without a bound
// of the weights. (Those with a control variate but without a bound are those of ips at half the
// wealth.)
func TestIntervalsAreInformative(t *testing.T) {
	testsize.NoRace(t)
	const alpha = 0.05
	for _, rates := range [][]float64{{0.4, 0.6}, {0.3, 0.5, 0.45}, {0.1, 0.2, 0.6, 0.4}, {0.02, 0.9}} {
		k := len(rates)
		value := 0.9 * rates[k-1]
		for _, p := range rates {
			value += 0.1 / float64(k) * p
		}
		for _, rows := range []int{100, 400, 4000} {
			runs := testsize.Of(400, 60) * 400 / max(rows, 400)
			runs = max(runs, 30)
			missed := map[Method][2]int{}
			widths, normal := map[Method]float64{}, map[Method]float64{}
			for run := range runs {
				o := DefaultEvaluatorOptions(k)
				o.Rows, o.MaxWeight = int64(rows), float64(k)
				e := uniformLog(t, random.New(uint64(run), fmt.Sprint("informative ", rates, rows)), o, rates, rows)
				for _, m := range Methods() {
					got := estimate(t, e, m, alpha)
					n := missed[m]
					n[0] += count(!got.OneLook.Contains(value))
					n[1] += count(!got.Sequence.Contains(value))
					missed[m] = n
					widths[m] += width(got.OneLook)
					normal[m] += width(got.Approximate)
				}
			}
			most := int(alpha*float64(runs) + 3*math.Sqrt(alpha*float64(runs)))
			for _, m := range Methods() {
				if n := missed[m]; n[0] > most || n[1] > most {
					t.Errorf("%v, %d rows: the intervals of %s miss %v times of %d", rates, rows, m, n, runs)
				}
				unbiased := m == IPS || m == DoublyRobust || m == SelfNormalized
				if ratio := widths[m] / normal[m]; rows == 400 && unbiased {
					t.Logf("%v, %d rows: %s is %.2f times as wide as the normal interval, %.3f", rates, rows, m, ratio,
						widths[m]/float64(runs))
					if ratio > 1.6 {
						t.Errorf("%v: %s is %v times as wide as the normal interval", rates, m, ratio)
					}
				}
			}
		}
	}
}

// Shrinkage takes a small λ where the predictions are good and the weights heavy, and stays with
// doubly robust where they are bad: its squared error is near that of the better one.
func TestShrinkage(t *testing.T) {
	testsize.NoRace(t)
	const rows = 1000
	runs := testsize.Of(200, 40)
	for _, c := range []struct {
		name string
		good bool
	}{{"good predictions", true}, {"bad predictions", false}} {
		errors, small := map[Method]float64{}, 0
		for run := range runs {
			src := random.New(uint64(run), "shrinkage")
			e := newEvaluator(t, DefaultEvaluatorOptions(2))
			model := []float64{0.3, 0.7}
			if !c.good {
				model = []float64{0.7, 0.1}
			}
			p := 0.02 // of arm 1, which the target always takes
			if !c.good {
				p = 0.5
			}
			for range rows {
				r := Row{Propensity: 1 - p}
				if src.Float64() < p {
					r = Row{Arm: 1, Propensity: p}
				}
				r.Reward = float64(count(src.Float64() < []float64{0.3, 0.7}[r.Arm]))
				if err := e.Add(&r, []float64{0, 1}, model); err != nil {
					t.Fatal(err)
				}
			}
			for _, m := range []Method{DoublyRobust, Shrinkage, Direct} {
				d := estimate(t, e, m, 0.05).Value - 0.7
				errors[m] += d * d / float64(runs)
			}
			small += count(estimate(t, e, Shrinkage, 0.05).Lambda < 100)
		}
		t.Logf("%s: squared errors %v, a small λ in %d of %d runs", c.name, errors, small, runs)
		if c.good && (errors[Shrinkage] > 0.5*errors[DoublyRobust] || small < runs/2) {
			t.Errorf("%s: shrinkage has the squared error %v, doubly robust %v; a small λ in %d of %d runs", c.name,
				errors[Shrinkage], errors[DoublyRobust], small, runs)
		}
		if !c.good && (errors[Shrinkage] > 3*errors[DoublyRobust] || errors[Direct] < 0.3) {
			t.Errorf("%s: squared errors %v: want shrinkage near doubly robust", c.name, errors)
		}
	}
}
