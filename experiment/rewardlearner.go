package experiment

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/pasto"
)

// rewardLearner is a learner of the arm with the best reward: the weighted sum of the goals, each
// in its direction of improvement. Unlike other learners it takes the observations of versions
// whose mixture is no longer served, with the propensities that the units had.
type rewardLearner struct {
	*bandit.Batched
	keep float64 // what is left of the weight of rewards after each batch, 1 for all
}

func newRewardLearner(d *definition.Definition, arms int) (*rewardLearner, error) {
	is := definition.RewardOf(d)
	rule, _ := bandit.ParseBatchRule(d.Policy.Kind)
	b, err := bandit.NewBatched(arms, rule, is.Low, is.High)
	l := &rewardLearner{Batched: b, keep: 1}
	if n := d.Drift.Memory; n > 0 {
		l.keep = 1 - 1/float64(n)
	}
	return l, err
}

// take passes a batch to the bandit.
func (l *rewardLearner) take(batch []bandit.Batch, shares []float64, asleep []bandit.Batch) error {
	if l.keep < 1 {
		if err := l.Batched.Discount(l.keep); err != nil {
			return err
		}
	}
	return l.Batched.ObserveMasked(batch, shares, asleep)
}

// Deployed implements [mixer].
func (l *rewardLearner) Deployed() []float64 { return l.Best() }

// AddArm implements [learner].
func (l *rewardLearner) AddArm() (int, error) { return l.Batched.AddArm(), nil }

// Observe implements [learner]. A reward learner takes the rewards of a version instead.
func (l *rewardLearner) Observe([]pasto.Observation) error {
	return noregret.Errorf(noregret.Internal, "learner", "a bandit observes rewards, not metrics")
}

// rewards are what a version shows a bandit.
type rewards struct {
	batch, asleep []bandit.Batch
	shares        []float64 // by arm of the learner
	// learned are the units of active arms with all goals, and replaced those in whose place a mean
	// is learned, as they had no reward: only estimated losses need one.
	learned, replaced int64
}

// rewards returns what a version shows a bandit: of the arms that the policy plans with, the
// rewards of their units. The factors are those by which returning units raise the variance of each
// metric.
func (x *roster) rewards(of *roundStats, factors []float64) (out rewards) {
	stats, mixture, is := of.Stats, of.Mixture, definition.RewardOf(x.def)
	estimates := x.def.Policy.Kind == "tsallis-inf"
	out.shares = make([]float64, len(x.LearnedArms))
	for i, k := range x.LearnedArms {
		if k >= len(stats) || k >= len(mixture) || !(stopView{x}).planned(k) || !(mixture[k] > 0) {
			continue
		}
		out.shares[i] = min(mixture[k], 1)
		masked := estimates && of.Masked != nil && k < len(of.Masked.Arms)
		if masked {
			if q, ok := asleep(is, &of.Masked.Arms[k]); ok {
				q.Arm = i
				out.asleep = append(out.asleep, q)
			}
		}
		if stats[k].Units == 0 {
			continue
		}
		b, ok := reward(x.def, is, factors, &stats[k])
		units := float64(stats[k].Units)
		switch b.Arm = i; {
		case estimates && !ok: // all are lost
			b = bandit.Batch{Arm: i, Lost: units}
			out.replaced += stats[k].Units
		case !ok:
			out.shares[i] = 0
			continue
		case estimates: // units without a value count with the others' mean
			out.replaced += stats[k].Units - int64(b.Size)
			b.Size = units
		}
		if masked {
			awake(is, &b, &out.shares[i], &stats[k], &of.Masked.Arms[k])
		}
		out.batch = append(out.batch, b)
		if ok {
			out.learned += stats[k].Units
		}
	}
	if out.learned == 0 {
		return rewards{}
	}
	return out
}

// awake changes the reward of an arm whose units did not all allow all arms: the share is that
// among the units that allowed the arm, and the mean is weighted by 1 over the unit's probability
// of it.
func awake(is definition.Reward, b *bandit.Batch, share *float64, s *compare.Stats, masked *join.MaskedArm) {
	p := *share
	if weight := float64(s.Units-masked.Units)/p + masked.Weight; weight > 0 {
		*share = min(float64(s.Units)/weight, 1)
	}
	if b.Size == 0 {
		return
	}
	mean := 0.0
	for i, w := range is.Weights {
		m := is.Metrics[i]
		q, t := &s.Metrics[m], &masked.Metrics[m]
		weight := float64(q.N-t.N)/p + t.Weight
		sum := (float64(float64(q.N)*q.Mean)-t.Sum)/p + t.Weighted
		mean += float64(w * (sum / weight))
	}
	b.Mean = min(max(mean, is.Low), is.High)
}

