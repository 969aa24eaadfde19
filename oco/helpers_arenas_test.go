package oco

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
	"pgregory.net/rapid"
)

// arena is a game for the property tests: what the learner knows, and how a round's loss is drawn.
type arena struct {
	name    string
	problem Problem
	// next returns the loss of a round in which x is played, and its features if the game shows
	// them.
	next func(x []float64) loss.Function
	z    []float64
}

const lipschitz = 1.5

// shorten scales a bounded subgradient to the arena's Lipschitz constant, if that is below
// lipschitz.
func (a *arena) shorten(g []float64) []float64 {
	if f := a.problem.Lipschitz / lipschitz; f < 1 {
		for i := range g {
			g[i] *= f
		}
	}
	return g
}

// sequences lists the ways in which linear losses are drawn.
var sequences = []string{"gaussian", "sparse", "heavy", "adversarial", "drifting", "zero then huge"}

// gradient draws a linear loss; bounded ones have ‖g‖₂ ≤ lipschitz.
func gradient(r *random.Source, kind string, t int, x []float64, bounded bool) []float64 {
	g := make([]float64, len(x))
	switch kind {
	case "gaussian":
		for i := range g {
			g[i] = r.NormFloat64()
		}
	case "sparse":
		for range 1 + len(g)/20 {
			g[r.IntN(len(g))] = r.NormFloat64()
		}
	case "heavy":
		for i := range g {
			g[i] = r.NormFloat64() / math.Pow(1e-9+r.Float64(), 1.5)
		}
	case "adversarial":
		for i := range g {
			g[i] = math.Copysign(1, x[i]) // against the learner's point
			if x[i] == 0 {
				g[i] = math.Copysign(1, r.Float64()-.5)
			}
		}
	case "drifting":
		for i := range g {
			g[i] = math.Sin(float64(t)/20+float64(i)) + .1*r.NormFloat64()
		}
	case "zero then huge":
		if t > 5 {
			for i := range g {
				g[i] = r.NormFloat64() * math.Pow(10, float64(t%40)/4)
			}
		}
	}
	if n := vec.Norm2(g); bounded && n > lipschitz {
		for i := range g {
			g[i] *= lipschitz / n * (1 - 1e-15)
		}
	}
	return g
}

// setsFor returns the sets of the tests in dimension d.
func setsFor(r *random.Source, d int) []convex.Set {
	lower, upper := make([]float64, d), make([]float64, d)
	center := make([]float64, d)
	for i := range lower {
		lower[i] = -r.Float64() * 2
		upper[i] = lower[i] + r.Float64()*3
		center[i] = r.NormFloat64()
	}
	if d > 1 {
		upper[0] = lower[0] // a side of length 0
	}
	sets := []convex.Set{
		must(convex.NewBox(lower, upper)), must(convex.NewCenteredBall(d, .1+2*r.Float64())), must(convex.NewSpace(d)),
		must(convex.NewBall(center, 1)),
		must(convex.NewSimplex(d)), must(convex.NewL1Ball(d, 1)), must(convex.NewCube(d, -1, 1)),
	}
	return sets
}

