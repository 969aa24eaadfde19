package mixed

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/pasto/internal/check"
)

// mostJoint is the number of arms up to which the arms are estimated jointly.
const mostJoint = 512

// joint is the linear mixed model of all arms at once, û_kt = μ_k + u_t + e_kt with Var e_kt =
// σ²/n_kt and Var u_t = τ², as sums that do not depend on these variances. With N_t = Σ_k n_kt and
// the round's mean ū_t = Σ_k n_kt·û_kt/N_t it keeps D = Σ_t diag(n_t), S = Σ_t n_t·n_tᵀ/N_t and,
// for each metric, b = Σ_t n_kt·û_kt and h = Σ_t n_kt·ū_t. Generalized least squares (Aitken 1935)
// is
//
//	μ̂ = (D − c·S)⁻¹·(b − c·h),   Cov μ̂ = σ²·(D − c·S)⁻¹,   c = N/(σ²/τ² + N),
//
// exact where all N_t are N; elsewhere N is their mean, weighted by size. With c = 0 it is the mean
// of each arm; the closer c is to 1, the more it rests on comparisons within rounds.
type joint struct {
	Size  []float64 // K: D
	Cross []float64 // K·K: S
	Own   []float64 // K·M: b − h
	Level []float64 // K·M: h
	Total float64   // Σ_t N_t
	Heavy float64   // Σ_t N_t²
}

// grow makes room for more arms of m metrics, and ends the joint estimate where there are too many.
func (j *joint) grow(before, arms, m int) {
	if arms > mostJoint || len(j.Size) != before {
		*j = joint{}
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

// addRound adds what the arms of a round were observed to be; sum is a workspace of M numbers.
func (j *joint) addRound(r *roundSums, sum []float64) {
	n, m := len(j.Size), len(sum)
	if n == 0 {
		return
	}
	total := 0.0
	clear(sum)
	for a := range r.arms {
		x := &r.arms[a]
		total += x.size
		for i, v := range x.mean {
			sum[i] += float64(x.size * v)
		}
	}
	j.Total += total
	j.Heavy += float64(total * total)
	for a := range r.arms {
		x := &r.arms[a]
		k := x.arm
		j.Size[k] += x.size
		for b := range r.arms {
			y := &r.arms[b]
			j.Cross[k*n+y.arm] += float64(x.size * (y.size / total))
		}
		own, level := j.Own[k*m:(k+1)*m], j.Level[k*m:(k+1)*m]
		for i, v := range x.mean {
			mean := sum[i] / total
			own[i] += float64(x.size * (v - mean))
			level[i] += float64(x.size * mean)
		}
	}
}

// forget takes arm k out of all comparisons: the other arms keep what they have shown beside each
// other. Means are the estimates of all arms, which do not change by it.
func (j *joint) forget(k int, means []float64) {
	n := len(j.Size)
	if n == 0 {
		return
	}
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

// coefficient is c for the variances σ² and τ².
func (j *joint) coefficient(sigma, tau float64) float64 {
	if !(tau > 0) || j.Total == 0 {
		return 0
	}
	mean := j.Heavy / j.Total
	return min(mean/(sigma/tau+mean), mostShared)
}

// mostShared bounds c, as the matrix is singular at 1, and mostExact the c of its inverse, where
// what all arms have in common would hide what they differ by.
const (
	mostShared = 1 - 1e-9
	mostExact  = 1 - 1e-6
)

// jointWork is the matrix D − c·S of the arms with data, factorized, and what it says about errors.
type jointWork struct {
	arms     []int // those with data
	c        float64
	matrix   []float64 // of these
	exact    []float64 // the same for the largest c of which the inverse is exact enough
	x        []float64
	variance []float64 // K: the diagonal of the inverse: variances of the estimates, in units of σ²
	control  []float64 // K: the row of the control
}

// prepare factorizes the matrix and inverts it: K³ operations. It reports false where the matrix is
// singular.
func (j *joint) prepare(c float64, control int, w *jointWork) bool {
	n := len(j.Size)
	w.c, w.arms = c, w.arms[:0]
	for k, size := range j.Size {
		if size > 0 {
			w.arms = append(w.arms, k)
		}
	}
	d := len(w.arms)
	w.x, w.variance, w.control = check.Zeros(w.x, d), check.Zeros(w.variance, n), check.Zeros(w.control, n)
	ok := false
	if w.matrix, ok = j.factorize(w.matrix, c, w.arms); !ok {
		return false
	}
	if w.exact, ok = j.factorize(w.exact, min(c, mostExact), w.arms); !ok {
		return false
	}
	for a, k := range w.arms {
		clear(w.x)
		w.x[a] = 1
		linalg.SolveRT(w.exact, d, w.x)
		linalg.SolveR(w.exact, d, w.x)
		w.variance[k] = w.x[a]
		if k == control {
			for b, l := range w.arms {
				w.control[l] = w.x[b]
			}
		}
	}
	return true
}

// factorize returns the factor of D − c·S for these arms, in the memory of matrix.
func (j *joint) factorize(matrix []float64, c float64, arms []int) ([]float64, bool) {
	n, d := len(j.Size), len(arms)
	matrix = check.Zeros(matrix, d*d)
	for a, k := range arms {
		for b, l := range arms {
			matrix[a*d+b] = -float64(c * j.Cross[k*n+l])
		}
		matrix[a*d+a] += j.Size[k]
	}
	return matrix, linalg.Factorize(matrix, d)
}

// estimate writes the estimates of metric i to the table est.
func (j *joint) estimate(i int, est []float64, w *jointWork) {
	d, m := len(w.arms), len(est)/len(j.Size)
	for a, k := range w.arms {
		w.x[a] = j.Own[k*m+i] + float64((1-w.c)*j.Level[k*m+i])
	}
	linalg.SolveRT(w.matrix, d, w.x)
	linalg.SolveR(w.matrix, d, w.x)
	for a, k := range w.arms {
		est[k*m+i] = w.x[a]
	}
}

// level is the variance that all estimates have in common for the variance τ² of the effects of
// rounds.
func (j *joint) level(tau float64) float64 {
	if j.Total == 0 {
		return math.Inf(1)
	}
	return float64(tau * (j.Heavy / j.Total / j.Total))
}
