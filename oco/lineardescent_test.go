package oco

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// dense is the textbook form that linear must equal: dense weights, an explicit sum of all
// iterates.
type dense struct {
	w, sum          []float64
	b, bsum         float64
	omega, radius   float64
	center, inverse []float64
	xb              float64
}

func (d *dense) hat(index []uint32, value []float32) []float64 {
	x := make([]float64, len(d.w))
	for j, i := range index {
		x[i] = float64(value[j])
	}
	for i := range x {
		x[i] = (x[i] - d.center[i]) * d.inverse[i]
	}
	return x
}

func (d *dense) score(x []float64) float64 {
	z := d.b * d.xb
	for i, w := range d.w {
		z += w * x[i]
	}
	return z
}

func (d *dense) accumulate(c float64) {
	for i, w := range d.w {
		d.sum[i] += c * w
	}
	d.bsum += c * d.b
	d.omega += c
}

func (d *dense) update(x []float64, decay, c float64) {
	n2 := 0.0
	for i := range d.w {
		if decay <= 0 {
			d.w[i] = 0
		} else {
			d.w[i] *= decay
		}
		d.w[i] += c * x[i]
		n2 += d.w[i] * d.w[i]
	}
	d.b += c * d.xb
	if n2 > d.radius*d.radius {
		f := d.radius / math.Sqrt(n2)
		for i := range d.w {
			d.w[i] *= f
		}
	}
}

func sparseRow(r *rand.Rand, dim int, density float64) (index []uint32, value []float32) {
	for i := range dim {
		if r.Float64() < density {
			index = append(index, uint32(i))
			value = append(value, float32(r.NormFloat64()*2+0.5))
		}
	}
	return index, value
}

// The sparse representation equals the dense textbook form: weights, average, scores, with ball,
// decay (also ≤ 0), weighted averaging, centring, resets and the intercept.
func TestLinearDescentEqualsDense(t *testing.T) {
	for _, tc := range []struct {
		name          string
		radius, decay float64
		centred       bool
		steps         int
	}{
		{"plain", math.Inf(1), 0, false, 3000},
		{"ball 1", 1, 0, false, 3000},
		{"ball 0.1", 0.1, 0, false, 3000},
		{"decay", math.Inf(1), 0.1, false, 3000},
		{"decay and ball", 1, 0.5, false, 3000},
		{"overshooting decay", math.Inf(1), 2.5, false, 300},
		{"centred", math.Inf(1), 0, true, 3000},
		{"centred, ball", 0.5, 0, true, 3000},
		{"centred, decay", math.Inf(1), 0.3, true, 3000},
		{"long, small ball", 0.1, 0, false, 200_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			const dim = 12
			r := rand.New(rand.NewPCG(uint64(tc.steps), 9))
			center, inverse := make([]float64, dim), make([]float64, dim)
			for i := range dim {
				inverse[i] = math.Exp(r.NormFloat64())
				if tc.centred && i%2 == 0 {
					center[i] = r.NormFloat64() * 3
				}
			}
			l := must(NewLinearDescent(dim, 0.7, tc.radius))
			l.Standardize(center, inverse)
			d := &dense{
				w: make([]float64, dim), sum: make([]float64, dim), radius: tc.radius, center: center,
				inverse: inverse, xb: 0.7,
			}
			for step := 1; step <= tc.steps; step++ {
				index, value := sparseRow(r, dim, 0.4)
				x := d.hat(index, value)
				dd := l.Products(index, value)
				sameTo10(t, "score", l.Score(dd), d.score(x))
				if step == tc.steps/3 {
					l.ResetAverage()
					clear(d.sum)
					d.bsum, d.omega = 0, 0
				}
				c := r.Float64() + 0.1
				l.Accumulate(c)
				d.accumulate(c)
				eta := 1 / math.Sqrt(float64(step))
				f := 1 - eta*tc.decay
				g := eta * (r.Float64() - 0.5)
				if tc.decay > 0 {
					l.Decay(f, &dd)
				}
				l.Step(index, value, dd, g)
				d.update(x, f, g)
				if step%50 == 0 || step == tc.steps {
					index, value := sparseRow(r, dim, 0.4)
					avg := *d
					avg.w = make([]float64, dim)
					for i := range avg.w {
						avg.w[i] = d.sum[i] / d.omega
					}
					avg.b = d.bsum / d.omega
					want := avg.score(avg.hat(index, value))
					sameTo10(t, "averaged score", l.AverageScore(index, value), want)
					w, bias := l.Average()
					for i := range w {
						sameTo10(t, "average", w[i], avg.w[i])
					}
					weights, intercept := l.Raw(w, bias)
					for j, i := range index {
						intercept += weights[i] * float64(value[j])
					}
					sameTo10(t, "raw model", intercept, want)
				}
				if t.Failed() {
					t.Fatalf("at step %d", step)
				}
			}
		})
	}
}

