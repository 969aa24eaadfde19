package noisysums

import (
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/private/aggregate"
)

// learner is the policy of the service on released sums of rates, as package experiment adds them
// to its store: a release is a round, whose units have the variance of events and the noise of the
// difference of two releases. In the sum of rounds that noise cancels but for the last release's,
// which the factors of the variances say.
type learner struct {
	policy *mixture.Policy
	store  *compare.Store
	sums   *aggregate.Sums
	round  int64
	arms   []arm
}

// arm is what is known of an arm up to the last release in whose round it had units.
type arm struct {
	round  int64
	units  float64
	values [2]float64 // released
}

// newLearner returns the learner of a world before the first round.
func newLearner(w *world.World, sums *aggregate.Sums) (*learner, error) {
	p := propose.OfGoals(w.Goals, w.Arms())
	policy, err := mixture.New(p, mixture.DefaultOptions())
	if err != nil {
		return nil, err
	}
	store, err := p.Store()
	return &learner{policy: policy, store: store, sums: sums, arms: make([]arm, w.Arms())}, err
}

// serving returns the mixture to serve.
func (l *learner) serving() ([]float64, error) {
	p, err := l.policy.Propose(l.store)
	if err != nil {
		return nil, err
	}
	return p.Serving, nil
}

// observe adds a release: the units of its round by arm, and the sums by arm and metric.
func (l *learner) observe(units []int64, out []float64) error {
	l.round++
	for m := range 2 {
		var round []compare.Sums
		for k, n := range units {
			if n == 0 {
				continue
			}
			x, n := &l.arms[k], float64(n)
			step, value := l.sums.Between(x.round, l.round, m), out[2*k+m]
			round = append(round, compare.Sums{
				Arm: k, N: n, X: l.sums.Midpoint(m) + (value-x.values[m])/n,
				XX: float64((n - 1) * (l.variance(k, m, x.units+n, value) + float64(step*step)/n)),
			})
			x.values[m] = value
		}
		if err := l.store.Add(m, round); err != nil {
			return err
		}
	}
	for k, n := range units {
		if n > 0 {
			l.arms[k].round, l.arms[k].units = l.round, l.arms[k].units+float64(n)
		}
	}
	for m := range 2 {
		if err := l.store.SetFactors(m, l.factors(m)); err != nil {
			return err
		}
	}
	return nil
}

// variance bounds the variance of an event by the mean of so many units with a released sum, which
// is moved towards the middle by two standard errors of its noise.
func (l *learner) variance(k, m int, units, value float64) float64 {
	mean := min(max(l.sums.Midpoint(m)+value/units, 0), 1)
	if sd := 2 * l.sums.Deviation(l.round, m) / units; mean < 0.5 {
		mean = min(mean+sd, 0.5)
	} else {
		mean = max(mean-sd, 0.5)
	}
	return float64(mean * (1 - mean))
}

// uncancelled is by how much the variance of the noise in a contrast of all rounds may exceed that
// of the last release, as the shares of arms change between rounds.
const uncancelled = 4

// factors returns, by arm, the variance of the contrast with the control beside that which the
// store takes from the noise of each round by itself.
func (l *learner) factors(m int) []float64 {
	total := l.sums.Deviation(l.round, m)
	is, taken := make([]float64, len(l.arms)), make([]float64, len(l.arms))
	for k := range l.arms {
		x, n := &l.arms[k], max(l.arms[k].units, 1)
		is[k] = l.variance(k, m, n, x.values[m])/n + float64(uncancelled*float64(total*total))/n/n
		taken[k] = l.store.UnitVariance(m, k) / n
	}
	out := make([]float64, len(l.arms))
	for k := range out {
		if out[k] = (is[k] + is[0]) / (taken[k] + taken[0]); !(out[k] > 0) || out[k] > 1e300 {
			out[k] = 1
		}
	}
	return out
}
