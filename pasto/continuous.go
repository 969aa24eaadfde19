package pasto

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
)

// ContinuousOptions are the parameters of [NewContinuous]; the zero values are usual.
type ContinuousOptions struct {
	// Nodes K_0 to start with, 0 means 8 + 8·dimension, at most 500 (quasi-random, the box's middle first), and
	// the most there may be, 0 means 4·K_0.
	Nodes, MaxNodes int
	// Every is the number of rounds between searches for a node, 0 means 200.
	Every int
	// Candidates a search looks at, 0 means 200.
	Candidates int
	// Tolerance ends the search when no candidate promises more, in units of the objective; 0 means never.
	Tolerance float64
	// Learner are the options of the learner on the nodes.
	Learner ConfidentOptions
}

// Continuous looks for a mixture of points of a box, PASTO-C (spec 6): column generation on top of the
// default learner. An optimal mixture has at most M + 1 atoms, so that finitely many nodes are enough;
// which, is learned. Every so many rounds it
//
//  1. forms d = ∇f(θ̂) at the cautious mixture, and each node's score a_k = ⟨d, V̂_k − θ̂⟩ with its standard error,
//  2. fits a Gaussian process (Matérn-5/2, noise se_k²; the length scale of five with the largest likelihood) to the scores,
//  3. adds the candidate of largest r(β) + 2·sd(β), a Frank–Wolfe step with optimism, among quasi-random points and
//     Gaussian perturbations, of a width h that halves with each addition down to 1/64, of the atoms of the mixture,
//  4. retires nodes of share below 1/(10·K_max) that are worse than the mixture by two standard errors, the worst first, to make room.
//
// Gap is the estimated Frank–Wolfe gap of the last search. An arm's number is that of its node;
// [Continuous.Point] tells where it is. Nodes come and go by the search alone. A round costs what the
// learner's does, a search O(n³ + C·n²) for n nodes and C candidates.
type Continuous struct {
	learner      *Confident
	lower, upper []float64
	primes       []int
	options      ContinuousOptions
	c            continuousState
	text         string
}

type continuousState struct {
	Points  [][]float64 // of all nodes, in the unit cube
	Halton  int         // quasi-random points used
	Width   float64
	Random  random.SplitMix64 // of the perturbations
	Gap     float64
	Done    bool
	Learner []byte
}

// NewContinuous looks in the box [lower, upper] of any dimension, which must not be empty or unbounded.
// Quasi-random points cover a box of many dimensions thinly; the perturbations of the best atoms then do most
// of the search.
func NewContinuous(f Objective, lower, upper []float64, o ContinuousOptions) (*Continuous, error) {
	d := len(lower)
	if d == 0 {
		return nil, bad("box", "it has no side: want a dimension of at least 1")
	}
	if len(upper) != d {
		return nil, bad("box", "%d lower and %d upper sides", d, len(upper))
	}
	for i := range lower {
		if !finite(lower[i]) || !finite(upper[i]) || !(lower[i] <= upper[i]) {
			return nil, bad(fmt.Sprintf("box[%d]", i), "[%v, %v]: want finite sides in order, as an empty or unbounded box has no uniform exploration", lower[i], upper[i])
		}
	}
	if o.Nodes == 0 {
		o.Nodes = min(8+8*d, 500)
	}
	if o.MaxNodes == 0 {
		o.MaxNodes = 4 * o.Nodes
	}
	if o.Every == 0 {
		o.Every = 200
	}
	if o.Candidates == 0 {
		o.Candidates = 200
	}
	if o.Nodes < 1 || o.MaxNodes < o.Nodes || o.MaxNodes > 2000 || o.Every < 1 || o.Candidates < 1 || !(o.Tolerance >= 0) {
		return nil, bad("options", "%+v: want 1 ≤ nodes ≤ most nodes ≤ 2000, rounds and candidates of at least 1, a tolerance of at least 0", o)
	}
	l, err := NewConfident(f, o.Nodes, o.Learner)
	if err != nil {
		return nil, err
	}
	c := &Continuous{learner: l, primes: firstPrimes(d), lower: append([]float64{}, lower...), upper: append([]float64{}, upper...), options: o}
	c.c = continuousState{Width: 0.25, Gap: math.Inf(1)}
	c.c.Points = append(c.c.Points, c.half())
	for len(c.c.Points) < o.Nodes {
		c.c.Points = append(c.c.Points, c.quasi())
	}
	c.text = fmt.Sprintf("continuous(%v, %v, nodes=%d/%d, every=%d, candidates=%d, tolerance=%v, %s)", lower, upper, o.Nodes, o.MaxNodes, o.Every, o.Candidates, o.Tolerance, l)
	return c, nil
}