// arenas draws one game of every kind on every set.
func arenas(r *random.Source, d, rounds int, kind string) []arena {
	var all []arena
	for _, set := range setsFor(r, d) {
		for _, known := range []bool{true, false} {
			p := Problem{
				Set: set, Rounds: rounds,
				Facts: loss.Facts{
					Lipschitz: math.Inf(1), LipschitzInf: math.Inf(1), Smoothness: math.Inf(1),
				},
			}
			if known {
				p.Lipschitz, p.LipschitzInf, p.Smoothness = lipschitz, lipschitz, 0
			}
			t := 0
			all = append(all, arena{
				name: fmt.Sprintf("linear(%s, bounded=%t) on %v", kind, known, set), problem: p,
				next: func(x []float64) loss.Function {
					t++
					return must(loss.NewLinear(gradient(r, kind, t, x, known)))
				},
			})
		}
		// Strongly convex: a linear loss and (μ/2)‖x‖².
		t := 0
		all = append(all, arena{
			name: fmt.Sprintf("strongly convex(%s) on %v", kind, set),
			problem: Problem{
				Set: set, Rounds: rounds,
				Facts: loss.Facts{
					Lipschitz: math.Inf(1), LipschitzInf: math.Inf(1), StrongConvexity: .7, Smoothness: math.Inf(1),
				},
			},
			next: func(x []float64) loss.Function {
				t++
				return must(loss.NewRidge(must(loss.NewLinear(gradient(r, kind, t, x, true))), .7))
			},
		}, arena{
			name: fmt.Sprintf("squared distance on %v", set),
			problem: Problem{
				Set: set, Rounds: rounds,
				Facts: loss.Facts{
					Lipschitz: math.Inf(1), LipschitzInf: math.Inf(1), StrongConvexity: 2, Smoothness: 2,
					SquaredDistance: true,
				},
			},
			next: func(x []float64) loss.Function {
				t++
				return must(loss.NewSquaredDistance(gradient(r, kind, t, x, true)))
			},
		})
		if diameter := set.Diameter(); !math.IsInf(diameter, 1) && diameter > 0 {
			// Logistic losses with ‖z‖ ≤ 1 on ‖x‖ ≤ reach are exp(−reach)-exp-concave.
			reach := 0.0
			x := make([]float64, d)
			c := make([]float64, d)
			for i := range d {
				for _, s := range []float64{1, -1} {
					clear(c)
					c[i] = s
					_ = must(set.Minimize(x, c))
					reach = max(reach, vec.Norm2(x))
				}
			}
			reach += diameter // any point is within the diameter of these
			all = append(all, arena{
				name: fmt.Sprintf("logistic on %v", set),
				problem: Problem{
					Set: set, Rounds: rounds,
					Facts: loss.Facts{
						Lipschitz: 1, LipschitzInf: 1, Smoothness: .25,
						ExpConcavity: ExpConcaveMu(math.Exp(-reach), 1, diameter),
					},
				},
				next: func(x []float64) loss.Function {
					t++
					z := gradient(r, kind, t, x, true)
					for i := range z {
						z[i] /= lipschitz
					}
					return must(loss.NewExample(z, math.Copysign(1, r.Float64()-.3), loss.LogisticLoss{}))
				},
			})
		}
	}
	a := arena{
		name: fmt.Sprintf("regression(%s)", kind), z: make([]float64, d),
		problem: Problem{
			Set: space(d), Rounds: rounds,
			Facts: loss.Facts{
				Lipschitz: math.Inf(1), LipschitzInf: math.Inf(1), Smoothness: math.Inf(1), Features: true,
			},
		},
	}
	t := 0
	// The game is also called before the prediction, to draw the features.
	a.next = func(x []float64) loss.Function {
		if x == nil {
			t++
			copy(a.z, gradient(r, kind, t, make([]float64, d), false))
			return nil
		}
		return must(loss.NewExample(slices.Clone(a.z), r.NormFloat64()*3, loss.Squared{}))
	}
	return append(all, a)
}

// comparators returns random points of the set and one that is good for the linear part of the
// losses.
func comparators(r *random.Source, set convex.Set, sum []float64) [][]float64 {
	d := set.Dim()
	var us [][]float64
	for range 3 {
		u := make([]float64, d)
		scale := math.Exp(3 * r.NormFloat64())
		for i := range u {
			u[i] = scale * r.NormFloat64()
		}
		set.Project(u, u)
		us = append(us, u)
	}
	best := make([]float64, d)
	if _, err := set.Minimize(best, sum); err == nil {
		return append(us, best)
	}
	// An unbounded set: along −Σg, near and far.
	n := vec.Norm2(sum)
	for _, length := range []float64{0, .1, 1, 10, n, n / 10} {
		u := make([]float64, d)
		for i := range u {
			if n > 0 {
				u[i] = -sum[i] / n * length
			}
		}
		us = append(us, u)
	}
	return us
}

