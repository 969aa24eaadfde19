package oco

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
)

// sponge is a learner whose points depend on all of its inputs.
type sponge struct {
	base, point, hint, features []float64
	dense                       []float64
	sparse                      int // rounds that ended with a sparse subgradient
}

func newSponge(d int) *sponge {
	vector := func() []float64 { return make([]float64, d) }
	return &sponge{base: vector(), point: vector(), hint: vector(), features: vector(), dense: vector()}
}

func (l *sponge) Dim() int { return len(l.base) }

func (l *sponge) Predict() []float64 {
	for i, v := range l.base {
		l.point[i] = v - .1*l.hint[i] + .2*l.features[i]
	}
	return l.point
}

func (l *sponge) At(i int) float64           { return l.Predict()[i] }
func (l *sponge) Hint(g []float64) error     { copy(l.hint, g); return nil }
func (l *sponge) Features(z []float64) error { copy(l.features, z); return nil }
func (l *sponge) Update(g []float64) error   { return l.step(g, .3) }
func (l *sponge) UpdateSparse(g Sparse) error {
	scatter(l.dense, g)
	l.sparse++
	return l.step(l.dense, .3)
}

func (l *sponge) UpdateCurved(g []float64, mu float64) error { return l.step(g, 1/(1+mu)) }

func (l *sponge) step(g []float64, eta float64) error {
	for i, v := range g {
		l.base[i] -= eta * v
	}
	clear(l.hint)
	clear(l.features)
	return nil
}

// offer is the input of a round. A part that is missing is nil, or below 0 for mu.
type offer struct {
	hint, features, g []float64
	sparse            *Sparse // the same as g
	mu                float64
}

// times is the offer of the loss times a.
func (o offer) times(a float64) offer {
	scaled := func(f float64, v []float64) []float64 {
		out := slices.Clone(v)
		for i := range out {
			out[i] *= f
		}
		return out
	}
	p := offer{scaled(a, o.hint), scaled(math.Sqrt(a), o.features), scaled(a, o.g), nil, a * o.mu}
	if o.sparse != nil {
		p.sparse = &Sparse{Index: o.sparse.Index, Value: scaled(a, o.sparse.Value)}
	}
	return p
}

// coordinate returns the part of the offer for coordinate i.
func (o offer) coordinate(i int) offer {
	part := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		return v[i : i+1]
	}
	return offer{part(o.hint), part(o.features), part(o.g), nil, o.mu}
}

// begin gives a learner the hint and the features.
func (o offer) begin(l Learner) (err error) {
	if o.hint != nil {
		err = l.(Hinted).Hint(o.hint)
	}
	if o.features != nil && err == nil {
		err = l.(FeatureLearner).Features(o.features)
	}
	return err
}

// end updates a learner at the end of the round.
func (o offer) end(l Learner) error {
	switch {
	case o.sparse != nil:
		return l.(SparseLearner).UpdateSparse(*o.sparse)
	case o.mu >= 0:
		return l.(Curved).UpdateCurved(o.g, o.mu)
	}
	return l.Update(o.g)
}

// composed is the composition by hand of a wrapper and the learners inside it.
type composed struct {
	begin, end func(t int, o offer)
	predict    func() []float64
}

// through returns the composition that gives a learner the offers that f makes of the wrapper's.
func through(l *sponge, f func(t int, o offer) offer) composed {
	return composed{
		begin:   func(t int, o offer) { _ = f(t, o).begin(l) },
		end:     func(t int, o offer) { _ = f(t, o).end(l) },
		predict: l.Predict,
	}
}

// wrapperCase is a wrapper of a sponge and its composition by hand. The map refused has the parts
// of an offer that the wrapper cannot pass on, with the reasons; fromDense reports that sparse
// subgradients become dense.
type wrapperCase struct {
	wrap      func(make func(d int) *sponge) Learner
	hand      func() composed
	refused   map[string]string
	fromDense bool
	copies    int // how many learners get each sparse subgradient, 0 for one
}

// The dimension of wrappers' offers.
const offerDim = 3

func asIs(_ int, o offer) offer { return o }

func timesRound(t int, o offer) offer { return o.times(float64(t)) }

