package regret

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// Example is a row of a data set: features and a label, a number for regression and ±1 for
// classification.
type Example struct {
	Z []float64
	Y float64
}

// ExampleGame plays the losses of linear predictions for the examples of a data set, in their
// order, over and over. Oblivious. Make one with [NewRegression] or [NewClassification].
type ExampleGame struct {
	set    convex.Set
	losses []*loss.Example
	sparse []*loss.SparseExample // the same loss where few features are not 0, else nil
	show   bool
	sum    Summary
	t      int
	length float64 // max ‖z‖₂
	inf    float64 // max ‖z‖∞
	label  float64 // max |y|
	least  float64 // min ‖z‖₂
}

// newExampleGame copies the examples, their features divided by a number.
func newExampleGame(examples []Example, divisor float64, phi loss.Scalar) (*ExampleGame, error) {
	if len(examples) == 0 {
		return nil, noregret.BadInputf("examples", "none: at least one is required")
	}
	d := len(examples[0].Z)
	if err := checkDim(d, 1); err != nil {
		return nil, err
	}
	g := &ExampleGame{
		losses: make([]*loss.Example, len(examples)), sparse: make([]*loss.SparseExample, len(examples)),
		least: math.Inf(1),
	}
	block := make([]float64, 0, d*len(examples))
	origin := make([]float64, d)
	for i, e := range examples {
		if len(e.Z) != d {
			return nil, noregret.BadInputf(fmt.Sprintf("examples[%d]", i), "%d features, but the first example has %d",
				len(e.Z), d)
		}
		for _, v := range e.Z {
			block = append(block, v/divisor)
		}
		f, err := loss.NewExample(block[i*d:(i+1)*d:(i+1)*d], e.Y, phi)
		if err != nil {
			return nil, noregret.BadInputf(fmt.Sprintf("examples[%d]", i), "%w", err)
		}
		g.losses[i] = f
		if z, few := nonZeros(f.Z); few {
			if g.sparse[i], err = loss.NewSparseExample(d, z, e.Y, phi); err != nil {
				return nil, err
			}
			g.sparse[i].SparseSubgradient(origin) // allocates now rather than in a round
		}
		n := vec.Norm2(f.Z)
		if !(n <= 1e100) || math.Abs(e.Y) > 1e100 {
			return nil, noregret.BadInputf(fmt.Sprintf("examples[%d]", i),
				"its features have length %v and its label is %v: want at most 1e100, as they are squared", n, e.Y)
		}
		g.length, g.least, g.label = max(g.length, n), min(g.least, n), max(g.label, math.Abs(e.Y))
		for _, v := range f.Z {
			g.inf = max(g.inf, math.Abs(v))
		}
	}
	return g, nil
}

// nonZeros returns the non-zeros of a vector if they are at most a quarter of it.
func nonZeros(v []float64) (z loss.Sparse, few bool) {
	n := 0
	for _, x := range v {
		if x != 0 {
			n++
		}
	}
	if 4*n > len(v) {
		return z, false
	}
	z = loss.Sparse{Index: make([]uint32, 0, n), Value: make([]float64, 0, n)}
	for i, x := range v {
		if x != 0 {
			z.Index, z.Value = append(z.Index, uint32(i)), append(z.Value, x)
		}
	}
	return z, true
}

// NewRegression plays for squared losses ½(⟨z_t, x⟩ − y_t)² with the features shown before each
// prediction, on the ball of a radius > 0 around the origin, or on ℝ^d for an infinite radius.
// Labels are any finite numbers.
func NewRegression(examples []Example, radius float64) (*ExampleGame, error) {
	g, err := newExampleGame(examples, 1, loss.Squared{})
	if err != nil {
		return nil, err
	}
	d := len(g.losses[0].Z)
	if g.sum, err = NewSquareSummary(d); err != nil {
		return nil, err
	}
	g.show = true
	if g.set, err = regressionSet(d, radius); err != nil {
		return nil, err
	}
	return g, nil
}

