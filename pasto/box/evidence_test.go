package box

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// shocked returns the evidence of rounds with three groups each, of equal total size, and the
// observations. The mean of a node is its number plus a level, and the groups of a round share a
// shock of standard deviation tau.
func shocked(rounds int, tau float64) (*evidence, [][]pasto.Observation) {
	e := new(evidence)
	e.init(1)
	const nodes = 6
	for range nodes {
		e.grow()
	}
	r, sums := random.New(1, "shocks"), new(roundSums)
	var all [][]pasto.Observation
	for t := range rounds {
		common := 100 + tau*stat.Normal(r)
		var obs []pasto.Observation
		for q, n := range []float64{2, 3, 5} {
			k := (t + q*q) % nodes
			v := float64(k) + common + stat.Normal(r)/math.Sqrt(n)
			obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{v}, Size: n})
		}
		e.add(sums, obs)
		all = append(all, obs)
	}
	return e, all
}

// The estimates are those of generalized least squares solved directly, in rounds of equal size: an
// observation has the variance σ²/n of its own, and the shock adds the covariance τ² within its
// round.
func TestGeneralizedLeastSquares(t *testing.T) {
	e, all := shocked(40, 3)
	sigma, tau := e.noise(0)
	if !(math.Sqrt(tau) > 1.5 && math.Sqrt(tau) < 6 && sigma > .4 && sigma < 2.5) {
		t.Fatalf("the noise is %v and %v: want about 1 and 9", sigma, tau)
	}
	nodes := []int{0, 1, 2, 3, 4, 5}
	mean, covariance := e.estimates(nodes, 0)
	n := 3 * len(all)
	v, x, y := mat.NewSymDense(n, nil), mat.NewDense(n, len(nodes), nil), mat.NewVecDense(n, nil)
	for r, obs := range all {
		for a := range obs {
			i := 3*r + a
			x.Set(i, obs[a].Arm, 1)
			y.SetVec(i, obs[a].Metrics[0])
			for b := range obs {
				c := tau
				if a == b {
					c += sigma / obs[a].Size
				}
				v.SetSym(i, 3*r+b, c)
			}
		}
	}
	var inverse, left, normal, cov mat.Dense
	if err := inverse.Inverse(v); err != nil {
		t.Fatal(err)
	}
	left.Mul(x.T(), &inverse)
	normal.Mul(&left, x)
	if err := cov.Inverse(&normal); err != nil {
		t.Fatal(err)
	}
	var b, beta mat.VecDense
	b.MulVec(&left, y)
	beta.MulVec(&cov, &b)
	for a := range nodes {
		pastotest.Near(t, "a mean", mean[a]+e.Origin[0], beta.AtVec(a), 1e-9)
		for c := range nodes {
			pastotest.Near(t, "a covariance", covariance[a*len(nodes)+c], cov.At(a, c), 1e-9)
		}
	}
}

// Without a common shock the estimates are the plain means, and no shock is detected.
func TestPlainMeans(t *testing.T) {
	found := 0
	for seed := range uint64(50) {
		e, sums, r := new(evidence), new(roundSums), random.New(seed, "plain")
		e.init(1)
		for range 4 {
			e.grow()
		}
		for range 100 {
			var obs []pasto.Observation
			for k := range 4 {
				obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{stat.Normal(r)}})
			}
			e.add(sums, obs)
		}
		if _, tau := e.noise(0); tau > 0 {
			found++
			continue
		}
		mean, covariance := e.estimates([]int{0, 1, 2, 3}, 0)
		for k, v := range mean {
			pastotest.Near(t, "a mean", v, e.Mean[k], 0)
			pastotest.Near(t, "a variance", covariance[k*4+k], .01, .005)
		}
	}
	if found > 3 {
		t.Errorf("a common shock is detected in %d of 50 runs", found)
	}
}
