package box

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// MostNodes is the largest number of points that a learner may ever have.
const MostNodes = 500

// Options are the parameters of [New]. Start from [DefaultOptions].
type Options struct {
	// Nodes is the number of points to start with, at least 1: the middle of the box, then
	// quasi-random points. MaxNodes, from Nodes to [MostNodes], is the number of points that there
	// may be in the end.
	Nodes, MaxNodes int
	// Every, at least 1, is the most rounds between two plans. Plans come in rounds that grow by 5
	// %, and sooner where Every asks for it.
	Every int
	// Candidates, at least 1, is the number of points beside the nodes that a plan compares.
	Candidates int
	// Tolerance, at least 0 and in units of the objective, is the gain that a mixture with
	// candidates must promise over one of nodes alone for these candidates to become nodes. It is
	// ignored while no mixture of nodes holds the hard guardrails.
	Tolerance float64
	// Stop ends the search for nodes when the guardrails are held and [Learner.Gap] is at most
	// Tolerance. Mixtures of the nodes are still planned.
	Stop bool
	// Optimism is how many standard errors the surfaces move up for the mixture that learns.
	// Caution is how many they move down for the mixture to deploy, and HardCaution replaces it for
	// hard guardrails.
	Optimism, Caution, HardCaution float64
	// Explore scales the share of the learning mixture in what is served: Explore times the
	// uncertainty of the best value, as a part of the range of the nodes' values, from LeastShare
	// to ½. The share is smaller if hard guardrails do not allow it.
	Explore, LeastShare float64
	// IID makes Draw sample points independently instead of systematically.
	IID bool
}

// DefaultOptions returns the usual options for a box of the given dimension (lab/docs/pasto.md has
// the measurements): 8 + 8·dimension nodes, at most 250, growing to at most eight times as many or
// [MostNodes].
func DefaultOptions(dimension int) Options {
	nodes := min(8+8*dimension, MostNodes/2)
	return Options{
		Nodes: nodes, MaxNodes: min(8*nodes, MostNodes), Every: 200, Candidates: 200, Optimism: 3, Caution: 0.5,
		HardCaution: 2, Explore: 2, LeastShare: 0.1,
	}
}

func (o *Options) validate() error {
	switch {
	case o.Nodes < 1:
		return noregret.BadInputf("nodes", "%d: want at least 1", o.Nodes)
	case o.MaxNodes < o.Nodes || o.MaxNodes > MostNodes:
		return noregret.BadInputf("max nodes", "%d: want from %d, the nodes to start with, to %d", o.MaxNodes, o.Nodes,
			MostNodes)
	case o.Every < 1:
		return noregret.BadInputf("every", "%d rounds: want at least 1", o.Every)
	case o.Candidates < 1:
		return noregret.BadInputf("candidates", "%d: want at least 1", o.Candidates)
	case !(o.Tolerance >= 0) || math.IsInf(o.Tolerance, 1):
		return noregret.BadInputf("tolerance", "%v: want a finite number, at least 0", o.Tolerance)
	case !(o.LeastShare >= 0 && o.LeastShare <= 0.5):
		return noregret.BadInputf("least share", "%v: want a share from 0 to 0.5", o.LeastShare)
	}
	for _, v := range []struct {
		name string
		v    float64
	}{
		{"optimism", o.Optimism},
		{"caution", o.Caution},
		{"hard caution", o.HardCaution},
		{"explore", o.Explore},
	} {
		if !(v.v >= 0) || !vec.IsFinite(v.v) {
			return noregret.BadInputf(v.name, "%v: want a finite number, at least 0", v.v)
		}
	}
	return nil
}

