package classify

import (
	"cmp"
	"math"
	"slices"

	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/portable"
)

// The decision of a classifier of several classes is the largest score less threshold, so the
// thresholds of the classes have to be tuned together. They are by coordinate ascent: for one class
// at a time every threshold is considered at which a row changes its decision, until no class
// gains.

// classScores are rows with the scores that models which have not seen them give to each class.
type classScores struct {
	scores [][]float64 // of each entry and class
	truth  []int
	weight []float64
	// Where a row has several entries, by models of several divisions, row is that of each entry
	// and repeats the number of entries; else both are zero.
	row     []int32
	repeats int
}

// add adds an entry.
func (c *classScores) add(scores []float64, truth int, weight float64) {
	c.scores, c.truth, c.weight = append(c.scores, scores), append(c.truth, truth), append(c.weight, weight)
}

// counts counts the decisions by thresholds.
func (c *classScores) counts(m measure.Multi, thresholds []float64) *classCounts {
	out := newClassCounts(m, len(thresholds))
	for i, z := range c.scores {
		out.add(c.truth[i], decision(z, thresholds), c.weight[i])
	}
	return &out
}

// The sizes of the search.
const (
	// leastTunedRows is the number of rows below which the threshold of a class stays where it is.
	leastTunedRows = 10
	// mostOffsetRounds bounds the rounds over all classes, and mostOffsetRows the rows.
	mostOffsetRounds = 4
	mostOffsetRows   = 10_000
	// guardedErrors is the number of standard errors by which a change must raise the measure, and
	// within which of the best change the smallest is taken.
	guardedErrors = 0.5
	// mostLost is the share of a class's own rows below which a threshold of it is not considered:
	// there it takes rows of other classes for the sake of few of its own.
	mostLost = 0.02
)

// offsetTuner is one search for thresholds.
type offsetTuner struct {
	classScores
	measure    measure.Multi
	thresholds []float64
	rows       []int      // of each class
	top        [][2]int32 // of each row: the two best classes
	sums       classCounts

	moves  []offsetMove // of the class in hand, in descending order of at
	values []float64    // of the measure, after so many moves
	own    []float64
}

// offsetMove is a row that comes to a class once the threshold is below at.
type offsetMove struct {
	at         float64
	row, rival int32
}

func newOffsetTuner(m measure.Multi, on classScores, start []float64) *offsetTuner {
	s := &offsetTuner{
		classScores: on, measure: m, thresholds: slices.Clone(start), rows: make([]int, len(start)),
		top: make([][2]int32, len(on.scores)), sums: newClassCounts(m, len(start)),
	}
	for i, y := range s.truth {
		s.rows[y]++
		s.top[i] = s.best(i)
	}
	return s
}

// tuneOffsets returns thresholds of the classes that are better for m on the rows than those of
// start, or start where there are none. A change counts only if it raises the measure by half a
// standard error of the change, and of the changes within that of the best one the smallest is
// taken: rows that were not tuned on would not confirm the rest. O(rounds × classes × n log n).
func tuneOffsets(m measure.Multi, on classScores, start []float64) []float64 {
	if len(on.scores) == 0 {
		return start
	}
	s := newOffsetTuner(m, on, start)
	before := s.value()
	for range mostOffsetRounds {
		gained := false
		for k := range s.thresholds {
			gained = s.rows[k] >= leastTunedRows*max(1, s.repeats) && s.improve(k) || gained
		}
		if !gained {
			break
		}
	}
	if !(s.value() > before) && before == before {
		return start
	}
	return s.thresholds
}

// jointThresholds returns the thresholds of the classes that are tuned for m on the rows: the best
// of multiples of the logarithms of the classes' shares, changed by tuneOffsets if the changes that
// follow from one half of the rows are better on the other half, both counted together. Of more
// than mostOffsetRows rows a part is taken for that.
func jointThresholds(m measure.Multi, on *classScores, classes int) []float64 {
	start := shareThresholds(m, on, classes)
	step := 1 + (len(on.scores)-1)/mostOffsetRows
	part := classScores{repeats: on.repeats}
	halves := [2]classScores{part, part}
	seen := make([]int, classes)
	for i := 0; i < len(on.scores); i += step {
		z, y, w := on.scores[i], on.truth[i], on.weight[i]
		half := seen[y] % 2
		if on.repeats > 1 { // all entries of a row are in one half
			half = int(on.row[i]) % 2
		}
		part.add(z, y, w)
		halves[half].add(z, y, w)
		seen[y]++
	}
	before, after := newClassCounts(m, classes), newClassCounts(m, classes)
	for k := range halves {
		tuned, other := tuneOffsets(m, halves[k], start), &halves[1-k]
		for i, z := range other.scores {
			before.add(other.truth[i], decision(z, start), other.weight[i])
			after.add(other.truth[i], decision(z, tuned), other.weight[i])
		}
	}
	if !(after.value() > before.value()) {
		return start
	}
	return tuneOffsets(m, part, start)
}

