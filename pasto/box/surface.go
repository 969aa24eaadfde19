package box

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// kernel is a point of the grid of processes that a surface adds to its quadratic trend: Length is
// the index of the length scale, Size that of the variance.
type kernel struct{ Length, Size int }

// The grid, in sides of the box and in variances of the nodes' means.
var (
	lengths = []float64{0.07, 0.15, 0.3, 0.6, 1.2, 2.4}
	sizes   = []float64{0.01, 0.1, 1, 4}
)

// firstKernel is where the search on the grid begins.
var firstKernel = kernel{Length: 3, Size: 2}

func (k kernel) valid() bool {
	return k.Length >= 0 && k.Length < len(lengths) && k.Size >= 0 && k.Size < len(sizes)
}

// Prior variances of the trend, in variances of the nodes' means: of the level, and of the
// coefficients of linear and of quadratic terms on a box from −1 to 1.
const (
	levelVariance     = 25
	linearVariance    = 1
	quadraticVariance = 1
	jitter            = 1e-9 // of the diagonal, for the factorization
)

// surface is a Gaussian process with a quadratic trend for one metric, fitted to the nodes' means.
type surface struct {
	points       [][]float64
	kernel       kernel
	factor       []float64 // R with RᵀR = K + the covariance of the means' errors
	weights      []float64 // (RᵀR)⁻¹·y
	level, scale float64   // values are level + scale·y
}

// covariance is the prior covariance of the surface at two points of the unit cube: of a level, a
// linear and a quadratic function of 2x−1, and a Matérn-5/2 process.
func (k kernel) covariance(a, b []float64) float64 {
	inner, square := 0.0, 0.0
	for i, v := range a {
		inner += float64((2*v - 1) * (2*b[i] - 1))
		square += float64((v - b[i]) * (v - b[i]))
	}
	r := math.Sqrt(5*square) / lengths[k.Length]
	matern := float64((1 + r + float64(r*r)/3) * portable.Exp(-r))
	return levelVariance + float64(linearVariance*inner) + float64(quadraticVariance*float64(inner*inner)) +
		float64(sizes[k.Size]*matern)
}

// newSurface fits a surface with kernel k to means with the given covariance of their errors, and
// returns its log likelihood up to a constant. It is nil where the factorization fails.
func newSurface(k kernel, points [][]float64, mean, noise []float64) (*surface, float64) {
	n := len(mean)
	g := &surface{points: points, kernel: k, factor: make([]float64, n*n), weights: make([]float64, n)}
	g.level, g.scale = standard(mean, noise)
	for a := range n {
		for b := a; b < n; b++ {
			v := k.covariance(points[a], points[b]) + noise[a*n+b]/g.scale/g.scale
			if a == b {
				v += float64(jitter * v)
			}
			g.factor[a*n+b] = v
		}
	}
	if !linalg.Factorize(g.factor, n) {
		return nil, math.Inf(-1)
	}
	like := 0.0
	for a, v := range mean {
		g.weights[a] = (v - g.level) / g.scale
		like -= portable.Log(g.factor[a*n+a])
	}
	linalg.SolveRT(g.factor, n, g.weights)
	like -= float64(0.5 * vec.Dot(g.weights, g.weights))
	linalg.SolveR(g.factor, n, g.weights)
	return g, like
}

// standard is the level of means and the scale of their differences, never 0.
func standard(mean, noise []float64) (level, scale float64) {
	n := len(mean)
	total := 0.0
	most := 0.0
	for _, v := range mean {
		most = max(most, math.Abs(v))
	}
	for a := range mean {
		total += noise[a*n+a]
	}
	floor := float64(1e-6 * math.Sqrt(total/float64(n)))
	if most == 0 {
		most = 1
	}
	for _, v := range mean {
		level += v / float64(n)
	}
	square := 0.0
	for _, v := range mean {
		d := (v - level) / most
		square += float64(d * d)
	}
	scale = max(float64(most*math.Sqrt(square/float64(n))), floor)
	if !(scale > 0) {
		scale = most
	}
	return level, scale
}

// fit returns the surface of largest likelihood on the grid, by steps to the better neighbour from
// k.
func fit(k kernel, points [][]float64, mean, noise []float64) *surface {
	best, top := newSurface(k, points, mean, noise)
	for moved := true; moved; {
		moved = false
		for _, step := range []kernel{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
			next := kernel{k.Length + step.Length, k.Size + step.Size}
			if !next.valid() {
				continue
			}
			if g, like := newSurface(next, points, mean, noise); g != nil && like > top {
				best, top, k, moved = g, like, next, true
			}
		}
	}
	return best
}

// at is the mean and the standard error at x, with row as scratch.
func (g *surface) at(x, row []float64) (mean, sd float64) {
	for i, p := range g.points {
		row[i] = g.kernel.covariance(x, p)
		mean += float64(row[i] * g.weights[i])
	}
	prior := g.kernel.covariance(x, x)
	linalg.SolveRT(g.factor, len(g.points), row)
	return g.level + float64(g.scale*mean), float64(g.scale * math.Sqrt(max(prior-vec.Dot(row, row), 0)))
}