// wrapperCases are all wrappers of this package, by the names of their types.
func wrapperCases() map[string]wrapperCase {
	inner := func() *sponge { return newSponge(offerDim) }
	return map[string]wrapperCase{
		"Linearized": {
			wrap: func(make func(d int) *sponge) Learner { return must(NewLinearized(make(offerDim))) },
			hand: func() composed { return through(inner(), asIs) },
		},
		"Importance": {
			wrap: func(make func(d int) *sponge) Learner { return must(NewImportance(make(offerDim))) },
			hand: func() composed { return through(inner(), asIs) },
		},
		"Averaging": {
			wrap: func(make func(d int) *sponge) Learner { return must(NewAveraging(make(offerDim), LinearAlpha())) },
			hand: func() composed { return through(inner(), timesRound) },
		},
		"RandomIterate": {
			wrap: func(make func(d int) *sponge) Learner {
				return must(NewRandomIterate(make(offerDim), LinearAlpha(), 1))
			},
			hand: func() composed { return through(inner(), timesRound) },
		},
		"Anytime": {
			wrap: func(make func(d int) *sponge) Learner { return must(NewAnytime(make(offerDim), LinearAlpha())) },
			hand: func() composed { return anytimeByHand(inner()) },
			refused: map[string]string{"curvature": "the losses curve around the average, but the learner plays " +
				"elsewhere"},
		},
		"RepeatHint": {
			wrap: func(make func(d int) *sponge) Learner { return must(NewRepeatHint(make(offerDim))) },
			hand: func() composed {
				l := inner()
				c := through(l, asIs)
				c.end = func(_ int, o offer) { _, _ = o.end(l), l.Hint(o.g) }
				return c
			},
		},
		"HintExperts": {
			wrap: func(make func(d int) *sponge) Learner {
				return must(NewHintExperts(make(offerDim), 2, convex.L2))
			},
			hand:    func() composed { return through(inner(), asIs) },
			refused: map[string]string{"hint": "hints come from the strategies, by Hints"},
		},
		"Split": {
			wrap:      func(make func(d int) *sponge) Learner { return must(NewSplit(make(1), make(1), make(1))) },
			hand:      splitByHand,
			fromDense: true,
		},
		"MiniBatch": {
			wrap:      func(make func(d int) *sponge) Learner { return must(NewMiniBatch(make(offerDim), 3)) },
			hand:      func() composed { return batchesByHand(inner(), 3) },
			refused:   map[string]string{"features": "a batch has one point and features for each of its rounds"},
			fromDense: true,
		},
		"Doubling": {
			wrap: func(make func(d int) *sponge) Learner {
				return must(NewDoubling("sponge", func(int) (Learner, error) { return make(offerDim), nil }))
			},
			hand: func() composed {
				l := inner()
				c := through(l, asIs)
				c.end = func(t int, o offer) {
					if _ = o.end(l); (t+1)&t == 0 { // after rounds 1, 3, 7, ...
						*l = *inner()
					}
				}
				return c
			},
		},
		"MagnitudeDirection": {
			wrap: func(make func(d int) *sponge) Learner {
				return must(NewMagnitudeDirection(make(1), make(offerDim), convex.L2))
			},
			hand:    magnitudeByHand,
			refused: map[string]string{"curvature": "the distance to u is in neither of the two games"},
		},
		"Shifted": {
			wrap: func(make func(d int) *sponge) Learner {
				return must(NewShifted(make(offerDim), []float64{1, -2, 3}))
			},
			hand: func() composed {
				l := inner()
				c := through(l, asIs)
				c.predict = func() []float64 {
					x := l.Predict()
					return []float64{x[0] + 1, x[1] - 2, x[2] + 3}
				}
				return c
			},
		},
		"Constrained": {
			wrap: func(make func(d int) *sponge) Learner {
				return must(NewConstrained(make(offerDim), must(convex.NewCube(offerDim, -.2, .3))))
			},
			hand: func() composed { return constrainedByHand(inner()) },
			refused: map[string]string{
				"features":  "they are those of a loss at x_t, and the learner plays y_t",
				"curvature": "the losses curve at x_t, and the learner plays y_t",
			},
		},
		"Added": {
			wrap: func(make func(d int) *sponge) Learner { return must(NewAdded(make(offerDim), make(offerDim))) },
			hand: func() composed {
				c := through(inner(), asIs)
				predict := c.predict
				c.predict = func() []float64 { return scaledTo(predict(), 2) }
				return c
			},
			refused: map[string]string{"curvature": "the losses curve in the sum, not in its parts"},
			copies:  2,
		},
	}
}

func magnitudeByHand() composed {
	magnitude, direction, point := newSponge(1), newSponge(offerDim), make([]float64, offerDim)
	inner := func(v []float64) []float64 {
		s := 0.0
		for i, w := range direction.Predict() {
			s += v[i] * w
		}
		return []float64{s}
	}
	return composed{
		begin: func(_ int, o offer) {
			if o.hint != nil {
				_ = direction.Hint(o.hint)
				_ = magnitude.Hint(inner(o.hint))
			}
			if o.features != nil {
				_ = direction.Features(o.features)
				_ = magnitude.Features(inner(o.features))
			}
		},
		end: func(_ int, o offer) {
			s := inner(o.g)
			_, _ = o.end(direction), magnitude.Update(s)
		},
		predict: func() []float64 {
			for i, w := range direction.Predict() {
				point[i] = magnitude.Predict()[0] * w
			}
			return point
		},
	}
}