// shareFactors are the multiples that shareThresholds tries, those near 0 first.
var shareFactors = []float64{0, 0.15, -0.15, 0.3, -0.3, 0.45, -0.45, 0.6, -0.6, 0.8, -0.8, 1, -1}

// shareThresholds returns the best multiple of the logarithms of the classes' shares.
func shareThresholds(m measure.Multi, on *classScores, classes int) []float64 {
	logs, total := make([]float64, classes), 0.0
	for i, y := range on.truth {
		logs[y] += on.weight[i]
		total += on.weight[i]
	}
	for k, v := range logs {
		logs[k] = portable.Log(max(v, total/float64(len(on.truth))) / total)
	}
	best, at := math.Inf(-1), make([]float64, classes)
	thresholds := make([]float64, classes)
	for _, factor := range shareFactors {
		for k, v := range logs {
			thresholds[k] = float64(factor*v) + 0 // never -0
		}
		if v := on.counts(m, thresholds).value(); v > best {
			best = v
			copy(at, thresholds)
		}
	}
	return at
}

// value is the measure of the decisions by the thresholds.
func (s *offsetTuner) value() float64 {
	s.sums.reset()
	for i, y := range s.truth {
		s.sums.add(y, int(s.top[i][0]), s.weight[i])
	}
	return s.sums.value()
}

// above reports whether class j comes before class k in the decision of a row.
func (s *offsetTuner) above(z []float64, j, k int) bool {
	a, b := z[j]-s.thresholds[j], z[k]-s.thresholds[k]
	return a > b || a == b && j < k
}

// best returns the two classes that come first in the decision of a row.
func (s *offsetTuner) best(i int) [2]int32 {
	z := s.scores[i]
	first, second := 0, 1
	if s.above(z, 1, 0) {
		first, second = 1, 0
	}
	for k := 2; k < len(z); k++ {
		switch {
		case s.above(z, k, first):
			first, second = k, first
		case s.above(z, k, second):
			second = k
		}
	}
	return [2]int32{int32(first), int32(second)}
}

// improve changes the threshold of class k if that raises the measure, and reports whether it did.
func (s *offsetTuner) improve(k int) bool {
	s.list(k)
	now := s.sweep(k)
	best := now
	for g, v := range s.values {
		if v > s.values[best] || s.values[best] != s.values[best] && v == v {
			best = g
		}
	}
	least := s.values[best] - float64(guardedErrors*s.errorOf(k, now, best))
	if best == now || least <= s.values[now] {
		return false
	}
	step := 1
	if best < now {
		step = -1
	}
	to := now + step
	for to != best && !(s.values[to] >= least) {
		to += step
	}
	if to == 0 {
		s.thresholds[k] = s.moves[0].at + max(1, math.Abs(s.moves[0].at)*1e-9)
	} else {
		s.thresholds[k] = s.between(to)
	}
	for i := range s.top {
		z, t := s.scores[i], s.top[i]
		if t[0] == int32(k) || t[1] == int32(k) || s.above(z, k, int(t[1])) {
			s.top[i] = s.best(i)
		}
	}
	return true
}

// list lists the moves of class k.
func (s *offsetTuner) list(k int) {
	s.moves, s.own = s.moves[:0], s.own[:0]
	for i, z := range s.scores {
		j := s.top[i][0]
		if j == int32(k) {
			j = s.top[i][1]
		}
		at := z[k] - (z[j] - s.thresholds[j])
		s.moves = append(s.moves, offsetMove{at, int32(i), j})
		if s.truth[i] == k {
			s.own = append(s.own, at)
		}
	}
	slices.Sort(s.own)
	lowest := min(s.own[int(mostLost*float64(len(s.own)))], s.thresholds[k])
	below := func(m offsetMove) bool { return m.at < lowest }
	s.sums.reset()
	for _, m := range s.moves {
		s.sums.add(s.truth[m.row], int(m.rival), s.weight[m.row])
	}
	s.moves = slices.DeleteFunc(s.moves, below)
	slices.SortFunc(s.moves, func(a, b offsetMove) int {
		return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.row, b.row))
	})
}