func (c *Continuous) half() []float64 {
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

// quasi is the next point of Halton's sequence.
func (c *Continuous) quasi() []float64 {
	c.c.Halton++
	x := make([]float64, len(c.lower))
	for i := range x {
		f := 1.0
		for n := c.c.Halton; n > 0; n /= c.primes[i] {
			f /= float64(c.primes[i])
			x[i] += float64(f * float64(n%c.primes[i]))
		}
	}
	return x
}

// Point is where node k is in the box.
func (c *Continuous) Point(k int) []float64 {
	x := make([]float64, len(c.lower))
	for i, u := range c.c.Points[k] {
		x[i] = c.lower[i] + float64(u*(c.upper[i]-c.lower[i]))
	}
	return x
}

// Arms implements [Learner]: the number of nodes so far, retired ones included.
func (c *Continuous) Arms() int { return c.learner.Arms() }

// Rounds implements [Learner].
func (c *Continuous) Rounds() int { return c.learner.Rounds() }

// Serving implements [Learner]: over the nodes.
func (c *Continuous) Serving() []float64 { return c.learner.Serving() }

// Deployed implements [Learner]: over the nodes, where [Continuous.Point] says.
func (c *Continuous) Deployed() []float64 { return c.learner.Deployed() }

// Draw implements [Learner].
func (c *Continuous) Draw(r Rand, arms []int) { c.learner.Draw(r, arms) }

// Estimate returns the nodes' means and their standard errors.
func (c *Continuous) Estimate() (means, errors *Table) { return c.learner.Estimate() }

// Infeasible is [Confident.Infeasible] for mixtures of the nodes so far.
func (c *Continuous) Infeasible() (least *Infeasible, sure bool) { return c.learner.Infeasible() }

// Gap is the estimated Frank–Wolfe gap of the last search: what the best candidate promised, with
// optimism. +Inf before the first.
func (c *Continuous) Gap() float64 { return c.c.Gap }

// Observe implements [Learner]; every so many rounds it searches.
func (c *Continuous) Observe(obs []Observation) error {
	if err := c.learner.Observe(obs); err != nil {
		return err
	}
	if !c.c.Done && c.Rounds()%c.options.Every == 0 && c.learner.s.Fresh == 0 && c.learner.s.Freedom > 0 {
		c.search()
	}
	return nil
}

// process is a Gaussian process on the active nodes.
type process struct {
	points [][]float64
	chol   []float64 // lower factor of K + noise
	alpha  []float64
	scale  float64 // prior variance
	length float64
}

// matern is the Matérn-5/2 kernel of variance 1.
func matern(a, b []float64, length float64) float64 {
	s := 0.0
	for i, v := range a {
		s += float64((v - b[i]) * (v - b[i]))
	}
	r := math.Sqrt(5*s) / length
	return float64((1 + r + float64(r*r)/3) * portable.Exp(-r))
}

// fit makes the process of targets y with the given noise variances, and returns its log likelihood up to a
// constant.
func fit(points [][]float64, y, noise []float64, scale, length float64) (*process, float64) {
	n := len(y)
	g := &process{points: points, scale: scale, length: length, chol: make([]float64, n*n), alpha: make([]float64, n)}
	like := 0.0
	for i := range n {
		for j := 0; j <= i; j++ {
			v := float64(scale * matern(points[i], points[j], length))
			if i == j {
				v += noise[i] + float64(1e-9*scale)
			}
			for k := range j {
				v -= float64(g.chol[i*n+k] * g.chol[j*n+k])
			}
			if i == j {
				v = math.Sqrt(max(v, 1e-300))
				like -= portable.Log(v)
			} else {
				v /= g.chol[j*n+j]
			}
			g.chol[i*n+j] = v
		}
	}
	copy(g.alpha, y)
	g.forward(g.alpha)
	like -= float64(0.5 * dot(g.alpha, g.alpha))
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			g.alpha[i] -= float64(g.chol[k*n+i] * g.alpha[k])
		}
		g.alpha[i] /= g.chol[i*n+i]
	}
	return g, like
}

// forward solves L·x = b in place.
func (g *process) forward(b []float64) {
	n := len(g.alpha)
	for i := range n {
		for k := range i {
			b[i] -= float64(g.chol[i*n+k] * b[k])
		}
		b[i] /= g.chol[i*n+i]
	}
}

