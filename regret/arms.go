package regret

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/law"
)

// Uniform is a source of uniform numbers on [0, 1), such as the generators of math/rand/v2.
type Uniform = law.Uniform

// Arms is a game of d arms for a [BanditPlayer]: in each round every arm has a loss, of which the
// player sees only that of the arm it pulls. An Arms is used by several runs at a time and must not
// change.
type Arms interface {
	// Arms is d.
	Arms() int
	// Means are the mean losses of the arms, up to a number common to all arms. They are nil if
	// their differences change with the rounds. The caller must not change them.
	Means() []float64
	// Losses writes the losses of round t ≥ 1. They depend on t and on numbers taken from r only.
	Losses(dst []float64, t int, r Uniform)
}

// lawArms draws the losses of each round by one law around the arms' means of the round.
type lawArms struct {
	arms  int
	means []float64 // those of [Arms]
	law   law.Law
	at    func(dst []float64, t int) // writes the means of round t
}

// Arms implements [Arms].
func (a *lawArms) Arms() int { return a.arms }

// Means implements [Arms].
func (a *lawArms) Means() []float64 { return a.means }

// Losses implements [Arms].
func (a *lawArms) Losses(dst []float64, t int, r Uniform) {
	a.at(dst, t)
	for i, mean := range dst {
		dst[i] = a.law.Unit(r, mean)
	}
}

// still returns arms whose means stay the same.
func still(means []float64, l law.Law) *lawArms {
	means = slices.Clone(means)
	return &lawArms{len(means), means, l, func(dst []float64, _ int) { copy(dst, means) }}
}

// BernoulliArms is the game in which arm i loses 1 with the probability means[i] and 0 otherwise,
// independently in each round. It returns an error of code bad_input if there is no arm or a mean
// is not in [0, 1].
func BernoulliArms(means []float64) (Arms, error) {
	for i, m := range means {
		if !(m >= 0 && m <= 1) {
			return nil, noregret.BadInputf("means", "%v of arm %d: want a number from 0 to 1", m, i)
		}
	}
	if len(means) == 0 {
		return nil, noregret.BadInputf("means", "none: at least one arm is required")
	}
	return still(means, law.Law{Kind: "bernoulli"}), nil
}

// GaussianArms is the game in which the losses of arm i are independent and normal with the mean
// means[i] and the standard deviation sigma. It returns an error of code bad_input if there is no
// arm, or a mean or sigma is not a finite number of size at most 1e100, or sigma is negative.
func GaussianArms(means []float64, sigma float64) (Arms, error) {
	for i, m := range means {
		if !(math.Abs(m) <= 1e100) {
			return nil, noregret.BadInputf("means", "%v of arm %d: want a number of size at most 1e100", m, i)
		}
	}
	if len(means) == 0 {
		return nil, noregret.BadInputf("means", "none: at least one arm is required")
	}
	if !(sigma >= 0 && sigma <= 1e100) {
		return nil, noregret.BadInputf("sigma", "%v: want a number from 0 to 1e100", sigma)
	}
	return still(means, law.Law{Kind: "normal", SD: sigma}), nil
}

// SwitchingArms is the game against the mean of the past: one arm has no loss and the others lose
// 1, and after every period of rounds the next arm in turn takes its place. It has no means. It
// returns an error of code bad_input if there is no arm or period is below 1.
func SwitchingArms(arms, period int) (Arms, error) {
	if arms < 1 || period < 1 {
		return nil, noregret.BadInputf("arms", "%d arms that change every %d rounds: want at least 1 of both", arms,
			period)
	}
	return &lawArms{arms, nil, law.Law{Kind: "bernoulli"}, func(dst []float64, t int) {
		for i := range dst {
			dst[i] = 1
		}
		dst[(t-1)/period%arms] = 0
	}}, nil
}

type tableArms struct {
	rows [][]float64
	arms int
}

// TableArms is the game of given losses: in round t arm i loses rows[t−1][i]. After the last row
// the first follows again. It has no means. It returns an error of code bad_input if there is no
// row, the rows differ in length or a loss is not of size at most 1e100. The game keeps the rows,
// which must not change.
func TableArms(rows [][]float64) (Arms, error) {
	if len(rows) == 0 || len(rows[0]) == 0 {
		return nil, noregret.BadInputf("losses", "none: at least one row with one arm is required")
	}
	for t, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, noregret.BadInputf("losses", "%d in row %d, %d in the first: one for each arm is required",
				len(row), t+1, len(rows[0]))
		}
		for i, g := range row {
			if !(math.Abs(g) <= 1e100) {
				return nil, noregret.BadInputf("losses", "%v of arm %d in row %d: want a number of size at most 1e100",
					g, i, t+1)
			}
		}
	}
	return tableArms{rows, len(rows[0])}, nil
}

func (a tableArms) Arms() int        { return a.arms }
func (a tableArms) Means() []float64 { return nil }

func (a tableArms) Losses(dst []float64, t int, _ Uniform) { copy(dst, a.rows[(t-1)%len(a.rows)]) }

// ShiftingArms is a stochastically constrained adversary (Zimmert and Seldin 2021, section 6): the
// last arm is the best, in every round by the same gap, but all means move together. In phases 1,
// 3, 5 and so on it loses 1 with the probability 0 and the other arms with the probability gap, in
// the phases between with the probabilities 1 − gap and 1. Phase n has ⌈1.6ⁿ⌉ rounds. Algorithms
// for independent losses compare means of different phases and may pay for it. Means returns the
// gaps, which are what a pseudo-regret needs. It returns an error of code bad_input if there is no
// arm or the gap is not in [0, 1].
func ShiftingArms(arms int, gap float64) (Arms, error) {
	if arms < 1 || arms > maxDim {
		return nil, noregret.BadInputf("arms", "%d: want 1 to %d", arms, maxDim)
	}
	if !(gap >= 0 && gap <= 1) {
		return nil, noregret.BadInputf("gap", "%v: want a number from 0 to 1", gap)
	}
	gaps := slices.Repeat([]float64{gap}, arms)
	gaps[arms-1] = 0
	highest := slices.Max(gaps)
	var starts []int // the rounds that begin a phase, from the second on
	length := 1.6
	for start := 1; start < min(1<<52, math.MaxInt/2); length = float64(length * 1.6) {
		start += int(math.Ceil(length))
		starts = append(starts, start)
	}
	return &lawArms{arms, gaps, law.Law{Kind: "bernoulli"}, func(dst []float64, t int) {
		phase, base := 0, 0.0
		for t >= starts[phase] {
			phase++
		}
		if phase%2 == 1 {
			base = 1 - highest
		}
		for i, above := range gaps {
			dst[i] = base + above
		}
	}}, nil
}
