package mixed

import (
	"math"

	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
)

// released describes the noise in values that come from noisy sums over all rounds
// (pasto.Noise). The mean of an arm is its last sum divided by its units, so that its noise is that
// of one release, however many rounds there were. A difference of two releases has the noise of
// both at most.
type released struct {
	Rounds float64   // with noise, or more if more sums were released
	Total  []float64 // K·M: variance of the noise in the sum of an arm's values; nil for no noise
	Base   []float64 // K·M: what Total was when the arm last began
	Most   []float64 // K·M: the largest variance of a difference
}

// noisyRound is what an arm's noise is in a round.
type noisyRound struct {
	noise   []float64 // M: variance of the noise in the mean; empty for none
	total   []float64 // M: of that in the sum of all values, with noise
	bounded bool      // units has a bound for all units so far, and unitSize their number
}

// any reports whether values have noise.
func (n *released) any() bool { return n.Total != nil }

// grow makes room for more arms.
func (n *released) grow(size int) {
	if n.any() {
		for _, v := range []*[]float64{&n.Total, &n.Base, &n.Most} {
			*v = append(*v, make([]float64, size-len(*v))...)
		}
	}
}

// fits reports whether n is a state of this many numbers after so many rounds.
func (n *released) fits(size, rounds int) bool {
	if !n.any() {
		return n.Rounds == 0 && n.Base == nil && n.Most == nil
	}
	return rounds >= 1 && n.Rounds == math.Trunc(n.Rounds) && n.Rounds >= 1 && n.Rounds <= math.MaxInt64 &&
		check.NonNegative(n.Total, size) && check.NonNegative(n.Base, size) && check.NonNegative(n.Most, size)
}

// forget begins arm k anew: sums from now on are differences from the last one.
func (n *released) forget(k, metrics int) {
	if n.any() {
		copy(n.Base[k*metrics:(k+1)*metrics], n.Total[k*metrics:(k+1)*metrics])
	}
}

// ofMean is the variance of the noise in the mean of arm k in metric i.
func (n *released) ofMean(s *moments, k, i int) float64 {
	w := s.Weight[k]
	if !n.any() || w == 0 {
		return 0
	}
	j := k*len(s.Pool) + i
	return (n.Total[j] + n.Base[j]) / w / w
}

// between is the variance of the noise in the difference of an arm's value in the round and its
// mean before.
func (n *released) between(s *moments, x *armRound, i int) float64 {
	if len(x.noise) == 0 {
		return 0
	}
	return x.noise[i] + n.ofMean(s, x.Arm, i)
}

// ofChange bounds the variance of the noise in a sum of an arm's newest values, and in that of its
// older ones. Each is a difference of two releases, of at most Most. It is twice that, as errors of
// both may be correlated, and twice again, for what both are adjusted by.
func (n *released) ofChange(j int) float64 {
	if !n.any() {
		return 0
	}
	return 4 * n.Most[j]
}

// errors is the number of standard errors by which an estimate is off to one side in any round,
// with probability alpha: after t releases as many as a normal distribution exceeds with
// probability alpha/(t·(t+1)), which sum to alpha. It holds whatever the correlation of the rounds
// is.
func (n *released) errors(alpha float64) float64 {
	return stat.NormalAbove(min(alpha/n.Rounds/(n.Rounds+1), 0.5))
}

// collectReleased takes the noise of a round, and the variances of units where these are unknown.
func (e *Model) collectReleased(obs []pasto.Observation) {
	n, m := &e.Released, len(e.Metrics)
	if len(obs) == 0 || obs[0].Noise == nil {
		return
	}
	if !n.any() {
		size := len(e.Stats.Mean)
		n.Total, n.Base, n.Most = make([]float64, size), make([]float64, size), make([]float64, size)
	}
	n.Rounds = max(n.Rounds+1, float64(obs[0].Noise.Releases))
	for a := range e.round.arms { // one observation each, in the same order
		x, o := &e.round.arms[a], &obs[a]
		x.noise, x.total = check.Zeros(x.noise, m), append(x.total[:0], o.Noise.Total...)
		for i, v := range o.Noise.Step {
			j := x.Arm*m + i
			x.noise[i] = v / x.Size / x.Size
			n.Most[j] = max(n.Most[j], v)
		}
		if o.Variances == nil {
			x.boundUnits(e, o)
		}
		for i := range x.sigma {
			if math.IsInf(x.sigma[i], 1) && len(x.Units) > 0 && x.UnitSize[i] > 0 {
				x.sigma[i] = x.Units[i] / x.UnitSize[i]
			}
		}
	}
}

// sureUnits is the number of standard errors by which a mean is moved to bound the variance of a
// unit.
const sureUnits = 3

// boundUnits sets the variance of a unit to the largest that values of the range can have with this
// mean, (high − mean)·(mean − low) (Bhatia and Davis 2000), or any mean that is at most three of
// its standard errors nearer to the middle. For events it is the variance of the rate.
func (x *armRound) boundUnits(e *Model, o *pasto.Observation) {
	s, m := &e.Stats, len(e.Metrics)
	x.Units, x.UnitSize, x.bounded = check.Zeros(x.Units, m), check.Zeros(x.UnitSize, m), true
	total := s.Weight[x.Arm] + x.Size
	for i, v := range x.Mean {
		j := x.Arm*m + i
		mean := s.Mean[j] + float64(x.Size/total*(v-s.Mean[j]))
		noise := (o.Noise.Total[i] + e.Released.Base[j]) / total / total
		fromNearerEnd := min(max(mean-e.Metrics[i].Low, 0), max(e.Metrics[i].Low+e.Metrics[i].Width-mean, 0))
		bound := e.Metrics[i].Width / 2
		square := float64(bound * bound)
		for range boundSteps { // from above, to where the error is that of the bound
			d := min(fromNearerEnd+float64(sureUnits*math.Sqrt(square/total+noise)), bound)
			square = min(square, float64(d*(e.Metrics[i].Width-d)))
		}
		x.UnitSize[i], x.Units[i] = total, float64(total*square)
	}
}

// boundSteps is the number of steps towards the bound of a variance.
const boundSteps = 4

// addReleased keeps the noise of an arm's sum.
func (e *Model) addReleased(x *armRound) {
	if len(x.noise) > 0 {
		m := len(e.Metrics)
		copy(e.Released.Total[x.Arm*m:(x.Arm+1)*m], x.total)
	}
}

// effect is τ² of metric i. Where there is noise it is 0 unless effects are shown: the noise would
// show as an effect, of more error than the noise itself has in the sum of all rounds.
func (e *Model) effect(i int) float64 {
	if e.Released.any() && !e.Noise.shown(i) {
		return 0
	}
	return e.Noise.tau(i)
}

// inRange returns a mean of metric i within the metric's range where there is noise: what noise
// moves out of the range is surely wrong.
func (e *Model) inRange(mean float64, i int) float64 {
	if !e.Released.any() {
		return mean
	}
	return min(max(mean, e.Metrics[i].Low), e.Metrics[i].Low+e.Metrics[i].Width)
}