// at is the mean and the standard deviation at x, with row as scratch.
func (g *process) at(x, row []float64) (mean, sd float64) {
	for i, p := range g.points {
		row[i] = float64(g.scale * matern(x, p, g.length))
		mean += float64(row[i] * g.alpha[i])
	}
	g.forward(row)
	return mean, math.Sqrt(max(g.scale-dot(row, row), 0))
}

// search is steps 1 to 4.
func (c *Continuous) search() {
	m := c.learner.objective.Dim()
	theta, d := make([]float64, m), make([]float64, m)
	for k, w := range c.learner.s.Down {
		for i := range m {
			theta[i] += float64(w * c.learner.s.Mean[k*m+i])
		}
	}
	c.learner.objective.Gradient(d, theta)
	level := dot(d, theta)
	var points [][]float64
	var nodes []int
	var y, noise []float64
	scale := 0.0
	for k, ok := range c.learner.s.Active {
		if !ok {
			continue
		}
		v := 0.0
		for i := range m {
			v += float64(float64(d[i]*d[i]) * float64(c.learner.standardError(k, i)*c.learner.standardError(k, i)))
		}
		a := dot(d, c.learner.s.Mean[k*m:(k+1)*m]) - level
		nodes, points, y, noise = append(nodes, k), append(points, c.c.Points[k]), append(y, a), append(noise, v)
		scale += float64(a * a)
	}
	scale = max(scale/float64(len(y)), 1e-12)
	var best *process
	top := math.Inf(-1)
	for _, length := range []float64{0.1, 0.2, 0.4, 0.8, 1.6} {
		if g, like := fit(points, y, noise, scale, length); like > top {
			best, top = g, like
		}
	}
	x, promise := c.candidate(best)
	c.c.Gap = promise
	if promise <= c.options.Tolerance {
		c.c.Done = c.options.Tolerance > 0
		return
	}
	if !c.room(nodes, y, noise) {
		return
	}
	c.c.Points = append(c.c.Points, x)
	c.learner.AddArm()
	c.c.Width = max(c.c.Width/2, 1.0/64)
}

// candidate is the point of largest mean + 2 sd among quasi-random points and perturbations of the
// mixture's atoms.
func (c *Continuous) candidate(g *process) (x []float64, promise float64) {
	var atoms []int
	for k, w := range c.learner.s.Down {
		if w > 0 {
			atoms = append(atoms, k)
		}
	}
	row := make([]float64, len(g.points))
	promise = math.Inf(-1)
	for i := range c.options.Candidates {
		var z []float64
		if i%2 == 0 || len(atoms) == 0 {
			z = c.quasi()
		} else {
			z = append([]float64{}, c.c.Points[atoms[i/2%len(atoms)]]...)
			for j := range z {
				z[j] = min(max(z[j]+float64(c.c.Width*Normal(&c.c.Random)), 0), 1)
			}
		}
		mean, sd := g.at(z, row)
		if v := mean + 2*sd; v > promise {
			x, promise = z, v
		}
	}
	return x, promise
}

// room retires the clearly useless nodes, the worst first, until one fits, and reports whether one does.
func (c *Continuous) room(nodes []int, score, noise []float64) bool {
	for c.learner.s.Live >= c.options.MaxNodes {
		worst, low := -1, 0.0
		for i, k := range nodes {
			if !c.learner.s.Active[k] || c.learner.s.Down[k] >= 1/float64(10*c.options.MaxNodes) {
				continue
			}
			if v := score[i] + 2*math.Sqrt(noise[i]); v < low {
				worst, low = k, v
			}
		}
		if worst < 0 || c.learner.RetireArm(worst) != nil {
			return false
		}
	}
	return true
}

// String describes the learner and its options in one line.
func (c *Continuous) String() string { return c.text }

// MarshalBinary implements [Learner].
func (c *Continuous) MarshalBinary() ([]byte, error) {
	s := c.c
	var err error
	if s.Learner, err = c.learner.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(snapshotMagic, c.text, &s)
}

// UnmarshalBinary implements [Learner].
func (c *Continuous) UnmarshalBinary(data []byte) error {
	var s continuousState
	if err := snapshot.Open(data, snapshotMagic, c.text, &s); err != nil {
		return err
	}
	for _, p := range s.Points {
		if checkVector("point", p, len(c.lower)) != nil {
			return snapshot.Bad("it is damaged: a node is not a point of the box")
		}
	}
	l := *c.learner
	if err := l.UnmarshalBinary(s.Learner); err != nil {
		return err
	}
	if l.Arms() != len(s.Points) {
		return snapshot.Bad("it is damaged: it has %d nodes for %d arms", len(s.Points), l.Arms())
	}
	s.Learner = nil
	*c.learner, c.c = l, s
	return nil
}
