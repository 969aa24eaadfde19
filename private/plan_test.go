package private

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/testsize"
)

// TestOracleO11Planner: on the l1 ball with 10^4 records the planner takes DP-TOFW for d = 50, by a
// factor of about 9, and DP-POFW for d = 10^6.
func TestOracleO11Planner(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []struct {
		dim       int
		mechanism string
		ratio     float64
	}{{50, "tofw", 9}, {1000000, "pofw", 1 / 8.5}} {
		plan := must(MakePlan(PlanRequest{
			Domain: must(NewBall(c.dim, 1, 1)), Horizon: 10000, Batch: 1, Clip: 1, Protection: dp.PerRecord(),
			Epsilon: 1, Delta: 1e-4,
		}))
		best := plan.Rows[plan.Best]
		if best.Mechanism != c.mechanism {
			t.Errorf("d = %d: %+v", c.dim, best)
		}
		excess := map[string]float64{}
		for _, row := range plan.Rows {
			excess[row.Noise] = row.Excess
		}
		// The formulas of 2·5.5·ln(2d)/√t and 2·12.7·√(2d·ln 2d)/t.
		if ratio := excess["exponential"] / excess["square-root"]; math.Abs(ratio/c.ratio-1) > 0.05 {
			t.Errorf("d = %d: ratio %v, want about %v", c.dim, ratio, c.ratio)
		}
	}
}

// TestPlanNoise compares the noise of the plan with the published table for n = 10^4, ε = 1 and δ =
// 1/n, in units of the clip.
func TestPlanNoise(t *testing.T) {
	plan := must(MakePlan(PlanRequest{
		Domain: must(NewBall(10, 2, 1)), Horizon: 10000, Batch: 1, Clip: 3, Protection: dp.PerRecord(), Epsilon: 1,
		Delta: 1e-4,
	}))
	want := map[string][2]float64{ // one draw, root mean square of prefixes; 0 is not compared
		"tree": {23.8, 60.6}, "doubling": {0, 75.3}, "honaker": {23.8, 45.4}, "square-root": {12.7, 24.4},
	}
	if len(plan.Rows) != len(want) || plan.Rows[plan.Best].Noise != "square-root" {
		t.Errorf("%d rows, the best is %s", len(plan.Rows), plan.Rows[plan.Best].Noise)
	}
	for _, row := range plan.Rows {
		w := want[row.Noise]
		if w[0] > 0 && math.Abs(row.SigmaOverClip/w[0]-1) > 0.01 || math.Abs(row.PrefixOverClip/w[1]-1) > 0.01 {
			t.Errorf("%s: %v and %v, want %v", row.Noise, row.SigmaOverClip, row.PrefixOverClip, w)
		}
		if row.Charge.Rho <= 0 || row.Charge.Insecure || row.Epsilon != 1 || row.Delta != 1e-4 {
			t.Errorf("%+v", row)
		}
	}
	// For q > 2 the Euclidean clip follows from the dual one.
	plan = must(MakePlan(PlanRequest{
		Domain: must(NewBall(10, 1.5, 1)), Horizon: 100, Batch: 1, Clip: 1, Protection: dp.PerRecord(), Epsilon: 1,
		Delta: 1e-4,
	}))
	if c := plan.Rows[0].Clip; math.Abs(c-math.Pow(10, 1.0/6)) > 1e-12 {
		t.Errorf("the Euclidean clip is %v", c)
	}
}

