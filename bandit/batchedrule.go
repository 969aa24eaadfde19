package bandit

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/stat"
)

// update computes Serving and Best.
func (b *Batched) update() {
	b.updateBest()
	s, arms, fresh := &b.s, b.live(), 0
	for k, a := range s.Active {
		if a && s.Size[k] == 0 {
			fresh++
		}
	}
	noise := b.rule.Ranged() || s.Freedom >= minFreedom
	switch {
	case b.rule == BatchTsallisINF: // it needs no first pulls
		weighAlone(TsallisINF{Limit: 1}, b.p, b.score, b.s.Sums, b.s.Active, b.s.Pulls+1)
		return
	case fresh == arms || !noise:
		for k, a := range s.Active {
			b.p[k] = 0
			if a {
				b.p[k] = 1 / float64(arms)
			}
		}
		return
	case b.rule == BatchThompson:
		b.thompson()
	default:
		b.upper()
	}
	rest := float64(arms-fresh) / float64(arms)
	for k, a := range s.Active {
		switch {
		case a && s.Size[k] == 0:
			b.p[k] = 1 / float64(arms)
		default:
			b.p[k] *= rest
		}
	}
}

func (b *Batched) updateBest() {
	for k := range b.score {
		b.score[k] = math.Inf(-1)
		switch {
		case !b.s.Active[k] || b.s.Pulls == 0:
		case b.s.Sums != nil:
			b.score[k] = -b.s.Sums[k]
		case b.s.Size[k] > 0:
			b.score[k] = b.s.Mean[k]
		}
	}
	b.top(b.best)
}

// top gives everything to the active arms of the largest score, evenly.
func (b *Batched) top(p []float64) {
	most, n := math.Inf(-1), 0.0
	for k, a := range b.s.Active {
		if a && b.score[k] > most {
			most, n = b.score[k], 0
		}
		if a && b.score[k] == most {
			n++
		}
	}
	for k, a := range b.s.Active {
		p[k] = 0
		if a && b.score[k] == most {
			p[k] = 1 / n
		}
	}
}

// upper gives everything to the observed arms of the largest upper confidence bound.
func (b *Batched) upper() {
	s := &b.s
	for k := range b.score {
		b.score[k] = math.Inf(-1)
		if s.Size[k] > 0 {
			b.score[k] = -b.index(k)
		}
	}
	b.top(b.p)
}

// index is the index of an observed arm by the rule: [KLUCB] on the loss scaled to [0, 1], or
// [AlphaUCB] with the estimated deviation and the bonus of [UCBWidth].
func (b *Batched) index(k int) float64 {
	s := &b.s
	if b.rule == BatchKLUCB {
		rule := KLUCB{Limit: 1}
		return rule.index(s.Size[k], b.loss(s.Mean[k]), rule.bonus(max(s.Pulls, 1), b.live()), math.Inf(1))
	}
	bonus := float64(UCBWidth(b.live(), int(min(s.Pulls, 1e15))) * math.Sqrt(s.Pool/s.Freedom))
	return AlphaUCB{}.index(s.Size[k], -s.Mean[k], bonus, math.Inf(1))
}

// thompson gives each observed arm the probability that its mean is the largest.
func (b *Batched) thompson() {
	q := &b.quad
	q.arms, q.mean, q.err = q.arms[:0], q.mean[:0], q.err[:0]
	for k, a := range b.s.Active {
		b.p[k], b.score[k] = 0, math.Inf(-1)
		if a && b.s.Size[k] > 0 {
			b.score[k] = b.s.Mean[k]
			q.arms, q.mean, q.err = append(q.arms, k), append(q.mean, b.s.Mean[k]), append(q.err, b.standardError(k))
		}
	}
	if b.s.Pool == 0 { // no reward has differed from its arm's mean
		b.top(b.p)
		return
	}
	if !q.probabilities() {
		b.top(b.p)
		return
	}
	for i, k := range q.arms {
		b.p[k] = q.out[i]
	}
}

// bestOf computes the probability that each of several independent normal variables is the largest:
//
//	p_k = ∫ Π_{j≠k} Φ((x − m_j)/s_j) dΦ((x − m_k)/s_k)
//
// The line is cut at quantiles of all variables, so that widths of any ratio are resolved. Each
// piece has the exact probability of variable k, and the product at its middle.
type bestOf struct {
	arms      []int
	mean, err []float64
	out       []float64
	points    []float64
	at, next  []float64 // Φ_k at the ends of a piece
	left      []float64 // products of Φ in the middle over the variables before k
	middle    []float64 // Φ_k in the middle
}

// bestOfTail is where the distributions are cut off, in standard errors.
const bestOfTail = 7

// bestOfSteps is the number of points a variable has.
const bestOfSteps = 64

// probabilities writes out. The errors are positive. It returns false if they are too small beside
// the means for float64 to tell.
func (q *bestOf) probabilities() bool {
	n := len(q.mean)
	floor := math.Inf(-1) // the largest is hardly ever below it
	for k, m := range q.mean {
		floor = max(floor, m-float64(bestOfTail*q.err[k]))
	}
	q.points = append(q.points[:0], floor)
	for k, m := range q.mean {
		for i := range bestOfSteps + 1 {
			z := float64(float64(2*bestOfTail*i)/bestOfSteps) - bestOfTail
			if x := m + float64(z*q.err[k]); x > floor {
				q.points = append(q.points, x)
			}
		}
	}
	slices.Sort(q.points)
	q.points = thin(slices.Compact(q.points), min(max(60_000/n, 128), 1024))
	q.out, q.at, q.next = make([]float64, n), make([]float64, n), make([]float64, n)
	q.left, q.middle = make([]float64, n), make([]float64, n)
	q.fill(q.at, q.points[0])
	for i := range len(q.points) - 1 {
		a, b := q.points[i], q.points[i+1]
		q.fill(q.next, b)
		q.fill(q.middle, a+float64((b-a)/2))
		product := 1.0
		for k, v := range q.middle {
			q.left[k] = product
			product *= v
		}
		product = 1
		for k := n - 1; k >= 0; k-- {
			q.out[k] += float64(float64(q.left[k]*product) * (q.next[k] - q.at[k]))
			product *= q.middle[k]
		}
		q.at, q.next = q.next, q.at
	}
	total := 0.0
	for _, v := range q.out {
		total += v
	}
	if !(total > 0.5) {
		return false
	}
	for k := range q.out {
		q.out[k] /= total
	}
	return true
}

// fill writes Φ_k(x).
func (q *bestOf) fill(dst []float64, x float64) {
	for k, m := range q.mean {
		dst[k] = max(stat.NormalBelow((x-m)/q.err[k]), 0)
	}
}

// thin returns about n of the points, the first and the last among them.
func thin(points []float64, n int) []float64 {
	if len(points) <= n {
		return points
	}
	step := (len(points) + n - 1) / n
	kept := points[:0]
	last := points[len(points)-1]
	for i := 0; i < len(points)-1; i += step {
		kept = append(kept, points[i])
	}
	return append(kept, last)
}