// constrainedByHand is the reduction to the cube from −0.2 to 0.3.
func constrainedByHand(l *sponge) composed {
	const low, high = -.2, .3
	c, point := through(l, asIs), make([]float64, offerDim)
	c.end = func(_ int, o offer) {
		g := slices.Clone(o.g)
		for i, y := range l.Predict() {
			if y > high && g[i] < 0 || y < low && g[i] > 0 {
				g[i] = 0
			}
		}
		_ = l.Update(g)
	}
	c.predict = func() []float64 {
		for i, y := range l.Predict() {
			point[i] = min(max(y, low), high)
		}
		return point
	}
	return c
}

func anytimeByHand(l *sponge) composed {
	mean, point, total := make([]float64, offerDim), make([]float64, offerDim), 0.
	return composed{
		begin: func(t int, o offer) {
			p := o.times(float64(t))
			p.features = o.features
			_ = p.begin(l)
			for i, x := range l.Predict() {
				point[i] = (total*mean[i] + float64(t)*x) / (total + float64(t))
			}
		},
		end: func(t int, o offer) {
			_ = o.times(float64(t)).end(l)
			copy(mean, point)
			total += float64(t)
		},
		predict: func() []float64 { return point },
	}
}

func splitByHand() composed {
	parts, point := []*sponge{newSponge(1), newSponge(1), newSponge(1)}, make([]float64, offerDim)
	return composed{
		begin: func(_ int, o offer) {
			for i, l := range parts {
				_ = o.coordinate(i).begin(l)
			}
		},
		end: func(_ int, o offer) {
			for i, l := range parts {
				_ = o.coordinate(i).end(l)
			}
		},
		predict: func() []float64 {
			for i, l := range parts {
				point[i] = l.Predict()[0]
			}
			return point
		},
	}
}

func batchesByHand(l *sponge, size int) composed {
	mean, mu := make([]float64, offerDim), 0.
	return composed{
		begin: func(t int, o offer) {
			if t%size == 1 {
				_ = o.begin(l)
			}
		},
		end: func(t int, o offer) {
			for i, v := range o.g {
				mean[i] += v / float64(size)
			}
			mu += o.mu / float64(size)
			if t%size == 0 {
				_ = offer{g: mean, mu: mu}.end(l)
				clear(mean)
				mu = 0
			}
		},
		predict: l.Predict,
	}
}

// offers are rounds with the given parts: hint, features, and sparse or curvature.
func offers(rounds int, parts ...string) []offer {
	r := random.New(1, "offers")
	vector := func() []float64 {
		return []float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
	}
	has := func(part string) bool { return slices.Contains(parts, part) }
	var all []offer
	for range rounds {
		o := offer{g: vector(), mu: -1}
		if has("hint") {
			o.hint = vector()
		}
		if has("features") {
			o.features = vector()
		}
		if has("curvature") {
			o.mu = r.Float64()
		}
		if has("sparse") {
			o.g[1] = 0
			o.sparse = &Sparse{Index: []uint32{0, 2}, Value: []float64{o.g[0], o.g[2]}}
		}
		all = append(all, o)
	}
	return all
}

// takes reports whether a learner has the method for the given part of an offer.
func takes(l Learner, part string) (ok bool) {
	switch part {
	case "hint":
		_, ok = l.(Hinted)
	case "features":
		_, ok = l.(FeatureLearner)
	case "sparse":
		_, ok = l.(SparseLearner)
	case "curvature":
		_, ok = l.(Curved)
	}
	return ok
}

// TestWrappersForward checks every wrapper with hints, features, sparse subgradients and strong
// convexity. It plays the points of the composition by hand without allocations, or it has no such
// method and the case states the reason.
func TestWrappersForward(t *testing.T) {
	for name, w := range wrapperCases() {
		var together []string
		for _, part := range []string{"hint", "features", "sparse", "curvature"} {
			reason, refused := w.refused[part]
			if takes(w.wrap(newSponge), part) == refused || refused && reason == "" {
				t.Errorf("%s and %s: has the method %v, refused %v: %q", name, part, !refused, refused, reason)
			}
			if refused {
				continue
			}
			if part != "curvature" || !slices.Contains(together, "sparse") {
				together = append(together, part)
			}
			compareWithHand(t, name+" with "+part, w, offers(12, part))
		}
		compareWithHand(t, name+" with "+strings.Join(together, ", "), w, offers(12, together...))
	}
}