// TestPlanUses makes every learner of a plan with the noise of its row, and compares its excess.
func TestPlanUses(t *testing.T) {
	p := NewProblem(must(NewBall(4, 1, 2)), Squared(), 1, 1, 500)
	r := must(p.Plan(dp.PerRecord(), 1, 1e-5))
	plan := must(MakePlan(r))
	if len(plan.Rows) != 6 {
		t.Fatalf("%d rows", len(plan.Rows))
	}
	for _, row := range plan.Rows {
		p.Clip = row.Clip
		make := NewTOFW
		if row.Mechanism == "pofw" {
			make = NewPOFW
		}
		l := must(make(p, row.Use))
		if l.Excess(500) != row.Excess || l.Charge() != row.Charge {
			t.Errorf("%s %s: excess %v and charge %v, planned %v and %v", row.Mechanism, row.Noise, l.Excess(500),
				l.Charge(),
				row.Excess, row.Charge)
		}
	}
	// A clip of the problem is Euclidean.
	p.Clip = 1.5
	if r := must(p.Plan(dp.PerRecord(), 1, 1e-5)); r.ClipL2 != 1.5 || r.Clip != 1.5 {
		t.Errorf("clips %v and %v", r.Clip, r.ClipL2)
	}
	// δ = 0 leaves choices with a pure budget.
	r.Delta = 0
	for _, row := range must(MakePlan(r)).Rows {
		if row.Mechanism != "pofw" || math.Abs(row.Charge.PureEps-1) > 1e-6 {
			t.Errorf("%+v", row)
		}
	}
}

// TestPlanEdges holds the refusals of plans.
func TestPlanEdges(t *testing.T) {
	good := PlanRequest{
		Domain: must(NewBall(3, 2, 1)), Horizon: 100, Batch: 1, Clip: 1, Protection: dp.PerRecord(), Epsilon: 1,
		Delta: 1e-5,
	}
	for _, c := range []struct {
		name   string
		change func(r *PlanRequest)
		want   error
	}{
		{"epsilon 0", func(r *PlanRequest) { r.Epsilon = 0 }, dp.ErrEpsilon},
		{"epsilon negative", func(r *PlanRequest) { r.Epsilon = -1 }, dp.ErrEpsilon},
		{"epsilon NaN", func(r *PlanRequest) { r.Epsilon = math.NaN() }, dp.ErrEpsilon},
		{"epsilon +Inf", func(r *PlanRequest) { r.Epsilon = math.Inf(1) }, dp.ErrEpsilon},
		{"delta 1", func(r *PlanRequest) { r.Delta = 1 }, dp.ErrDelta},
		{"delta negative", func(r *PlanRequest) { r.Delta = -0.1 }, dp.ErrDelta},
		{"delta NaN", func(r *PlanRequest) { r.Delta = math.NaN() }, dp.ErrDelta},
		{"clip 0", func(r *PlanRequest) { r.Clip = 0 }, dp.ErrBound},
		{"horizon 0", func(r *PlanRequest) { r.Horizon = 0 }, dp.ErrHorizon},
		{"step after the horizon", func(r *PlanRequest) { r.Step = 101 }, dp.ErrHorizon},
		{"no protection", func(r *PlanRequest) { r.Protection = dp.Protection{} }, dp.ErrUnitMismatch},
		{"delta 0 without vertices", func(r *PlanRequest) { r.Delta = 0 }, dp.ErrLattice},
	} {
		r := good
		c.change(&r)
		if _, err := MakePlan(r); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	p := NewProblem(must(NewBall(3, 2, 1)), must(FromScalar(absolute())), 1, 1, 10)
	if _, err := p.Plan(dp.PerRecord(), 1, 1e-5); !errors.Is(err, ErrLoss) {
		t.Errorf("a loss with a kink: %v", err)
	}
}

// TestPlanHorizon: the planned number of records reaches the excess, nine tenths of it do not.
func TestPlanHorizon(t *testing.T) {
	r := PlanRequest{
		Domain: must(NewBall(3, 2, 1)), Batch: 1, Clip: 1, Protection: dp.PerRecord(), Epsilon: 1, Delta: 1e-5,
	}
	n := must(PlanHorizon(r, 0.05))
	excess := func(n int64) float64 {
		q := r
		q.Horizon = n
		plan := must(MakePlan(q))
		return plan.Rows[plan.Best].Excess
	}
	if excess(n) > 0.05 || excess(n*9/10) <= 0.05 {
		t.Errorf("%d records: excess %v, with nine tenths %v", n, excess(n), excess(n*9/10))
	}
	if _, err := PlanHorizon(r, 0); !errors.Is(err, dp.ErrBound) {
		t.Error(err)
	}
}
