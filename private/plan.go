package private

import (
	"errors"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// PlanRequest is what a plan needs to know, with the adjacency and the unit of the claim in
// Protection. All of it is public: a plan looks at no data.
type PlanRequest struct {
	// Domain is the set of points.
	Domain *Domain
	// Horizon is the number of records n, Batch the number of records per step.
	Horizon int64
	Batch   int
	// Clip bounds increments in the dual norm ‖·‖_q. ClipL2 bounds them in the Euclidean norm; at 0
	// it follows from Clip, as d^(1/2−1/q)·Clip for q > 2 and as Clip otherwise.
	Clip, ClipL2 float64
	// Protection is what the budget protects: the adjacency and the unit.
	Protection dp.Protection
	// Epsilon and Delta are the budget of the run. With Delta = 0 only choices with a pure budget
	// are possible.
	Epsilon, Delta float64
	// Step is the step at which the mechanisms are compared; at 0 the last one.
	Step int64
}

// Plan returns the request for a problem: with its clip as ClipL2, or with the worst-case clips of
// both mechanisms if it has none.
func (p Problem) Plan(protection dp.Protection, epsilon, delta float64) (PlanRequest, error) {
	constants, err := p.Constants()
	if err != nil {
		return PlanRequest{}, err
	}
	r := PlanRequest{
		Domain: p.Domain, Horizon: p.Horizon, Batch: p.Batch, Clip: constants.Increment, ClipL2: constants.IncrementL2,
		Protection: protection, Epsilon: epsilon, Delta: delta,
	}
	if p.Clip > 0 {
		r.ClipL2, r.Clip = p.Clip, min(r.Clip, p.Clip)
		if q := p.Domain.dual.P(); q < 2 { // ‖x‖_q ≤ d^(1/q−1/2)·‖x‖₂
			r.Clip = min(constants.Increment, float64(p.Clip*portable.Pow(float64(p.Domain.Dim()), 1/q-0.5)))
		}
	}
	if math.IsInf(r.Clip, 1) {
		return PlanRequest{}, noregret.BadInputf("loss", "the increments of %s grow with the number of steps: "+
			"state a clip: %w", p.Loss.Name(), ErrLoss)
	}
	return r, nil
}

// PlanRow is what one mechanism would do with the budget. Its adjacency and unit are in Charge.
type PlanRow struct {
	// Mechanism is "tofw" or "pofw"; Noise names the stream or the selection.
	Mechanism, Noise string
	// Use is the noise to pass to [NewTOFW] or [NewPOFW].
	Use Noise
	// Clip is the bound on increments: the Euclidean norm for tofw, the dual norm for pofw.
	Clip float64
	// SigmaOverClip is the standard deviation of one draw of noise, per coordinate, over Clip; for
	// pofw the temperature of the last selection over Clip and the scale of the domain.
	SigmaOverClip float64
	// PrefixOverClip is the root mean square over all steps of the standard deviation of the noise
	// in a prefix sum, over Clip; for pofw that of the temperatures.
	PrefixOverClip float64
	// Charge is the cost of the run, which spends (Epsilon, Delta).
	Charge         dp.Charge
	Epsilon, Delta float64
	// Excess bounds the expectation of ⟨d_t, v_t⟩ − min ⟨d_t, v⟩ at the compared step: what the
	// noise costs in the linear problem of that step. Rows are compared by it.
	Excess float64
	// Memory is the size of the learner's state at the end in bytes.
	Memory float64
	// Statement says what the mechanism would protect. It does not mention the loss.
	Statement dp.Statement
}

// Plan lists the mechanisms that are possible for a request. Best is the index of the row with the
// smallest excess.
type Plan struct {
	Rows []PlanRow
	Best int
}

// MakePlan compares DP-TOFW with each of its streams and DP-POFW with each of its selections,
// before any data are seen. It leaves out mechanisms that the request does not allow: choices on
// domains without a list of vertices, the square-root stream beyond a million steps, streams with δ
// = 0. The errors are those of an invalid request.
//
// A plan depends on public values only; a choice between mechanisms by their results on the data
// would be a release of its own and cost its own budget.
func MakePlan(r PlanRequest) (Plan, error) {
	p, err := r.problem()
	if err != nil {
		return Plan{}, err
	}
	var plan Plan
	if r.Delta != 0 || !(r.Epsilon > 0) {
		for kind := dp.Tree; kind <= dp.SquareRoot; kind++ {
			p.Clip = r.ClipL2
			row, err := r.streamRow(p, kind)
			if errors.Is(err, dp.ErrHorizon) || errors.Is(err, dp.ErrLattice) {
				continue
			}
			if err != nil {
				return Plan{}, err
			}
			plan.Rows = append(plan.Rows, row)
		}
	}
	if p.Domain.Vertices() > 0 {
		p.Clip = r.Clip
		for _, selection := range [2]dp.SelectionNoise{dp.Exponential, dp.Laplace} {
			row, err := r.selectionRow(p, selection)
			if errors.Is(err, dp.ErrNorm) || errors.Is(err, dp.ErrLattice) {
				continue
			}
			if err != nil {
				return Plan{}, err
			}
			plan.Rows = append(plan.Rows, row)
		}
	}
	if len(plan.Rows) == 0 {
		return Plan{}, noregret.BadInputf("plan", "no mechanism is possible for %v with δ = %v and %d records: %w",
			p.Domain, r.Delta, r.Horizon, dp.ErrLattice)
	}
	for i, row := range plan.Rows {
		if row.Excess < plan.Rows[plan.Best].Excess {
			plan.Best = i
		}
	}
	return plan, nil
}

// problem checks the request, completes it and returns a problem with its sizes.
func (r *PlanRequest) problem() (Problem, error) {
	p := NewProblem(r.Domain, HalfSquared(), 1, 1, r.Horizon)
	p.Batch = r.Batch
	if err := p.check(); err != nil {
		return p, err
	}
	if err := checkPositive("clip", r.Clip); err != nil {
		return p, err
	}
	if err := checkNonNegative("clip l2", r.ClipL2); err != nil {
		return p, err
	}
	if r.ClipL2 == 0 {
		r.ClipL2 = r.Clip
		if q := r.Domain.dual.P(); q > 2 {
			r.ClipL2 = float64(r.Clip * portable.Pow(float64(r.Domain.Dim()), 0.5-1/q))
		}
	}
	if r.Step == 0 {
		r.Step = p.steps()
	}
	if r.Step < 1 || r.Step > p.steps() {
		return p, noregret.BadInputf("step", "%d, want 1 to %d: %w", r.Step, p.steps(), dp.ErrHorizon)
	}
	return p, nil
}

// streamRow plans DP-TOFW in Gaussian differential privacy, or in zCDP if the lattice is too coarse
// for the former.
func (r *PlanRequest) streamRow(p Problem, kind dp.StreamKind) (PlanRow, error) {
	budget, err := dp.GDPBudget(r.Epsilon, r.Delta)
	if err != nil {
		return PlanRow{}, err
	}
	noise := Noise{Kind: kind, Protection: r.Protection, Budget: budget}
	l, err := NewTOFW(p, noise)
	if errors.Is(err, dp.ErrLattice) {
		if noise.Budget, err = dp.ZCDPBudget(r.Epsilon, r.Delta); err != nil {
			return PlanRow{}, err
		}
		l, err = NewTOFW(p, noise)
	}
	if err != nil {
		return PlanRow{}, err
	}
	defer l.Close()
	row := r.row(p, l, noise)
	row.Mechanism, row.Noise = "tofw", kind.String()
	row.SigmaOverClip = l.mechanism.(*sumMechanism).stream.Sigma() / p.Clip
	row.PrefixOverClip = rootMeanSquare(p.steps(), l.Deviation) / p.Clip
	d, steps := float64(p.Domain.Dim()), float64(p.steps())
	vectors := 10 + math.Floor(math.Log2(steps)+1)
	switch kind {
	case dp.Honaker:
		vectors += math.Floor(math.Log2(steps) + 1)
	case dp.SquareRoot:
		vectors += 2 * steps
	}
	row.Memory = 8 * d * vectors
	return row, nil
}

// selectionRow plans DP-POFW.
func (r *PlanRequest) selectionRow(p Problem, selection dp.SelectionNoise) (PlanRow, error) {
	budget, err := dp.PureBudget(r.Epsilon)
	if r.Delta != 0 {
		budget, err = dp.ZCDPBudget(r.Epsilon, r.Delta)
	}
	if err != nil {
		return PlanRow{}, err
	}
	noise := Noise{Selection: selection, Protection: r.Protection, Budget: budget}
	l, err := NewPOFW(p, noise)
	if err != nil {
		return PlanRow{}, err
	}
	defer l.Close()
	m := l.mechanism.(*choiceMechanism)
	row := r.row(p, l, noise)
	row.Mechanism, row.Noise = "pofw", "exponential"
	if selection == dp.Laplace {
		row.Noise = "laplace"
	}
	unit := m.lattice.Spacing() / p.Clip
	row.SigmaOverClip = m.selector.Temperature(p.steps()) * unit
	row.PrefixOverClip = rootMeanSquare(p.steps(), m.selector.Temperature) * unit
	row.Memory = 8 * float64(8*p.Domain.Dim()+p.Domain.Vertices())
	return row, nil
}

func (r *PlanRequest) row(p Problem, l *Learner, noise Noise) PlanRow {
	return PlanRow{
		Use: noise, Clip: p.Clip, Charge: l.Charge(), Epsilon: r.Epsilon, Delta: r.Delta,
		Excess: l.Excess(r.Step), Statement: l.mechanismStatement(),
	}
}

// Excess bounds the expectation of ⟨d_t, v_t⟩ − min ⟨d_t, v⟩ over the noise at step t, for d_t =
// S_t/(t+1): D·E‖noise‖_q/(t+1) for [NewTOFW], and B_t·ln N/(t+1) for the choice among N vertices
// of [NewPOFW]. It is 0 without noise and depends on public values only.
func (l *Learner) Excess(t int64) float64 {
	d := l.problem.Domain
	after := float64(t + 1)
	switch m := l.mechanism.(type) {
	case *sumMechanism:
		return d.diameter * m.stream.Deviation(t) * normalNorm(d.Dim(), d.dual.P()) / after
	case *choiceMechanism:
		return m.selector.Temperature(t) * m.lattice.Spacing() * m.scores.scale *
			portable.Log(float64(d.Vertices())) / after
	}
	return 0
}

// rootMeanSquare is the root mean square of f over the steps 1 to n, for more than 2^16 steps over
// that many of them, one drawn from each of as many equal parts.
func rootMeanSquare(n int64, f func(t int64) float64) float64 {
	const most = 1 << 16
	count := min(n, most)
	draw := random.SplitMix64(1)
	sum := 0.0
	for i := range count {
		t := i + 1
		if n > most {
			t = min(n, 1+int64(float64((float64(i)+float64(draw.Float64()))*(float64(n)/most))))
		}
		v := f(t)
		sum += float64(v * v)
	}
	return math.Sqrt(sum / float64(count))
}

// PlanHorizon returns the smallest number of records, to one percent, after which the excess of the
// best mechanism of a plan is at most the given one. The error is ErrHorizon if 2^40 records, or
// what fits the lattice, do not suffice.
func PlanHorizon(r PlanRequest, excess float64) (int64, error) {
	if err := checkPositive("excess", excess); err != nil {
		return 0, err
	}
	reaches := func(n int64) (bool, error) {
		q := r
		q.Horizon, q.Step = n, 0
		plan, err := MakePlan(q)
		if err != nil {
			return false, err
		}
		return plan.Rows[plan.Best].Excess <= excess, nil
	}
	low, high := int64(0), int64(1)
	for {
		ok, err := reaches(high)
		if err != nil && !errors.Is(err, dp.ErrLattice) || err != nil && high == 1 {
			return 0, err
		}
		if ok {
			break
		}
		if err != nil || high >= dp.MaxHorizon {
			return 0, noregret.BadInputf("excess", "%v is not reached with %d records: %w", excess, high, dp.ErrHorizon)
		}
		low, high = high, 2*high
	}
	for high-low > max(1, high/100) {
		mid := low + (high-low)/2
		ok, err := reaches(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}