// tester has the common methods of *testing.T and *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// run plays one learner in one arena and checks it against its bound.
func run(t tester, r *random.Source, l Learner, a arena, rounds int) {
	t.Helper()
	d := l.Dim()
	p := must(NewLinearized(l))
	g, sum := make([]float64, d), make([]float64, d)
	losses := make([]loss.Function, 0, rounds)
	var paid, size float64
	for round := range rounds {
		if a.problem.Features {
			_ = a.next(nil)
			if f, ok := l.(FeatureLearner); ok {
				if err := f.Features(a.z); err != nil {
					t.Fatalf("features: %v", err)
				}
			}
		}
		x := l.Predict()
		if !a.problem.Set.Contains(x, 1e-12) {
			t.Fatalf("x_%d = %v is not in the set", round+1, x)
		}
		before := slices.Clone(x)
		if again := l.Predict(); !slices.Equal(before, again) {
			t.Fatalf("Predict is %v and then %v", before, again)
		}
		f := a.next(before)
		losses = append(losses, f)
		paid += f.Value(x)
		f.Subgradient(g, x)
		for i, v := range g {
			sum[i] += v
			size += math.Abs(v * x[i])
		}
		if err := p.UpdateLoss(f); err != nil {
			t.Fatalf("round %d: %v", round+1, err)
		}
	}
	for _, u := range comparators(r, a.problem.Set, sum) {
		var best float64
		for _, f := range losses {
			v := f.Value(u)
			best += v
			size += math.Abs(v)
		}
		b, err := l.(Bounder).Bound(u)
		if err != nil || math.IsNaN(b) {
			t.Fatalf("Bound(%v) = %v, %v", u, b, err)
		}
		if s, ok := l.(SharpBounder); ok {
			sharp, err := s.SharpBound(u)
			if err != nil || !(sharp <= b) {
				t.Fatalf("SharpBound(%v) = %v, %v, above %v", u, sharp, err, b)
			}
			b = sharp
		}
		if regret := paid - best; regret > b+1e-9*math.Abs(b)+1e-12+1e-13*size {
			t.Fatalf("regret %v against %v is above the bound %v", regret, u, b)
		}
	}
}

func drawGame(t *rapid.T, dims, rounds int) (r *random.Source, d, n int, kind string) {
	seed := rapid.Uint64().Draw(t, "seed")
	d = rapid.IntRange(1, dims).Draw(t, "d")
	n = rapid.IntRange(1, rounds).Draw(t, "T")
	kind = rapid.SampledFrom(sequences).Draw(t, "sequence")
	return random.New(seed, "oco/test"), d, n, kind
}

// forEach calls f with every learner in every arena that it can play.
func forEach(r *random.Source, d, n int, kind string, f func(e Entry, a arena, l Learner)) (played map[string]int) {
	played = map[string]int{}
	for _, a := range arenas(r, d, n, kind) {
		for _, e := range Learners() {
			if l, err := e.New(a.problem, nil); err == nil {
				played[e.Name]++
				f(e, a, l)
			}
		}
	}
	return played
}

// feed plays n rounds of linear losses. A learner of squared losses gets gradients of squared
// losses.
func feed(t *testing.T, r *random.Source, l Learner, a arena, n int) {
	t.Helper()
	p := must(NewLinearized(l))
	for range n {
		if a.problem.Features {
			_ = a.next(nil)
			if f, ok := l.(FeatureLearner); ok {
				if err := f.Features(a.z); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := p.UpdateLoss(a.next(l.Predict())); err != nil {
			t.Fatal(err)
		}
	}
}

func flip(data []byte, i int) []byte {
	b := slices.Clone(data)
	b[i] ^= 1
	return b
}