// Learner looks for a mixture of points of a box. It fits one surface for each metric to the
// observations at all points, a Gaussian process with a quadratic trend, so that observations at
// neighbours inform a point too. From time to time it plans:
//
//  1. It fits the surfaces, with the length scale and the size of what is beyond the trend of
//     largest marginal likelihood on a fixed grid.
//  2. It looks at candidates besides the nodes, which are the points in use: quasi-random points,
//     and Gaussian perturbations of the mixtures' atoms, of a width that falls to 1/64.
//  3. It solves two exact problems by [optimum.Maximize]'s method for the surfaces moved by their
//     standard errors: the cautious mixture p⁻, to deploy, over the nodes that have been served, and
//     the optimistic mixture p⁺, to learn, over nodes and candidates. Hard guardrails are constraints
//     of both; p⁻ takes HardCaution standard errors of them, or as much of that as there is room for,
//     p⁺ takes them at their estimates, and with optimism in every fourth plan. Where a cautious
//     mixture with other points is better than p⁻, half of p⁺ is that.
//  4. Candidates of positive share become nodes where they promise more than the nodes.
//
// It serves (1−ε)·p⁻ + ε·p⁺. The share ε falls with the uncertainty of the best value, not with the
// number of rounds. It is small enough for the sum to hold the hard guardrails by one standard
// error if p⁻ does. Before, while the noise is unknown, it serves the first nodes evenly.
//
// Groups of a round may have a part in common, û = μ(x) + u_t + e, such as a season or the noise of
// a shared control group. Where its variance is clearly above 0, the points' means are generalized
// least squares estimates, which compare points within rounds (the noise is then one for all
// points); otherwise they are plain means.
//
// An arm's number is that of its node; [Learner.Point] tells where it is. Nodes are never removed,
// but most of them have a share of 0. A round costs O(Q·M + Q²) for Q groups, a plan O(M·n³ +
// M·C·n²) for n nodes and C candidates; memory is O(n² + C·M). Observe allocates in rounds with a
// plan only, once its buffers have grown. The result does not depend on the units of the metrics.
type Learner struct {
	objective    pasto.Objective
	hard         *pasto.Goals // the objective, if it has hard guardrails
	sign         []float64    // of each metric's good direction
	low, high    []float64    // range of each metric
	lower, upper []float64
	primes       []int
	options      Options
	s            state
	p            []float64 // serving
	taken        []float64 // 1 for each node: observations of all nodes are accepted
	sampler      round.Sampler
	checker      round.Checker
	round        roundSums
	text         string
}

// state is what snapshots hold.
type state struct {
	Points   [][]float64 // of all nodes, in the unit cube
	Halton   int         // quasi-random points used
	Width    float64
	Random   random.SplitMix64 // of the perturbations
	T, Next  int               // rounds so far, and the round of the next plan
	Gap      float64
	Done     bool
	Planned  bool
	Plans    int
	Share    float64 // ε
	Up, Down []float64
	Kernel   []kernel // of each metric's surface
	Evidence evidence
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
	if err := pasto.CheckProblem(f, o.Nodes); err != nil {
		return nil, err
	}
	c := &Learner{
		objective: f, primes: firstPrimes(d), lower: slices.Clone(lower), upper: slices.Clone(upper), options: o,
	}
	c.describe()
	c.s = state{Width: firstWidth, Gap: math.Inf(1), Next: 2, Kernel: make([]kernel, f.Dim())}
	for i := range c.s.Kernel {
		c.s.Kernel[i] = firstKernel
	}
	c.s.Evidence.init(f.Dim())
	half := make([]float64, d)
	for i := range half {
		half[i] = 0.5
	}
	c.push(half)
	c.s.Halton = 1 // its first point is the middle where there is one dimension
	for len(c.s.Points) < o.Nodes {
		c.s.Halton++
		c.push(c.quasi(c.s.Halton))
	}
	c.mix()
	c.text = fmt.Sprintf("surface(%v, %v, %+v)%s", lower, upper, o, round.Identity(f))
	return c, nil
}

// describe reads the objective's properties of its metrics.
func (c *Learner) describe() {
	m := c.objective.Dim()
	if g, ok := c.objective.(*pasto.Goals); ok && g.HasHard() {
		c.hard = g
	}
	c.sign, c.low, c.high = make([]float64, m), make([]float64, m), make([]float64, m)
	for i := range m {
		c.sign[i], c.low[i], c.high[i] = 1, math.Inf(-1), math.Inf(1)
		if d, ok := c.objective.(pasto.Directed); ok {
			c.sign[i] = d.Sign(i)
		}
		if b, ok := c.objective.(pasto.Ranged); ok {
			c.low[i], c.high[i] = b.Range(i)
		}
	}
}

// push makes x, a point of the unit cube, a node, and returns its number.
func (c *Learner) push(x []float64) int {
	c.s.Points = append(c.s.Points, x)
	c.s.Evidence.grow()
	c.s.Up, c.s.Down, c.p = append(c.s.Up, 0), append(c.s.Down, 0), append(c.p, 0)
	c.taken = append(c.taken, 1)
	return len(c.s.Points) - 1
}