func regressionSet(d int, radius float64) (convex.Set, error) {
	if math.IsInf(radius, 1) {
		return convex.NewSpace(d)
	}
	return convex.NewCenteredBall(d, radius)
}

// NewClassification plays for logistic losses ln(1 + exp(−y_t·⟨z_t, x⟩)) with labels ±1 on the ball
// of a radius > 0 around the origin. All features are divided by the greatest length among the
// examples, so that ‖z_t‖ ≤ 1.
func NewClassification(examples []Example, radius float64) (*ExampleGame, error) {
	var longest float64
	for _, e := range examples {
		longest = max(longest, vec.Norm2(e.Z))
	}
	if longest == 0 || math.IsInf(longest, 1) {
		longest = 1
	}
	g, err := newExampleGame(examples, longest, loss.LogisticLoss{})
	if err != nil {
		return nil, err
	}
	if g.set, err = convex.NewCenteredBall(len(g.losses[0].Z), radius); err != nil {
		return nil, err
	}
	g.sum = newExampleSummary(g.losses)
	return g, nil
}

// Set implements [Game].
func (g *ExampleGame) Set() convex.Set { return g.set }

// Features implements [Game]: those of the coming example for regression.
func (g *ExampleGame) Features() []float64 {
	if !g.show {
		return nil
	}
	return g.losses[g.t%len(g.losses)].Z
}

// Summary implements [Game]: a [SquareSummary] for regression, an [ExampleSummary] for
// classification.
func (g *ExampleGame) Summary() Summary { return g.sum }

// Next implements [Game].
func (g *ExampleGame) Next(x []float64) (loss.Function, error) {
	f := g.losses[g.t%len(g.losses)]
	if err := checkPoint(x, len(f.Z)); err != nil {
		return nil, err
	}
	g.t++
	return f, nil
}

// sparseSubgradient implements sparseGame, for examples with few features that are not 0.
func (g *ExampleGame) sparseSubgradient(x []float64) (c loss.Sparse, ok bool) {
	f := g.sparse[(g.t-1)%len(g.sparse)]
	if f == nil {
		return loss.Sparse{}, false
	}
	return f.SparseSubgradient(x)
}

// Restart implements [Game].
func (g *ExampleGame) Restart() {
	g.t = 0
	g.sum.Reset()
}

// SyntheticExamples draws n examples with d features each from the seed. Features are uniform in
// [−1, 1]/√d, and so of length at most 1. With a hidden w of length 2, labels are ⟨w, z⟩ plus
// uniform noise in [−½, ½] for regression; for classification they are +1 with probability 1/(1 +
// exp(−4·⟨w, z⟩)), else −1.
func SyntheticExamples(d, n int, classification bool, seed uint64) ([]Example, error) {
	if err := checkDim(d, 1); err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, noregret.BadInputf("examples", "%d: want at least 1", n)
	}
	if err := memory.Check("examples", fmt.Sprintf("a game of %d examples with %d features", n, d),
		2*float64(n)*float64(d)); err != nil { // the examples and the game's copy
		return nil, err
	}
	r := random.New(seed, "regret/examples")
	w := make([]float64, d)
	for i := range w {
		w[i] = float64(2*float64(r.Float64())) - 1
	}
	if l := vec.Norm2(w); l > 0 {
		scale(w, 2/l)
	}
	root := math.Sqrt(float64(d))
	examples := make([]Example, n)
	for k := range examples {
		z := make([]float64, d)
		for i := range z {
			z[i] = (float64(2*float64(r.Float64())) - 1) / root
		}
		p, u := vec.Dot(w, z), r.Float64()
		y := p + float64(u) - 0.5
		if classification {
			y = -1
			if u < 1/(1+portable.Exp(-4*p)) {
				y = 1
			}
		}
		examples[k] = Example{z, y}
	}
	return examples, nil
}
