package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/vec"
)

// lengths are the memories' lengths in rounds, from the longest; 0 is all rounds. A round's weight
// falls by a part of 1/length with each round after it.
var lengths = [...]float64{0, 64, 24, 8}

// Memories is the number of memories of a store, without a fixed one. Memory 0 is of all rounds.
const Memories = len(lengths)

// Metric says what a store keeps of a metric.
type Metric struct {
	// Ratio reports whether units have two parts, x above and y below the line.
	Ratio bool
	// Width is that of the range of a unit's value, for a ratio of the part above the line, or the
	// size of an event; at least 0, and 0 if it is unknown. While all N units had the same value,
	// their variance is taken for Width²/(N + 2), that of one more unit with another value: without
	// it nothing is compared.
	Width float64
}

// Store has the sums of an experiment. Arm 0 is the control, unless there is none. Create it with
// [New] or [NewFree].
type Store struct {
	arms    int
	pairs   bool // all pairs of arms are compared
	free    bool // there is no control
	fixed   int  // the rounds of one more memory, 0 for none
	metrics []metric

	own      []bool // workspace of Add
	round    []weighted
	order    []bool
	residual []float64
}

// metric has the sums of a metric.
type metric struct {
	shape    shape
	rounds   int // that have been added
	base     int // the arm that others are compared with where not all pairs are: 0 for a control
	variance variances
	sigma    float64 // the variance of a unit when the last round was added; 0 if unknown
	width    float64 // of the range of a unit's value, 0 if unknown
	// factors are those of the variances of the arms' means, nil for ones: see [Store.SetFactors].
	factors  []float64
	memories []memory
}

// New returns an empty store for a number of arms, at least 1 with the control, and metrics. With
// at most 128 arms all pairs are compared, and each metric needs some 2·K² numbers for K arms; with
// more, each arm is compared with the control only.
func New(arms int, metrics []Metric) (*Store, error) {
	return create(arms, metrics, false)
}

// NewFree is [New] without a control. Contrasts are then with the pool of all arms, as the units of
// the last 8 rounds or so mix them. With more than 128 arms each is compared with one that has many
// units.
func NewFree(arms int, metrics []Metric) (*Store, error) { return create(arms, metrics, true) }

func create(arms int, metrics []Metric, free bool) (*Store, error) {
	if arms < 1 {
		return nil, noregret.BadInputf("arms", "%d: want at least 1, the control", arms)
	}
	if len(metrics) == 0 {
		return nil, noregret.BadInputf("metrics", "none: want at least one")
	}
	s := &Store{pairs: arms <= mostPairs, free: free, metrics: make([]metric, len(metrics))}
	for i := range metrics {
		m := &s.metrics[i]
		m.shape, m.variance.together = shape{pairs: s.pairs, parts: 1}, free
		if metrics[i].Ratio {
			m.shape.parts = 2
		}
		if m.width = metrics[i].Width; !(m.width >= 0 && m.width <= math.MaxFloat64) {
			return nil, noregret.BadInputf(fmt.Sprintf("metrics[%d].width", i), "%v: want a finite number of at least "+
				"0", m.width)
		}
		for _, length := range lengths {
			m.memories = append(m.memories, memory{keep: keepOf(length), v: make([]float64, m.shape.head())})
		}
	}
	for range arms {
		s.AddArm()
	}
	return s, nil
}

// keepOf is the factor of the past in each round of a memory of so many rounds, 0 for all.
func keepOf(length float64) float64 {
	if length == 0 {
		return 1
	}
	return 1 - 1/length
}

// LeastFixed and MostFixed bound the rounds of a fixed memory.
const LeastFixed, MostFixed = definition.LeastMemory, definition.MostMemory

// Fix adds a memory of so many rounds, from [LeastFixed] to [MostFixed], for the rule [Fixed], in
// place of the one that there was; 0 takes that away. In a store with rounds it begins as the
// memory whose length is next, and is what it should be after so many rounds more.
func (s *Store) Fix(rounds int) error {
	if rounds != 0 && (rounds < LeastFixed || rounds > MostFixed) {
		return noregret.BadInputf("memory", "%d rounds: want %d to %d", rounds, LeastFixed, MostFixed)
	}
	for i := range s.metrics {
		m := &s.metrics[i]
		next := memory{keep: keepOf(float64(rounds)), v: slices.Clone(m.nearest(rounds).v)}
		if m.memories = m.memories[:Memories]; rounds > 0 {
			m.memories = append(m.memories, next)
		}
	}
	s.fixed = rounds
	return nil
}