// Changing a scale mid-stream keeps the function computed by the current and the average weights,
// and the norm right.
func TestLinearDescentRescale(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	l := must(NewLinearDescent(6, 1, math.Inf(1)))
	for step := 1; step <= 200; step++ {
		index, value := sparseRow(r, 6, 0.5)
		d := l.Products(index, value)
		l.Accumulate(1)
		l.Decay([]float64{0.95, 0.95, 1e-3, 1e-5, 0, -1}[r.IntN(6)], &d)
		if step%3 > 0 {
			l.Step(index, value, d, r.NormFloat64())
		}
		if step%70 == 0 {
			l = must(RestoreLinearDescent(l.State()))
		}
		probe, pv := sparseRow(r, 6, 0.9)
		before, avg := l.Score(l.Products(probe, pv)), l.AverageScore(probe, pv)
		i := uint32(r.IntN(6))
		l.Rescale(i, l.c[i].inv*math.Exp(r.NormFloat64()*0.1))
		sameTo10(t, "score after rescale", l.Score(l.Products(probe, pv)), before)
		sameTo10(t, "averaged score after rescale", l.AverageScore(probe, pv), avg)
		n2 := l.norm2
		l.Refresh()
		sameTo10(t, "norm", n2, l.norm2)
	}
}

func TestLinearDescentDoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	l := must(NewLinearDescent(50, 1, 1))
	index, value := sparseRow(r, 50, 0.5)
	if n := testing.AllocsPerRun(100, func() {
		d := l.Products(index, value)
		l.Accumulate(1)
		l.Decay(0.999, &d)
		l.Step(index, value, d, 0.01)
	}); n > 0 {
		// A rebase allocates acc once; AllocsPerRun rounds the average down.
		t.Errorf("%v allocations per step", n)
	}
}

