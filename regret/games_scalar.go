package regret

import (
	"slices"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
)

// unitInterval is [0, 1].
func unitInterval() convex.Set {
	set, err := convex.NewCube(1, 0, 1)
	if err != nil {
		panic(err) // constant arguments
	}
	return set
}

// targets are numbers in [0, 1]: given ones, over and over, or drawn from a seed.
type targets struct {
	given []float64
	skew  int
	seed  uint64
	r     *random.Source
	t     int
}

func newTargets(given []float64, skew int, seed uint64) (targets, error) {
	for _, y := range given {
		if err := within("targets", y, 0, 1); err != nil {
			return targets{}, err
		}
	}
	if err := within("skew", float64(skew), 0, 100); err != nil {
		return targets{}, err
	}
	return targets{given: slices.Clone(given), skew: skew, seed: seed}, nil
}

func (y *targets) next() float64 {
	y.t++
	if n := len(y.given); n > 0 {
		return y.given[(y.t-1)%n]
	}
	u := y.r.Float64()
	v := u
	for range y.skew {
		v = float64(v * u)
	}
	return v
}

func (y *targets) restart() {
	y.t = 0
	y.r = random.New(y.seed, "regret/targets")
}

// Guess is the number-guessing game of the book's first chapter: x ∈ [0, 1] is played for losses (x
// − y_t)², y_t ∈ [0, 1]. Oblivious.
type Guess struct {
	y   targets
	set convex.Set
	f   loss.SquaredDistance
	sum *DistanceSummary
}

// NewGuess plays with the targets given, over and over, or with uniform ones drawn from the seed if
// there are none.
func NewGuess(given []float64, seed uint64) (*Guess, error) {
	y, err := newTargets(given, 0, seed)
	if err != nil {
		return nil, err
	}
	g := &Guess{y: y, set: unitInterval(), f: loss.SquaredDistance{C: make([]float64, 1)}, sum: NewDistanceSummary(1)}
	g.Restart()
	return g, nil
}

// Set implements [Game].
func (g *Guess) Set() convex.Set { return g.set }

// Features implements [Game].
func (g *Guess) Features() []float64 { return nil }

// Summary implements [Game], with a [DistanceSummary].
func (g *Guess) Summary() Summary { return g.sum }

// Next implements [Game].
func (g *Guess) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, 1); err != nil {
		return nil, err
	}
	g.f.C[0] = g.y.next()
	return &g.f, nil
}

// Restart implements [Game].
func (g *Guess) Restart() {
	g.y.restart()
	g.sum.Reset()
}

// AbsoluteGame is played in [0, 1] for losses |x − y_t|, whose best point is a median. Oblivious.
type AbsoluteGame struct {
	y   targets
	set convex.Set
	f   *loss.Example
	sum *AbsoluteSummary
}

// NewAbsolute plays with the targets given, over and over, or with powers u^(1+skew) of uniform
// numbers drawn from the seed, skew from 0 (uniform) to 100.
func NewAbsolute(given []float64, skew int, seed uint64) (*AbsoluteGame, error) {
	y, err := newTargets(given, skew, seed)
	if err != nil {
		return nil, err
	}
	f, err := loss.NewExample([]float64{1}, 0, loss.Absolute{})
	if err != nil {
		return nil, err
	}
	g := &AbsoluteGame{y: y, set: unitInterval(), f: f, sum: NewAbsoluteSummary()}
	g.Restart()
	return g, nil
}

// Set implements [Game].
func (g *AbsoluteGame) Set() convex.Set { return g.set }

// Features implements [Game].
func (g *AbsoluteGame) Features() []float64 { return nil }

// Summary implements [Game], with an [AbsoluteSummary], of memory O(T).
func (g *AbsoluteGame) Summary() Summary { return g.sum }

// Next implements [Game].
func (g *AbsoluteGame) Next(x []float64) (loss.Function, error) {
	if err := checkPoint(x, 1); err != nil {
		return nil, err
	}
	g.f.Y = g.y.next()
	return g.f, nil
}

// Restart implements [Game].
func (g *AbsoluteGame) Restart() {
	g.y.restart()
	g.sum.Reset()
}