// nearest returns the memory whose number of rounds differs least, by its logarithm.
func (m *metric) nearest(rounds int) *memory {
	length := func(keep float64) float64 { return 1 / max(1-keep, 1/float64(max(m.rounds, 1))) }
	best, least := &m.memories[0], math.Inf(1)
	for i := range m.memories {
		x := &m.memories[i]
		ratio := length(x.keep) / float64(max(rounds, 1))
		if d := max(ratio, 1/ratio); d < least {
			best, least = x, d
		}
	}
	return best
}

// Fixed is the number of rounds of the fixed memory, 0 without one.
func (s *Store) Fixed() int { return s.fixed }

// SetFactors says by what the variance of each arm's contrast in a metric differs from that of so
// many independent units with the variances that were added, from now on: above 1 where units come
// back and keep their arm, so that rounds are not independent. All are above 0; nil is a 1 for
// each.
func (s *Store) SetFactors(metric int, factors []float64) error {
	if metric < 0 || metric >= len(s.metrics) {
		return noregret.BadInputf("metric", "%d: want one of the %d metrics, from 0 on", metric, len(s.metrics))
	}
	if factors != nil && len(factors) != s.arms {
		return noregret.BadInputf("factors", "%d: want one for each of the %d arms", len(factors), s.arms)
	}
	for k, f := range factors {
		if !(f > 0 && f <= math.MaxFloat64) {
			return noregret.BadInputf(fmt.Sprintf("factors[%d]", k), "%v: want a finite number above 0", f)
		}
	}
	s.metrics[metric].factors = append([]float64(nil), factors...)
	return nil
}

// Arms is the number of arms, the control included.
func (s *Store) Arms() int { return s.arms }

// Free reports whether there is no control.
func (s *Store) Free() bool { return s.free }

// Metrics is the number of metrics.
func (s *Store) Metrics() int { return len(s.metrics) }

// Fits reports whether the store has a number of arms and these metrics.
func (s *Store) Fits(arms int, metrics []Metric) bool {
	return s.arms == arms && slices.EqualFunc(s.metrics, metrics, func(a metric, b Metric) bool {
		return (a.shape.parts == 2) == b.Ratio && a.width == b.Width
	})
}

// Copy returns a copy that shares nothing with s. It costs O(K²) per metric.
func (s *Store) Copy() *Store {
	out := &Store{arms: s.arms, pairs: s.pairs, free: s.free, fixed: s.fixed, metrics: slices.Clone(s.metrics)}
	for i := range out.metrics {
		m := &out.metrics[i]
		m.factors, m.memories = slices.Clone(m.factors), slices.Clone(m.memories)
		v := &m.variance
		*v = variances{s.free, slices.Clone(v.free), slices.Clone(v.xx), slices.Clone(v.xy), slices.Clone(v.yy)}
		for j := range m.memories {
			m.memories[j].v = slices.Clone(m.memories[j].v)
		}
	}
	return out
}

// Rounds is the number of rounds of a metric.
func (s *Store) Rounds(metric int) int { return s.metrics[metric].rounds }

// Units is the number of units of an arm in a metric, over all rounds; without those of rounds that
// few units rule.
func (s *Store) Units(metric, arm int) float64 {
	m := &s.metrics[metric]
	return m.memories[0].v[m.shape.arm(arm)]
}

// RecentUnits is [Store.Units] in a memory of 24 rounds.
func (s *Store) RecentUnits(metric, arm int) float64 {
	m := &s.metrics[metric]
	return m.memories[2].v[m.shape.arm(arm)]
}

// Length is the number of rounds that a memory remembers, 0 for all.
func Length(memory int) int { return int(lengths[memory]) }

// AddArm adds an arm and returns its index. O(K) per metric; the 129th ends the comparison of all
// pairs, of which each arm keeps that with the control, at O(K³).
func (s *Store) AddArm() int {
	k := s.arms
	if s.pairs && k == mostPairs {
		s.narrow()
	}
	s.arms++
	for i := range s.metrics {
		m := &s.metrics[i]
		m.variance.addArm()
		if m.factors != nil {
			m.factors = append(m.factors, 1)
		}
		for j := range m.memories {
			x := &m.memories[j]
			x.v = append(x.v, make([]float64, m.shape.arm(k+1)-len(x.v))...)
		}
	}
	return k
}

