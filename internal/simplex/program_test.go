package simplex

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"github.com/noregret/noregret/internal/random"
)

// randomProblem draws values and gains from [−1, 1], with limits near the means of the rows.
func randomProblem(r *random.Source, points, rows int, demand float64) (*Problem, []float64) {
	p := &Problem{Points: points, Values: make([]float64, rows*points)}
	gain := make([]float64, points)
	for k := range gain {
		gain[k] = 2*r.Float64() - 1
	}
	for j := range rows {
		sign := float64(1 - 2*(j%2))
		for k := range points {
			p.Values[j*points+k] = 2*r.Float64() - 1
		}
		p.Rows = append(p.Rows, Row{Sign: sign, Limit: sign * demand * r.Float64(), Slack: 1e-9})
	}
	return p, gain
}

// reference solves the problem by gonum's simplex method: the largest gain, or false if it is
// infeasible.
func reference(t *testing.T, p *Problem, gain []float64) (float64, bool) {
	t.Helper()
	n, m := p.Points, len(p.Rows)
	a, b, c := mat.NewDense(m+1, n+m, nil), make([]float64, m+1), make([]float64, n+m)
	for j, row := range p.Rows {
		for k := range n {
			a.Set(j, k, row.Sign*p.Values[j*n+k])
		}
		a.Set(j, n+j, -1)
		b[j] = row.Sign * row.Limit
	}
	for k, v := range gain {
		a.Set(m, k, 1)
		c[k] = -v
	}
	b[m] = 1
	v, _, err := lp.Simplex(c, a, b, 1e-12, nil)
	switch {
	case errors.Is(err, lp.ErrInfeasible):
		return 0, false
	case err != nil:
		t.Fatal(err)
	}
	return -v, true
}

// solve runs both phases and returns the solution and its gain.
func solve(t *testing.T, q *Program, p *Problem, gain []float64) (x []float64, value float64, feasible bool) {
	t.Helper()
	q.Init(len(p.Rows))
	q.Reset(p)
	q.SetObjective(gain)
	feasible, err := q.Feasible()
	if err != nil {
		t.Fatal(err)
	}
	if feasible {
		if err := q.Maximize(); err != nil {
			t.Fatal(err)
		}
	}
	x = q.Solution(nil)
	for k, w := range x {
		value += w * gain[k]
	}
	return x, value, feasible
}

// worth is Σ_k a_jk·x_k.
func worth(p *Problem, j int, x []float64) float64 {
	v := 0.0
	for k, w := range x {
		v += p.Values[j*p.Points+k] * w
	}
	return v
}

// The gain is that of gonum's simplex method. The solution is a distribution on at most m + 1
// points that satisfies the rows, and the bound by the dual prices equals the gain.
func TestAgainstGonum(t *testing.T) {
	r := random.New(1, "simplex")
	var q Program
	feasible, infeasible := 0, 0
	for range 400 {
		points, rows := 1+r.IntN(30), r.IntN(6)
		p, gain := randomProblem(r, points, rows, .6)
		want, ok := reference(t, p, gain)
		x, got, found := solve(t, &q, p, gain)
		if found != ok {
			t.Fatalf("%d points, %d rows: feasible is %v, gonum says %v", points, rows, found, ok)
		}
		sum, support := 0.0, 0
		for _, w := range x {
			if w < 0 {
				t.Fatalf("a share of %v", w)
			}
			if w > 0 {
				support++
			}
			sum += w
		}
		if math.Abs(sum-1) > 1e-12 || support > rows+1 {
			t.Errorf("shares sum to %v on %d points for %d rows", sum, support, rows)
		}
		if !found {
			infeasible++
			continue
		}
		feasible++
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%d points, %d rows: gain %v, gonum has %v", points, rows, got, want)
		}
		for j := range p.Rows {
			if v := p.Rows[j].violation(worth(p, j, x)); v > 1e-9 {
				t.Errorf("row %d is missed by %v", j, v)
			}
		}
		prices := make([]float64, rows)
		if bound := q.Prices(prices); math.Abs(bound-want) > 1e-8 {
			t.Errorf("the dual bound is %v, the gain %v", bound, want)
		}
		for j, v := range prices {
			if v < 0 {
				t.Errorf("price %v of row %d", v, j)
			}
		}
	}
	if feasible < 100 || infeasible < 50 {
		t.Errorf("%d feasible and %d infeasible programs: the test is too weak", feasible, infeasible)
	}
}