func sameTo10(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-10*(1+math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// TestLinearDescentIsSubgradientDescent compares it with the learner and the conversion of which it
// is the O(nnz) form, with a snapshot on the way.
func TestLinearDescentIsSubgradientDescent(t *testing.T) {
	const dim, rounds = 8, 500
	for _, radius := range []float64{0.2, 3, math.Inf(1)} {
		var set convex.Set = must(convex.NewSpace(dim))
		if !math.IsInf(radius, 1) {
			set = must(convex.NewCenteredBall(dim, radius))
		}
		rate, schedule := func(t int) float64 { return 0.5 / math.Sqrt(float64(t)) }, InverseSqrt(0.5, 1)
		if math.IsInf(radius, 1) {
			rate, schedule = func(int) float64 { return 0.05 }, Constant(0.05)
		}
		a := must(NewAveraging(descent(set, nil, schedule), UniformAlpha()))
		l := must(NewLinearDescent(dim, 0, radius))
		r := random.New(4, "linear descent")
		for round := 1; round <= rounds; round++ {
			index, value := []uint32{}, []float32{}
			g := make([]float64, dim)
			slope := r.NormFloat64()
			for i := range g {
				if r.IntN(3) == 0 {
					v := float32(r.NormFloat64())
					index, value = append(index, uint32(i)), append(value, v)
					g[i] = slope * float64(v)
				}
			}
			for i, x := range a.Predict() {
				sameTo10(t, "x_t", l.Weight(i), x)
			}
			sameTo10(t, "‖x_t‖", l.Norm(), vec.Norm2(a.Predict()))
			d := l.Products(index, value)
			l.Accumulate(1)
			l.Step(index, value, d, -rate(round)*slope)
			if err := a.Update(g); err != nil {
				t.Fatal(err)
			}
			if round == rounds/2 {
				l = must(RestoreLinearDescent(l.State()))
			}
		}
		w, _ := l.Average()
		for i, x := range must(a.Average()) {
			sameTo10(t, "average", w[i], x)
		}
	}
}

// TestLinearDescentRefuses checks that bad options and damaged states are refused.
func TestLinearDescentRefuses(t *testing.T) {
	for _, o := range []struct {
		dim          int
		bias, radius float64
	}{{-1, 1, 1}, {1, math.NaN(), 1}, {1, math.Inf(1), 1}, {1, 1, 0}, {1, 1, -1}, {1, 1, math.NaN()}} {
		if _, err := NewLinearDescent(o.dim, o.bias, o.radius); err == nil {
			t.Errorf("%+v is not refused", o)
		}
	}
	l := must(NewLinearDescent(2, 1, 1))
	for name, damage := range map[string]func(s *LinearDescentState){
		"lengths":            func(s *LinearDescentState) { s.U = s.U[:1] },
		"average":            func(s *LinearDescentState) { s.Acc = []float64{1} },
		"NaN":                func(s *LinearDescentState) { s.V[1] = math.NaN() },
		"scale":              func(s *LinearDescentState) { s.Scale = 0 },
		"inverse":            func(s *LinearDescentState) { s.Inv[0] = 0 },
		"radius":             func(s *LinearDescentState) { s.Ball = math.NaN() },
		"squares":            func(s *LinearDescentState) { s.Squares = []float64{1, -1} },
		"lengths of squares": func(s *LinearDescentState) { s.Squares = []float64{1} },
		"bias":               func(s *LinearDescentState) { s.BiasSquares = -1 },
	} {
		s := l.State()
		damage(&s)
		if _, err := RestoreLinearDescent(s); err == nil {
			t.Errorf("%s: a damaged state is not refused", name)
		}
	}
}

// TestLinearDescentAdaptive compares the adaptive step with AdaGrad on dense, standardised rows:
// every iterate, the average, a snapshot on the way, columns that appear late and one that is
// rescaled.
func TestLinearDescentAdaptive(t *testing.T) {
	const dim, rounds, rate = 9, 400, 0.3
	r := random.New(8, "adaptive")
	l := must(NewLinearDescent(dim-2, 0.7, math.Inf(1)))
	center, inverse := make([]float64, dim), make([]float64, dim)
	for i := range inverse {
		inverse[i] = math.Exp(r.NormFloat64())
		if i%3 == 0 && i < dim-2 {
			center[i] = 2 * r.NormFloat64()
		}
	}
	inverse[dim-2], inverse[dim-1] = 1, 1
	l.Standardize(center[:dim-2], inverse[:dim-2])
	w, squares, sum := make([]float64, dim+1), make([]float64, dim+1), make([]float64, dim+1)
	x, n := make([]float64, dim+1), 0.0
	for round := 1; round <= rounds; round++ {
		index, value := []uint32{}, []float32{}
		clear(x)
		for i := range dim {
			if r.IntN(3) > 0 && (i < dim-2 || round > 50) {
				v := float32(r.NormFloat64() + 1)
				index, value = append(index, uint32(i)), append(value, v)
				x[i] = float64(v)
			}
			x[i] = (x[i] - center[i]) * inverse[i]
		}
		x[dim] = 0.7
		if round == 51 {
			l.Grow(dim)
		}
		if round == 200 { // column 1 changes its unit; the function and its steps do not
			ratio := 1.5
			l.Rescale(1, inverse[1]*ratio)
			inverse[1] *= ratio
			w[1], sum[1], squares[1], x[1] = w[1]/ratio, sum[1]/ratio, squares[1]*ratio*ratio, x[1]*ratio
		}
		z := 0.0
		for i, v := range x {
			z += w[i] * v
		}
		d := l.Products(index, value)
		sameTo10(t, "score", l.Score(d), z)
		l.Accumulate(1)
		for i, v := range w {
			sum[i] += v
		}
		n++
		c := r.NormFloat64() * math.Exp(3*r.NormFloat64())
		l.AdaptiveStep(index, value, c, rate)
		for i, v := range x {
			g := c * v
			if squares[i] += g * g; squares[i] > 0 {
				w[i] += rate * g / math.Sqrt(squares[i])
			}
		}
		var n2 float64
		for i := range l.Dim() {
			sameTo10(t, "weight", l.Weight(i), w[i])
			n2 += w[i] * w[i]
		}
		sameTo10(t, "bias", l.Bias(), w[dim])
		sameTo10(t, "norm", l.Norm(), math.Sqrt(n2))
		if round == 120 {
			l = must(RestoreLinearDescent(l.State()))
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	average, bias := l.Average()
	for i, v := range average {
		sameTo10(t, "average", v, sum[i]/n)
	}
	sameTo10(t, "average bias", bias, sum[dim]/n)
	index, value := sparseRow(rand.New(rand.NewPCG(1, 2)), dim, 0.5)
	if n := testing.AllocsPerRun(100, func() { l.AdaptiveStep(index, value, 0.1, rate) }); n > 0 {
		t.Errorf("%v allocations per adaptive step", n)
	}
	// Gradients whose squares underflow are ignored; those whose squares overflow end the descent.
	far := must(NewLinearDescent(1, 1, math.Inf(1)))
	far.AdaptiveStep([]uint32{0}, []float32{1}, 1e-151, rate)
	if far.Weight(0) != 0 || far.Bias() != 0 || far.Diverged(0) {
		t.Errorf("a gradient of 1e-151 moves the weight to %v", far.Weight(0))
	}
	far.AdaptiveStep([]uint32{0}, []float32{1}, 1e-149, rate)
	sameTo10(t, "small step", far.Weight(0), rate)
	far.AdaptiveStep([]uint32{0}, []float32{1}, 1e151, rate)
	if !far.Diverged(0) {
		t.Error("a gradient of 1e151 does not end the descent")
	}
	if _, err := RestoreLinearDescent(far.State()); err != nil {
		t.Error(err)
	}
	// The size of the direction does not matter: the first step is rate in every coordinate.
	one := must(NewLinearDescent(2, 0, math.Inf(1)))
	one.AdaptiveStep([]uint32{0, 1}, []float32{3, -1e-6}, 1e-9, rate)
	sameTo10(t, "first step", one.Weight(0), rate)
	sameTo10(t, "first step", one.Weight(1), -rate)
}
