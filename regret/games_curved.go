package regret

import (
	"math"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Drift is played in the ball of a radius around the origin for squared distances ‖x − c_t‖² to a
// target that moves around a circle in the first two coordinates, with noise. The losses are
// 2-strongly convex and change slowly. Oblivious.
type Drift struct {
	set                   convex.Set
	radius, period, noise float64
	seed                  uint64
	r                     *random.Source
	t                     int
	f                     loss.SquaredDistance
	sum                   *DistanceSummary
}

// NewDrift plays in ℝ^d, d ≥ 1, with a circle of period ≥ 1 rounds and noise in [0, 1]:
// c_t = radius·((1 − noise)·circle + noise·ξ_t/√d), ξ_t uniform in [−1, 1]^d.
func NewDrift(d int, radius, period, noise float64, seed uint64) (*Drift, error) {
	if err := checkDim(d, 1); err != nil {
		return nil, err
	}
	if err := positive("radius", radius); err != nil {
		return nil, err
	}
	if err := within("period", period, 1, 1e15); err != nil {
		return nil, err
	}
	if err := within("noise", noise, 0, 1); err != nil {
		return nil, err
	}
	set, err := convex.NewCenteredBall(d, radius)
	if err != nil {
		return nil, err
	}
	g := &Drift{
		set: set, radius: radius, period: period, noise: noise, seed: seed,
		f: loss.SquaredDistance{C: make([]float64, d)}, sum: NewDistanceSummary(d),
	}
	g.Restart()
	return g, nil
}

// Set implements [Game].
func (g *Drift) Set() convex.Set { return g.set }

// Features implements [Game].
func (g *Drift) Features() []float64 { return nil }

// Summary implements [Game], with a [DistanceSummary].
func (g *Drift) Summary() Summary { return g.sum }

// turn is the point of the unit circle after t rounds of the given period.
func turn(t int, period float64) (cos, sin float64) {
	u := float64(t) / period
	u -= math.Floor(u)
	if u >= 1 {
		u = 0
	}
	return portable.Turn(u)
}

// Next implements [Game].
func (g *Drift) Next(x []float64) (loss.Function, error) {
	c := g.f.C
	if err := checkPoint(x, len(c)); err != nil {
		return nil, err
	}
	noise := g.noise / math.Sqrt(float64(len(c)))
	for i := range c {
		c[i] = float64(noise * (float64(2*float64(g.r.Float64())) - 1))
	}
	cos, sin := turn(g.t, g.period)
	c[0] += float64((1 - g.noise) * cos)
	if len(c) > 1 {
		c[1] += float64((1 - g.noise) * sin)
	}
	for i := range c {
		c[i] = float64(g.radius * c[i])
	}
	g.set.Project(c, c) // rounding
	g.t++
	return &g.f, nil
}

// Restart implements [Game].
func (g *Drift) Restart() {
	g.t = 0
	g.r = random.New(g.seed, "regret/drift")
	g.sum.Reset()
}

// Gradual is played in the unit ball for losses ½(⟨z_t, x⟩ − ½)² whose direction z_t, of length 1,
// turns slowly in the plane of two vectors drawn from the seed: smooth losses that change gradually
// and have no strong convexity. Oblivious.
type Gradual struct {
	set    convex.Set
	period float64
	t      int
	p, q   []float64
	f      *loss.Example
	sum    *SquareSummary
}

// NewGradual plays in ℝ^d, d ≥ 2, with a turn of period ≥ 1 rounds.
func NewGradual(d int, period float64, seed uint64) (*Gradual, error) {
	if err := checkDim(d, 2); err != nil {
		return nil, err
	}
	if err := within("period", period, 1, 1e15); err != nil {
		return nil, err
	}
	set, err := convex.NewCenteredBall(d, 1)
	if err != nil {
		return nil, err
	}
	g := &Gradual{set: set, period: period, p: make([]float64, d), q: make([]float64, d)}
	r := random.New(seed, "regret/gradual")
	for i := range d {
		g.p[i], g.q[i] = float64(2*float64(r.Float64()))-1, float64(2*float64(r.Float64()))-1
	}
	// Two orthonormal vectors; vectors that were nearly parallel are replaced by unit vectors.
	for pass := range 2 {
		scale(g.p, 1/vec.Norm2(g.p))
		along := vec.Dot(g.p, g.q)
		for i := range g.q {
			g.q[i] -= float64(along * g.p[i])
		}
		if n := vec.Norm2(g.q); n > 1e-6 {
			scale(g.q, 1/n)
		} else if pass == 0 {
			clear(g.p)
			clear(g.q)
			g.p[0], g.q[1] = 1, 1
		}
	}
	z := make([]float64, d)
	z[0] = 1 // of the length of all
	if g.f, err = loss.NewExample(z, 0.5, loss.Squared{}); err != nil {
		return nil, err
	}
	if g.sum, err = NewSquareSummary(d); err != nil {
		return nil, err
	}
	return g, nil
}

func scale(v []float64, a float64) {
	for i := range v {
		v[i] *= a
	}
}

// Set implements [Game].
func (g *Gradual) Set() convex.Set { return g.set }

// Features implements [Game]: they are not shown.
func (g *Gradual) Features() []float64 { return nil }

// Summary implements [Game], with a [SquareSummary].
func (g *Gradual) Summary() Summary { return g.sum }

// Next implements [Game].
func (g *Gradual) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, len(g.p)); err != nil {
		return nil, err
	}
	cos, sin := turn(g.t, g.period)
	for i := range g.p {
		g.f.Z[i] = float64(cos*g.p[i]) + float64(sin*g.q[i])
	}
	g.t++
	return g.f, nil
}

// Restart implements [Game].
func (g *Gradual) Restart() {
	g.t = 0
	g.sum.Reset()
}