// Add adds a round of a metric: what its units brought, by arm. Arms without units are left out.
// Each metric has rounds of its own, so one that matures later is added later. An error leaves the
// store as it was. It costs O(K²), and O(K) above 128 arms.
func (s *Store) Add(metric int, round []Sums) error {
	if metric < 0 || metric >= len(s.metrics) {
		return noregret.BadInputf("metric", "%d: want one of the %d metrics, from 0 on", metric, len(s.metrics))
	}
	m := &s.metrics[metric]
	s.order = zeros(s.order, s.arms)
	for i := range round {
		o := &round[i]
		if err := o.check(i, s.arms, m.shape.parts == 2); err != nil {
			return err
		}
		if s.order[o.Arm] {
			return noregret.BadInputf(fmt.Sprintf("round[%d]", i), "arm %d twice: want each arm at most once", o.Arm)
		}
		s.order[o.Arm] = true
	}
	if len(round) == 0 {
		return nil
	}
	s.weigh(m, round)
	m.rounds++
	if s.free && !s.pairs {
		m.rebase(s.round, s.arms)
	}
	for i := range m.memories {
		m.memories[i].add(m.shape, m.base, s.round)
	}
	return nil
}

// Total is what is known of an arm over all rounds: the mean X of N units, and its Variance.
type Total struct {
	Arm            int
	N, X, Variance float64
}

// SetTotals makes the sums of a metric, which is no ratio, those of one round in place of all that
// there were, and says how many those have been. It is for sums of which only totals are known, as
// those of private experiments: their contrasts are the differences of the means, and the level is
// that of arm 0. An error leaves the store as it was. It costs O(K²).
func (s *Store) SetTotals(metric, rounds int, totals []Total) error {
	if metric < 0 || metric >= len(s.metrics) || s.metrics[metric].shape.parts > 1 || rounds < 1 {
		return noregret.BadInputf("metric", "%d, in %d rounds: want one of the %d metrics that is no ratio, and at "+
			"least one round", metric, rounds, len(s.metrics))
	}
	m, units, level := &s.metrics[metric], 0.0, 0.0
	round, seen := make([]weighted, len(totals)), make([]bool, s.arms)
	for i := range totals {
		o := &totals[i]
		if !(o.N > 0 && o.Variance > 0) || o.Arm < 0 || o.Arm >= s.arms || !vec.IsFinite(o.N) ||
			!vec.IsFinite(o.X) || !vec.IsFinite(1/o.Variance) || !vec.IsFinite(o.Variance) {
			return noregret.BadInputf(fmt.Sprintf("totals[%d]", i), "%+v: want an arm from 0 to %d and "+
				"finite numbers, units and a variance above 0", *o, s.arms-1)
		}
		if seen[o.Arm] {
			return noregret.BadInputf(fmt.Sprintf("totals[%d]", i), "arm %d twice: want each arm at most once", o.Arm)
		}
		seen[o.Arm] = true
		round[i] = weighted{arm: o.Arm, n: o.N, w: 1 / o.Variance, y: [2]float64{o.X}, level: true}
		units += o.N
		if o.Arm == m.base {
			level = o.Variance
		}
	}
	for i := range m.memories {
		clear(m.memories[i].v)
		m.memories[i].add(m.shape, m.base, round)
	}
	m.rounds, m.sigma = rounds, float64(level*units)
	return nil
}

// weigh writes the round with its weights to s.round and adds its variances.
func (s *Store) weigh(m *metric, round []Sums) {
	units, x, y := m.totals(s.arms)
	for i := range round {
		o := &round[i]
		units += o.N
		x += float64(o.N * o.X)
		y += float64(o.N * o.Y)
	}
	r := 0.0
	if m.shape.parts == 2 && y != 0 {
		r = x / y
	}
	v := &m.variance
	squares, free := 0.0, 0.0
	for k, n := range v.free {
		squares += v.squares(k, r)
		free += n
	}
	s.residual = zeros(s.residual, len(round))
	for i := range round {
		o := &round[i]
		s.residual[i] = residual(o.XX, o.XY, o.YY, r)
		squares += s.residual[i]
		free += max(o.N-1, 0)
	}
	s.round = zeros(s.round, len(round))
	for i := range round {
		o, w := &round[i], &s.round[i]
		n := max(o.N-1, 0)
		*w = weighted{arm: o.Arm, n: o.N, y: [2]float64{o.X, o.Y}, level: true}
		// What is known comes from all other units.
		known := (squares - s.residual[i]) / (free - n)
		others := units - o.N
		if free > n && others > 0 && ruledByFew(o, s.residual[i], known, (x-float64(o.N*o.X))/others) {
			w.level = false
			w.w = o.N / (s.residual[i] / n)
			v.free[o.Arm] += n
			v.xx[o.Arm] += float64(n * float64(fewVariance*known))
			continue
		}
		v.free[o.Arm] += n
		v.xx[o.Arm] += o.XX
		v.xy[o.Arm] += o.XY
		v.yy[o.Arm] += o.YY
	}
	s.own = zeros(s.own, s.arms)
	if m.sigma = v.pooled(r, s.own); m.sigma == 0 {
		m.sigma = float64(m.width * m.width / (units + 2))
	}
	for i := range s.round {
		w := &s.round[i]
		switch {
		case w.w > 0 || m.sigma == 0: // nothing differs yet, so nothing is compared
		case s.own[w.arm]:
			w.w = w.n / v.of(w.arm, r, m.sigma)
		default:
			w.w = w.n / m.sigma
		}
	}
}

