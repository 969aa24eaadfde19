package law

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
)

// Uniform is a source of uniform numbers on [0, 1), such as the generators of math/rand/v2.
type Uniform = interface{ Float64() float64 }

// Law is the distribution of one unit's value of a metric. Its mean is the arm's.
type Law struct {
	// Kind is "normal"; "bernoulli", a value of 0 or 1; "poisson", a count; or "lognormal", which
	// is 0 for most units and log-normal for a share Rate of them: revenue.
	Kind string `json:"kind"`
	// SD is the standard deviation of a normal value.
	SD float64 `json:"sd,omitempty"`
	// Rate, in (0, 1], and Sigma, in (0, 5], are those of a log-normal value: the share of the
	// units that have one, and the standard deviation of its logarithm.
	Rate  float64 `json:"rate,omitempty"`
	Sigma float64 `json:"sigma,omitempty"`
}

// Unit draws the value of one unit, around a mean from 0 to 1 of a bernoulli law, and of at least 0
// of a poisson or lognormal law. O(1), and for a poisson law O(mean) up to a mean of some tens.
func (l *Law) Unit(r Uniform, mean float64) float64 {
	switch l.Kind {
	case "bernoulli":
		if r.Float64() < mean {
			return 1
		}
		return 0
	case "poisson":
		return stat.Poisson(r, mean)
	case "lognormal":
		if r.Float64() >= l.Rate {
			return 0
		}
		return float64(mean / l.Rate * Lognormal(r, l.Sigma))
	}
	return mean + float64(l.SD*stat.Normal(r))
}

// Group draws the mean of n ≥ 1 units and their sample variance, NaN for one unit. Means are as in
// [Law.Unit], but a bernoulli law takes a mean above 1 as 1. O(1), and for a lognormal law
// O(n·Rate).
func (l *Law) Group(r Uniform, n int64, mean float64) (v, variance float64) {
	units := float64(n)
	squares := 0.0 // Σ x²
	switch l.Kind {
	case "bernoulli":
		v = stat.Binomial(r, n, min(mean, 1)) / units
		squares = float64(v * units)
	case "poisson":
		v = stat.Poisson(r, float64(units*mean)) / units
		squares = float64(units * (v + float64(v*v)))
	case "lognormal":
		size, sum := mean/l.Rate, 0.0
		for range int64(stat.Binomial(r, n, l.Rate)) {
			x := float64(size * Lognormal(r, l.Sigma))
			sum += x
			squares += float64(x * x)
		}
		v = sum / units
	default:
		v = mean + float64(l.SD*(stat.Normal(r)/math.Sqrt(units)))
		if n < 2 {
			return v, math.NaN()
		}
		return v, float64(l.SD * l.SD)
	}
	if n < 2 {
		return v, math.NaN()
	}
	return v, max(squares-float64(units*float64(v*v)), 0) / (units - 1)
}

// Lognormal draws e^(σN − σ²/2) for a standard normal N: a factor of mean one, whose logarithm has
// the standard deviation sigma.
func Lognormal(r Uniform, sigma float64) float64 {
	return portable.Exp(float64(sigma*stat.Normal(r)) - float64(float64(sigma*sigma)/2))
}

// Season is a sine wave of the level of all metrics: its period in rounds, above 0, and its
// relative size, in [0, 1).
type Season struct {
	Period float64 `json:"period"`
	Size   float64 `json:"size"`
}

// At returns what the season adds to the level 1 in round t.
func (s Season) At(t int) float64 {
	turn := float64(t) / s.Period
	_, sine := portable.Turn(turn - math.Floor(turn))
	return float64(s.Size * sine)
}

// Level says how the level of all metrics moves, for all arms alike. The level multiplies the arms'
// means; a mixture is scored by the means themselves.
type Level struct {
	// Seasons are added to 1.
	Seasons []Season `json:"seasons,omitempty"`
	// Growth is the relative growth in a round, from −0.1 to 0.1.
	Growth float64 `json:"growth,omitempty"`
	// Shock is the standard deviation, at most 2, of the logarithm of a factor drawn in each round.
	Shock float64 `json:"shock,omitempty"`
}

// At returns the level of round t, with the round's own shock. A nil level is 1.
func (l *Level) At(t int, r Uniform) float64 {
	if l == nil {
		return 1
	}
	v := 1.0
	for _, s := range l.Seasons {
		v += s.At(t)
	}
	v *= portable.Exp(float64(float64(t) * portable.Log1p(l.Growth)))
	if l.Shock > 0 {
		v *= Lognormal(r, l.Shock)
	}
	return v
}
