package papers

import (
	"cmp"
	"math"
	"slices"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/vec"
)

// structSVM is the struct-SVM problem of a measure (Joachims 2005, "SVMperf") on fixed rows,
//
//	min ½‖w‖² + Cξ   so that for all labelings ȳ:  (1/n)Σ(y_i - ȳ_i)⟨w, x_i⟩ ≥ Δ(ȳ) - ξ,
//
// with Δ = 1 less the measure of the labeling ȳ,
// with a constant feature of value 1 for the intercept, regularised like the rest. It is a baseline
// for comparisons only. All rows have the same weight.
type structSVM struct {
	rows     []classify.Example
	pos, neg []int // the rows of each class; sorted by score as a side effect of mostViolated
	dim      int   // without the constant feature
	loss     structLoss
	z        []float64
}

func newStructSVM(loss structLoss, rows []classify.Example, dim int) *structSVM {
	s := &structSVM{dim: dim, loss: loss}
	s.reset(rows)
	return s
}

// reset replaces the rows.
func (s *structSVM) reset(rows []classify.Example) {
	s.rows, s.pos, s.neg = rows, s.pos[:0], s.neg[:0]
	for i, x := range rows {
		if x.Positive {
			s.pos = append(s.pos, i)
		} else {
			s.neg = append(s.neg, i)
		}
	}
	s.z = slices.Grow(s.z[:0], len(rows))[:len(rows)]
}

// cut is one labeling's constraint ⟨w, g⟩ ≥ delta - ξ.
type cut struct {
	g     []float64
	delta float64
	// flippedPos and flippedNeg count the errors of ȳ: false negatives and false positives.
	flippedPos, flippedNeg int
}

// violation is delta - ⟨w, g⟩, the ξ that the cut requires.
func (c *cut) violation(w []float64) float64 { return c.delta - vec.DotInOrder(w, c.g) }

// mostViolated returns the labeling that w violates most: of all labelings with the same numbers of
// errors, the one that flips the positives with the lowest and the negatives with the highest
// scores. The search for the numbers is that of the loss. O(n·(nnz + log n)): one pass over the
// rows.
func (s *structSVM) mostViolated(w []float64) cut {
	for i, x := range s.rows {
		z := w[s.dim]
		for j, f := range x.Index {
			z += float64(w[f] * float64(x.Value[j]))
		}
		s.z[i] = z
	}
	slices.SortFunc(s.pos, func(a, b int) int { return cmp.Or(cmp.Compare(s.z[a], s.z[b]), cmp.Compare(a, b)) })
	slices.SortFunc(s.neg, func(a, b int) int { return cmp.Or(cmp.Compare(s.z[b], s.z[a]), cmp.Compare(a, b)) })
	scale := 2 / float64(len(s.rows))
	v := &violations{
		delta: func(fn, fp int) float64 { return s.loss.of(len(s.pos), len(s.neg), fn, fp) },
		pos:   make([]float64, len(s.pos)), neg: make([]float64, len(s.neg)),
	}
	for k, i := range s.pos {
		v.pos[k] = scale * s.z[i]
	}
	for k, i := range s.neg {
		v.neg[k] = scale * s.z[i]
	}
	v.above, v.below = prefixes(v.pos), prefixes(v.neg)
	fn, fp := s.loss.search(v)
	return s.cutOf(fn, fp)
}

// cutOf returns the cut that flips the first fn positives and the first fp negatives in the present
// order.
func (s *structSVM) cutOf(fn, fp int) cut {
	c := cut{
		g: make([]float64, s.dim+1), delta: s.loss.of(len(s.pos), len(s.neg), fn, fp), flippedPos: fn, flippedNeg: fp,
	}
	scale := 2 / float64(len(s.rows))
	add := func(i int, by float64) {
		x := &s.rows[i]
		for j, f := range x.Index {
			c.g[f] += float64(by * float64(x.Value[j]))
		}
		c.g[s.dim] += by
	}
	for _, i := range s.pos[:fn] {
		add(i, scale)
	}
	for _, i := range s.neg[:fp] {
		add(i, -scale)
	}
	return c
}

// cutQP is the problem on the cuts found so far. Its dual is max Σα_kΔ_k - ½‖Σα_k·g_k‖² over α ≥ 0
// with Σα = C; cut 0 is the trivial one of ȳ = y (g = 0, Δ = 0), whose α is the remaining mass.
type cutQP struct {
	c     float64
	cuts  []cut
	gram  [][]float64
	alpha []float64
}

func newCutQP(c float64, dim int) *cutQP {
	q := &cutQP{c: c}
	q.add(cut{g: make([]float64, dim+1)})
	q.alpha[0] = c
	return q
}

func (q *cutQP) add(c cut) {
	row := make([]float64, len(q.cuts)+1)
	for k := range q.cuts {
		row[k] = vec.DotInOrder(c.g, q.cuts[k].g)
		q.gram[k] = append(q.gram[k], row[k])
	}
	row[len(q.cuts)] = vec.DotInOrder(c.g, c.g)
	q.cuts, q.gram, q.alpha = append(q.cuts, c), append(q.gram, row), append(q.alpha, 0)
}

