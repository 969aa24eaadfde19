// Package twoway is least squares of arms and rounds: the linear mixed model of all arms at once,
//
//	û_kt = μ_k + u_t + e_kt,   Var e_kt = σ²/n_kt,   Var u_t = τ²,
//
// for arm k with n_kt units in round t, as [Sums] that do not depend on these variances. With N_t =
// Σ_k n_kt and the round's mean ū_t = Σ_k n_kt·û_kt/N_t they are D = Σ_t diag(n_t), S = Σ_t
// n_t·n_tᵀ/N_t and, for each metric, b = Σ_t n_kt·û_kt and h = Σ_t n_kt·ū_t. Generalized least
// squares (Aitken 1935) is
//
//	μ̂ = (D − c·S)⁻¹·(b − c·h),   Cov μ̂ = σ²·(D − c·S)⁻¹,   c = N/(σ²/τ² + N),
//
// exact where all N_t are N; elsewhere N is their mean, weighted by size. With c = 0 it is the mean
// of each arm; the closer c is to 1, the more it rests on comparisons within rounds. An [Inverse]
// has the estimates for a c, and their errors.
package twoway

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// mostArms is the number of arms up to which there are sums.
const mostArms = 512

// Sums are those of all rounds so far. There are none where there are more than 512 arms.
type Sums struct {
	Size  []float64 // K: D
	Cross []float64 // K·K: S
	Own   []float64 // K·M: b − h
	Level []float64 // K·M: h
	Total float64   // Σ_t N_t
	Heavy float64   // Σ_t N_t²
}

// Any reports whether there are sums.
func (j *Sums) Any() bool { return len(j.Size) > 0 }

// Grow makes room for more arms of m metrics than before, and ends the sums where there are too
// many.
func (j *Sums) Grow(before, arms, m int) {
	if arms > mostArms || len(j.Size) != before {
		*j = Sums{}
		return
	}
	cross := make([]float64, arms*arms)
	for k := range before {
		copy(cross[k*arms:], j.Cross[k*before:(k+1)*before])
	}
	j.Cross, j.Size = cross, append(j.Size, make([]float64, arms-before)...)
	more := make([]float64, (arms-before)*m)
	j.Own, j.Level = append(j.Own, more...), append(j.Level, more...)
}

// Fits reports whether the sums may be those of n arms and m metrics.
func (j *Sums) Fits(n, m int) bool {
	if !j.Any() {
		n, m = 0, 0
	}
	return check.NonNegative(j.Size, n) && check.NonNegative(j.Cross, n*n) && check.Vector("", j.Own, n*m) == nil &&
		check.Vector("", j.Level, n*m) == nil && check.NonNegative([]float64{j.Total, j.Heavy}, 2)
}

// Add adds the arms of a round; sum is a workspace of M numbers.
func (j *Sums) Add(arms []round.Sum, sum []float64) {
	if !j.Any() {
		return
	}
	n, m, total := len(j.Size), len(sum), 0.0
	clear(sum)
	for a := range arms {
		x := &arms[a]
		total += x.Size
		for i, v := range x.Mean {
			sum[i] += float64(x.Size * v)
		}
	}
	j.Total += total
	j.Heavy += float64(total * total)
	for a := range arms {
		x, k := &arms[a], arms[a].Arm
		j.Size[k] += x.Size
		for b := range arms {
			j.Cross[k*n+arms[b].Arm] += float64(x.Size * (arms[b].Size / total))
		}
		own, level := j.Own[k*m:(k+1)*m], j.Level[k*m:(k+1)*m]
		for i, v := range x.Mean {
			mean := sum[i] / total
			own[i] += float64(x.Size * (v - mean))
			level[i] += float64(x.Size * mean)
		}
	}
}

// Forget takes arm k out of all comparisons: the other arms keep what they have shown beside each
// other. Means are the estimates of all arms, K·M, which do not change by it.
func (j *Sums) Forget(k int, means []float64) {
	if !j.Any() {
		return
	}
	n := len(j.Size)
	m := len(j.Own) / n
	for a := range n {
		cross := j.Cross[a*n+k]
		if a == k || cross == 0 {
			continue
		}
		j.Size[a] = max(j.Size[a]-cross, 0)
		for i := range m {
			j.Own[a*m+i] -= float64(cross * (means[a*m+i] - means[k*m+i]))
			j.Level[a*m+i] -= float64(cross * means[k*m+i])
		}
		j.Cross[a*n+k], j.Cross[k*n+a] = 0, 0
	}
	j.Size[k], j.Cross[k*n+k] = 0, 0
	clear(j.Own[k*m : (k+1)*m])
	clear(j.Level[k*m : (k+1)*m])
}

