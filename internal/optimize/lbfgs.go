package optimize

import (
	"errors"
	"math"

	gonum "gonum.org/v1/gonum/optimize"

	"github.com/noregret/noregret/internal/vec"
)

// lbfgsMemory is the number of past steps that define the inverse Hessian.
const lbfgsMemory = 10

// LBFGS is a [gonum.Method]: limited-memory BFGS (Liu and Nocedal 1989; Nocedal and Wright,
// Numerical Optimization, algorithm 7.4) with a memory of 10 steps and a line search for the strong
// Wolfe conditions. The zero value is ready to use. An iteration costs O(d) and one or two
// evaluations of value and gradient; memory is O(d).
//
// LBFGS differs from gonum's method of the same name in its arithmetic. Gonum's inner products are
// assembly on some machines and fusable Go on others, and differ in their last bits. Here they are
// sums in the order of the coordinates with every product rounded, so a run has the same bits on
// every machine. Gonum's driver still does the rest: evaluations, limits and the test of the
// gradient's largest coordinate. One task runs at any time, so nothing depends on the scheduling of
// goroutines.
//
// A failed line search is repeated once with the memory emptied: along the gradient, or what
// Precondition makes of it. If that fails too, the method ends with [gonum.Failure]: no further
// progress can be distinguished from rounding.
type LBFGS struct {
	// Precondition, if not nil, multiplies a vector in place by an approximation of the inverse
	// Hessian at the last accepted point, symmetric and positive definite. The recursion then
	// begins with a multiple of it in the place of one of the identity, and the first step is 1.
	// It is called once or twice for each direction.
	Precondition func(v []float64)

	status gonum.Status
	err    error

	operation chan<- gonum.Task
	result    <-chan gonum.Task
	task      gonum.Task

	x, grad []float64 // the last accepted point
	f       float64
	dir     []float64
	scratch []float64
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
	_ gonum.Method   = (*LBFGS)(nil)
	_ gonum.Statuser = (*LBFGS)(nil)
)

// errStart reports a value or gradient at the start that is not finite.
var errStart = errors.New("optimize: the value or the gradient at the start is not finite")

// Uses implements [gonum.Method].
func (*LBFGS) Uses(has gonum.Available) (uses gonum.Available, err error) {
	if !has.Grad {
		return gonum.Available{}, gonum.ErrMissingGrad
	}
	return gonum.Available{Grad: true}, nil
}

// Init implements [gonum.Method]. It asks for one task.
func (m *LBFGS) Init(dim, _ int) int {
	*m = LBFGS{
		Precondition: m.Precondition,
		x:            make([]float64, dim), grad: make([]float64, dim), dir: make([]float64, dim),
	}
	return 1
}

// Status implements [gonum.Statuser].
func (m *LBFGS) Status() (gonum.Status, error) { return m.status, m.err }

// Run implements [gonum.Method].
func (m *LBFGS) Run(operation chan<- gonum.Task, result <-chan gonum.Task, tasks []gonum.Task) {
	m.operation, m.result, m.task = operation, result, tasks[0]
	if m.status, m.err = m.iterate(); m.status != gonum.NotTerminated {
		m.ask(gonum.MethodDone)
	}
	for range result { // the driver closes result first
	}
	close(operation)
}

// ask hands the task to the driver and waits for it to come back. It reports false when the driver
// ends the run.
func (m *LBFGS) ask(op gonum.Operation) bool {
	m.task.Op = op
	m.operation <- m.task
	r, ok := <-m.result
	if !ok || r.Op == gonum.PostIteration {
		return false
	}
	m.task = r
	return true
}

// evaluate asks for value and gradient at the task's point.
func (m *LBFGS) evaluate() bool { return m.ask(gonum.FuncEvaluation | gonum.GradEvaluation) }

