package box

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// The mean, the error and the likelihood of a surface are those of a Gaussian process computed with
// a dense inverse.
func TestSurface(t *testing.T) {
	r := random.New(1, "surface")
	const n, d = 12, 2
	points, mean, noise := make([][]float64, n), make([]float64, n), make([]float64, n*n)
	for a := range n {
		points[a] = []float64{r.Float64(), r.Float64()}
		mean[a] = 7 + 3*points[a][0] + stat.Normal(r)
		noise[a*n+a] = .1 + r.Float64()
		if a > 0 {
			noise[a*n+a-1], noise[(a-1)*n+a] = .05, .05
		}
	}
	var like [2]float64
	var want [2]float64
	for which, k := range []kernel{{2, 1}, {4, 3}} {
		g, l := newSurface(k, points, mean, noise)
		like[which] = l
		v, y := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
		for a := range n {
			y.SetVec(a, (mean[a]-g.level)/g.scale)
			for b := a; b < n; b++ {
				c := k.covariance(points[a], points[b]) + noise[a*n+b]/(g.scale*g.scale)
				if a == b {
					c *= 1 + jitter
				}
				v.SetSym(a, b, c)
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(v) {
			t.Fatal("not positive definite")
		}
		var weights, solved mat.VecDense
		if err := chol.SolveVecTo(&weights, y); err != nil {
			t.Fatal(err)
		}
		want[which] = -.5*mat.Dot(y, &weights) - .5*chol.LogDet()
		for range 5 {
			x, row := []float64{r.Float64(), r.Float64()}, mat.NewVecDense(n, nil)
			for a := range n {
				row.SetVec(a, k.covariance(x, points[a]))
			}
			if err := chol.SolveVecTo(&solved, row); err != nil {
				t.Fatal(err)
			}
			v, sd := g.at(x, make([]float64, n))
			pastotest.Near(t, "the mean", v, g.level+g.scale*mat.Dot(row, &weights), 1e-7)
			pastotest.Near(t, "the error", sd, g.scale*math.Sqrt(k.covariance(x, x)-mat.Dot(row, &solved)), 1e-6)
		}
	}
	pastotest.Near(t, "the ratio of likelihoods", like[1]-like[0], want[1]-want[0], 1e-8)
}

// The fitted kernel has a higher likelihood than its neighbours, and a short length scale for a
// function that varies fast.
func TestFit(t *testing.T) {
	const n = 30
	points, noise := make([][]float64, n), make([]float64, n*n)
	slow, fast := make([]float64, n), make([]float64, n)
	for a := range n {
		x := float64(a) / (n - 1)
		points[a], noise[a*n+a] = []float64{x}, 1e-4
		slow[a], fast[a] = x*x, math.Sin(25*x)
	}
	if k := fit(firstKernel, points, fast, noise).kernel; lengths[k.Length] > .3 || sizes[k.Size] < 1 {
		t.Errorf("fast: %+v", k)
	}
	if k := fit(firstKernel, points, slow, noise).kernel; sizes[k.Size] > .01 {
		t.Errorf("a quadratic function is all trend: %+v", k)
	}
	for range 2 { // adding a constant and changing the unit change nothing
		k := fit(firstKernel, points, fast, noise).kernel
		for a := range n {
			fast[a] = 1e6 + 1e3*fast[a]
			noise[a*n+a] *= 1e6
		}
		if l := fit(firstKernel, points, fast, noise).kernel; l != k {
			t.Errorf("%+v and %+v", k, l)
		}
	}
}
