package private

import (
	"fmt"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/portable"
)

// Statement says what the points of the learner protect and what they do not.
//
// It warns about accuracy in one case: DP-TOFW on the domain of an l1 norm in so many dimensions
// that DP-POFW would have less noise, about n·ln(2d)/10 for n records.
func (l *Learner) Statement() dp.Statement {
	s := completeStatement(l.mechanismStatement(), l.problem)
	if _, sums := l.mechanism.(*sumMechanism); sums && s.Epsilon > 0 && l.problem.Domain.p == 1 {
		d := float64(l.Dim())
		if limit := float64(l.problem.Horizon) * portable.Log(2*d) / 10; d > limit {
			s.Warnings = append(s.Warnings, fmt.Sprintf("accuracy: the noise of sums grows with the square root of "+
				"the %d dimensions, which are more than n·ln(2d)/10 = %.0f: choices of vertices (DP-POFW) have less",
				l.Dim(), limit))
		}
	}
	return s
}

// mechanismStatement is the statement without the constants of the problem.
func (l *Learner) mechanismStatement() dp.Statement {
	var s dp.Statement
	switch m := l.mechanism.(type) {
	case *sumMechanism:
		s = m.stream.Statement()
		s.Mechanism = "private online Frank–Wolfe (DP-TOFW) on " + s.Mechanism
	case *choiceMechanism:
		s = m.selector.Statement()
		s.Mechanism = "private online Frank–Wolfe (DP-POFW), vertices chosen by: " + s.Mechanism
	}
	return s
}

// completeStatement adds the constants of a problem.
func completeStatement(s dp.Statement, p Problem) dp.Statement {
	s.Constants = append(s.Constants,
		dp.Constant{Name: "domain", Value: p.Domain.String()},
		dp.Constant{Name: "loss", Value: p.Loss.Name()},
		dp.Constant{Name: "features", Value: fmt.Sprintf("scaled down to %s norm %g", p.Domain.dual, p.Features)},
		dp.Constant{Name: "labels", Value: fmt.Sprintf("clamped to [%g, %g]", -p.Labels, p.Labels)},
		dp.Constant{Name: "records", Value: fmt.Sprintf("at most %d", p.Horizon)},
		dp.Constant{Name: "increments", Value: fmt.Sprintf("%s weights, step scale %g", p.Weighting, p.StepScale)})
	return s
}

// Statement says what the points and the choices of the bandit protect: δ is that of all arms
// together.
func (b *HDB) Statement() dp.Statement {
	s := b.arms[0].Statement()
	if !b.o.NonPrivate {
		s.Delta = b.budget.Delta()
	}
	s.Mechanism = fmt.Sprintf("private bandit with %d arms (DP-HDB), joint differential privacy; each arm: %s",
		len(b.arms), s.Mechanism)
	s.Protects = append(s.Protects,
		"a user's context and reward, from everyone who sees the estimates of all arms and the other users' actions")
	s.Exposes = append(s.Exposes, exposedByBandits...)
	return s
}

// Statement says what the choices of the bandit protect. The stream of an arm counts with replacing
// a vector of norm ℓ by any other; matrices of records are closer, so that its cost is half of what
// it counts.
func (b *UCB) Statement() dp.Statement {
	s := b.streams[0].Statement()
	s.Mechanism = fmt.Sprintf("private linear UCB with %d arms, joint differential privacy; each arm: %s",
		len(b.streams), s.Mechanism)
	if !b.o.NonPrivate {
		budget := b.o.Noise.Budget
		s.Epsilon, s.Delta, s.Rho = budget.Epsilon(), budget.Delta(), budget.Rho()
	}
	s.Constants = append(s.Constants, dp.Constant{
		Name:  "records",
		Value: "two records move the sums by at most the square root of 2 times the clip under replace-one adjacency",
	})
	s.Exposes = append(s.Exposes, exposedByBandits...)
	return s
}

// exposedByBandits is what joint differential privacy does not cover.
var exposedByBandits = []string{
	"a user's own action, which depends on the user's own context",
	"records of contexts and actions that are published or logged",
}
