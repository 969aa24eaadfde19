package synth

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The columns are raw: typical sizes from 1e-6 to more than 1e5, whole counts, cents and flags, no
// NaN and no negative value.
func TestFraudColumns(t *testing.T) {
	g := mustNew(t, Fraud, 1)
	x := make([]float64, g.Dim())
	cols := make([][]float64, g.Dim())
	for range 20_000 {
		g.Next(x)
		for j, v := range x {
			if !(v >= 0) || math.IsInf(v, 0) {
				t.Fatalf("%s is %v", Fraud.Columns[j], v)
			}
			cols[j] = append(cols[j], v)
		}
	}
	small, large := math.Inf(1), 0.0
	for j, c := range cols {
		slices.Sort(c)
		name := Fraud.Columns[j]
		if m := c[len(c)/2]; m > 0 {
			small, large = min(small, m), max(large, m)
		}
		switch name {
		case "amount", "balance", "device_rate":
		case "new_payee", "foreign", "night":
			if c[0] != 0 || c[len(c)-1] != 1 {
				t.Errorf("%s runs from %v to %v, want a flag", name, c[0], c[len(c)-1])
			}
		default:
			for _, v := range c {
				if v != math.Trunc(v) {
					t.Fatalf("%s is %v, want a whole number", name, v)
				}
			}
		}
	}
	if small > 2e-6 || large < 5e4 {
		t.Errorf("medians run from %g to %g, want from 1e-6 to 1e5", small, large)
	}
}

// The purpose of the data set: a well fitted logistic regression has a poor F1 at threshold 0 and a
// much better one with a threshold tuned for F1.
func TestFraudNeedsAThreshold(t *testing.T) {
	train, trainY := standardized(t, 11, 20_000)
	test, testY := standardized(t, 12, 20_000)
	w := newton(t, train, trainY)
	atZero := f1(test, testY, w, 0)
	var scores []float64
	for _, x := range train {
		scores = append(scores, dot(w, x))
	}
	best, threshold := 0.0, 0.0
	slices.Sort(scores)
	for q := 0.90; q < 0.999; q += 0.003 {
		c := scores[int(q*float64(len(scores)))]
		if v := f1(train, trainY, w, c); v > best {
			best, threshold = v, c
		}
	}
	tuned := f1(test, testY, w, threshold)
	t.Logf("F1 of logistic regression: %.3f at threshold 0, %.3f at %.2f", atZero, tuned, threshold)
	if atZero > 0.25 || tuned < atZero+0.10 {
		t.Errorf("F1 is %.3f at threshold 0 and %.3f tuned, want at most 0.25 and 0.10 more", atZero, tuned)
	}
}

// standardized draws rows, shifts and scales every column by the training part's mean and
// deviation, and appends a constant.
func standardized(t *testing.T, seed uint64, rows int) ([][]float64, []bool) {
	t.Helper()
	g := mustNew(t, Fraud, seed)
	d := g.Dim()
	x, y := make([][]float64, rows), make([]bool, rows)
	for i := range x {
		x[i] = make([]float64, d+1)
		y[i] = g.Next(x[i][:d])
		x[i][d] = 1
	}
	ref, refN := mustNew(t, Fraud, 11), 20_000 // the training part sets the scale
	mean, sq, row := make([]float64, d), make([]float64, d), make([]float64, d)
	for range refN {
		ref.Next(row)
		for j, v := range row {
			mean[j] += v / float64(refN)
			sq[j] += v * v / float64(refN)
		}
	}
	for i := range x {
		for j := range d {
			x[i][j] = (x[i][j] - mean[j]) / math.Sqrt(sq[j]-mean[j]*mean[j])
		}
	}
	return x, y
}

// newton fits logistic regression with a ridge of 1e-6 by Newton's method.
func newton(t *testing.T, x [][]float64, y []bool) []float64 {
	t.Helper()
	d, n := len(x[0]), float64(len(x))
	w := make([]float64, d)
	for range 12 {
		grad, hess := mat.NewVecDense(d, nil), mat.NewSymDense(d, nil)
		for i, row := range x {
			p := 1 / (1 + math.Exp(-dot(w, row)))
			e := p
			if y[i] {
				e--
			}
			v := mat.NewVecDense(d, row)
			grad.AddScaledVec(grad, e/n, v)
			hess.SymRankOne(hess, p*(1-p)/n, v)
		}
		for j := range d {
			grad.SetVec(j, grad.AtVec(j)+1e-6*w[j])
			hess.SetSym(j, j, hess.At(j, j)+1e-6)
		}
		var step mat.VecDense
		if err := step.SolveVec(hess, grad); err != nil {
			t.Fatal(err)
		}
		for j := range d {
			w[j] -= step.AtVec(j)
		}
		if mat.Norm(&step, 2) < 1e-6 {
			break
		}
	}
	return w
}

func dot(w, x []float64) float64 {
	s := 0.0
	for j, v := range x {
		s += w[j] * v
	}
	return s
}

func f1(x [][]float64, y []bool, w []float64, threshold float64) float64 {
	var tp, fp, fn float64
	for i, row := range x {
		switch called := dot(w, row) > threshold; {
		case called && y[i]:
			tp++
		case called:
			fp++
		case y[i]:
			fn++
		}
	}
	return 2 * tp / max(1, 2*tp+fp+fn)
}
