package optimum

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/instance"
	"github.com/noregret/noregret/pasto/internal/pastotest"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Each guardrail keeps its own kind: the first is hard and the second soft. The reference replaces
// the hard guardrail, of dual price ν, by a soft one with a large price λ, whose value is larger by
// ν²/(4λ).
func TestGuardrailsKeepTheirKind(t *testing.T) {
	m := pastotest.Table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	metrics := func(hard bool, lambda, soft float64) *pasto.Goals {
		g, err := pasto.NewGoals([]pasto.Metric{
			{Name: "x"},
			{Name: "a", Role: pasto.Guardrail, Threshold: .2, Lambda: lambda, Hard: hard},
			{Name: "b", Role: pasto.Guardrail, Threshold: .1, Lambda: 5},
		}, soft)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, soft := range []float64{0, 2} {
		o, err := Maximize(metrics(true, 0, soft), m, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		const lambda = 5e5
		want, err := Maximize(metrics(false, lambda, soft), m, Options{Tolerance: 1e-8, Iterations: 200_000})
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Near(t, "value", o.Value, want.Value-o.Prices[1]*o.Prices[1]/(4*lambda), 3e-8)
		pastotest.Near(t, "gap", o.Gap, 0, 1e-9)
		if o.Violations[1] > 1e-9 || o.Violations[2] < 1e-3 || o.Prices[2] != 0 || o.Prices[1] < .5 {
			t.Errorf("violations %v, prices %v: want the hard one satisfied and the soft one traded off", o.Violations,
				o.Prices)
		}
		all, _ := MaximizeHard(metrics(true, 0, soft), m)
		if all.Violations[2] > 1e-9 || all.Value >= o.Value {
			t.Errorf("all hard: %+v", all)
		}
	}
}

// Every guardrail is satisfied in its own units, whatever the units of the others. A single
// tolerance relative to the largest would miss the second guardrail here. The objective of the
// certified optimum is finite.
func TestHardUnits(t *testing.T) {
	f, err := pasto.NewGoals([]pasto.Metric{
		{Name: "x"},
		{Name: "revenue", Role: pasto.Guardrail, Threshold: 1e9, Hard: true},
		{Name: "rate", Role: pasto.Guardrail, Threshold: 2e-6, Hard: true},
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Maximize(f, pastotest.Table(t, []float64{1, 0}, []float64{2e9, 1e9}, []float64{1e-6, 3e-6}),
		DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "value", o.Value, .5, 1e-9)
	for n, unit := range []float64{1e-9, 1e-3, 1, 1e5, 1e12} {
		r := random.New(uint64(n), "units")
		for range 50 {
			offset, rows := unit*3*stat.Normal(r), [2][]float64{}
			for range 8 {
				rows[0] = append(rows[0], stat.Normal(r))
				rows[1] = append(rows[1], offset+unit*stat.Normal(r))
			}
			for _, c := range []float64{offset, 0} {
				f,
					_ := pasto.NewGoals([]pasto.Metric{
					{Name: "x"},
					{Name: "y", Role: pasto.Guardrail, Threshold: c, Hard: true, Slack: 1e-12 * unit},
				}, 0)
				m := pastotest.Table(t, rows[0], rows[1])
				o, err := Maximize(f, m, DefaultOptions())
				if err != nil {
					if _, ok := errors.AsType[*Infeasible](err); !ok {
						t.Fatal(err)
					}
					continue
				}
				theta := make([]float64, 2)
				m.Mean(theta, o.Mixture)
				if v := f.Value(theta); math.IsInf(v, -1) || v != o.Value {
					t.Errorf("unit %v: the objective of the optimum %v is %v, its violation %v", unit, o.Value, v,
						o.Violations)
				}
			}
		}
	}
}

// The simplex method is compared with an enumeration of all pairs and triples, with up to two
// guardrails.
func TestHardAgainstEnumeration(t *testing.T) {
	f := pastotest.Goals(t, 5, true, .3)
	for seed := range uint64(200) {
		m, _ := instance.Uniform(12, 2, seed)
		best := math.Inf(-1)
		for i := range 12 {
			a := m.Arm(i)
			if a[1] >= .3 {
				best = max(best, a[0])
			}
			for j := range 12 {
				b := m.Arm(j)
				if a[1] < .3 && b[1] >= .3 {
					p := (b[1] - .3) / (b[1] - a[1])
					best = max(best, p*a[0]+(1-p)*b[0])
				}
			}
		}
		o, err := MaximizeHard(f, m)
		if math.IsInf(best, -1) {
			if err == nil {
				t.Fatalf("seed %d: not reported as infeasible", seed)
			}
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		pastotest.Near(t, "value", o.Value, best, 1e-9)
		pastotest.Near(t, "gap", o.Gap, 0, 1e-9)
	}
}

// pairs returns the largest x under the guardrail y ≥ c, by enumeration of all arms and pairs, or
// −Inf if no mixture satisfies it.
func pairs(m *pasto.Table, c float64) float64 {
	best := math.Inf(-1)
	for i := range m.Arms() {
		a := m.Arm(i)
		if a[1] >= c {
			best = max(best, a[0])
			continue
		}
		for j := range m.Arms() {
			if b := m.Arm(j); b[1] >= c {
				p := (b[1] - c) / (b[1] - a[1])
				best = max(best, p*a[0]+(1-p)*b[0])
			}
		}
	}
	return best
}

// The linear programs accept violations within the slack too. An arm that is feasible only by the
// slack may be the optimum, an arm outside by rounding is feasible, and a slack stated by the
// metric is used fully.
func TestSlackIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		slack float64
		y     []float64
		want  float64
	}{
		"rounding":                   {0, []float64{.1 + .2*1.0000000000000002, .1 + .2*1.0000000000000002}, 2},
		"rounding of the better arm": {0, []float64{.3, .30000000000000004}, 2},
		"both within":                {.05, []float64{.31, .32}, 2},
		"one within":                 {.05, []float64{.31, .9}, 1 + .04/.59},
		"one exactly tight":          {.05, []float64{.2, .34}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{
				Name: "y", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: .3,
				Hard: true, Slack: c.slack,
			})
			m := pastotest.Table(t, []float64{1, 2}, c.y)
			if err := CheckFeasible(g, m); err != nil {
				t.Error(err)
			}
			o, err := Maximize(g, m, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			theta := make([]float64, 2)
			m.Mean(theta, o.Mixture)
			pastotest.Near(t, "value", o.Value, c.want, 1e-9)
			pastotest.Near(t, "gap", o.Gap, 0, 1e-12)
			if v := g.Value(theta); v != o.Value {
				t.Errorf("the objective of the optimum %v is %v, its violation %v", o.Value, v, o.Violations[1])
			}
			if _, v, err := BestSingle(g, m); err != nil || v > o.Value+1e-12 {
				t.Errorf("the best single arm has %v, the optimum %v (%v)", v, o.Value, err)
			}
		})
	}
	// Beyond the slack the least total violation is measured from the threshold itself.
	g := pastotest.One(t, pasto.Metric{Name: "x"},
		pasto.Metric{Name: "a", Role: pasto.Guardrail, Threshold: 3, Slack: .5},
		pasto.Metric{Name: "b", Role: pasto.Guardrail, Threshold: .5, Slack: .1})
	e := infeasibleOf(CheckFeasible(g, pastotest.Table(t, []float64{1, 2}, []float64{2, 1}, []float64{0, 1})))
	if e == nil {
		t.Fatal("feasible")
	}
	pastotest.Near(t, "least violation", e.Violation, 1.5, 1e-9)
}

// An arm far outside does not hide the violations of the others, whatever its distance.
func TestFarOutside(t *testing.T) {
	g := pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{Name: "y", Role: pasto.Guardrail, Hard: true})
	for _, far := range []float64{1e3, 1e6, 1e9, 1e10, 1e11, 1e13, 1e15, 1e30, 1e90} {
		for _, c := range []struct {
			x, y []float64
			want float64 // NaN: infeasible by 1
		}{
			{[]float64{10, 0, 20}, []float64{-1, 1, -far}, 5},
			{[]float64{10, 0, 20}, []float64{-1, -2, -far}, math.NaN()},
			{[]float64{20, 10, 0}, []float64{-far, -2, -1}, math.NaN()},
			{[]float64{10, 0}, []float64{-1, far}, 10 * far / (1 + far)},
			{[]float64{10, 0, -5, 20}, []float64{-1, 1, far, -far}, 7.5},
			{[]float64{10, 0, -far}, []float64{-1, 1, 0}, 5},
		} {
			m := pastotest.Table(t, c.x, c.y)
			o, err := Maximize(g, m, DefaultOptions())
			feasible := CheckFeasible(g, m)
			if far > 1e15 && err != nil && infeasibleOf(err) == nil {
				continue // too ill-conditioned, as the error says
			}
			if c.want != c.want {
				for _, err := range []error{err, feasible} {
					if e := infeasibleOf(err); e == nil || math.Abs(e.Violation-1) > 1e-9 {
						t.Errorf("%v: %v, want it infeasible by 1", c.y, err)
					}
				}
				continue
			}
			if err != nil || feasible != nil {
				t.Errorf("%v: %v, %v", c.y, err, feasible)
				continue
			}
			pastotest.Near(t, fmt.Sprintf("value of %v, %v", c.x, c.y), o.Value, max(c.want, pairs(m, 0)), 1e-9)
			if o.Violations[1] > 1e-9 {
				t.Errorf("%v: the optimum %v passes the guardrail by %v", c.y, o.Mixture, o.Violations[1])
			}
		}
	}
}

// strange draws goals of up to six hard guardrails and a table of up to 30 arms, some of them
// equal. The values lie on the lattice of the thresholds, near it, or have many sizes, with a few
// far outside.
func strange(r *random.Source, kind int) (*pasto.Goals, *pasto.Table, error) {
	upTo := func(n int) int { return int(r.Float64() * float64(n)) }
	arms, rows := 1+upTo(30), 1+upTo(6)
	if kind >= 4 {
		rows = 1
	}
	metrics := []pasto.Metric{{Name: "x"}}
	for range rows {
		m := pasto.Metric{
			Name: fmt.Sprint("y", len(metrics)), Role: pasto.Guardrail, Hard: true,
			Threshold: []float64{0, .3, -.2}[upTo(3)],
		}
		if kind < 4 && upTo(2) == 0 {
			m.Direction = pasto.Down
		}
		if upTo(4) == 0 {
			m.Slack = []float64{1e-12, 1e-4, .2}[upTo(3)]
		}
		metrics = append(metrics, m)
	}
	g, err := pasto.NewGoals(metrics, 0)
	if err != nil {
		return nil, nil, err
	}
	means := round.NewTable(arms, rows+1)
	lattice := []float64{-1, 0, .3, -.2, .5, 1}
	for k := range arms {
		row := means.Arm(k)
		for i := range row {
			switch kind {
			case 0:
				row[i] = lattice[upTo(6)]
			case 1:
				row[i] = lattice[upTo(6)] * (1 + 1e-13*stat.Normal(r))
			case 2:
				row[i] = stat.Normal(r) * math.Pow(10, float64(upTo(7)-3))
			default:
				if row[i] = stat.Normal(r); i > 0 && upTo(5) == 0 {
					row[i] *= math.Pow(10, float64(upTo(16)))
				}
			}
		}
		if k > 0 && upTo(3) == 0 {
			copy(row, means.Arm(upTo(k)))
		}
	}
	if rows > 1 && upTo(2) == 0 {
		for k := range arms {
			means.Arm(k)[2] = means.Arm(k)[1]
		}
	}
	return g, means, nil
}

// For every table, a mixture is found if one arm satisfies the guardrails. It satisfies them up to
// rounding, no arm is better, the gap certifies it, and all solvers agree on whether one exists.
// With one guardrail the optimum lies between those over pairs without and with the slack. Where
// arms are far outside, a few programs are too ill-conditioned for an answer.
func TestHardStrange(t *testing.T) {
	seeds := testsize.Of(5000, 200)
	found, infeasible := 0, 0
	for kind := range 6 {
		ill := 0
		for seed := range uint64(seeds) {
			g, m, err := strange(random.New(seed, fmt.Sprint("strange", kind)), kind)
			if err != nil {
				t.Fatal(err)
			}
			where := fmt.Sprintf("kind %d, seed %d", kind, seed)
			o, err := Maximize(g, m, DefaultOptions())
			check := CheckFeasible(g, m)
			if err != nil && infeasibleOf(err) == nil || check != nil && infeasibleOf(check) == nil {
				if ill++; kind < 3 {
					t.Errorf("%s: %v, %v", where, err, check)
				}
				continue
			}
			if (err == nil) != (check == nil) {
				t.Errorf("%s: %v, and then %v", where, err, check)
			}
			_, single := bestSingle(g, m)
			if err != nil {
				infeasible++
				if !math.IsInf(single, -1) || kind >= 4 && !math.IsInf(pairs(m, g.Metrics()[1].Threshold), -1) {
					t.Errorf("%s: %v, but one arm has %v", where, err, single)
				}
				continue
			}
			found++
			gap := 1e-7
			if kind == 3 {
				// With many rows and arms far outside, rounding may hide a part of the gain, which
				// the gap shows.
				gap = math.Inf(1)
			}
			checkStrange(t, where, g, m, o, single, gap)
			if kind >= 4 {
				size, c, slack := 1+math.Abs(o.Value), g.Metrics()[1].Threshold, g.Metrics()[1].Tolerance()
				if low, high := pairs(m, c), pairs(m, c-slack); !(o.Value >= low-1e-8*size) ||
					!(o.Value <= high+1e-8*size) {
					t.Errorf("%s: value %v, want it in [%v, %v]", where, o.Value, low, high)
				}
			}
		}
		t.Logf("kind %d: %d of %d too ill-conditioned", kind, ill, seeds)
		if most := []int{0, 0, 0, seeds / 10, seeds / 200, seeds / 200}[kind]; ill > most {
			t.Errorf("kind %d: %d of %d too ill-conditioned", kind, ill, seeds)
		}
	}
	if found < seeds || infeasible < seeds {
		t.Errorf("%d feasible, %d infeasible: the test is too weak", found, infeasible)
	}
}

// checkStrange checks an optimum by itself, its gap against a bound and the best single arm's value
// against it.
func checkStrange(t *testing.T, where string, g *pasto.Goals, m *pasto.Table, o *Optimum, single, gap float64) {
	t.Helper()
	size := 1 + math.Abs(o.Value)
	if !(o.Gap <= gap*size) || single > o.Value+o.Gap+1e-12*size {
		t.Errorf("%s: value %v, gap %v, single arm %v", where, o.Value, o.Gap, single)
	}
	for i := range g.Metrics() {
		terms := math.Abs(g.Metrics()[i].Threshold)
		for k, w := range o.Mixture {
			terms += w * math.Abs(m.Arm(k)[i])
		}
		if g.Metrics()[i].Hard && !(o.Violations[i] <= 1.1*g.Metrics()[i].Tolerance()+1e-12*terms) {
			t.Errorf("%s: violations %v", where, o.Violations)
		}
	}
}

// infeasibleOf returns the report that an error carries, or nil.
func infeasibleOf(err error) *Infeasible {
	e, _ := errors.AsType[*Infeasible](err)
	return e
}
