package box

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Options are the parameters of [New]. Start from [DefaultOptions].
type Options struct {
	// Nodes is the number of points to start with, at least 1: the middle of the box, then
	// quasi-random points. MaxNodes, from Nodes to 2000, is the most that are served at a time.
	Nodes, MaxNodes int
	// Every is the number of rounds between searches for a node, at least 1.
	Every int
	// Candidates is the number of points that a search compares, at least 1.
	Candidates int
	// Tolerance, at least 0, is what a candidate must promise to become a node: a gain of more than
	// this, in units of the objective. While no mixture of the nodes holds the hard guardrails, any
	// candidate that promises a smaller violation becomes one.
	Tolerance float64
	// Stop ends the search for good when the guardrails are held and no candidate promises more
	// than Tolerance. Without it the search goes on, as a better point may show later.
	Stop bool
	// Learner holds the options of the learner on the nodes.
	Learner confident.Options
}

// DefaultOptions returns the usual options for a box of the given dimension: 8 + 8·dimension nodes,
// at most 500, growing to four times as many; a search among 200 candidates every 200 rounds, which
// never stops; and [confident.DefaultOptions].
func DefaultOptions(dimension int) Options {
	nodes := min(8+8*dimension, 500)
	return Options{
		Nodes: nodes, MaxNodes: 4 * nodes, Every: 200, Candidates: 200, Learner: confident.DefaultOptions(),
	}
}

func (o *Options) validate() error {
	switch {
	case o.Nodes < 1:
		return noregret.BadInputf("nodes", "%d: want at least 1", o.Nodes)
	case o.MaxNodes < o.Nodes || o.MaxNodes > 2000:
		return noregret.BadInputf("max nodes", "%d: want from %d, the nodes to start with, to 2000", o.MaxNodes,
			o.Nodes)
	case o.Every < 1:
		return noregret.BadInputf("every", "%d rounds: want at least 1", o.Every)
	case o.Candidates < 1:
		return noregret.BadInputf("candidates", "%d: want at least 1", o.Candidates)
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return noregret.BadInputf("tolerance", "%v: want a finite number, at least 0", o.Tolerance)
	}
	return nil
}

// Learner learns a mixture of points of a box by column generation on top of the default learner.
// An optimal mixture has at most M + 1 atoms, so finitely many points, called nodes, suffice. Each
// search
//
//  1. forms d = ∇f(θ̂) at the cautious mixture, and the score a_k = ⟨d, V̂_k − θ̂⟩ of each node with
//     its standard error. With hard guardrails, d also contains their dual prices from the linear
//     program over the nodes' estimates. If no mixture of the nodes holds them, d contains only the
//     prices of the least violation (phase 1 of the simplex method);
//  2. fits a Gaussian process to the scores: Matérn-5/2, with noise se_k² and, of five length
//
// scales,
//
//	   the one of largest likelihood;
//	3. adds the candidate β with the largest mean(β) + 2·sd(β), an optimistic Frank–Wolfe step.
//	   Candidates are quasi-random points and Gaussian perturbations of the mixture's atoms, whose
//	   width halves with each addition, down to 1/64;
//
// 4. if there is no room, first retires nodes of share below 1/(10·MaxNodes) that are worse than
// the
//
//	mixture by two standard errors, the worst first.
//
// The index of an arm is that of its node, and [Learner.Point] is its place in the box. Only the
// search adds and retires nodes. A round costs as much as one of the learner on the nodes, a search
// O(n³ + C·n²) for n nodes and C candidates.
type Learner struct {
	objective    pasto.Objective
	learner      *confident.Learner
	lower, upper []float64
	primes       []int
	options      Options
	c            state
	text         string
}

type state struct {
	Points  [][]float64 // of all nodes, in the unit cube
	Halton  int         // quasi-random points used
	Width   float64
	Random  random.SplitMix64 // of the perturbations
	Gap     float64
	Done    bool
	Learner []byte
}

