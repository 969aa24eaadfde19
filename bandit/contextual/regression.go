package contextual

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
)

// The limits of observations. They keep every sum finite.
const (
	maxCoordinate = 1e15
	maxReward     = 1e30
	minWeight     = 1e-9
	maxObserved   = 1e9 // the greatest weight
)

// regression is ridge regression of rewards y on vectors x with weights w,
//
//	θ = A⁻¹ Σ w·y·x,  A = λI + Σ w·x·xᵀ
//
// kept as the upper triangle F with FFᵀ = A⁻¹. An observation changes F by Carlson's update of a
// triangular square root (Carlson 1973) in O(d²). It adds no errors that could make A⁻¹ indefinite,
// and needs no matrix to be factored again. The fields are exported for snapshots.
type regression struct {
	Factor []float64 // F, row by row
	Mean   []float64 // θ
	// Unit is the same regression of the constant reward 1: the rewards y − c have θ − c·u.
	Unit []float64
	// Count is the number of observations, Weight their Σw, Sum Σw·y.
	Count  uint64
	Weight float64
	Sum    float64
	// YY, YU and UU are Σ e·e', with the innovations e and e' of the rewards and of the constant,
	// divided by their variances. So YY − 2c·YU + c²·UU is
	//
	//	min over θ of λ‖θ‖² + Σ w·(y − c − ⟨x, θ⟩)².
	YY, YU, UU float64
}

// workspace is the memory of one update.
type workspace struct{ f, keep, move []float64 }

func newWorkspace(dim int) workspace {
	all := make([]float64, 3*dim)
	return workspace{all[:dim], all[dim : 2*dim], all[2*dim:]}
}

// newRegression returns the regression without observations.
func newRegression(dim int, lambda float64) regression {
	g := regression{
		Factor: make([]float64, policy.Triangle(dim)), Mean: make([]float64, dim), Unit: make([]float64, dim),
	}
	root := 1 / math.Sqrt(lambda)
	for i, at := 0, 0; i < dim; i++ {
		g.Factor[at] = root
		at += dim - i
	}
	return g
}

// project writes Fᵀx to f. Zeros of x cost nothing.
func (g *regression) project(f, x []float64) {
	clear(f)
	d, row := len(x), g.Factor
	for i, v := range x {
		if v != 0 {
			vec.AddScaled(f[i:], v, row[:d-i])
		}
		row = row[d-i:]
	}
}

// width returns √(xᵀA⁻¹x).
func (g *regression) width(w workspace, x []float64) float64 {
	g.project(w.f, x)
	return math.Sqrt(vec.Dot(w.f, w.f))
}

// observe adds an observation, which has been checked.
func (g *regression) observe(w workspace, x []float64, reward, weight float64) {
	errorOf := reward - vec.Dot(x, g.Mean)
	unitError := 1 - vec.Dot(x, g.Unit)
	g.project(w.f, x)
	variance := 1 / weight
	for j, f := range w.f {
		next := variance + float64(f*f)
		w.keep[j] = math.Sqrt(variance / next)
		w.move[j] = f / (math.Sqrt(variance) * math.Sqrt(next))
		variance = next
	}
	// Row i of F is multiplied by the rotations; its gain is the last of the sums.
	row := g.Factor
	step, unitStep := errorOf/variance, unitError/variance
	for i := range x {
		n, gain := len(x)-i, 0.0
		f, keep, move := w.f[i:][:n], w.keep[i:][:n], w.move[i:][:n]
		for j, s := range row[:n] {
			row[j] = float64(keep[j]*s) - float64(move[j]*gain)
			gain += float64(f[j] * s)
		}
		g.Mean[i] += float64(gain * step)
		g.Unit[i] += float64(gain * unitStep)
		row = row[n:]
	}
	g.Count++
	g.Weight += weight
	g.Sum += float64(weight * reward)
	g.YY += float64(errorOf * step)
	g.YU += float64(errorOf * unitStep)
	g.UU += float64(unitError * unitStep)
}

// valid reports whether the fields fit dim coordinates, for a regression that was read.
func (g *regression) valid(dim int) bool {
	if len(g.Mean) != dim || len(g.Unit) != dim || len(g.Factor) != policy.Triangle(dim) {
		return false
	}
	numbers := []float64{g.Weight, g.Sum, g.YY, g.YU, g.UU}
	for at, i := 0, 0; i < dim; i++ {
		if !(g.Factor[at] > 0) {
			return false
		}
		at += dim - i
	}
	return vec.Finite(g.Factor) && vec.Finite(g.Mean) && vec.Finite(g.Unit) && vec.Finite(numbers) &&
		g.Weight >= 0 && g.YY >= 0 && g.UU >= 0
}

// checkVector returns an error unless x has dim coordinates of size at most maxCoordinate.
func checkVector(x []float64, dim int) error {
	if len(x) != dim {
		return noregret.BadInputf("x", "%d coordinates: want %d", len(x), dim)
	}
	for i, v := range x {
		if !(math.Abs(v) <= maxCoordinate) {
			return noregret.BadInputf("x", "coordinate %d is %v: want a number of size at most 1e15", i, v)
		}
	}
	return nil
}

// checkObservation returns an error unless the reward and the weight are in range.
func checkObservation(reward, weight float64) error {
	if !(math.Abs(reward) <= maxReward) {
		return noregret.BadInputf("reward", "%v: want a number of size at most 1e30", reward)
	}
	if !(weight >= minWeight && weight <= maxObserved) {
		return noregret.BadInputf("weight", "%v: want a number from 1e-9 to 1e9", weight)
	}
	return nil
}