// leastViolation is the least total violation by gonum: min Σv with a·x + v − s = limit.
func leastViolation(t *testing.T, p *Problem) float64 {
	t.Helper()
	n, m := p.Points, len(p.Rows)
	a, b, c := mat.NewDense(m+1, n+2*m, nil), make([]float64, m+1), make([]float64, n+2*m)
	for j, row := range p.Rows {
		for k := range n {
			a.Set(j, k, row.Sign*p.Values[j*n+k])
		}
		a.Set(j, n+j, -1)
		a.Set(j, n+m+j, 1)
		b[j], c[n+m+j] = row.Sign*row.Limit, 1
	}
	for k := range n {
		a.Set(m, k, 1)
	}
	b[m] = 1
	v, _, err := lp.Simplex(c, a, b, 1e-12, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// If no distribution satisfies the rows, the solution has the least total violation in the units of
// the values, whatever they are, and the prices are its derivatives in the limits.
func TestLeastViolation(t *testing.T) {
	r := random.New(2, "simplex")
	var q Program
	seen := 0
	for range 200 {
		points, rows := 2+r.IntN(12), 1+r.IntN(4)
		p, gain := randomProblem(r, points, rows, 2)
		for j := range p.Rows { // one row in thousandths, one in hundreds, ...
			unit := []float64{1, 1e-3, 100, 10}[j]
			p.Rows[j].Limit *= unit
			p.Rows[j].Slack = 1e-9 * unit
			for k := range points {
				p.Values[j*points+k] *= unit
			}
		}
		x, _, feasible := solve(t, &q, p, gain)
		if feasible {
			continue
		}
		seen++
		got := 0.0
		for j := range p.Rows {
			got += p.Rows[j].violation(worth(p, j, x))
		}
		want := leastViolation(t, p)
		if math.Abs(got-want) > 1e-8*max(1, want) {
			t.Errorf("a violation of %v, want the least, %v", got, want)
		}
	}
	if seen < 50 {
		t.Errorf("%d infeasible programs: the test is too weak", seen)
	}
}

// By hand: with gains 2 and 0 and values −2 and 2, of which the mean must be at least 0, the
// solution is half of each at a price of ½.
func TestByHand(t *testing.T) {
	p := &Problem{Points: 2, Rows: []Row{{Sign: 1, Slack: 1e-9}}, Values: []float64{-2, 2}}
	var q Program
	x, gain, ok := solve(t, &q, p, []float64{2, 0})
	if !ok || x[0] != .5 || x[1] != .5 || gain != 1 {
		t.Errorf("%v, %v, %v", x, gain, ok)
	}
	prices := []float64{0}
	if bound := q.Prices(prices); bound != 1 || prices[0] != .5 {
		t.Errorf("bound %v, prices %v", bound, prices)
	}
	// A margin of ½ is used.
	p.Rows[0].Slack, p.Rows[0].Margin = .5, .5
	if x, _, _ := solve(t, &q, p, []float64{2, 0}); math.Abs(x[0]-.625) > 1e-12 {
		t.Errorf("with a margin: %v", x)
	}
	// At least 3: the least violation is 1.
	p.Rows[0] = Row{Sign: 1, Limit: 3, Slack: 1e-9}
	if x, _, ok := solve(t, &q, p, []float64{2, 0}); ok || x[1] != 1 {
		t.Errorf("out of reach: %v, %v", x, ok)
	}
	// No rows: the best point.
	none := &Problem{Points: 3}
	if x, gain, ok := solve(t, &q, none, []float64{1, 5, 2}); !ok || x[1] != 1 || gain != 5 {
		t.Errorf("no rows: %v, %v, %v", x, gain, ok)
	}
}

// A slack without margin is used only where the program is infeasible without it.
func TestSlackIsForRounding(t *testing.T) {
	var q Program
	p := &Problem{Points: 2, Rows: []Row{{Sign: 1, Limit: 1, Slack: .25}}, Values: []float64{-1, 2}}
	if x, _, _ := solve(t, &q, p, []float64{1, 0}); math.Abs(x[0]-1./3) > 1e-12 {
		t.Errorf("slack without need: %v, want 1/3", x)
	}
	p.Values = []float64{-1, .5}
	if x, _, ok := solve(t, &q, p, []float64{1, 0}); ok {
		t.Errorf("a row missed by ½ is satisfied: %v", x)
	}
	p.Values = []float64{-1, .8} // the second point misses by .2 and counts as satisfying the row
	if x, _, ok := solve(t, &q, p, []float64{1, 0}); !ok || math.Abs(p.Rows[0].violation(worth(p, 0, x))-.25) > 1e-9 {
		t.Errorf("slack where needed: %v, %v", x, ok)
	}
}

// A program that begins inside has the same optimum to 1e-9 as one that begins at the best point,
// in fewer steps, and finds the same programs infeasible.
func TestFromInside(t *testing.T) {
	r := random.New(2, "inside")
	var cold Program
	inside := Program{FromInside: true}
	began, before, after := 0, 0, 0
	for range 2000 {
		p, gain := randomProblem(r, 2+r.IntN(40), 1+r.IntN(20), .3)
		control := r.IntN(2) == 0
		for j := range p.Rows {
			if control { // the first point satisfies all rows, some at the limit
				p.Values[j*p.Points] = p.Rows[j].Limit + p.Rows[j].Sign*float64(r.IntN(2))*r.Float64()
			}
		}
		_, want, feasible := solve(t, &cold, p, gain)
		x, got, found := solve(t, &inside, p, gain)
		if feasible != found {
			t.Fatalf("feasible is %v and from inside %v", feasible, found)
		}
		if !feasible {
			continue
		}
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("the optimum from inside is %v, want %v", got, want)
		}
		for j, row := range p.Rows {
			if v := row.violation(worth(p, j, x)); v > row.Slack {
				t.Errorf("row %d is violated by %v", j, v)
			}
		}
		if control {
			began, before, after = began+1, before+cold.Iterations(), after+inside.Iterations()
		}
	}
	if began < 500 || after*3 > before*2 {
		t.Errorf("%d programs that can begin inside took %d steps, and %d from the best point", began, after, before)
	}
}

// A point 1e12 away does not hide the violations of the others.
func TestOutlier(t *testing.T) {
	var q Program
	p := &Problem{
		Points: 3, Rows: []Row{{Sign: 1, Limit: 0, Slack: 1e-9}},
		Values: []float64{-1e12, -1e-3, 1e-3},
	}
	gain := []float64{-5, 1, 0}
	q.Init(1)
	for range 5 {
		q.Reset(p)
		q.SetObjective(gain)
		if ok, err := q.Feasible(); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := q.Maximize(); err != nil {
			t.Fatal(err)
		}
		x := q.Solution(nil)
		again, err := q.Refine(x, true)
		if err != nil {
			t.Fatal(err)
		}
		if !again {
			if math.Abs(x[1]-.5) > 1e-6 || x[0] != 0 {
				t.Errorf("%v, want half of the second and the third", x)
			}
			return
		}
	}
	t.Error("Refine does not end")
}

// Programs whose numbers overflow end with an error, without a panic or an endless loop.
func TestIllConditioned(t *testing.T) {
	var q Program
	for _, values := range [][]float64{
		{math.Inf(1), 1, -1}, {math.NaN(), 1, -1}, {1e308, -1e308, 1e-308}, {math.NaN(), math.NaN(), math.NaN()},
	} {
		p := &Problem{Points: 3, Rows: []Row{{Sign: 1, Limit: .5, Slack: 1e-9}}, Values: values}
		q.Init(1)
		q.Reset(p)
		q.SetObjective([]float64{1, 2, 3})
		if ok, err := q.Feasible(); err == nil && ok {
			if err = q.Maximize(); err == nil {
				x := q.Solution(nil)
				if v := worth(p, 0, x); v-v == 0 && v < .5-1e-6 {
					t.Errorf("%v: %v misses the row", values, x)
				}
			}
		}
	}
}

// A second program of the same size allocates nothing.
func TestAllocations(t *testing.T) {
	r := random.New(3, "simplex")
	p, gain := randomProblem(r, 50, 3, .1)
	var q Program
	q.Init(3)
	x := make([]float64, 50)
	round := func() {
		q.Reset(p)
		q.SetObjective(gain)
		if ok, err := q.Feasible(); err != nil || !ok {
			t.Fatal(ok, err)
		}
		if err := q.Maximize(); err != nil {
			t.Fatal(err)
		}
		x = q.Solution(x)
	}
	round()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