// compareWithHand plays a wrapper beside its composition by hand.
func compareWithHand(t *testing.T, what string, w wrapperCase, rounds []offer) {
	t.Helper()
	var inside []*sponge
	l, c := w.wrap(func(d int) *sponge {
		inside = append(inside, newSponge(d))
		return inside[len(inside)-1]
	}), w.hand()
	for k, o := range rounds {
		if err := o.begin(l); err != nil {
			t.Fatalf("%s: round %d: %v", what, k+1, err)
		}
		c.begin(k+1, o)
		nearVector(t, what+": the point", l.Predict(), c.predict())
		if s, ok := l.(SparseLearner); ok {
			near(t, what+": At", s.At(1), c.predict()[1])
		}
		if err := o.end(l); err != nil {
			t.Fatalf("%s: round %d: %v", what, k+1, err)
		}
		c.end(k+1, o)
	}
	c.begin(len(rounds)+1, offer{mu: -1})
	nearVector(t, what+": the last point", l.Predict(), c.predict())
	sparse := 0
	for _, s := range inside {
		sparse += s.sparse
	}
	if want := len(rounds) * max(w.copies, 1); rounds[0].sparse != nil && !w.fromDense && sparse != want {
		t.Errorf("%s: %d sparse subgradients arrived, want %d", what, sparse, want)
	}
	l = w.wrap(newSponge)
	k := 0
	one := func() { // a round
		o := rounds[k]
		k++
		if o.begin(l) != nil || len(l.Predict()) != offerDim || o.end(l) != nil {
			t.Fatalf("%s: round %d is refused", what, k)
		}
	}
	for range 7 {
		one()
	}
	if n := testing.AllocsPerRun(4, one); n > 0 {
		t.Errorf("%s: %v allocations a round", what, n)
	}
}

// TestWrappersAreComplete checks that wrapperCases has every type of this package that contains a
// learner.
func TestWrappersAreComplete(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	holds := []string{"Learner", "Hinted", "[]Learner", "*weighted"}
	var found []string
	look := func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
			for _, f := range s.Fields.List {
				if slices.Contains(holds, types.ExprString(f.Type)) {
					found = append(found, spec.Name.Name)
					break
				}
			}
		}
		return false
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, look)
	}
	slices.Sort(found)
	if names := slices.Sorted(maps.Keys(wrapperCases())); !slices.Equal(found, names) {
		t.Errorf("types that contain a learner: %v, with a case: %v", found, names)
	}
}

// TestWrappersOfPlainLearners checks wrappers of a learner that accepts only subgradients: they
// ignore hints and features, refuse malformed ones, and make sparse subgradients dense.
func TestWrappersOfPlainLearners(t *testing.T) {
	set := must(convex.NewCenteredLpBall(3, 3, 1))
	for name, wrap := range map[string]func(l Learner) Learner{
		"linearized":     func(l Learner) Learner { return must(NewLinearized(l)) },
		"importance":     func(l Learner) Learner { return must(NewImportance(l)) },
		"averaging":      func(l Learner) Learner { return must(NewAveraging(l, UniformAlpha())) },
		"random iterate": func(l Learner) Learner { return must(NewRandomIterate(l, UniformAlpha(), 1)) },
		"anytime":        func(l Learner) Learner { return must(NewAnytime(l, UniformAlpha())) },
		"doubling": func(l Learner) Learner {
			return must(NewDoubling("one", func(int) (Learner, error) { return l, nil }))
		},
		"shifted": func(l Learner) Learner { return must(NewShifted(l, make([]float64, 3))) },
		"added":   func(l Learner) Learner { return must(NewAdded(l)) },
		"magnitude": func(l Learner) Learner {
			one := descent(must(convex.NewCube(1, 1, 1)), nil, Constant(1)) // stays at 1
			return must(NewMagnitudeDirection(&onlyLearner{one}, l, convex.L2))
		},
	} {
		plain, beside := descent(set, nil, Constant(.1)), descent(set, nil, Constant(.1))
		l := wrap(&onlyLearner{plain})
		h, z := []float64{1, 2, 3}, []float64{7, 8, 9}
		if l.(Hinted).Hint(h) != nil || l.(FeatureLearner).Features(z) != nil {
			t.Errorf("%s: an offer is refused", name)
		}
		if l.(Hinted).Hint(h[:2]) == nil || l.(FeatureLearner).Features(z[:2]) == nil {
			t.Errorf("%s: an offer of another length is accepted", name)
		}
		if err := l.(SparseLearner).UpdateSparse(Sparse{Index: []uint32{0, 2}, Value: []float64{3, -1}}); err != nil {
			t.Fatal(err)
		}
		if err := beside.Update([]float64{3, 0, -1}); err != nil {
			t.Fatal(err)
		}
		nearVector(t, name, plain.Predict(), beside.Predict())
	}
}

// onlyLearner hides all methods of a learner but those of Learner.
type onlyLearner struct{ inner Learner }

func (l *onlyLearner) Dim() int                 { return l.inner.Dim() }
func (l *onlyLearner) Predict() []float64       { return l.inner.Predict() }
func (l *onlyLearner) Update(g []float64) error { return l.inner.Update(g) }
