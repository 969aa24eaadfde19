package classify

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// lbfgsMemory is the number of past steps that the inverse Hessian is built of.
const lbfgsMemory = 10

// lbfgs is an [optimize.Method]: limited-memory BFGS (Liu and Nocedal 1989; Nocedal and Wright,
// Numerical Optimization, algorithm 7.4), each step found by [lineSearch]. It differs from gonum's
// own method of that name in the arithmetic: gonum's inner products are assembly on some machines
// and fusable Go on others, and end in other last bits; here they are sums in the order of the
// coordinates with every product rounded, so that a run has the same bits everywhere. What is left
// to gonum is the driver: evaluations, limits, the test of the gradient's largest coordinate. One
// task is under way at any time, so that nothing depends on how goroutines are scheduled.
//
// A line search that fails is tried once more along the gradient with the memory emptied. The
// method ends with [optimize.Failure] when that fails too: no further progress can be told from
// rounding.
type lbfgs struct {
	status optimize.Status
	err    error

	operation chan<- optimize.Task
	result    <-chan optimize.Task
	task      optimize.Task

	x, grad []float64 // the last accepted point
	f       float64
	dir     []float64
	steps   []correction // oldest first
	spare   correction   // memory for the next
}

// correction is one past step: s = x' - x, y = ∇f' - ∇f and 1/⟨s, y⟩.
type correction struct {
	s, y  []float64
	rho   float64
	alpha float64 // scratch of the two-loop recursion
}

var (
	_ optimize.Method   = (*lbfgs)(nil)
	_ optimize.Statuser = (*lbfgs)(nil)
)

// errStart is the error for a start where value or gradient is not finite.
var errStart = errors.New("classify: the value or the gradient at the start is not finite")

// Uses implements [optimize.Method].
func (*lbfgs) Uses(has optimize.Available) (uses optimize.Available, err error) {
	if !has.Grad {
		return optimize.Available{}, optimize.ErrMissingGrad
	}
	return optimize.Available{Grad: true}, nil
}

// Init implements [optimize.Method]: one task, whatever is offered.
func (m *lbfgs) Init(dim, _ int) int {
	*m = lbfgs{x: make([]float64, dim), grad: make([]float64, dim), dir: make([]float64, dim)}
	return 1
}

// Status implements [optimize.Statuser].
func (m *lbfgs) Status() (optimize.Status, error) { return m.status, m.err }

// Run implements [optimize.Method].
func (m *lbfgs) Run(operation chan<- optimize.Task, result <-chan optimize.Task, tasks []optimize.Task) {
	m.operation, m.result, m.task = operation, result, tasks[0]
	if m.status, m.err = m.iterate(); m.status != optimize.NotTerminated {
		m.ask(optimize.MethodDone)
	}
	for range result { // it must be closed before operation is
	}
	close(operation)
}

// ask hands the task to the driver and waits for it to come back. It reports false when the driver
// ends the run.
func (m *lbfgs) ask(op optimize.Operation) bool {
	m.task.Op = op
	m.operation <- m.task
	r, ok := <-m.result
	if !ok || r.Op == optimize.PostIteration {
		return false
	}
	m.task = r
	return true
}

// evaluate asks for value and gradient at the task's point.
func (m *lbfgs) evaluate() bool { return m.ask(optimize.FuncEvaluation | optimize.GradEvaluation) }

// iterate minimises until the driver ends the run (NotTerminated) or no progress can be made.
func (m *lbfgs) iterate() (optimize.Status, error) {
	if !m.evaluate() {
		return optimize.NotTerminated, nil
	}
	if !isFinite(m.task.F) || slices.ContainsFunc(m.task.Gradient, func(g float64) bool { return !isFinite(g) }) {
		return optimize.Failure, errStart
	}
	for {
		m.accept()
		if !m.ask(optimize.MajorIteration) {
			return optimize.NotTerminated, nil
		}
		if maxAbs(m.grad) == 0 {
			return optimize.GradientThreshold, nil
		}
		found, goOn := m.advance()
		if goOn && !found && len(m.steps) > 0 {
			m.steps = m.steps[:0]
			found, goOn = m.advance()
		}
		switch {
		case !goOn:
			return optimize.NotTerminated, nil
		case !found:
			return optimize.Failure, optimize.ErrLinesearcherFailure
		}
		m.remember()
	}
}

