package twoway

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto/internal/round"
)

// The joint estimate is generalized least squares, solved here as the dense problem of all
// observations of all rounds at once, wherever all rounds have as many units.
func TestJointIsGeneralizedLeastSquares(t *testing.T) {
	for seed := range uint64(20) {
		r := random.New(seed, "joint")
		arms, rounds := 2+int(4*r.Float64()), 3+int(6*r.Float64())
		sigma, tau := .1+r.Float64(), 10*r.Float64()*r.Float64()
		const units = 100.0
		j := Sums{}
		j.Grow(0, arms, 1)
		var values, sizes []float64
		var of, in []int
		sums := []round.Sum{}
		for n := range rounds {
			sums = sums[:0]
			left := units
			for k := range arms {
				size := math.Floor(left * r.Float64() / 2)
				if k == arms-1 {
					size = left
				}
				if left -= size; size == 0 {
					continue
				}
				v := 5*float64(k) + stat.Normal(r)
				sums = append(sums, round.Sum{Arm: k, Size: size, Mean: []float64{v}})
				values, sizes, of, in = append(values, v), append(sizes, size), append(of, k), append(in, n)
			}
			j.Add(sums, make([]float64, 1))
		}
		c := j.Coefficient(sigma, tau)
		est, w := make([]float64, arms), Inverse{}
		if !w.Invert(&j, c, 0) {
			t.Fatal("the matrix is singular")
		}
		w.Estimate(0, est)
		// V = diag(σ²/n) + τ²·(same round), X the arms.
		n := len(values)
		v, x := mat.NewDense(n, n, nil), mat.NewDense(n, arms, nil)
		for a := range n {
			for b := range n {
				if in[a] == in[b] {
					v.Set(a, b, tau)
				}
			}
			v.Set(a, a, tau+sigma/sizes[a])
			x.Set(a, of[a], 1)
		}
		var inverse, left, info, cov, right mat.Dense
		if err := inverse.Inverse(v); err != nil {
			t.Fatal(err)
		}
		left.Mul(x.T(), &inverse)
		info.Mul(&left, x)
		if err := cov.Inverse(&info); err != nil {
			t.Fatal(err)
		}
		right.Mul(&left, mat.NewDense(n, 1, values))
		var want mat.Dense
		want.Mul(&cov, &right)
		for k := range arms {
			if d := math.Abs(est[k] - want.At(k, 0)); d > 1e-9*(1+math.Abs(want.At(k, 0))) {
				t.Errorf("seed %d, arm %d: %v, want %v", seed, k, est[k], want.At(k, 0))
			}
			if d := math.Abs(sigma*w.variance[k] - cov.At(k, k)); d > 1e-9*(1+cov.At(k, k)) {
				t.Errorf("seed %d, arm %d: a variance of %v, want %v", seed, k, sigma*w.variance[k], cov.At(k, k))
			}
			if d := math.Abs(sigma*w.beside[k] - cov.At(k, 0)); d > 1e-9*(1+cov.At(0, 0)) {
				t.Errorf("seed %d, arm %d: a covariance of %v, want %v", seed, k, sigma*w.beside[k], cov.At(k, 0))
			}
			apart := cov.At(k, k) + cov.At(0, 0) - 2*cov.At(k, 0)
			if d := w.Difference(k, sigma, sigma, sigma) - apart; math.Abs(d) > 1e-9*(1+cov.At(0, 0)) {
				t.Errorf("seed %d, arm %d: a difference of variance %v, want %v", seed, k, apart+d, apart)
			}
		}
	}
}

// An arm that is taken out leaves the estimates of the others as they are, and what they have shown
// beside each other.
func TestJointForgets(t *testing.T) {
	r := random.New(1, "forget")
	j, est, w := Sums{}, make([]float64, 3), Inverse{}
	j.Grow(0, 3, 1)
	sums := []round.Sum{}
	for range 50 {
		sums = sums[:0]
		u := 100 * stat.Normal(r)
		for k := range 3 {
			sums = append(sums, round.Sum{Arm: k, Size: 1 + float64(int(9*r.Float64())), Mean: []float64{
				u + float64(k) + .1*stat.Normal(r),
			}})
		}
		j.Add(sums, make([]float64, 1))
	}
	const c = 1 - 1e-9
	if !w.Invert(&j, c, -1) {
		t.Fatal("singular")
	}
	w.Estimate(0, est)
	was := est[1] - est[0]
	before := fmt.Sprint(est)
	j.Forget(2, est)
	w.C = 0
	after := make([]float64, 3)
	if !w.Invert(&j, c, -1) {
		t.Fatal("singular")
	}
	w.Estimate(0, after)
	if d := after[1] - after[0] - was; math.Abs(d) > 1e-6 {
		t.Errorf("the difference of the first two arms moves by %v: %s, then %v", d, before, after)
	}
	if j.Size[2] != 0 || j.Cross[2] != 0 || j.Cross[6] != 0 || j.Cross[8] != 0 || after[2] != 0 {
		t.Errorf("%+v", j)
	}
}

// Without what all arms have in common the squared error of an arm is at most that of its mean, and
// at least half of it, where there is no pooled variance. Sums fit the arms and metrics that they
// have grown for, unless there are too many.
func TestSumsFit(t *testing.T) {
	j, w := Sums{}, Inverse{}
	j.Grow(0, 2, 1)
	for _, k := range []int{0, 0, 1} {
		j.Add([]round.Sum{{Arm: k, Size: 4, Mean: []float64{float64(k)}}}, make([]float64, 1))
	}
	if !j.Any() || !j.Fits(2, 1) || j.Fits(3, 1) || j.Fits(2, 2) {
		t.Errorf("%+v", j)
	}
	if !w.Invert(&j, .5, -1) {
		t.Fatal("singular")
	}
	for k, n := range []float64{8, 4} {
		own := 3 / n
		if square := w.Square(k, 3, 0); square < .5*own || square > own {
			t.Errorf("arm %d: a squared error of %v, and that of its mean is %v", k, square, own)
		}
	}
	j.Size[1] = -1
	if j.Fits(2, 1) {
		t.Error("a negative size fits")
	}
	if j.Grow(2, mostArms+1, 1); j.Any() || !j.Fits(mostArms+1, 1) {
		t.Error("there are sums of too many arms")
	}
}

// A matrix that is not positive definite is singular however often it is asked for.
func TestSingular(t *testing.T) {
	j, w := Sums{}, Inverse{}
	j.Grow(0, 2, 1)
	j.Add([]round.Sum{{Arm: 0, Size: 1, Mean: []float64{1}}, {Arm: 1, Size: 1, Mean: []float64{2}}}, make([]float64, 1))
	for range 2 {
		if w.Invert(&j, 1.5, -1) {
			t.Error("the matrix for c = 1.5 was inverted")
		}
	}
	if !w.Invert(&j, 0.5, -1) {
		t.Error("the matrix for c = 0.5 is singular")
	}
}