// asleep returns the rewards of the units that did not allow an arm. Ok is false if there are none.
func asleep(is definition.Reward, masked *join.MaskedArm) (q bandit.Batch, ok bool) {
	q.Size = float64(masked.Asleep)
	for i, w := range is.Weights {
		t := &masked.Metrics[is.Metrics[i]]
		if t.Asleep == 0 {
			return bandit.Batch{Lost: q.Size}, q.Size > 0
		}
		q.Mean += float64(w * (t.AsleepSum / float64(t.Asleep)))
	}
	q.Mean = min(max(q.Mean, is.Low), is.High)
	return q, q.Size > 0
}

// reward returns the rewards of an arm's units in a version. Ok is false if a goal has no value.
//
// With several goals the covariances of their values are not known. The variance is then the square
// of the sum of the standard deviations, which is never too small, by Cauchy and Schwarz. The size
// is the smallest number of values of a goal.
func reward(
	d *definition.Definition, is definition.Reward, inflation compare.Inflation, a *compare.Stats,
) (b bandit.Batch, ok bool) {
	b.Size = math.Inf(1)
	sd := 0.0
	for i, w := range is.Weights {
		m := is.Metrics[i]
		s := &a.Metrics[m]
		if s.N == 0 {
			return b, false
		}
		n := float64(s.N)
		b.Size = min(b.Size, n)
		b.Mean += float64(w * s.Mean)
		sd += float64(math.Abs(w) * math.Sqrt(float64(s.M2/n*inflation.Of(d, m))))
	}
	b.Variance = float64(sd * sd)
	b.Mean = min(max(b.Mean, is.Low), is.High) // the mean is rounded
	return b, true
}

// mergeMixtures returns the propensities of two rounds together: of all their units, the share that
// was to have each arm. Rounds without propensities have none together.
func mergeMixtures(a, b *roundStats) column.Float64s {
	if len(a.Mixture) == 0 || len(b.Mixture) == 0 {
		return nil
	}
	units := func(r *roundStats) (n float64) {
		for k := range r.Stats {
			n += float64(r.Stats[k].Units)
		}
		return n
	}
	m, n := units(a), units(b)
	if m+n == 0 {
		m, n = 1, 1
	}
	out := make(column.Float64s, max(len(a.Mixture), len(b.Mixture)))
	for k, p := range a.Mixture {
		out[k] += float64(p * (m / (m + n)))
	}
	for k, p := range b.Mixture {
		out[k] += float64(p * (n / (m + n)))
	}
	return out
}

// mergeMasked returns the sums of two rounds together where any unit of them did not allow all
// arms, and nil otherwise. It is for mergeMixtures, and is called before it.
func mergeMasked(a, b *roundStats, metrics int) *join.MaskedSums {
	if a.Masked == nil && b.Masked == nil || len(a.Mixture) == 0 || len(b.Mixture) == 0 {
		return nil
	}
	out := join.NewMaskedSums(max(len(a.Mixture), len(b.Mixture)), metrics)
	for _, r := range []*roundStats{a, b} {
		r.mergeWeighted(out, metrics)
	}
	return out
}

// mergeWeighted adds the weighted sums of a round to those of rounds that may have more arms.
func (x *roundStats) mergeWeighted(out *join.MaskedSums, metrics int) {
	out.Add(x.weighted(metrics))
	for k := len(x.Mixture); k < len(out.Arms); k++ { // the arm came later
		for i := range x.Stats {
			out.Arms[k].Sleep(&x.Stats[i])
		}
	}
}

// weighted returns the sums of a round as if no unit had allowed all arms, by which rounds of
// other mixtures can be added. An arm without a share is asleep in all units.
func (x *roundStats) weighted(metrics int) *join.MaskedSums {
	arms := len(x.Mixture)
	out := join.NewMaskedSums(arms, metrics)
	if x.Masked != nil {
		out.Add(x.Masked)
	}
	for k, p := range x.Mixture {
		if k >= len(x.Stats) {
			continue
		}
		if p > 0 {
			out.Arms[k].Wake(&x.Stats[k], p)
			continue
		}
		out.Arms[k] = join.NewMaskedSums(1, metrics).Arms[0]
		for i := range x.Stats[:min(arms, len(x.Stats))] {
			out.Arms[k].Sleep(&x.Stats[i])
		}
	}
	return out
}