// iterate minimises until the driver ends the run (NotTerminated) or no progress is possible.
func (m *LBFGS) iterate() (gonum.Status, error) {
	if !m.evaluate() {
		return gonum.NotTerminated, nil
	}
	if !vec.IsFinite(m.task.F) || !vec.Finite(m.task.Gradient) {
		return gonum.Failure, errStart
	}
	for {
		m.accept()
		if !m.ask(gonum.MajorIteration) {
			return gonum.NotTerminated, nil
		}
		if vec.MaxAbs(m.grad) == 0 {
			return gonum.GradientThreshold, nil
		}
		found, goOn := m.advance()
		if goOn && !found && len(m.steps) > 0 {
			m.steps = m.steps[:0]
			found, goOn = m.advance()
		}
		switch {
		case !goOn:
			return gonum.NotTerminated, nil
		case !found:
			return gonum.Failure, gonum.ErrLinesearcherFailure
		}
		m.remember()
	}
}

// accept makes the task's point the current one.
func (m *LBFGS) accept() {
	copy(m.x, m.task.X)
	copy(m.grad, m.task.Gradient)
	m.f = m.task.F
}

// remember stores the step from the current point to the task's point, unless rounding has removed
// its positive curvature.
func (m *LBFGS) remember() {
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
	if sy := vec.DotInOrder(c.s, c.y); sy > 0x1p-52*vec.DotInOrder(c.y, c.y) {
		c.rho = 1 / sy
		m.steps = append(m.steps, c)
	} else {
		m.spare = c
	}
}

// direct sets the direction -H·∇f by the two-loop recursion and returns the first step to try.
func (m *LBFGS) direct() (step float64) {
	for i, g := range m.grad {
		m.dir[i] = -g
	}
	if len(m.steps) == 0 {
		if m.Precondition != nil {
			m.Precondition(m.dir)
			return 1
		}
		return 1 / math.Sqrt(vec.DotInOrder(m.grad, m.grad))
	}
	for k := len(m.steps) - 1; k >= 0; k-- {
		c := &m.steps[k]
		c.alpha = c.rho * vec.DotInOrder(c.s, m.dir)
		vec.AddScaled(m.dir, -c.alpha, c.y)
	}
	last := &m.steps[len(m.steps)-1]
	y := last.y
	if m.Precondition != nil {
		m.Precondition(m.dir)
		m.scratch = append(m.scratch[:0], y...)
		m.Precondition(m.scratch)
		y = m.scratch
	}
	gamma := 1 / (last.rho * vec.DotInOrder(last.y, y))
	for i := range m.dir {
		m.dir[i] *= gamma
	}
	for k := range m.steps {
		c := &m.steps[k]
		vec.AddScaled(m.dir, c.alpha-float64(c.rho*vec.DotInOrder(c.y, m.dir)), c.s)
	}
	return 1
}

// advance searches for the next point and leaves it, evaluated, in the task. It reports whether it
// found one and whether the driver wants to continue.
func (m *LBFGS) advance() (found, goOn bool) {
	step := m.direct()
	slope := vec.DotInOrder(m.grad, m.dir)
	if !(slope < 0) || !vec.IsFinite(slope) || !vec.IsFinite(step) {
		return false, true
	}
	search := newLineSearch(m.f, slope, step)
	for {
		if !m.moveTo(search.step) {
			break // rounding cancels the step
		}
		if !m.evaluate() {
			return false, false
		}
		if search.judge(m.task.F, vec.DotInOrder(m.task.Gradient, m.dir)) {
			return true, true
		}
		if search.trials >= mostTrials {
			break
		}
	}
	// No point meets both conditions: accept a lower one.
	if low := search.low; low.s > 0 && low.f < m.f && m.moveTo(low.s) {
		return true, m.evaluate()
	}
	return false, true
}

// moveTo sets the task's point to x + step·d and reports whether that differs from x.
func (m *LBFGS) moveTo(step float64) (moved bool) {
	for i, x := range m.x {
		next := x + float64(step*m.dir[i])
		m.task.X[i] = next
		moved = moved || next != x
	}
	return moved
}