// Coefficient is c for the variances σ² and τ².
func (j *Sums) Coefficient(sigma, tau float64) float64 {
	if !(tau > 0) || j.Total == 0 {
		return 0
	}
	mean := j.Heavy / j.Total
	return min(mean/(sigma/tau+mean), MostShared)
}

// Common is the variance that all estimates have in common for the variance τ² of the effects of
// rounds.
func (j *Sums) Common(tau float64) float64 {
	if j.Total == 0 {
		return math.Inf(1)
	}
	return float64(tau * (j.Heavy / j.Total / j.Total))
}

// MostShared bounds c, as the matrix is singular at 1, and mostExact the c of its inverse, where
// what all arms have in common would hide what they differ by.
const (
	MostShared = 1 - 1e-9
	mostExact  = 1 - 1e-6
)

// Inverse is the matrix D − c·S of the arms with data, factorized, and what it says about errors.
// It keeps its buffers from one c to the next.
type Inverse struct {
	C        float64 // 0 before Invert: set it to 0 when the sums have changed
	sums     *Sums
	control  int
	arms     []int     // those with data
	matrix   []float64 // of these
	exact    []float64 // the same for the largest c of which the inverse is exact enough
	x        []float64
	common   float64   // the part of the inverse that all arms have in common
	variance []float64 // K: the diagonal of the inverse: variances of the estimates, in units of σ²
	beside   []float64 // K: the row of the control
}

// Invert factorizes and inverts the matrix of the sums, unless it did so for this c before: K³
// operations. It reports false where the matrix is singular. Control is the arm that others are
// compared with.
func (w *Inverse) Invert(j *Sums, c float64, control int) bool {
	if c == w.C {
		return true
	}
	n, total := len(j.Size), 0.0
	w.C, w.sums, w.control, w.arms = 0, j, control, w.arms[:0]
	for k, size := range j.Size {
		if total += size; size > 0 {
			w.arms = append(w.arms, k)
		}
	}
	d, most, ok := len(w.arms), min(c, mostExact), false
	w.common = most / (1 - most) / total
	w.x, w.variance, w.beside = check.Zeros(w.x, d), check.Zeros(w.variance, n), check.Zeros(w.beside, n)
	if w.matrix, ok = w.factorize(w.matrix, c); !ok {
		return false
	}
	if w.exact, ok = w.factorize(w.exact, most); !ok {
		return false
	}
	for a, k := range w.arms {
		clear(w.x)
		w.x[a] = 1
		w.solve(w.exact)
		w.variance[k] = w.x[a]
		if k == control {
			for b, l := range w.arms {
				w.beside[l] = w.x[b]
			}
		}
	}
	w.C = c
	return true
}

// factorize returns the factor of D − c·S, in the memory of matrix.
func (w *Inverse) factorize(matrix []float64, c float64) ([]float64, bool) {
	n, d := len(w.sums.Size), len(w.arms)
	matrix = check.Zeros(matrix, d*d)
	for a, k := range w.arms {
		for b, l := range w.arms {
			matrix[a*d+b] = -float64(c * w.sums.Cross[k*n+l])
		}
		matrix[a*d+a] += w.sums.Size[k]
	}
	return matrix, linalg.Factorize(matrix, d)
}

// solve multiplies x by the inverse of a matrix of that factor.
func (w *Inverse) solve(factor []float64) {
	linalg.SolveRT(factor, len(w.arms), w.x)
	linalg.SolveR(factor, len(w.arms), w.x)
}

// Estimate writes the estimates of metric i of the arms with data to the table means, K·M.
func (w *Inverse) Estimate(i int, means []float64) {
	m := len(means) / len(w.sums.Size)
	for a, k := range w.arms {
		w.x[a] = w.sums.Own[k*m+i] + float64((1-w.C)*w.sums.Level[k*m+i])
	}
	w.solve(w.matrix)
	for a, k := range w.arms {
		means[k*m+i] = w.x[a]
	}
}

// Square returns the squared error of the estimate of an arm with data, without what all arms have
// in common: its own σ²/n for this variance of a unit, and the pooled variance for what the arms
// that it is compared with add to that.
func (w *Inverse) Square(k int, variance, pooled float64) float64 {
	n := w.sums.Size[k]
	v := w.variance[k] - w.common
	return float64(variance/n*max(min(float64(v*n), 1), 0.5)) + float64(pooled*max(v-1/n, 0))
}

// Difference returns the squared error of the difference of an arm with data from the control, for
// these variances of a unit of both: 0 for the control itself and where it has no data.
func (w *Inverse) Difference(k int, variance, ofControl, pooled float64) float64 {
	n, size := w.sums.Size[k], w.sums.Size[w.control]
	if k == w.control || !(size > 0) {
		return 0
	}
	v := w.variance[k] - w.common
	v += w.variance[w.control] - float64(2*w.beside[k]) + w.common
	return variance/n + ofControl/size + float64(pooled*max(v-1/n-1/size, 0))
}
