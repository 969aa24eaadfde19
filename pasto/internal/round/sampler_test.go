package round

import (
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// With systematic draws the expected number of draws of every arm is exactly Q·p_k (integrated over
// the offset), also for shares above 1/Q.
func TestSystematic(t *testing.T) {
	p := []float64{.55, .05, .4}
	const steps = 4000
	count := make([]float64, 3)
	var s Sampler
	arms := make([]int, 4)
	r := random.New(1, "test")
	for i := range steps {
		s.Draw(&fixed{first: (float64(i) + .5) / steps, rest: r}, p, arms, pasto.Systematic)
		for _, k := range arms {
			count[k]++
		}
	}
	for k := range p {
		pastotest.Near(t, "mean count", count[k]/steps, 4*p[k], 1e-3)
	}
}

type fixed struct {
	first float64
	rest  pasto.Rand
	used  bool
}

func (f *fixed) Float64() float64 {
	if !f.used {
		f.used = true
		return f.first
	}
	return f.rest.Float64()
}

// The sampler never returns an arm of share 0, whatever the random number.
func TestSamplerEnds(t *testing.T) {
	var s Sampler
	arms := make([]int, 1)
	for _, u := range []float64{0, .5, 1 - 1.0/(1<<53)} {
		s.Draw(&fixed{first: u}, []float64{0, .5, .5, 0}, arms, pasto.IID)
		if arms[0] != 1 && arms[0] != 2 {
			t.Errorf("u = %v draws arm %d", u, arms[0])
		}
	}
	s.Reset()
	s.Draw(&fixed{first: 0}, []float64{0, .5, .5, 0}, arms, pasto.Systematic)
	if arms[0] != 1 {
		t.Errorf("systematic draws %d", arms[0])
	}
}
