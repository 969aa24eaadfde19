package private

import (
	"errors"
	"math"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// TestIdentityT1: the sum of increments divided by its weight is the recursive estimate d_t =
// ∇f(θ_t) + (1−ρ_t)(d_{t−1} − ∇f(θ_{t−1})), within 1e-12, for the three weightings and t to 10^4.
func TestIdentityT1(t *testing.T) {
	r := random.New(5, "test")
	const dim, rounds = 4, 10000
	for w := PaperWeights; w <= RecursiveWeights; w++ {
		domain := must(NewBall(dim, 2, 1))
		problem := NewProblem(domain, Squared(), 1, 1, rounds)
		problem.Weighting = w
		front := newFrontEnd(problem)
		path := newPath(domain)
		sum, d, v := make([]float64, dim), make([]float64, dim), make([]float64, dim)
		largest := 0.0
		for i := int64(1); i <= rounds; i++ {
			x := normals(r, dim)
			vec.Scale(x, 0.9/vec.Norm2(x))
			y := 2*r.Float64() - 1
			if !front.gradient(i, x, y, path.Theta, path.Previous) {
				t.Fatal("a null record")
			}
			vec.AddScaled(sum, 1, front.g)
			rho, weight := 1/float64(i+1), float64(i+1)
			if w == CentredWeights {
				rho, weight = 1/float64(i), float64(i)
			}
			current := Squared().Slope(vec.Dot(x, path.Theta), y)
			before := Squared().Slope(vec.Dot(x, path.Previous), y)
			for j := range d {
				switch {
				case i == 1 && w == RecursiveWeights:
					d[j] = current * x[j]
				case i == 1 && w == PaperWeights: // d_0 = 0, θ_0 = θ_1
					d[j] = rho * current * x[j]
				default:
					d[j] = current*x[j] + (1-rho)*(d[j]-before*x[j])
				}
			}
			largest = max(largest, vec.Norm2(d))
			for j := range d {
				if math.Abs(sum[j]/weight-d[j]) > 1e-12*largest {
					t.Fatalf("%v, t=%d: the sum gives %v, the recursion %v", w, i, sum[j]/weight, d[j])
				}
			}
			domain.Minimize(v, sum)
			path.advance(v, 1)
		}
	}
}

// TestOracleO3Increments: whatever the record, the loss and the points are, the lattice increment
// is within the clip; numbers that are not finite give 0.
func TestOracleO3Increments(t *testing.T) {
	values := []float64{
		0, 1, -1, 1e308, -1e308, math.MaxFloat64, 5e-324, math.Inf(1), math.Inf(-1), math.NaN(), 0.3,
	}
	r := random.New(6, "test")
	const dim = 3
	for _, p := range []float64{1, 1.5, 2, math.Inf(1)} {
		for _, l := range append(losses(), wild{}) {
			problem := NewProblem(must(NewBall(dim, p, 2)), l, 1, 1, 1000)
			lattice := must(dp.NewLattice(dp.DefaultLatticeConfig(dim, 1000, dp.L2, 1.5)))
			front := newFrontEnd(problem)
			k := make([]int64, dim)
			for range 3000 {
				x, theta, previous := make([]float64, dim), make([]float64, dim), make([]float64, dim)
				finite := true
				for j := range x {
					x[j] = values[r.IntN(len(values))]
					theta[j], previous[j] = values[r.IntN(len(values))], values[r.IntN(len(values))]
					finite = finite && vec.IsFinite(x[j])
				}
				y := values[r.IntN(len(values))]
				lattice.Quantize(front.increment(1+r.Int64N(1<<40), x, y, theta, previous), k)
				if !lattice.Admits(k) {
					t.Fatalf("%s: %v is outside the clip", l.Name(), k)
				}
				if (!finite || !vec.IsFinite(y)) && (k[0] != 0 || k[1] != 0 || k[2] != 0) {
					t.Fatalf("%s: the null record (%v, %v) gives %v", l.Name(), x, y, k)
				}
			}
		}
	}
}

// wild is a loss that returns anything and panics now and then.
type wild struct{}

func (wild) Name() string               { return "wild" }
func (wild) Value(_, _ float64) float64 { return 0 }
func (wild) Slope(z, y float64) float64 {
	switch bits := math.Float64bits(z) ^ math.Float64bits(y); bits % 5 {
	case 0:
		panic("wild")
	case 1:
		return math.NaN()
	case 2:
		return 1e308
	case 3:
		return math.Inf(-1)
	default:
		return -7
	}
}
func (wild) Bounds(_, _ float64) (slope, curvature float64) { return 1, 1 }

// TestProblemEdges holds the refusals of problems.
func TestProblemEdges(t *testing.T) {
	good := func() Problem { return NewProblem(must(NewBall(2, 2, 1)), Squared(), 1, 1, 10) }
	for _, c := range []struct {
		name   string
		change func(p *Problem)
		want   error
	}{
		{"features 0", func(p *Problem) { p.Features = 0 }, dp.ErrBound},
		{"features NaN", func(p *Problem) { p.Features = math.NaN() }, dp.ErrBound},
		{"features +Inf", func(p *Problem) { p.Features = math.Inf(1) }, dp.ErrBound},
		{"labels negative", func(p *Problem) { p.Labels = -1 }, dp.ErrBound},
		{"labels NaN", func(p *Problem) { p.Labels = math.NaN() }, dp.ErrBound},
		{"clip negative", func(p *Problem) { p.Clip = -1 }, dp.ErrBound},
		{"clip +Inf", func(p *Problem) { p.Clip = math.Inf(1) }, dp.ErrBound},
		{"horizon 0", func(p *Problem) { p.Horizon = 0 }, dp.ErrHorizon},
		{"horizon above 2^40", func(p *Problem) { p.Horizon = 1<<40 + 1 }, dp.ErrHorizon},
		{"batch 0", func(p *Problem) { p.Batch = 0 }, dp.ErrBound},
		{"step scale 0", func(p *Problem) { p.StepScale = 0 }, dp.ErrBound},
	} {
		p := good()
		c.change(&p)
		if _, err := p.Constants(); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := good().Constants(); err != nil {
		t.Error(err)
	}
	p := good()
	if p.Weighting = 0; p.check() == nil {
		t.Error("the zero weighting is accepted")
	}
	if p.Domain = nil; p.check() == nil {
		t.Error("a nil domain is accepted")
	}
}
