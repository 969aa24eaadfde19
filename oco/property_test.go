package oco

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/loss"
)

// arena is a game for the property tests: what the learner knows, and how a round's loss comes
// about.
type arena struct {
	name    string
	problem Problem
	// next is the loss of a round in which x is played, and its features for a game that shows
	// them.
	next func(x []float64) loss.Function
	z    []float64
}

const lipschitz = 1.5

// sequences are the ways in which linear losses are drawn.
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
			g[i] = math.Copysign(1, x[i]) // where the learner is
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

// setsFor are the sets of the tests, in dimension d.
func setsFor(r *random.Source, d int) []convex.Set {
	lower, upper := make([]float64, d), make([]float64, d)
	center := make([]float64, d)
	for i := range lower {
		lower[i] = -r.Float64() * 2
		upper[i] = lower[i] + r.Float64()*3
		center[i] = r.NormFloat64()
	}
	if d > 1 {
		upper[0] = lower[0] // a side of no length
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
	a.next = func(x []float64) loss.Function { // called before the prediction too, to draw the features
		if x == nil {
			t++
			copy(a.z, gradient(r, kind, t, make([]float64, d), false))
			return nil
		}
		return must(loss.NewExample(slices.Clone(a.z), r.NormFloat64()*3, loss.Squared{}))
	}
	return append(all, a)
}

// comparators are random points of the set, and one that is good against the losses' linear part.
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

// tester is what *testing.T and *rapid.T have in common.
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

func init() { testsize.Rapid(25) }

func TestRegretBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, d, n, kind := drawGame(t, 12, 120)
		forEach(r, d, n, kind, func(e Entry, a arena, l Learner) {
			t.Logf("%s: %s", e.Name, a.name)
			run(t, r, l, a, n)
		})
	})
}

// TestRegretBoundLong is TestRegretBound for longer runs, in a few games.
func TestRegretBoundLong(t *testing.T) {
	testsize.NoRace(t)
	if testing.Short() {
		t.Skip("short")
	}
	for i, kind := range sequences {
		seed := uint64(100 + i)
		r := random.New(seed, "oco/long")
		d, n := []int{1, 2, 50, 5, 20, 50}[i], []int{5000, 5000, 300, 2000, 1000, 300}[i]
		n = testsize.Of(n, n/5)
		t.Run(kind, func(t *testing.T) {
			t.Logf("seed %d, d = %d, T = %d", seed, d, n)
			forEach(r, d, n, kind, func(e Entry, a arena, l Learner) {
				t.Run(e.Name+" in "+a.name, func(t *testing.T) { run(t, r, l, a, n) })
			})
		})
	}
}

func TestEveryLearnerPlays(t *testing.T) {
	r := random.New(1, "oco/plays")
	played := forEach(r, 3, 10, "gaussian", func(Entry, arena, Learner) {})
	for _, e := range Learners() {
		if played[e.Name] == 0 {
			t.Errorf("%s plays in no arena of the property tests", e.Name)
		}
		if e.Kind != "convex" && e.Kind != "experts" || e.Bound == "" || e.Knows == "" || e.Cost == "" ||
			e.Source == "" {
			t.Errorf("%s is not described: %+v", e.Name, e)
		}
	}
}

// feed plays n rounds of linear losses; a learner of squared losses gets gradients that are such.
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

