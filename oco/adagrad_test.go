package oco

import (
	"math"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"pgregory.net/rapid"
)

// TestAdaGradKernel compares the vector code with the plain code bit for bit, including the signs
// of zeros.
func TestAdaGradKernel(t *testing.T) {
	if !hasAdagradStep {
		t.Log("this processor runs the plain code only")
	}
	values := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-3, 1e3, 1e-150, 1e150, 0x1p-450, 0x1p450, 5e-324, 1e308}
	sides := []float64{-1e3, -1, -0.5, math.Copysign(0, -1), 0, 0.25, 2}
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.IntRange(1, 19).Draw(t, "d")
		lower, upper := make([]float64, d), make([]float64, d)
		for i := range d {
			a, b := rapid.SampledFrom(sides).Draw(t, "side"), rapid.SampledFrom(sides).Draw(t, "side")
			lower[i], upper[i] = min(a, b), max(a, b)
		}
		box := must(convex.NewBox(lower, upper))
		fast, plain := must(NewAdaGrad(box, nil)), must(NewAdaGrad(box, nil))
		pool := values
		if rapid.Bool().Draw(t, "moderate") {
			pool = values[:7]
		}
		g := make([]float64, d)
		for range rapid.IntRange(1, 30).Draw(t, "rounds") {
			for i := range g {
				g[i] = rapid.SampledFrom(pool).Draw(t, "g") *
					rapid.SampledFrom([]float64{1, -1, 1.5, 0.7}).Draw(t, "factor")
				if math.IsInf(g[i], 0) {
					g[i] = math.MaxFloat64
				}
			}
			if err := fast.Update(g); err != nil {
				t.Fatal(err)
			}
			for i, v := range g {
				plain.step(i, v)
			}
			for i := range g {
				a, b := fast.state, plain.state
				if math.Float64bits(a.X[i]) != math.Float64bits(b.X[i]) || a.Q[i] != b.Q[i] || a.Exp[i] != b.Exp[i] ||
					math.Float64bits(a.Spent[i]) != math.Float64bits(b.Spent[i]) {
					t.Fatalf("coordinate %d after g = %v: x %v and %v, q %v and %v, spent %v and %v", i, g[i], a.X[i],
						b.X[i], a.Q[i], b.Q[i], a.Spent[i], b.Spent[i])
				}
			}
		}
	})
}

// TestAdaGradMembership checks that membership of a comparator follows the rule of the set,
// relative to its size, and not an absolute tolerance.
func TestAdaGradMembership(t *testing.T) {
	tiny := must(NewAdaGrad(must(convex.NewCube(2, 0, 1e-12)), nil))
	huge := must(NewAdaGrad(must(convex.NewCube(2, 0, 1e12)), nil))
	for _, l := range []*AdaGrad{tiny, huge} {
		if err := l.Update([]float64{1, -1}); err != nil {
			t.Fatal(err)
		}
	}
	if b := bound(t, tiny, []float64{1e-10, 0}); !math.IsInf(b, 1) {
		t.Errorf("a comparator outside the box by a hundred sides has the bound %v", b)
	}
	if b := bound(t, huge, []float64{1e12 + .1, 0}); math.IsInf(b, 1) {
		t.Error("a comparator outside by rounding has no bound")
	}
}

func TestAdaGrad(t *testing.T) {
	box := must(convex.NewBox([]float64{-1, 0, -.5}, []float64{1, 2, .5}))
	l := must(NewAdaGrad(box, []float64{0, 1, 0}))
	xs, total := play(t, l, g4)
	nearVector(t, "x_2", xs[1], []float64{-1, 2, -.5})
	nearVector(t, "x_3", xs[2], []float64{-.1514718626, .7350889359, -.5})
	nearVector(t, "x_4", xs[3], []float64{-.6766975940, .1577386667, .1172133998})
	nearVector(t, "x_5", xs[4], []float64{-.4184987043, 1.0521658577, -.2700849348})
	near(t, "loss", total, 2.8911543183)
	near(t, "bound", bound(t, l, []float64{-1, 0, -.5}), 10.2816109743)

	thin := must(convex.NewBox([]float64{-1, .75, -.5}, []float64{1, .75, .5}))
	ys, _ := play(t, must(NewAdaGrad(thin, []float64{0, .75, 0})), g4)
	for i, y := range ys {
		if y[1] != .75 || y[0] != xs[i][0] || y[2] != xs[i][2] {
			t.Errorf("x_%d = %v on a box of width 0 in the second coordinate, %v on one of width 2", i+1, y, xs[i])
		}
	}
}

