package mixture

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/internal/portable"
)

// Options of a policy. The zero value is not one; see [DefaultOptions].
type Options struct {
	// Caution is the number z of standard errors by which what is served holds the hard guardrails,
	// and Deployed that of what is deployed; at least 0.
	Caution, Deployed float64
	// Pessimism is the number of standard errors by which goals are moved down in the program of
	// what is deployed.
	Pessimism float64
	// Strict is the probability with which what is served may break a hard guardrail in any round;
	// 0 holds them by Caution. Above 0 the bounds are those of [compare.Chosen.Uniform], over the
	// guardrails by a union, in place of Caution standard errors. It is for a problem of at most
	// 128 arms, with the memory of all rounds.
	Strict float64
	// Exploration is the factor of ε = min(½, Exploration/√t); 0 explores nothing.
	Exploration float64
	// Probe is the largest share of all arms together about which nothing is known in a hard
	// guardrail without a range, in [0, 1].
	Probe float64
}

// DefaultOptions are those of the decision service.
func DefaultOptions() Options {
	return Options{Caution: 3, Deployed: 2, Pessimism: 0.25, Exploration: 0.5, Probe: definition.Probe}
}

// OptionsOf returns the options of a definition's policy.
func OptionsOf(d *definition.Definition) Options {
	o := DefaultOptions()
	if c := d.Caution; c != nil {
		o.Caution, o.Deployed = *c, min(o.Deployed, *c)
	}
	if e := d.Exploration; e != nil {
		o.Exploration = e.Share
	}
	if d.Strict {
		o.Strict, o.Probe = mostStrict, 0
		for i := range d.Guardrails {
			if g := &d.Guardrails[i]; g.Hard {
				o.Strict = min(o.Strict, g.Alpha)
			}
		}
	}
	return o
}

// mostStrict is the largest [Options].Strict.
const mostStrict = 0.5

// levelServed and levelDeployed are the standard errors with which the control's own slack of an
// absolute limit is charged. What is deployed stays, so an error in it does too.
const levelServed, levelDeployed = 1, 1.65

// manyArms is the number of arms above which what is deployed holds the guardrails by more standard
// errors: the best of many is lucky. It is √(z² + log(K/manyArms)) for K arms
// that are not retired.
const manyArms = 10

// deployedErrors is the number of standard errors by which what is deployed holds the guardrails.
func (m *Policy) deployedErrors() float64 {
	z, arms := m.options.Deployed, 0.0
	for k := range m.problem.Arms {
		if !m.problem.Arms[k].Retired {
			arms++
		}
	}
	if many := arms / manyArms; many > 1 {
		return math.Sqrt(float64(z*z) + portable.Log(many))
	}
	return z
}

func (o *Options) validate() error {
	for _, x := range []struct {
		name  string
		value float64
		most  float64
	}{
		{"caution", o.Caution, math.MaxFloat64},
		{"deployed", o.Deployed, math.MaxFloat64},
		{"pessimism", o.Pessimism, math.MaxFloat64},
		{"exploration", o.Exploration, math.MaxFloat64},
		{"probe", o.Probe, 1},
		{"strict", o.Strict, mostStrict},
	} {
		if !(x.value >= 0 && x.value <= x.most) {
			return noregret.BadInputf(x.name, "%v: want a finite number from 0 to %v", x.value, x.most)
		}
	}
	return nil
}

// Policy is the policy of a problem. It keeps a workspace between proposals but no state. It is not
// safe for concurrent use.
type Policy struct {
	problem *propose.Problem
	options Options

	goals  []goal
	guards []guard // of all guardrails, in their order
	hard   int     // the hard ones
	usable []bool  // arms that are not retired, about whose goals something is known
	program
	optimum, candidate, explore []float64 // mixtures
	lift                        []float64 // standard errors by which an arm's goals are moved
	draws                       [draws][]float64
	average, guardPrices        []float64 // of the draws' optima
	units                       []float64 // by arm, of the goal that has had the most
	bind                        []bool
	work                        []float64
	serving, deployed           []float64
}

// New returns the policy of a problem, which it keeps and which must not change.
func New(p *propose.Problem, o Options) (*Policy, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	m := &Policy{problem: p, options: o, goals: make([]goal, len(p.Goals)), guards: make([]guard, len(p.Guardrails))}
	if o.Strict > 0 && o.Caution == 0 {
		return nil, noregret.BadInputf("caution", "0 with strict: want a number above 0")
	}
	if o.Strict > 0 && p.NoControl {
		return nil, noregret.BadInputf("strict", "no control: want one, which holds the guardrails by assumption")
	}
	if o.Strict > 0 && (p.Rule() != compare.All || len(p.Arms) > definition.MostStrict) {
		return nil, noregret.BadInputf("strict", "%d arms, a memory of %d rounds: want at most %d arms and all rounds",
			len(p.Arms), p.Memory, definition.MostStrict)
	}
	for i := range m.goals {
		m.goals[i].chosen.Rule = p.Rule()
	}
	for i := range m.guards {
		m.guards[i].chosen.Rule, m.guards[i].free = p.Rule(), p.NoControl
		if p.Guardrails[i].Hard {
			m.hard++
		}
	}
	arms := len(p.Arms)
	m.usable = make([]bool, arms)
	m.optimum, m.candidate, m.explore = make([]float64, arms), make([]float64, arms), make([]float64, arms)
	m.lift, m.average, m.units = make([]float64, arms), make([]float64, arms), make([]float64, arms)
	for d := range m.draws {
		m.draws[d] = make([]float64, arms)
	}
	m.guardPrices = make([]float64, len(p.Guardrails))
	m.work, m.serving, m.deployed = make([]float64, arms), make([]float64, arms), make([]float64, arms)
	m.program.init(p)
	return m, nil
}

