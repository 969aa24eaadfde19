package drift

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
)

func init() { testsize.Rapid(20) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// near fails unless got is want within 1e-9, relative for numbers above 1.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

// refused fails unless err has the code bad_input.
func refused(t *testing.T, what string, err error) {
	t.Helper()
	if noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("%s: %v, want an error of code bad_input", what, err)
	}
}

// script is a source that returns the given numbers.
type script []float64

func (s *script) Float64() float64 {
	v := (*s)[0]
	*s = (*s)[1:]
	return v
}

// game is what a learner of the catalogue is tested in.
type game struct {
	problem oco.Problem
	next    func(r *random.Source, round int) loss.Function
}

// games are the games for the catalogue: bounded linear losses on several sets, strongly convex and
// exp-concave ones, squared distances and regression.
func games(rounds int) []game {
	const d = 3
	var all []game
	for _, set := range []convex.Set{
		must(convex.NewCube(d, -1, 1)), must(convex.NewCenteredBall(d, 1)), must(convex.NewSpace(d)),
		must(convex.NewSimplex(d)), must(convex.NewL1Ball(d, 1)),
	} {
		p := oco.Problem{Set: set, Rounds: rounds, Facts: loss.Unknown()}
		p.Lipschitz, p.LipschitzInf = 1, 1
		linear := func(r *random.Source, round int) loss.Function {
			g := make([]float64, d)
			for i := range g {
				g[i] = (r.Float64() - .5 + .3*math.Sin(float64(round)/7+float64(i))) / 2
			}
			return must(loss.NewLinear(g))
		}
		all = append(all, game{p, linear})
		p.StrongConvexity, p.Lipschitz, p.LipschitzInf = .5, 3, 3
		if math.IsInf(set.Diameter(), 1) {
			p.Lipschitz, p.LipschitzInf = math.Inf(1), math.Inf(1)
		}
		all = append(all, game{p, func(r *random.Source, round int) loss.Function {
			return must(loss.NewRidge(linear(r, round), .5))
		}})
		p.StrongConvexity, p.Lipschitz, p.LipschitzInf, p.ExpConcavity = 0, 1, 1, .25
		all = append(all, game{p, linear})
		p.ExpConcavity, p.SquaredDistance, p.StrongConvexity = 0, true, 2
		p.Lipschitz, p.LipschitzInf, p.Smoothness = 10, 10, 2
		if !math.IsInf(set.Diameter(), 1) {
			p.ExpConcavity = .02 // 2/Lipschitz²
		}
		all = append(all, game{p, func(r *random.Source, round int) loss.Function {
			return randomDistance(r, d, round)
		}})
		p.Facts = loss.Unknown()
		p.Features = true
		all = append(all, game{p, func(r *random.Source, _ int) loss.Function {
			z := []float64{r.Float64(), r.Float64(), 1}
			return regression{must(loss.NewExample(z, r.Float64(), loss.Squared{})), z}
		}})
	}
	return all
}

// regression is the squared loss of an example, with its features.
type regression struct {
	*loss.Example
	z []float64
}

// randomDistance is the squared distance to a point that drifts.
func randomDistance(r *random.Source, d, round int) *loss.SquaredDistance {
	c := make([]float64, d)
	for i := range c {
		c[i] = .8*math.Sin(float64(round)/9+2*float64(i)) + .4*(r.Float64()-.5)
	}
	return must(loss.NewSquaredDistance(c))
}

// forCatalogue calls f with every learner of the catalogue in every game that it can play, and
// fails for learners that play none.
func forCatalogue(t *testing.T, rounds int, f func(t *testing.T, e *oco.Entry, g game)) {
	t.Helper()
	for _, e := range oco.Learners() {
		played := 0
		for _, g := range games(rounds) {
			if _, err := e.New(g.problem, nil); err != nil {
				continue
			}
			played++
			t.Run(e.Name+" on "+g.problem.Set.String(), func(t *testing.T) { f(t, &e, g) })
		}
		if played == 0 {
			t.Errorf("%s plays no game", e.Name)
		}
	}
}

// play ends a round with a loss. Features are shown to learners that need them.
func play(t *testing.T, l oco.Learner, f loss.Function) (x []float64) {
	t.Helper()
	if e, ok := f.(regression); ok {
		if z, ok := l.(oco.FeatureLearner); ok {
			if err := z.Features(e.z); err != nil {
				t.Fatal(err)
			}
		}
	}
	x = slices.Clone(l.Predict())
	if err := l.(oco.LossLearner).UpdateLoss(f); err != nil {
		t.Fatal(err)
	}
	return x
}

// mean is the mean of vectors.
func mean(v [][]float64) []float64 {
	m := make([]float64, len(v[0]))
	for _, x := range v {
		vec.AddScaled(m, 1/float64(len(v)), x)
	}
	return m
}
