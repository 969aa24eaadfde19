package regret

import (
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/loss"
)

// tilts yields the slope and the offset of each round's loss, in order.
type tilts interface {
	next(t int) (slope, offset float64)
	restart()
}

// Varying is a game on an interval whose losses share a [Shape] and differ by their tilt ([Tilt]):
// the patterns and the lower-bound families of Besbes, Gur and Zeevi, "Non-stationary Stochastic
// Optimization" (2015). Players see their feedback with independent normal noise: subgradients,
// and losses in the case of cost feedback. Oblivious. Make one with [NewTarget], [NewGradientTrap],
// [NewCurvedTrap], [NewCostTrap], [NewRestless] or [NewAlternating].
type Varying struct {
	set   convex.Set
	ends  [2]float64
	next  tilts
	noise float64
	seed  uint64
	r     *random.Source
	draw  func() float64
	t     int
	f     Tilt
	sum   *TiltSummary
}

// newVarying plays on [low, high] with noise of the standard deviation given.
func newVarying(low, high float64, shape Shape, next tilts, noise float64, seed uint64) (*Varying, error) {
	if err := within("noise", noise, 0, maxNoise); err != nil {
		return nil, err
	}
	set, err := convex.NewCube(1, low, high)
	if err != nil {
		return nil, err
	}
	g := &Varying{
		set: set, ends: [2]float64{low, high}, next: next, noise: noise, seed: seed, f: Tilt{Shape: shape},
		sum: NewTiltSummary(shape),
	}
	if noise > 0 {
		g.draw = func() float64 { return float64(g.noise * stat.Normal(g.r)) }
	}
	g.Restart()
	return g, nil
}

// maxNoise is the largest standard deviation of a game's noise.
const maxNoise = 1e6

// Set implements [Game].
func (g *Varying) Set() convex.Set { return g.set }

// Features implements [Game]: none are shown.
func (g *Varying) Features() []float64 { return nil }

// Summary implements [Game], with a [TiltSummary].
func (g *Varying) Summary() Summary { return g.sum }

// Minimizer is the minimizer of the loss that Next returned last. [Options.Moving] may use it to
// measure the dynamic regret without keeping the losses.
func (g *Varying) Minimizer() float64 { return g.f.Shape.Minimize(g.f.Slope, g.ends[0], g.ends[1]) }

// Noise returns the source of the noise in the players' feedback, nil if there is none.
func (g *Varying) Noise() func() float64 { return g.draw }

// Next implements [Game], with a [Tilt].
func (g *Varying) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, 1); err != nil {
		return nil, err
	}
	g.t++
	g.f.Slope, g.f.Offset = g.next.next(g.t)
	return &g.f, nil
}

// Restart implements [Game].
func (g *Varying) Restart() {
	g.t = 0
	g.r = random.New(g.seed, "regret/varying/noise")
	g.next.restart()
	g.sum.Reset()
}

// Pattern is how the target of [NewTarget] moves from 1 to 0.
type Pattern int

// The patterns of Besbes, Gur and Zeevi (2015), Appendix D.
const (
	Jump  Pattern = 1 // at once
	Decay Pattern = 2 // exponentially, b_t = exp(−10(t − T₀)/T)
	Ramp  Pattern = 3 // linearly, b_t = (T − t)/(T − T₀), to reach 0 in the last round
)

// String is the pattern's name.
func (p Pattern) String() string {
	switch p {
	case Jump:
		return "jump"
	case Decay:
		return "decay"
	case Ramp:
		return "ramp"
	}
	return "unknown"
}