// accept makes the task's point the current one.
func (m *lbfgs) accept() {
	copy(m.x, m.task.X)
	copy(m.grad, m.task.Gradient)
	m.f = m.task.F
}

// remember keeps the step from the current point to the task's, unless rounding has left it no
// positive curvature.
func (m *lbfgs) remember() {
	c := m.spare
	if len(m.steps) == lbfgsMemory {
		c = m.steps[0]
		m.steps = append(m.steps[:0], m.steps[1:]...)
	}
	if c.s == nil {
		c.s, c.y = make([]float64, len(m.x)), make([]float64, len(m.x))
	}
	for i, x := range m.task.X {
		c.s[i] = x - m.x[i]
		c.y[i] = m.task.Gradient[i] - m.grad[i]
	}
	m.spare = correction{}
	if sy := dotOf(c.s, c.y); sy > 0x1p-52*dotOf(c.y, c.y) {
		c.rho = 1 / sy
		m.steps = append(m.steps, c)
	} else {
		m.spare = c
	}
}

// direct sets the direction -H·∇f by the two-loop recursion and returns the first step to try along
// it.
func (m *lbfgs) direct() (step float64) {
	for i, g := range m.grad {
		m.dir[i] = -g
	}
	if len(m.steps) == 0 {
		return 1 / math.Sqrt(dotOf(m.grad, m.grad))
	}
	for k := len(m.steps) - 1; k >= 0; k-- {
		c := &m.steps[k]
		c.alpha = c.rho * dotOf(c.s, m.dir)
		addTo(m.dir, -c.alpha, c.y)
	}
	last := &m.steps[len(m.steps)-1]
	gamma := 1 / (last.rho * dotOf(last.y, last.y))
	for i := range m.dir {
		m.dir[i] *= gamma
	}
	for k := range m.steps {
		c := &m.steps[k]
		addTo(m.dir, c.alpha-float64(c.rho*dotOf(c.y, m.dir)), c.s)
	}
	return 1
}

// advance looks for the next point and leaves it, evaluated, in the task. It reports whether there
// is one and whether the driver wants the run to go on.
func (m *lbfgs) advance() (found, goOn bool) {
	step := m.direct()
	slope := dotOf(m.grad, m.dir)
	if !(slope < 0) || !isFinite(slope) || !isFinite(step) {
		return false, true
	}
	search := newLineSearch(m.f, slope, step)
	for {
		if !m.moveTo(search.step) {
			break // the step is lost in rounding
		}
		if !m.evaluate() {
			return false, false
		}
		if search.judge(m.task.F, dotOf(m.task.Gradient, m.dir)) {
			return true, true
		}
		if search.trials >= mostTrials {
			break
		}
	}
	// No point meets both conditions within reach: one that is lower will do.
	if low := search.low; low.s > 0 && low.f < m.f && m.moveTo(low.s) {
		return true, m.evaluate()
	}
	return false, true
}

// moveTo sets the task's point to x + step·d and reports whether that differs from x.
func (m *lbfgs) moveTo(step float64) (moved bool) {
	for i, x := range m.x {
		next := x + float64(step*m.dir[i])
		m.task.X[i] = next
		moved = moved || next != x
	}
	return moved
}

// dotOf is the inner product, summed in the order of the coordinates.
func dotOf(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x * b[i])
	}
	return sum
}

// addTo adds c·b to a.
func addTo(a []float64, c float64, b []float64) {
	for i, x := range b {
		a[i] += float64(c * x)
	}
}

func isFinite(x float64) bool { return x-x == 0 }
