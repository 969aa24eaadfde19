package classify

import (
	"math"
	"math/rand/v2"
	"testing"
)

// dense is the textbook form that linear must equal: dense weights, an explicit sum of all iterates.
type dense struct {
	w, sum        []float64
	b, bsum       float64
	omega, radius float64
	s             *Scaling
	xb            float64
}

func (d *dense) hat(index []uint32, value []float32) []float64 {
	x := make([]float64, len(d.w))
	for j, i := range index {
		x[i] = float64(value[j])
	}
	for i := range x {
		x[i] = (x[i] - d.s.Center[i]) * d.s.Inverse[i]
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

func randomRow(r *rand.Rand, dim int, density float64) (index []uint32, value []float32) {
	for i := range dim {
		if r.Float64() < density {
			index = append(index, uint32(i))
			value = append(value, float32(r.NormFloat64()*2+0.5))
		}
	}
	return index, value
}

// The sparse representation equals the dense textbook form: weights, average, scores, with ball, decay (also ≤ 0),
// weighted averaging, centring, resets and the intercept.
func TestLinearEqualsDense(t *testing.T) {
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
			s := Identity(dim)
			for i := range dim {
				s.Inverse[i] = math.Exp(r.NormFloat64())
				if tc.centred && i%2 == 0 {
					s.Center[i] = r.NormFloat64() * 3
				}
			}
			l := newLinear(dim, 0.7, tc.radius)
			l.standardize(s)
			d := &dense{w: make([]float64, dim), sum: make([]float64, dim), radius: tc.radius, s: s, xb: 0.7}
			for step := 1; step <= tc.steps; step++ {
				index, value := randomRow(r, dim, 0.4)
				x := d.hat(index, value)
				dd := l.dot(index, value)
				same(t, "score", l.score(dd), d.score(x))
				if step == tc.steps/3 {
					l.resetAverage()
					clear(d.sum)
					d.bsum, d.omega = 0, 0
				}
				c := r.Float64() + 0.1
				l.accumulate(c)
				d.accumulate(c)
				eta := 1 / math.Sqrt(float64(step))
				f := 1 - eta*tc.decay
				g := eta * (r.Float64() - 0.5)
				if tc.decay > 0 {
					l.decay(f, &dd)
				}
				l.add(index, value, dd, g)
				d.update(x, f, g)
				if step%50 == 0 || step == tc.steps {
					index, value := randomRow(r, dim, 0.4)
					avg := *d
					avg.w = make([]float64, dim)
					for i := range avg.w {
						avg.w[i] = d.sum[i] / d.omega
					}
					avg.b = d.bsum / d.omega
					want := avg.score(avg.hat(index, value))
					same(t, "averaged score", l.averagedScore(index, value), want)
					p := l.averaged()
					for i := range p.w {
						same(t, "average", p.w[i], avg.w[i])
					}
					m := l.model(p)
					same(t, "raw model", m.Score(index, value), want)
				}
				if t.Failed() {
					t.Fatalf("at step %d", step)
				}
			}
		})
	}
}

func same(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-10*(1+math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

// Changing a scale mid-stream keeps the function computed by the current and the average weights, and the norm right.
func TestRescaleKeepsFunction(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	l := newLinear(6, 1, math.Inf(1))
	for step := 1; step <= 200; step++ {
		index, value := randomRow(r, 6, 0.5)
		d := l.dot(index, value)
		l.accumulate(1)
		l.decay(0.95, &d)
		l.add(index, value, d, r.NormFloat64())
		probe, pv := randomRow(r, 6, 0.9)
		before, avg := l.score(l.dot(probe, pv)), l.averagedScore(probe, pv)
		i := uint32(r.IntN(6))
		l.rescale(i, l.c[i].inv*math.Exp(r.NormFloat64()*0.1))
		same(t, "score after rescale", l.score(l.dot(probe, pv)), before)
		same(t, "averaged score after rescale", l.averagedScore(probe, pv), avg)
		n2 := l.norm2
		l.refresh()
		same(t, "norm", n2, l.norm2)
	}
}

// Moments: equal to the two-pass formulas on dense and sparse columns, and safe for a large offset.
func TestMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	const n = 5000
	var m moments
	cols := [4][]float64{}
	for range n {
		x := [4]float32{
			float32(1e6 + r.NormFloat64()*100), // dense, large offset
			0,                                  // sparse
			float32(r.NormFloat64() * 1e-6),    // dense, tiny
			42,                                 // constant
		}
		if r.Float64() < 0.05 {
			x[1] = float32(3 + r.Float64())
		}
		for i := range cols {
			cols[i] = append(cols[i], float64(x[i]))
		}
		m.observe([]uint32{0, 1, 2, 3}, x[:], 1)
	}
	s := m.scaling(5, true)
	for _, i := range []int{0, 2} {
		mean := 0.0
		for _, x := range cols[i] {
			mean += x / n
		}
		v := 0.0
		for _, x := range cols[i] {
			v += (x - mean) * (x - mean) / n
		}
		if rel := math.Abs(s.Inverse[i]*math.Sqrt(v) - 1); rel > 1e-9 {
			t.Errorf("column %d: scale off by %g", i, rel)
		}
		if math.Abs(s.Center[i]-mean)*s.Inverse[i] > 1e-9 {
			t.Errorf("column %d: centre %v, want %v", i, s.Center[i], mean)
		}
	}
	sq, k := 0.0, 0.0
	for _, x := range cols[1] {
		if x != 0 {
			sq += x * x
			k++
		}
	}
	same(t, "sparse scale", s.Inverse[1], 1/math.Sqrt(math.Sqrt(sq/k)*math.Sqrt(sq/n)))
	if s.Center[1] != 0 || s.Inverse[3] != 1.0/42 || s.Inverse[4] != 1 {
		t.Errorf("sparse centre %v, constant %v, unseen %v; want 0, 1/42, 1", s.Center[1], s.Inverse[3], s.Inverse[4])
	}
	want := 0.09
	for j := range n {
		for i := range cols {
			h := (cols[i][j] - s.Center[i]) * s.Inverse[i]
			want += h * h / n
		}
	}
	same(t, "mean square", m.meanSquare(s, 0.3), want)
}

func TestDotDoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	l := newLinear(50, 1, 1)
	index, value := randomRow(r, 50, 0.5)
	if n := testing.AllocsPerRun(100, func() {
		d := l.dot(index, value)
		l.accumulate(1)
		l.decay(0.999, &d)
		l.add(index, value, d, 0.01)
	}); n > 0 {
		// A rebase allocates acc once; AllocsPerRun rounds the average down.
		t.Errorf("%v allocations per step", n)
	}
}
