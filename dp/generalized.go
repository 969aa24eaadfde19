package dp

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// UnsafeGeneralizedGaussian draws vectors with density proportional to exp(−‖z‖_r²/(2σ²)) in
// floating point, from a seed. It is UNSAFE: the low bits of floating-point noise reveal what it
// was added to, and a seed protects nobody. It exists so that tests and experiments can compare
// with the published mechanism (Bassily, Guzmán and Nandi 2021; Han et al. 2022). No stream,
// statement or ledger takes it, and it has neither adjacency nor unit. Draws and σ are in the unit
// of what they are added to.
//
// The published sampler draws ‖z‖² from a Gamma distribution of scale 2σ; it must be 2σ², as here.
// With 2σ the size of the noise is √σ, which is not even in the unit of the data.
type UnsafeGeneralizedGaussian struct {
	dim          int
	index, sigma float64
	random       *random.Source
}

// NewUnsafeGeneralizedGaussian returns the distribution in the given dimension for positive r =
// index and σ. Below index 2 it has no privacy at all, even on paper. The errors are ErrDimension,
// ErrNorm and ErrBound.
func NewUnsafeGeneralizedGaussian(dim int, index, sigma float64, seed uint64) (*UnsafeGeneralizedGaussian, error) {
	if err := checkDim(dim); err != nil {
		return nil, err
	}
	if !(index > 0) || math.IsInf(index, 1) {
		return nil, noregret.BadInputf("index", "%g, want positive and finite: %w", index, ErrNorm)
	}
	if err := checkBound("sigma", sigma); err != nil {
		return nil, err
	}
	return &UnsafeGeneralizedGaussian{dim, index, sigma, random.New(seed, "dp/unsafe-generalized-gaussian")}, nil
}

// Draw writes one vector to out, which must have the dimension: the radius σ·√(2·Gamma(d/2)) times
// a direction from the cone measure of the lr sphere.
func (g *UnsafeGeneralizedGaussian) Draw(out []float64) {
	norm := 0.0
	for j := range g.dim {
		u := stat.Gamma(g.random, 1/g.index)
		norm += u
		out[j] = portable.Pow(u, 1/g.index)
		if g.random.Uint64()&1 == 1 {
			out[j] = -out[j]
		}
	}
	norm = portable.Pow(norm, 1/g.index)
	radius := g.sigma * math.Sqrt(2*stat.Gamma(g.random, float64(g.dim)/2))
	for j := range g.dim {
		out[j] = out[j] / norm * radius
	}
}