// New makes a learner for the box [lower, upper], which must be bounded. Quasi-random points cover
// a box of many dimensions thinly; perturbations of the best atoms then do most of the search.
func New(f pasto.Objective, lower, upper []float64, o Options) (*Learner, error) {
	d := len(lower)
	if d == 0 {
		return nil, noregret.BadInputf("box", "no sides: want a dimension of at least 1")
	}
	if len(upper) != d {
		return nil, noregret.BadInputf("box", "%d lower and %d upper sides", d, len(upper))
	}
	for i := range lower {
		if !(math.Abs(lower[i]) <= check.Largest) || !(math.Abs(upper[i]) <= check.Largest) || !(lower[i] <= upper[i]) {
			return nil, noregret.BadInputf(fmt.Sprintf("box[%d]", i),
				"[%v, %v]: want finite ends in order, of size at most %v, as points are drawn uniformly", lower[i],
				upper[i], check.Largest)
		}
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	l, err := confident.New(f, o.Nodes, o.Learner)
	if err != nil {
		return nil, err
	}
	c := &Learner{
		objective: f, learner: l, primes: firstPrimes(d), lower: append([]float64{}, lower...),
		upper: append([]float64{}, upper...), options: o,
	}
	c.c = state{Width: 0.25, Gap: math.Inf(1)}
	c.c.Points = append(c.c.Points, c.half())
	for len(c.c.Points) < o.Nodes {
		c.c.Halton++
		c.c.Points = append(c.c.Points, c.quasi(c.c.Halton))
	}
	stop := ""
	if o.Stop != (o.Tolerance > 0) { // snapshots from before there was Stop have the text without it
		stop = fmt.Sprintf(", stop=%v", o.Stop)
	}
	c.text = fmt.Sprintf("continuous(%v, %v, nodes=%d/%d, every=%d, candidates=%d, tolerance=%v%s, %s)", lower, upper,
		o.Nodes, o.MaxNodes, o.Every, o.Candidates, o.Tolerance, stop, l)
	return c, nil
}

func (c *Learner) half() []float64 {
	x := make([]float64, len(c.lower))
	for i := range x {
		x[i] = 0.5
	}
	return x
}

// firstPrimes are the bases of Halton's sequence.
func firstPrimes(n int) []int {
	list := make([]int, 0, n)
	for v := 2; len(list) < n; v++ {
		prime := true
		for _, q := range list {
			if v%q == 0 {
				prime = false
				break
			}
			if q*q > v {
				break
			}
		}
		if prime {
			list = append(list, v)
		}
	}
	return list
}

// quasi is point n of Halton's sequence.
func (c *Learner) quasi(n int) []float64 {
	x := make([]float64, len(c.lower))
	for i := range x {
		f := 1.0
		for rest := n; rest > 0; rest /= c.primes[i] {
			f /= float64(c.primes[i])
			x[i] += float64(f * float64(rest%c.primes[i]))
		}
	}
	return x
}

// Point returns the place of node k in the box.
func (c *Learner) Point(k int) []float64 {
	x := make([]float64, len(c.lower))
	for i, u := range c.c.Points[k] {
		x[i] = c.lower[i] + float64(u*(c.upper[i]-c.lower[i]))
	}
	return x
}

// Arms implements [pasto.Learner]. It is the number of nodes, retired ones included.
func (c *Learner) Arms() int { return c.learner.Arms() }

// Rounds implements [pasto.Learner].
func (c *Learner) Rounds() int { return c.learner.Rounds() }

// Serving implements [pasto.Learner]. It is a distribution over the nodes.
func (c *Learner) Serving() []float64 { return c.learner.Serving() }

// Deployed implements [pasto.Learner]. It is a distribution over the nodes.
func (c *Learner) Deployed() []float64 { return c.learner.Deployed() }

// Draw implements [pasto.Learner].
func (c *Learner) Draw(r pasto.Rand, arms []int) { c.learner.Draw(r, arms) }

// Estimate returns the nodes' means and their standard errors.
func (c *Learner) Estimate() (means, errors *pasto.Table) { return c.learner.Estimate() }

// Gap is the estimated Frank–Wolfe gap of the last search: the optimistic gain of its best
// candidate, in units of the objective. While no mixture of the nodes holds the hard guardrails it
// is the gain in their violation. It is +Inf before the first search.
func (c *Learner) Gap() float64 { return c.c.Gap }

// Observe implements [pasto.Learner]. Every [Options.Every] rounds it searches for a node.
func (c *Learner) Observe(obs []pasto.Observation) error {
	if err := c.learner.Observe(obs); err != nil {
		return err
	}
	if !c.c.Done && c.Rounds()%c.options.Every == 0 && c.learner.Settled() {
		c.search()
	}
	return nil
}

// String describes the learner and its options in one line.
func (c *Learner) String() string { return c.text }

// MarshalBinary implements [pasto.Learner].
func (c *Learner) MarshalBinary() ([]byte, error) {
	s := c.c
	var err error
	if s.Learner, err = c.learner.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(round.SnapshotMagic, c.text, &s)
}

// UnmarshalBinary implements [pasto.Learner].
func (c *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, c.text, &s); err != nil {
		return err
	}
	for _, p := range s.Points {
		if check.Vector("point", p, len(c.lower)) != nil {
			return snapshot.Bad("damaged: a node is not a point of the box")
		}
	}
	l := *c.learner
	if err := l.UnmarshalBinary(s.Learner); err != nil {
		return err
	}
	if l.Arms() != len(s.Points) {
		return snapshot.Bad("damaged: %d nodes for %d arms", len(s.Points), l.Arms())
	}
	s.Learner = nil
	*c.learner, c.c = l, s
	return nil
}
