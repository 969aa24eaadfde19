package box

import (
	"math"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// evidence holds sums over the nodes' observations that suffice for the means, their errors and the
// part that the groups of a round share. Values are relative to Origin. An observation of n units
// is û = μ_k + u_t + e with Var e = σ²/n and Var u_t = τ².
type evidence struct {
	Origin  []float64 // M: the first observation
	Size    []float64 // K: Σ n
	Count   []float64 // K: groups
	Rounds  []float64 // K: rounds with a group
	Cluster []float64 // K: Σ_t n_kt²
	Mean    []float64 // K·M
	Squares []float64 // K·M: Σ n·(û − mean)²
	Shared  []float64 // K·M: Σ_t n_kt·ū_t, for the mean ū_t of all groups of round t
	Overlap []float64 // lower triangle of Σ_t n_t·n_tᵀ/N_t
	Total   float64   // Σ_t N_t
	Heavy   float64   // Σ_t N_t²
	Pairs   float64   // Σ_t (N_t² − Σ_k n_kt²)
	Product []float64 // M: Σ_t Σ_{k≠l} n_k·n_l·d_k·d_l for the deviations d from the means before
}

// roundSums are buffers for the sums of one round.
type roundSums struct {
	arms  []int
	size  []float64 // of each of arms
	value []float64 // of each of arms, M each: their mean in the round
	index []int     // K: 1 + the position in arms, 0 for none
	all   []float64 // M: the round's mean
}

func (e *evidence) init(metrics int) {
	e.Origin, e.Product = make([]float64, metrics), make([]float64, metrics)
}

// grow adds a node.
func (e *evidence) grow() {
	m := len(e.Origin)
	e.Size, e.Count, e.Rounds = append(e.Size, 0), append(e.Count, 0), append(e.Rounds, 0)
	e.Cluster = append(e.Cluster, 0)
	e.Mean, e.Squares = append(e.Mean, make([]float64, m)...), append(e.Squares, make([]float64, m)...)
	e.Shared = append(e.Shared, make([]float64, m)...)
	e.Overlap = append(e.Overlap, make([]float64, len(e.Size))...)
}

// valid reports whether the state of a snapshot fits the given numbers of nodes and metrics.
func (e *evidence) valid(nodes, metrics int) bool {
	for _, v := range [][]float64{e.Size, e.Count, e.Rounds, e.Cluster} {
		if check.Vector("sums", v, nodes) != nil {
			return false
		}
	}
	for _, v := range [][]float64{e.Mean, e.Squares, e.Shared} {
		if check.Vector("sums", v, nodes*metrics) != nil {
			return false
		}
	}
	return check.Vector("origin", e.Origin, metrics) == nil && check.Vector("product", e.Product, metrics) == nil &&
		check.Vector("overlap", e.Overlap, nodes*(nodes+1)/2) == nil
}

// mean is the plain mean of metric i at node k.
func (e *evidence) mean(k, i int) float64 { return e.Origin[i] + e.Mean[k*len(e.Origin)+i] }

// gather sums up the groups of a round by node.
func (e *evidence) gather(r *roundSums, obs []pasto.Observation) {
	m := len(e.Origin)
	r.index = check.Zeros(r.index, len(e.Size))
	r.arms, r.size, r.value = r.arms[:0], r.size[:0], r.value[:0]
	if e.Total == 0 {
		copy(e.Origin, obs[0].Metrics)
	}
	for q := range obs {
		k, n := obs[q].Arm, max(obs[q].Size, 0)
		if n == 0 {
			n = 1
		}
		if r.index[k] == 0 {
			r.arms, r.size = append(r.arms, k), append(r.size, 0)
			for range m {
				r.value = append(r.value, 0)
			}
			r.index[k] = len(r.arms)
		}
		a := r.index[k] - 1
		r.size[a] += n
		for i, v := range obs[q].Metrics {
			r.value[a*m+i] += float64(n / r.size[a] * (v - e.Origin[i] - r.value[a*m+i]))
		}
	}
	r.all = check.Zeros(r.all, m)
	total := vec.Sum(r.size)
	for a, n := range r.size {
		for i := range m {
			r.all[i] += float64(n / total * r.value[a*m+i])
		}
	}
}

// add adds a round that has been checked.
func (e *evidence) add(r *roundSums, obs []pasto.Observation) {
	m := len(e.Origin)
	e.gather(r, obs)
	e.compare(r)
	total := vec.Sum(r.size)
	e.Total += total
	e.Heavy += float64(total * total)
	for a, k := range r.arms {
		e.Rounds[k]++
		e.Cluster[k] += float64(r.size[a] * r.size[a])
		for i, v := range r.all {
			e.Shared[k*m+i] += float64(r.size[a] * v)
		}
		for b, l := range r.arms {
			if l <= k {
				e.Overlap[k*(k+1)/2+l] += float64(r.size[a] * (r.size[b] / total))
			}
		}
	}
	for q := range obs {
		k, n := obs[q].Arm, obs[q].Size
		if n == 0 {
			n = 1
		}
		e.Count[k]++
		e.Size[k] += n
		share := n / e.Size[k]
		for i, v := range obs[q].Metrics {
			d := v - e.Origin[i] - e.Mean[k*m+i]
			e.Mean[k*m+i] += float64(share * d)
			e.Squares[k*m+i] += float64(float64(n*d) * float64((1-share)*d))
		}
	}
}

// compare adds the products of what different nodes of a round deviate by from their means before,
// each divided by its growth of variance because that mean is an estimate.
func (e *evidence) compare(r *roundSums) {
	m := len(e.Origin)
	size, squares := 0.0, 0.0
	for a, k := range r.arms {
		if e.Size[k] > 0 {
			size += r.size[a]
			squares += float64(r.size[a] * r.size[a])
		}
	}
	e.Pairs += max(float64(size*size)-squares, 0)
	for i := range m {
		sum, own := 0.0, 0.0
		for a, k := range r.arms {
			if n := r.size[a]; e.Size[k] > 0 {
				d := float64(float64(n*(r.value[a*m+i]-e.Mean[k*m+i])) * math.Sqrt(e.Size[k]/(e.Size[k]+n)))
				sum += d
				own += float64(d * d)
			}
		}
		e.Product[i] += float64(sum*sum) - own
	}
}

// freedom is the number of degrees of freedom of the noise.
func (e *evidence) freedom() float64 {
	free := 0.0
	for _, n := range e.Count {
		free += max(n-1, 0)
	}
	return free
}

// leastFreedom of the noise is needed for a plan.
const leastFreedom = 4

// settled reports whether the noise has an estimate to plan by. Nodes are served in turn before, so
// that each has been served by then unless rounds have several groups of one node.
func (e *evidence) settled() bool { return e.freedom() >= leastFreedom }

// noise estimates σ² of metric i, and τ² where it is clearly above 0, else 0.
func (e *evidence) noise(i int) (sigma, tau float64) {
	m := len(e.Origin)
	squares, spread := 0.0, 0.0
	for k, n := range e.Size {
		if e.Count[k] > 1 {
			squares += e.Squares[k*m+i]
			spread += n - e.Cluster[k]/n
		}
	}
	free := e.freedom()
	sigma = squares / free
	if e.Pairs > 0 {
		if v := e.Product[i] / e.Pairs; v > float64(clearly*sigma)*math.Sqrt(2/e.Pairs) {
			return max((squares-float64(v*spread))/free, float64(leastNoise*sigma)), v
		}
	}
	return sigma, 0
}

const (
	clearly    = 3    // standard errors above 0 of what the groups of a round have in common
	leastNoise = 0.01 // of the scatter is a group's own noise
	poolWeight = 8    // groups that the pooled noise counts for beside a node's own
)

// estimates returns the means of metric i at the nodes that have been served, and the covariance of
// their errors, row by row. It is nil if that has no use.
func (e *evidence) estimates(nodes []int, i int) (mean, covariance []float64) {
	n, m := len(nodes), len(e.Origin)
	mean, covariance = make([]float64, n), make([]float64, n*n)
	sigma, tau := e.noise(i)
	if tau == 0 {
		for a, k := range nodes {
			own := (e.Squares[k*m+i] + float64(poolWeight*sigma)) / (max(e.Count[k]-1, 0) + poolWeight)
			mean[a], covariance[a*n+a] = e.Mean[k*m+i], own/e.Size[k]
		}
		return mean, covariance
	}
	typical := e.Heavy / e.Total
	c := typical / (sigma/tau + typical)
	factor := make([]float64, n*n)
	for a, k := range nodes {
		for b, l := range nodes {
			factor[a*n+b] = -float64(c * e.Overlap[max(k, l)*(max(k, l)+1)/2+min(k, l)])
		}
		factor[a*n+a] += e.Size[k]
		mean[a] = float64(e.Size[k]*e.Mean[k*m+i]) - float64(c*e.Shared[k*m+i])
	}
	if !linalg.Factorize(factor, n) {
		return nil, nil
	}
	linalg.SolveRT(factor, n, mean)
	linalg.SolveR(factor, n, mean)
	column := make([]float64, n)
	for a := range nodes {
		clear(column)
		column[a] = sigma
		linalg.SolveRT(factor, n, column)
		linalg.SolveR(factor, n, column)
		for b, v := range column {
			covariance[b*n+a] = v
		}
	}
	for a := range n { // symmetric to the last bit
		for b := range a {
			covariance[b*n+a] = covariance[a*n+b]
		}
	}
	return mean, covariance
}