func TestSnapshotContinues(t *testing.T) {
	for _, d := range []int{1, 6} {
		seed := uint64(d)
		played := forEach(random.New(seed, "snap"), d, 40, "gaussian", func(e Entry, a arena, l Learner) {
			t.Run(e.Name+" in "+a.name, func(t *testing.T) {
				feed(t, nil, l, a, 17)
				data, err := l.(Snapshotter).MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				other := must(e.New(a.problem, nil))
				if err := other.(Snapshotter).UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
				again, err := other.(Snapshotter).MarshalBinary()
				if err != nil || !bytes.Equal(data, again) {
					t.Fatalf("a restored learner's snapshot differs (%v)", err)
				}
				// The same subgradients for both.
				for range 10 {
					if a.problem.Features {
						_ = a.next(nil)
						for _, p := range []Learner{l, other} {
							if f, ok := p.(FeatureLearner); ok {
								if err := f.Features(a.z); err != nil {
									t.Fatal(err)
								}
							}
						}
					}
					x, y := l.Predict(), other.Predict()
					for i := range x {
						if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
							t.Fatalf("after a restore the point is %v, without one %v", y, x)
						}
					}
					f := a.next(x)
					if err := must(NewLinearized(l)).UpdateLoss(f); err != nil {
						t.Fatal(err)
					}
					if err := must(NewLinearized(other)).UpdateLoss(f); err != nil {
						t.Fatal(err)
					}
				}
				u := make([]float64, d)
				a.problem.Set.Project(u, u)
				if b, c := bound(t, l, u), bound(t, other, u); b != c {
					t.Errorf("after a restore the bound is %v, without one %v", c, b)
				}
				before, _ := l.(Snapshotter).MarshalBinary()
				for _, bad := range [][]byte{nil, data[:len(data)-1], flip(data, len(data)/2), flip(data, 3)} {
					if err := l.(Snapshotter).UnmarshalBinary(bad); err == nil {
						t.Error("a damaged snapshot was taken")
					}
				}
				if after, _ := l.(Snapshotter).MarshalBinary(); !bytes.Equal(before, after) {
					t.Error("a refused snapshot changed the learner")
				}
			})
		})
		if len(played) != len(Learners()) {
			t.Errorf("%d of %d learners were saved", len(played), len(Learners()))
		}
	}
}

func flip(data []byte, i int) []byte {
	b := slices.Clone(data)
	b[i] ^= 1
	return b
}

func TestRefusalsChangeNothing(t *testing.T) {
	forEach(random.New(3, "refuse"), 3, 40, "gaussian", func(e Entry, a arena, l Learner) {
		feed(t, nil, l, a, 5)
		if a.problem.Features {
			_ = a.next(nil)
			if f, ok := l.(FeatureLearner); ok {
				if err := f.Features(a.z); err != nil {
					t.Fatal(err)
				}
			}
		}
		before, err := l.(Snapshotter).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		x := slices.Clone(l.Predict())
		for _, bad := range [][]float64{
			nil, {1}, {1, 2, 3, 4}, {math.NaN(), 0, 0}, {0, math.Inf(1), 0}, {0, 0, math.Inf(-1)}, {1, 2, math.NaN()},
		} {
			if err := l.Update(bad); err == nil {
				t.Errorf("%s took %v", e.Name, bad)
			}
			if _, err := l.(Bounder).Bound(bad); err == nil {
				t.Errorf("%s has a bound at %v", e.Name, bad)
			}
			if h, ok := l.(Hinted); ok && h.Hint(bad) == nil {
				t.Errorf("%s took the hint %v", e.Name, bad)
			}
			if s, ok := l.(SparseLearner); ok && len(bad) == 3 &&
				s.UpdateSparse(Sparse{Index: []uint32{0, 1, 2}, Value: bad}) == nil {
				t.Errorf("%s took a sparse %v", e.Name, bad)
			}
		}
		if s, ok := l.(SparseLearner); ok {
			for _, bad := range []Sparse{
				{Index: []uint32{0}, Value: nil},
				{Index: []uint32{3}, Value: []float64{1}},
				{Index: []uint32{1, 1}, Value: []float64{1, 1}},
				{Index: []uint32{2, 0}, Value: []float64{1, 1}},
			} {
				if s.UpdateSparse(bad) == nil {
					t.Errorf("%s took %v", e.Name, bad)
				}
			}
		}
		if c, ok := l.(Curved); ok {
			for _, mu := range []float64{-1, math.NaN(), math.Inf(1)} {
				if c.UpdateCurved([]float64{1, 1, 1}, mu) == nil {
					t.Errorf("%s took μ = %v", e.Name, mu)
				}
			}
		}
		if after, _ := l.(Snapshotter).MarshalBinary(); !bytes.Equal(before, after) || !slices.Equal(x, l.Predict()) {
			t.Errorf("%s: refused rounds changed it", e.Name)
		}
	})
}

// scaleFree are the learners that claim it.
var scaleFree = []string{
	"ogd-adaptive", "adagrad", "scale-free-hedge", "adahedge", "adaftrl", "proximal-ftrl",
	"linear-leader", "optimistic-adagrad", "adagrad-full",
}
