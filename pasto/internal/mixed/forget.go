package mixed

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// fewestLeft is the number of groups below which an arm that has been discounted counts as not
// served: a thousandth of one.
const fewestLeft = 1e-3

// Discount multiplies the weight of everything observed so far by keep, in (0, 1), and begins arms
// anew of which less than a thousandth of a group is left. It returns the active ones of these.
//
// All sums are multiplied, so that means stay, and sums of squares of weights by keep². The errors
// are then those of as many units as the weights sum to. That is more than the sampling error of a
// weighted mean, σ²·Σw²n/(Σwn)² ≤ σ²/Σwn as w ≤ 1: the rest pays for means that follow a random
// walk, for which this is the steady state of Kalman's filter (1960).
func (e *Model) Discount(keep float64, active []bool) (lost []int) {
	s, n, j := &e.Stats, &e.Noise, &e.Joint
	for _, v := range [][]float64{
		s.Count, s.Weight, s.Standing, s.Squares, s.Free, s.Pool, s.Third, s.UnitSize, s.UnitSquares, s.UnitTotal,
		s.UnitPool, n.Across, n.Excess, n.ExcessOf, j.Size, j.Cross, j.Own, j.Level, e.Suspects.Standing,
		e.Suspects.Weight, e.Suspects.Size, e.Earlier.Weight,
	} {
		vec.Scale(v, keep)
	}
	e.Changes.Scale(keep)
	square := float64(keep * keep)
	vec.Scale(s.Heavy, square)
	vec.Scale(n.Null, square)
	s.Freedom, n.Pairs, j.Total = float64(keep*s.Freedom), float64(keep*n.Pairs), float64(keep*j.Total)
	j.Heavy = float64(square * j.Heavy)
	var gone []int
	for k, rounds := range s.Rounds {
		if rounds == 0 || s.Count[k] >= fewestLeft {
			continue
		}
		if gone = append(gone, k); active[k] {
			lost = append(lost, k)
		}
	}
	e.Begin(gone)
	return lost
}

// watcher takes what a round tells about a model by whose means it was not yet known.
type watcher struct {
	// Residual, if not nil, is called in Observe with the standardized recursive residual of each
	// metric of each arm of a round that was known before: see residuals.
	Residual func(k, i int, z float64)
	// Scored says that Observe computes Score, without the arms of Skip.
	Scored bool
	Skip   []bool
	// Score is minus the logarithm of the density that the model gave the values of the last round
	// before it saw them: see predictive.
	Score float64
}

// watch looks at a round before the means learn it.
func (e *Model) watch() {
	if e.Residual != nil {
		e.residuals()
	}
	if e.Scored {
		e.Score = e.predictive()
	}
}

// residuals passes the standardized recursive residuals of the round on: by how many standard
// errors the adjusted value of an arm differs from the mean of the earlier ones. Where nothing
// changes they are nearly independent and of variance 1 (Brown, Durbin and Evans 1975).
func (e *Model) residuals() {
	s, m := &e.Stats, len(e.Metrics)
	for a := range e.round.arms {
		x := &e.round.arms[a]
		k := x.Arm
		if !x.known || !(x.weight > 0) || !(s.Standing[k] > 0) {
			continue
		}
		for i, v := range x.adjusted {
			if e.Metrics[i].Ignored {
				continue
			}
			square := float64(e.Variance(k, i) * (1/x.weight + 1/s.Standing[k]))
			if square > 0 && !math.IsInf(square, 1) {
				e.Residual(k, i, (v-s.Adjusted[k*m+i])/math.Sqrt(square))
			}
		}
	}
}

// predictive returns minus the logarithm of the density of the round's means of the known arms, in
// all metrics together: normal values of variance σ²·(1/n + 1/N) for arms of n units in the
// round and N before, beside an effect of the round that is integrated out where there are several
// arms. Constants are left out.
func (e *Model) predictive() float64 {
	s, m, total := &e.Stats, len(e.Metrics), 0.0
	for i := range m {
		if e.Metrics[i].Ignored {
			continue
		}
		weights, sum, squares, logs, arms := 0.0, 0.0, 0.0, 0.0, 0
		for _, a := range e.round.known {
			x := &e.round.arms[a]
			k := x.Arm
			v := float64(e.Variance(k, i) * (1/x.Size + 1/s.Standing[k]))
			if k < len(e.Skip) && e.Skip[k] || !(v > 0) || math.IsInf(v, 1) {
				continue
			}
			d, w := x.Mean[i]-s.Adjusted[k*m+i], 1/v
			arms++
			weights += w
			sum += float64(w * d)
			squares += float64(w * float64(d*d))
			logs -= portable.Log(w)
		}
		if arms > 1 {
			squares -= float64(sum * (sum / weights))
			logs += portable.Log(weights)
		}
		if arms > 0 {
			total += float64(0.5 * (squares + logs))
		}
	}
	return total
}

// Comparable reports whether the model has a mean of arm k to predict its values with.
func (e *Model) Comparable(k int) bool { return e.Stats.Rounds[k] > 0 && e.Stats.Standing[k] > 0 }