// sweep computes the measure after each number of moves to class k and returns the number of those
// that the present threshold makes. The measure cannot have its largest value where the last move
// only took rows from their own classes, so that is left out.
func (s *offsetTuner) sweep(k int) (now int) {
	for ; now < len(s.moves) && s.top[s.moves[now].row][0] == int32(k); now++ {
	}
	s.values = append(s.values[:0], s.sums.value())
	good := false // whether a row that moves at this threshold was not in its own class
	for g, m := range s.moves {
		y := s.truth[m.row]
		s.sums.move(y, int(m.rival), k, s.weight[m.row])
		v, gap := math.NaN(), s.isGap(g+1)
		good = good || y != int(m.rival)
		if g+1 == now || good && gap {
			v = s.sums.value()
		}
		s.values = append(s.values, v)
		good = good && !gap
	}
	return now
}

// isGap reports whether a threshold can make the first n moves and no others.
func (s *offsetTuner) isGap(n int) bool {
	return n == 0 || n == len(s.moves) || s.moves[n-1].at > s.moves[n].at
}

// between returns the threshold that makes the first n moves, at least one.
func (s *offsetTuner) between(n int) float64 {
	high := s.moves[n-1].at
	if n == len(s.moves) {
		return high - max(1, math.Abs(high)*1e-9)
	}
	low := s.moves[n].at
	if mid := float64(high/2) + float64(low/2); mid >= low && mid < high {
		return mid
	}
	return low
}

// errorOf is the standard error of the difference of the measure between two numbers of moves, to
// first order: each row that decides differently counts as drawn by itself.
func (s *offsetTuner) errorOf(k, from, to int) float64 {
	if from > to {
		from, to = to, from
	}
	value := s.value()
	if value-value != 0 {
		return 0
	}
	sum := 0.0
	for _, m := range s.moves[from:to] {
		a, b := int(s.top[m.row][0]), k
		if a == k {
			b = int(m.rival)
		}
		y, w := s.truth[m.row], s.weight[m.row]
		s.sums.move(y, a, b, w)
		d := s.sums.value() - value
		s.sums.move(y, b, a, w)
		sum += float64(d * d)
	}
	return math.Sqrt(sum * float64(max(1, s.repeats))) // the entries of a row say the same
}

// classCounts are the sums of a confusion matrix that measures of several classes depend on.
type classCounts struct {
	concave measure.MulticlassConcave // one of the two, or accuracy
	average measure.Measure

	right, of, predicted []float64 // the weights of each class
	total                float64
	terms                []float64 // of the average, of each class
	stale                bool
	recalls              []float64
}

func newClassCounts(m measure.Multi, n int) classCounts {
	c := classCounts{
		right: make([]float64, n), of: make([]float64, n), predicted: make([]float64, n), terms: make([]float64, n),
	}
	c.concave, _ = m.Concave()
	if a, ok := m.Averaged(); ok {
		c.average = a.Of
	}
	return c
}

func (c *classCounts) reset() {
	clear(c.right)
	clear(c.of)
	clear(c.predicted)
	c.total, c.stale = 0, true
}

// add counts a row of class y that is predicted as j.
func (c *classCounts) add(y, j int, weight float64) {
	c.of[y] += weight
	c.predicted[j] += weight
	c.total += weight
	if y == j {
		c.right[y] += weight
	}
	c.stale = true
}

// move changes the prediction of a row of class y.
func (c *classCounts) move(y, from, to int, weight float64) {
	c.predicted[from] -= weight
	c.predicted[to] += weight
	switch y {
	case from:
		c.right[y] -= weight
	case to:
		c.right[y] += weight
	}
	if !c.stale {
		c.term(from)
		c.term(to)
	}
}

// term computes the term of an average for class k.
func (c *classCounts) term(k int) {
	if c.average == nil {
		return
	}
	tp, fn := max(0, c.right[k]), max(0, c.of[k]-c.right[k])
	fp := max(0, c.predicted[k]-c.right[k])
	v := c.average.Value(measure.Confusion{TP: tp, FN: fn, FP: fp, TN: max(0, c.total-tp-fn-fp)})
	c.terms[k] = measure.UndefinedIsZero.Apply(v)
}

// value is the measure, without classes that no row has: see [measure.Multi.OfPresentClasses].
func (c *classCounts) value() float64 {
	switch {
	case c.average != nil:
		if c.stale {
			for k := range c.terms {
				c.term(k)
			}
			c.stale = false
		}
		sum := 0.0
		for _, v := range c.terms {
			sum += v
		}
		return sum / float64(len(c.terms))
	case c.concave != nil:
		c.recalls = c.recalls[:0]
		for k, w := range c.of {
			if w > 0 {
				c.recalls = append(c.recalls, min(1, max(0, c.right[k])/w))
			}
		}
		if len(c.recalls) == 0 {
			return math.NaN()
		}
		return c.concave.Of(c.recalls)
	}
	right := 0.0
	for _, w := range c.right {
		right += w
	}
	return right / c.total
}