// weights is w = Σα_k·g_k.
func (q *cutQP) weights() []float64 {
	w := make([]float64, len(q.cuts[0].g))
	for k, a := range q.alpha {
		if a == 0 {
			continue
		}
		for j, g := range q.cuts[k].g {
			w[j] += float64(a * g)
		}
	}
	return w
}

// solve moves mass between the best cut and the worst one that has any (pairwise Frank–Wolfe),
// exactly along each pair, until the duality gap, primal minus dual value, is at most tolerance. It
// returns the primal point, ξ and the gap, computed afresh from α: a certificate independent of the
// solver. It makes at most limit moves.
func (q *cutQP) solve(tolerance float64, limit int) (w []float64, xi, gap float64) {
	slope := make([]float64, len(q.cuts)) // Δ_k - ⟨w, g_k⟩
	for move := 0; ; move++ {
		if move%1000 == 0 {
			q.slopes(slope)
		}
		up, down, mean := 0, -1, 0.0
		for k, v := range slope {
			if v > slope[up] {
				up = k
			}
			if q.alpha[k] > 0 && (down < 0 || v < slope[down]) {
				down = k
			}
			mean += float64(q.alpha[k] * v)
		}
		// The gap of the dual over the scaled simplex is exactly primal minus dual.
		if gap = float64(q.c*slope[up]) - mean; gap <= tolerance || move >= limit || up == down {
			break
		}
		curve := q.gram[up][up] + q.gram[down][down] - float64(2*q.gram[up][down])
		step := q.alpha[down]
		if rise := slope[up] - slope[down]; rise < float64(step*curve) {
			step = rise / curve
		}
		q.alpha[up] += step
		q.alpha[down] -= step
		for k := range slope {
			slope[k] -= float64(step * (q.gram[up][k] - q.gram[down][k]))
		}
	}
	w = q.weights()
	var dual float64
	for k := range q.cuts {
		xi = max(xi, q.cuts[k].violation(w))
		dual += float64(q.alpha[k] * q.cuts[k].delta)
	}
	half := float64(vec.DotInOrder(w, w) / 2)
	return w, xi, (half + float64(q.c*xi)) - (dual - half)
}

// slopes recomputes Δ_k - ⟨w, g_k⟩ to remove accumulated rounding.
func (q *cutQP) slopes(dst []float64) {
	for k := range q.cuts {
		dst[k] = q.cuts[k].delta - vec.DotInOrder(q.gram[k], q.alpha)
	}
}

// trained is the result of a struct-SVM run.
type trained struct {
	model classify.Linear
	// passes counts the passes over the data, iterations the cuts.
	passes, iterations int
	xi, violation, gap float64
	converged          bool
}

// cuttingPlanes is SVMperf (Joachims 2005): it adds the cut of the most violated labeling until its
// violation is at most ξ + 1e-3, for at most limit passes. A pass computes the scores; the cut
// reads the flipped rows again. After each cut, each is called with the weights, if it is not nil.
func (s *structSVM) cuttingPlanes(c float64, limit int, each func(cuts int, w []float64)) trained {
	const epsilon, inexact, moves = 1e-3, 1e-4, 200_000
	q := newCutQP(c, s.dim)
	w := make([]float64, s.dim+1)
	var out trained
	for out.passes < limit {
		next := s.mostViolated(w)
		out.passes++
		out.violation = next.violation(w)
		if out.violation <= out.xi+epsilon {
			out.converged = true
			break
		}
		q.add(next)
		w, out.xi, out.gap = q.solve(inexact*c, moves)
		out.iterations++
		if each != nil {
			each(out.iterations, w)
		}
	}
	out.model = linearModel(w)
	return out
}

func linearModel(w []float64) classify.Linear {
	d := len(w) - 1
	return classify.Linear{Weights: slices.Clone(w[:d]), Intercept: w[d]}
}

// miniBatch is a reconstruction of 1PMB (Kar, Narasimhan and Jain 2014) from its
// description in the later paper: one pass, a buffer of examples held in memory, and for the e-th
// buffer one subgradient step of size η/√e on the struct-SVM hinge max_ȳ Δ(ȳ) - (1/n)Σ(y_i -
// ȳ_i)⟨w, x_i⟩ of the buffer, with averaging. A buffer without positives, whose F₁ is not
// informative, is skipped, as is an incomplete last one. There is no projection.
func miniBatch(rows []classify.Example, dim, buffer int, eta float64) trained {
	w, sum := make([]float64, dim+1), make([]float64, dim+1)
	s := newStructSVM(structLosses[0], nil, dim)
	out := trained{passes: 1}
	for ; len(rows) >= buffer; rows = rows[buffer:] {
		s.reset(rows[:buffer])
		if len(s.pos) == 0 {
			continue
		}
		out.iterations++
		step := eta / math.Sqrt(float64(out.iterations))
		c := s.mostViolated(w)
		for j := range w {
			sum[j] += w[j]
			w[j] += float64(step * c.g[j])
		}
	}
	for j := range sum {
		sum[j] /= float64(max(1, out.iterations))
	}
	out.model = linearModel(sum)
	return out
}
