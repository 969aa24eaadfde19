package private

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

var goldenRecords = []struct {
	x []float64
	y float64
}{
	{[]float64{.5, -.25, .25}, .4},
	{[]float64{-.2, .6, .1}, -.3},
	{[]float64{.1, .1, -.8}, .5},
	{[]float64{.9, .05, 0}, .7},
	{[]float64{.3, .3, .3}, -.1},
}

// goldenProblem is the problem of the golden trace: the squared loss on the ball of radius 1, with
// bounds that clip nothing and a lattice far finer than the golden digits.
func goldenProblem(p float64) Problem {
	problem := NewProblem(must(NewBall(3, p, 1)), Squared(), 100, 100, 5)
	problem.Clip, problem.Spacing = 64, 0x1p-48
	return problem
}

// TestIdentityT6 is the golden trace, to 1e-9.
func TestIdentityT6(t *testing.T) {
	for _, c := range []struct {
		p          float64
		theta, sum [3]float64
	}{
		{
			1.5,
			[3]float64{0.5919293756, -0.0367120310, -0.2043723134},
			[3]float64{-1.3310170339, 0.0094064175, 1.1178611771},
		},
		{
			2,
			[3]float64{0.5358538976, 0.0630778197, -0.2265131130},
			[3]float64{-1.1730996592, -0.2670212817, 1.3928111445},
		},
		{
			math.Inf(1),
			[3]float64{0.1666666667, 0.5, -0.1666666667},
			[3]float64{0.0731666667, -1.1005833333, 1.3156666667},
		},
		{1, [3]float64{0.5, 0, -0.3333333333}, [3]float64{-0.1646666667, -0.0321666667, 0.2303333333}},
	} {
		l := must(NewNonPrivateTOFW(goldenProblem(c.p)))
		for i, r := range goldenRecords {
			before := append([]float64(nil), l.Sum()...)
			if err := l.Step(r.x, r.y); err != nil {
				t.Fatal(err)
			}
			if i == 1 && c.p == 2 {
				for j, want := range [3]float64{0.1004540769, -0.3013622306, -0.0502270384} {
					if math.Abs(l.Sum()[j]-before[j]-want) > 1e-9 {
						t.Errorf("g_2[%d] = %v, want %v", j, l.Sum()[j]-before[j], want)
					}
				}
				near(t, "θ_3", l.Theta(), [3]float64{0.5197714401, -0.0522963197, 0.3429214802})
			}
		}
		near(t, "θ_6", l.Theta(), c.theta)
		near(t, "S_5", l.Sum(), c.sum)
	}
}

func near(t *testing.T, name string, got []float64, want [3]float64) {
	t.Helper()
	for j, w := range want {
		if math.Abs(got[j]-w) > 1e-9 {
			t.Errorf("%s = %v, want %v", name, got, want)
			return
		}
	}
}

// record draws a record of a linear model.
func record(r *random.Source, d int) ([]float64, float64) {
	x := normals(r, d)
	vec.Scale(x, 1/vec.Norm2(x))
	return x, x[0] - 0.5*x[d-1] + 0.1*normals(r, 1)[0]
}

// TestIdentityT2 compares the released sums of the learner without noise with running sums in
// integers, for every t ≤ 5000.
func TestIdentityT2(t *testing.T) {
	r := random.New(9, "test")
	p := NewProblem(must(NewBall(4, 1.5, 1)), Squared(), 1, 1, 5000)
	l := must(NewNonPrivateTOFW(p))
	lattice := l.mechanism.(*sumMechanism).stream.Lattice()
	front := newFrontEnd(l.Problem())
	sum, k := make([]int64, 4), make([]int64, 4)
	for i := int64(1); i <= 5000; i++ {
		x, y := record(r, 4)
		lattice.Quantize(front.increment(i, x, y, l.path.Theta, l.path.Previous), k)
		if err := l.Step(x, y); err != nil {
			t.Fatal(err)
		}
		for j, v := range k {
			if sum[j] += v; l.Sum()[j] != float64(sum[j])*lattice.Spacing() {
				t.Fatalf("t=%d: sum %v, want %v", i, l.Sum()[j], float64(sum[j])*lattice.Spacing())
			}
		}
	}
}

// TestIdentityT3: the point is the mean of the start and the vertices, with and without noise.
func TestIdentityT3(t *testing.T) {
	r := random.New(10, "test")
	start := must(must(NewBall(3, 2, 1)).WithStart([]float64{0.5, 0, 0}))
	for _, l := range []*Learner{
		must(NewNonPrivateTOFW(NewProblem(start, Squared(), 1, 1, 500))),
		must(NewTOFW(NewProblem(start, Squared(), 1, 1, 500), testNoise(1))),
	} {
		sum, v := start.Start(), make([]float64, 3)
		for i := range 500 {
			x, y := record(r, 3)
			if err := l.Step(x, y); err != nil {
				t.Fatal(err)
			}
			start.Minimize(v, l.Sum())
			vec.AddScaled(sum, 1, v)
			for j, s := range sum {
				if math.Abs(l.Theta()[j]-s/float64(i+2)) > 1e-14 {
					t.Fatalf("step %d: θ = %v, want %v/%d", i+1, l.Theta(), sum, i+2)
				}
			}
		}
	}
}
