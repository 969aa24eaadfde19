package box

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// process is a Gaussian process on the active nodes.
type process struct {
	points [][]float64
	chol   []float64 // lower factor of K + noise
	alpha  []float64
	scale  float64 // prior variance
	length float64
}

// matern is the Matérn-5/2 kernel of variance 1.
func matern(a, b []float64, length float64) float64 {
	s := 0.0
	for i, v := range a {
		s += float64((v - b[i]) * (v - b[i]))
	}
	r := math.Sqrt(5*s) / length
	return float64((1 + r + float64(r*r)/3) * portable.Exp(-r))
}

// fit returns the process for targets y with the given noise variances, and its log likelihood up
// to a constant.
func fit(points [][]float64, y, noise []float64, scale, length float64) (*process, float64) {
	n := len(y)
	g := &process{points: points, scale: scale, length: length, chol: make([]float64, n*n), alpha: make([]float64, n)}
	like := 0.0
	for i := range n {
		for j := 0; j <= i; j++ {
			v := float64(scale * matern(points[i], points[j], length))
			if i == j {
				v += noise[i] + float64(1e-9*scale)
			}
			for k := range j {
				v -= float64(g.chol[i*n+k] * g.chol[j*n+k])
			}
			if i == j {
				v = math.Sqrt(max(v, 1e-300))
				like -= portable.Log(v)
			} else {
				v /= g.chol[j*n+j]
			}
			g.chol[i*n+j] = v
		}
	}
	copy(g.alpha, y)
	g.forward(g.alpha)
	like -= float64(0.5 * vec.Dot(g.alpha, g.alpha))
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			g.alpha[i] -= float64(g.chol[k*n+i] * g.alpha[k])
		}
		g.alpha[i] /= g.chol[i*n+i]
	}
	return g, like
}

// forward solves L·x = b in place.
func (g *process) forward(b []float64) {
	n := len(g.alpha)
	for i := range n {
		for k := range i {
			b[i] -= float64(g.chol[i*n+k] * b[k])
		}
		b[i] /= g.chol[i*n+i]
	}
}

// at returns the mean and the standard deviation at x. It uses row as scratch space.
func (g *process) at(x, row []float64) (mean, sd float64) {
	for i, p := range g.points {
		row[i] = float64(g.scale * matern(x, p, g.length))
		mean += float64(row[i] * g.alpha[i])
	}
	g.forward(row)
	return mean, math.Sqrt(max(g.scale-vec.Dot(row, row), 0))
}