// TestAdaGradSharpBound: in one dimension the sharp bound at the end of the side is
// D²/(2η_T) + ½Σ η_t·g_t², below the stated bound by 10, 3.5 and 1.2 % after 10, 100 and 1,000
// subgradients of size one; it is the same for subgradients of any size.
func TestAdaGradSharpBound(t *testing.T) {
	rounds := 0
	box := must(convex.NewCube(1, -3, 5))
	l := must(NewAdaGrad(box, nil))
	huge, tiny := must(NewAdaGrad(box, nil)), must(NewAdaGrad(box, nil))
	q, spent := 0.0, 0.0
	for _, c := range []struct {
		rounds int
		want   float64
	}{{10, .897}, {100, .965}, {1000, .9885}} {
		for ; rounds < c.rounds; rounds++ {
			g := float64(1 - 2*(rounds/3%2))
			for _, scaled := range []struct {
				l     *AdaGrad
				scale float64
			}{{l, 1}, {huge, 0x1p800}, {tiny, 0x1p-800}} {
				if err := scaled.l.Update([]float64{g * scaled.scale}); err != nil {
					t.Fatal(err)
				}
			}
			q++
			spent += 8 * math.Sqrt2 / 2 / math.Sqrt(q)
		}
		u := []float64{5}
		sharp := must(l.SharpBound(u))
		near(t, "sharp bound", sharp, 64*math.Sqrt(q)/(2*8*math.Sqrt2/2)+spent/2)
		if ratio := sharp / bound(t, l, u); math.Abs(ratio-c.want) > 1e-3 {
			t.Errorf("after %d rounds the sharp bound is %v of the stated one, want %v", c.rounds, ratio, c.want)
		}
		near(t, "sharp bound of large subgradients", must(huge.SharpBound(u))/0x1p800, sharp)
		near(t, "sharp bound of small subgradients", must(tiny.SharpBound(u))*0x1p800, sharp)
	}
}

// TestAdaGradRefusesSpent opens states without the sums of steps, and with a NaN among them.
func TestAdaGradRefusesSpent(t *testing.T) {
	l := must(NewAdaGrad(must(convex.NewCube(2, -1, 3)), nil))
	if err := l.Update([]float64{1, -2}); err != nil {
		t.Fatal(err)
	}
	for _, spent := range [][]float64{nil, {1, math.NaN()}} {
		st := l.state
		st.Spent = spent
		if l.UnmarshalBinary(must(snapshot.Seal(snapshotMagic, l.text, &st))) == nil {
			t.Errorf("a state with the sums %v was accepted", spent)
		}
	}
}

// TestAdaGradPrintedConstants shows that the printed constants are wrong: the rate √(2D)/(2√q) is
// not homogeneous, and the corrected bound is below (3/2)·D·√Q.
func TestAdaGradPrintedConstants(t *testing.T) {
	set := must(convex.NewCube(1, -4, 4))
	printed := Adaptive(math.Sqrt(2*8) / 2)
	right := Adaptive(8 * math.Sqrt2 / 2)
	a, b := descent(set, nil, right), descent(set, nil, printed)
	scaledSet := must(convex.NewCube(1, -4000, 4000))
	c, e := descent(scaledSet, nil, Adaptive(8000*math.Sqrt2/2)), descent(scaledSet, nil, Adaptive(math.Sqrt(2*8000)/2))
	differ := false
	r := random.New(2, "e12")
	for range 20 {
		if math.Abs(c.Predict()[0]/1000-a.Predict()[0]) > 1e-9 {
			t.Fatal("the rate of Theorem 4.14 is not homogeneous in D")
		}
		differ = differ || math.Abs(e.Predict()[0]/1000-b.Predict()[0]) > 1e-3
		g := []float64{r.NormFloat64()}
		for _, l := range []Learner{a, b, c, e} {
			if err := l.Update(g); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !differ {
		t.Error("the printed rate is homogeneous here: the test checks nothing")
	}
	root := a.state.Rate.Q.root()
	near(t, "bound", bound(t, a, []float64{0}), math.Sqrt2*8*root)
}