// mix computes the serving distribution: before the first plan it is uniform over the nodes that
// were served least often, and from then on (1−ε)·p⁻ + ε·p⁺.
func (c *Learner) mix() {
	s := &c.s
	if s.Planned {
		for k := range c.p {
			c.p[k] = float64((1-s.Share)*s.Down[k]) + float64(s.Share*s.Up[k])
		}
	} else {
		least, n := slices.Min(s.Evidence.Rounds), 0
		for _, v := range s.Evidence.Rounds {
			if v == least {
				n++
			}
		}
		for k, v := range s.Evidence.Rounds {
			s.Down[k], c.p[k] = 1/float64(len(c.p)), 0
			if v == least {
				c.p[k] = 1 / float64(n)
			}
		}
	}
	c.sampler.Reset()
}

// Point is where node k is in the box.
func (c *Learner) Point(k int) []float64 {
	x := make([]float64, len(c.lower))
	for i, u := range c.s.Points[k] {
		x[i] = c.lower[i] + float64(u*(c.upper[i]-c.lower[i]))
	}
	return x
}

// Arms implements [pasto.Learner]: the number of nodes so far.
func (c *Learner) Arms() int { return len(c.s.Points) }

// Rounds implements [pasto.Learner].
func (c *Learner) Rounds() int { return c.s.T }

// Serving implements [pasto.Learner]: over the nodes.
func (c *Learner) Serving() []float64 { return c.p }

// Deployed implements [pasto.Learner]: over the nodes, where [Learner.Point] says.
func (c *Learner) Deployed() []float64 { return c.s.Down }

// Draw implements [pasto.Learner].
func (c *Learner) Draw(r pasto.Rand, arms []int) {
	scheme := pasto.Systematic
	if c.options.IID {
		scheme = pasto.IID
	}
	c.sampler.Draw(r, c.p, arms, scheme)
}

// Gap is the improvement that the last plan still considered possible: how much the best mixture of
// nodes and candidates promises, with optimism, above the estimated value of the mixture to deploy,
// in units of the objective. It is +Inf before the first plan, and while no mixture holds the hard
// guardrails.
func (c *Learner) Gap() float64 { return c.s.Gap }

// Observe implements [pasto.Learner]. Where a plan fails, as the objective is not finite at what
// was observed, the mixtures stay as they are.
func (c *Learner) Observe(obs []pasto.Observation) error {
	obs, _, err := c.checker.Check(c.objective, obs, c.s.T+1, c.taken, nil)
	if err != nil {
		return err
	}
	c.s.Evidence.add(&c.round, obs)
	c.s.T++
	if c.s.Evidence.settled() && c.s.T >= c.s.Next {
		c.s.Next = c.s.T + min(1+c.s.T/20, c.options.Every)
		c.plan()
	}
	c.mix()
	return nil
}

// String describes the learner and its options in one line.
func (c *Learner) String() string { return c.text }

// MarshalBinary implements [pasto.Learner].
func (c *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, c.text, &c.s)
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
	n := len(s.Points)
	if n < 1 || n > MostNodes || check.Vector("up", s.Up, n) != nil || check.Mixture("down", s.Down, n) != nil ||
		!(s.Share >= 0 && s.Share <= 1) || !(s.Width >= 0 && s.Width <= 1) || len(s.Kernel) != c.objective.Dim() ||
		!s.Evidence.valid(n, c.objective.Dim()) || s.T < 0 {
		return snapshot.Bad("damaged: its parts do not fit %d nodes and %d metrics", n, c.objective.Dim())
	}
	for i := range s.Kernel {
		if !s.Kernel[i].valid() {
			return snapshot.Bad("damaged: kernel %d is not on the grid", i)
		}
	}
	c.s, c.p, c.taken = s, make([]float64, n), make([]float64, n)
	for k := range c.taken {
		c.taken[k] = 1
	}
	c.mix()
	return nil
}

// Estimate returns the surfaces' means and standard errors at the nodes, as of now. Errors are +Inf
// while the noise is not known. It costs as much as a plan without candidates.
func (c *Learner) Estimate() (means, errors *pasto.Table) {
	surfaces := c.surfaces(false)
	if surfaces == nil {
		m := c.objective.Dim()
		means, errors = round.NewTable(c.Arms(), m), round.NewTable(c.Arms(), m)
		for k := range c.Arms() {
			for i := range m {
				means.Arm(k)[i], errors.Arm(k)[i] = c.s.Evidence.mean(k, i), math.Inf(1)
			}
		}
		return means, errors
	}
	return c.tables(surfaces, c.s.Points)
}
