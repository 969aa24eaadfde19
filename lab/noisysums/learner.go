package noisysums

import (
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/propose"
	"github.com/noregret/noregret/experiment/propose/mixture"
	"github.com/noregret/noregret/lab/world"
	"github.com/noregret/noregret/private/aggregate"
)

// learner is the policy of the service on released sums of rates, as package experiment gives them
// to its store: of each arm the mean of all rounds by the last release, whose variance is that of
// its units and that of the noise of one release.
type learner struct {
	policy *mixture.Policy
	store  *compare.Store
	sums   *aggregate.Sums
	round  int64
	arms   []arm
}

// arm is what the last release says of an arm: its units so far, and the sums of its metrics.
type arm struct {
	units  float64
	values [2]float64
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
		var totals []compare.Total
		noise := l.sums.Deviation(l.round, m)
		for k, n := range units {
			x := &l.arms[k]
			if m == 0 {
				x.units += float64(n)
			}
			if x.values[m] = out[2*k+m]; x.units == 0 {
				continue
			}
			totals = append(totals, compare.Total{
				Arm: k, N: x.units, X: l.sums.Midpoint(m) + x.values[m]/x.units,
				Variance: l.variance(k, m, x.units, x.values[m])/x.units + float64(noise*noise)/x.units/x.units,
			})
		}
		if err := l.store.SetTotals(m, int(l.round), totals); err != nil {
			return err
		}
	}
	return nil
}

// variance bounds the variance of an event by the mean of so many units with a released sum, which
// is moved towards the middle by two standard errors of its noise.
func (l *learner) variance(k, m int, units, value float64) float64 {
	least := 1 / (units + 2) // of one event more of either kind: no rate is 0 or 1 without noise
	mean := min(max(l.sums.Midpoint(m)+value/units, least), 1-least)
	if sd := 2 * l.sums.Deviation(l.round, m) / units; mean < 0.5 {
		mean = min(mean+sd, 0.5)
	} else {
		mean = max(mean-sd, 0.5)
	}
	return float64(mean * (1 - mean))
}