// Propose implements [propose.Policy].
func (m *Policy) Propose(s *compare.Store) (*propose.Proposal, error) {
	out := &propose.Proposal{StepBy: -1}
	if err := m.propose(s, out); err != nil {
		return nil, err
	}
	out.Serving, out.Deployed = append([]float64(nil), m.serving...), append([]float64(nil), m.deployed...)
	m.report(s, out)
	return out, nil
}

// propose writes the shares to m.serving and m.deployed.
func (m *Policy) propose(s *compare.Store, out *propose.Proposal) error {
	if err := m.problem.Check(s); err != nil {
		return err
	}
	m.estimate(s)
	for k := range m.lift {
		m.lift[k] = -m.options.Pessimism
	}
	if err := m.solve(m.lift, m.deployedErrors(), levelDeployed); err != nil {
		return err
	}
	copy(m.deployed, m.optimum)
	m.keepControl(m.deployed)
	rounds := 0
	for i := range m.goals {
		rounds = max(rounds, s.Rounds(m.problem.Goals[i].Metric))
	}
	if err := m.sample(rounds); err != nil {
		return err
	}
	out.Exploration = min(0.5, m.options.Exploration/math.Sqrt(float64(max(rounds, 1))))
	if m.free() {
		return m.mixFree(out)
	}
	return m.mix(out)
}

// estimate reads the store.
func (m *Policy) estimate(s *compare.Store) {
	clear(m.units)
	for k := range m.usable {
		m.usable[k] = !m.problem.Arms[k].Retired
	}
	for i := range m.goals {
		m.goals[i].read(s, m.problem, i)
		for k, known := range m.goals[i].chosen.Known {
			m.units[k] = max(m.units[k], s.RecentUnits(m.problem.Goals[i].Metric, k))
			m.usable[k] = m.usable[k] && (known || k == 0 && !m.problem.NoControl)
		}
	}
	for i := range m.guards {
		g := &m.guards[i]
		g.read(s, m.problem, i)
		if g.hard && g.level && m.options.Strict > 0 {
			m.forAllRounds(g, s, i)
		}
		for k := range m.usable {
			if k == 0 && !m.problem.NoControl {
				continue
			}
			m.usable[k] = m.usable[k] && (g.usable(k) || !m.problem.Guardrails[i].Hard && g.known[k])
		}
	}
}

// keepControl gives the control its least share, in proportion from the others.
func (m *Policy) keepControl(p []float64) {
	if !m.problem.NoControl {
		leave(p, m.problem.Control)
	}
}

// leave gives the control at least the given share, in proportion from the others.
func leave(p []float64, least float64) {
	if p[0] >= least {
		return
	}
	f := (1 - least) / (1 - p[0])
	for k := range p {
		p[k] = float64(p[k] * f)
	}
	p[0] = least
}

// report writes the reasons.
func (m *Policy) report(s *compare.Store, out *propose.Proposal) {
	for i := range m.guards {
		g := &m.guards[i]
		out.Guardrails = append(out.Guardrails, g.state(m.serving, m.work, m.options.Caution))
		out.Changed = append(out.Changed, changes(&g.chosen, m.problem.Guardrails[i].Metric)...)
	}
	for i := range m.goals {
		out.Changed = append(out.Changed, changes(&m.goals[i].chosen, m.problem.Goals[i].Metric)...)
	}
	for k := range m.usable {
		if !m.usable[k] && !m.problem.Arms[k].Retired {
			out.Unknown = append(out.Unknown, k)
		}
	}
}

func changes(e *compare.Chosen, metric int) (list []propose.Change) {
	for k, memory := range e.Memory {
		if e.Known[k] && memory > 0 {
			list = append(list, propose.Change{Arm: k, Metric: metric, Rounds: compare.Length(memory)})
		}
	}
	return list
}

// goal has the estimates of a goal.
type goal struct {
	chosen compare.Chosen
	value  []float64 // by arm, in the metric's direction of counting
	err    []float64
}

// read reads the goal's estimates from the store.
func (g *goal) read(s *compare.Store, p *propose.Problem, i int) {
	metric := p.Goals[i].Metric
	s.Choose(&g.chosen, metric, 0)
	unit := 1.0
	l := g.chosen.Level
	level := l.X
	if p.Metrics[metric].Ratio {
		if level = 0; l.Known && l.Y != 0 {
			level = l.X / l.Y
			unit = math.Abs(l.Y)
			g.chosen.Combine(level)
		}
	}
	g.value, g.err = zeros(g.value, len(g.chosen.Known)), zeros(g.err, len(g.chosen.Known))
	for k, known := range g.chosen.Known {
		g.value[k] = level
		if known && (k > 0 || p.NoControl) {
			g.value[k] += g.chosen.Delta[k] / unit
			g.err[k] = g.chosen.Error[k] / unit
		}
	}
}

// zeros returns n zeros, in the memory of v if that is large enough.
func zeros(v []float64, n int) []float64 {
	if cap(v) < n {
		return make([]float64, n)
	}
	v = v[:n]
	clear(v)
	return v
}