// totals returns the units of all arms and rounds, and the sums of the parts.
func (m *metric) totals(arms int) (units, x, y float64) {
	for k := range arms {
		units += m.memories[0].v[m.shape.arm(k)]
		x += m.memories[0].v[m.shape.level(k, 0)]
		if m.shape.parts == 2 {
			y += m.memories[0].v[m.shape.level(k, 1)]
		}
	}
	return units, x, y
}

// Merge adds the rounds of later, which came after those of s, of the same arms and metrics. Each
// round keeps the weights that it has. An error leaves s as it was.
func (s *Store) Merge(later *Store) error {
	if s.arms != later.arms || s.pairs != later.pairs || s.free != later.free || s.fixed != later.fixed ||
		len(s.metrics) != len(later.metrics) {
		return noregret.BadInputf("store", "%d arms and %d metrics: want %d and %d", later.arms, len(later.metrics),
			s.arms, len(s.metrics))
	}
	for i := range s.metrics {
		if s.metrics[i].shape != later.metrics[i].shape || s.metrics[i].base != later.metrics[i].base {
			return noregret.BadInputf("store", "metric %d is a ratio in one store and not in the other, or has "+
				"another arm that others are compared with", i)
		}
	}
	for i := range s.metrics {
		m, o := &s.metrics[i], &later.metrics[i]
		for j := range m.memories {
			m.memories[j].merge(&o.memories[j], o.rounds)
		}
		m.rounds += o.rounds
		for k := range s.arms {
			m.variance.free[k] += o.variance.free[k]
			m.variance.xx[k] += o.variance.xx[k]
			m.variance.xy[k] += o.variance.xy[k]
			m.variance.yy[k] += o.variance.yy[k]
		}
		if o.rounds > 0 {
			m.sigma = m.variance.pooled(m.ratio(s.arms), make([]bool, s.arms))
		}
	}
	return nil
}

// ratio is that of all units, 0 for plain metrics.
func (m *metric) ratio(arms int) float64 {
	if _, x, y := m.totals(arms); m.shape.parts == 2 && y != 0 {
		return x / y
	}
	return 0
}

// Contrasts writes the estimates of a metric in a memory, for the coefficient c of its second part;
// 0 for plain metrics. It costs O(K³) for the arms that are known, and O(K) above 128 arms.
func (s *Store) Contrasts(dst *Contrasts, metric, memory int, c float64) {
	m := &s.metrics[metric]
	if memory > 0 { // rounds scatter in the memory of all of them
		s.solve(dst, m, 0)
		dst.between(&m.memories[0], s.arms, m.rounds)
	}
	s.solve(dst, m, memory)
	if memory == 0 {
		dst.between(&m.memories[0], s.arms, m.rounds)
	}
	dst.centre()
	dst.Combine(c)
}

// solve writes the estimates of a metric in a memory.
func (s *Store) solve(dst *Contrasts, m *metric, memory int) {
	dst.sigma, dst.base, dst.pool = m.sigma, m.base, dst.pool[:0]
	dst.setFactors(m.factors)
	if s.free {
		dst.base = s.widest(m, memory)
		for k := range s.arms {
			dst.pool = append(dst.pool, m.memories[poolMemory].v[m.shape.arm(k)])
		}
	}
	dst.solve(m.shape, &m.memories[memory], s.arms, m.rounds)
}

// poolMemory is the memory whose units are the pool of a store without a control: the shortest one,
// as every memory knows its arms well.
const poolMemory = Memories - 1

// widest returns the arm that the others are compared with in a memory without a control.
func (s *Store) widest(m *metric, memory int) int {
	if !s.pairs {
		return m.base
	}
	best, most := 0, 0.0
	for k := range s.arms {
		if w := m.memories[memory].pair(m.shape, k, k); w > most {
			best, most = k, w
		}
	}
	return best
}
