package experiment

import (
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto"
)

// rewardLearner is a learner of the arm with the best reward: the weighted sum of the goals, each
// in its direction of improvement. Unlike other learners it takes the observations of versions
// whose mixture is no longer served, with the propensities that the units had.
type rewardLearner struct {
	*bandit.Batched
	is      definition.Reward
	forgets *rewardMemory // nil with drift none
}

// batchRules are the rules of the policies by kind.
var batchRules = map[string]bandit.BatchRule{
	"thompson": bandit.BatchThompson, "ucb": bandit.BatchUCB, "kl-ucb": bandit.BatchKLUCB,
	"tsallis-inf": bandit.BatchTsallisINF,
}

func newRewardLearner(d *definition.Definition, arms int) (*rewardLearner, error) {
	is := definition.RewardOf(d)
	b, err := bandit.NewBatched(arms, batchRules[d.Policy.Kind], is.Low, is.High)
	return &rewardLearner{Batched: b, is: is}, err
}

// Deployed implements [learner].
func (l *rewardLearner) Deployed() []float64 { return l.Best() }

// AddArm implements [learner].
func (l *rewardLearner) AddArm() (int, error) { return l.Batched.AddArm(), nil }

// Observe implements [learner]. A reward learner takes versions by its method observe instead.
func (l *rewardLearner) Observe([]pasto.Observation) error {
	return noregret.Errorf(noregret.Internal, "learner", "a bandit observes rewards, not metrics")
}

// observe passes the statistics of a version to the bandit. It returns the number of units that it
// learned from: those of active arms with all goals.
func (l *rewardLearner) observe(r *roster, stats []armStats, mixture, factors []float64) (learned int64) {
	var batch []bandit.Batch
	shares := make([]float64, len(r.LearnedArms))
	for i, k := range r.LearnedArms {
		if k >= len(stats) || k >= len(mixture) || !r.Arms[k].Active || !(stopView{r}).planned(k) ||
			!(mixture[k] > 0) {
			continue
		}
		shares[i] = min(mixture[k], 1)
		if stats[k].Units == 0 {
			continue
		}
		b, ok := l.reward(&guardInput{roster: r, inflation: factors}, &stats[k])
		if !ok { // its losses are unknown: as if it could not have been drawn
			shares[i] = 0
			continue
		}
		if b.Arm = i; r.def.Policy.Kind == "tsallis-inf" {
			b.Size = float64(stats[k].Units) // units without a value count with the others' mean
		}
		batch = append(batch, b)
		learned += stats[k].Units
	}
	if len(batch) == 0 || l.take(batch, shares) != nil {
		return 0
	}
	for _, b := range batch {
		stopView{r}.observed(r.LearnedArms[b.Arm])
	}
	return learned
}

// reward returns the rewards of an arm's units in a version. Ok is false if a goal has no value.
//
// With several goals the covariances of their values are not known. The variance is then the square
// of the sum of the standard deviations, which is never too small, by Cauchy and Schwarz. The size
// is the smallest number of values of a goal.
func (l *rewardLearner) reward(in *guardInput, a *armStats) (b bandit.Batch, ok bool) {
	b.Size = math.Inf(1)
	sd := 0.0
	for i, w := range l.is.Weights {
		m := l.is.Metrics[i]
		s := &a.Metrics[m]
		if s.N == 0 {
			return b, false
		}
		n := float64(s.N)
		b.Size = min(b.Size, n)
		b.Mean += float64(w * s.Mean)
		sd += float64(math.Abs(w) * math.Sqrt(float64(s.M2/n*in.inflated(m))))
	}
	b.Variance = float64(sd * sd)
	b.Mean = min(max(b.Mean, l.is.Low), l.is.High) // the mean is rounded
	return b, true
}

// mergeMixtures returns the propensities of two rounds together: of all their units, the share that
// was to have each arm. Rounds without propensities have none together.
func mergeMixtures(a, b *roundStats) f64s {
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
	out := make(f64s, max(len(a.Mixture), len(b.Mixture)))
	for k, p := range a.Mixture {
		out[k] += float64(p * (m / (m + n)))
	}
	for k, p := range b.Mixture {
		out[k] += float64(p * (n / (m + n)))
	}
	return out
}
