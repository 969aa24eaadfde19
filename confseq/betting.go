package confseq

import (
	"math"
	"slices"

	"github.com/noregret/noregret/internal/portable"
)

// Betting bounds the mean of observations from below, by the wealth of a bettor (Waudby-Smith and
// Ramdas 2024, "Estimating means of bounded random variables by betting"; for observations without
// an upper bound Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro 2024, "Anytime-valid
// off-policy inference for contextual bandits"). For each mean v the wealth begins at 1 and is
// multiplied, for an observation x that is at least −b, by
//
//	(1 + L·(x + b)) / (1 + L·(v + b)),
//
// which is a bet of the share λ = L/(1 + L·(v + b)) of it on x − v. The bet L is from the
// observations before and does not depend on v. If the mean of x given the past is at most v, the
// wealth is a nonnegative supermartingale: by Ville's inequality it ever reaches 1/α with
// probability at most α, whatever the distribution of x, however large x may be, and however the
// bets are chosen. The wealth falls with v, so the means that are left are those above one number,
// [Betting.Low]. The bound from above is that of the reflected observations.
//
// The bets are the predictable plug-in √(2·ln(2/α)/(h·σ²)) with α = 0.05, the variance σ² of the
// observations before, and the number h of observations for which they are the best. If h is not
// stated, the wealth is spread evenly over 6 bettors, with h = 64, 1,024, 16,384 and so on up to
// 2^26. Bets are rounded to powers of 2^(1/4), so that the memory is that of the different bets:
// some dozens for each bettor. It is not safe for concurrent use.
type Betting struct {
	// Rows is the number of observations for which the bets are the best, 0 for all numbers. Any
	// choice gives a valid bound. It must not change after the first observation.
	Rows int64

	n             int64
	mean, squares float64
	books         []book
}

// book are the bets of one bettor.
type book struct {
	horizon float64
	gain    float64 // Σ ln(1 + L·(x + b))
	stakes  []stake
	last    int // the stake that was used last
}

// The horizons of the bettors where none is stated.
const (
	books        = 6
	firstHorizon = 64
	nextHorizon  = 16
)

// open makes the books.
func (b *Betting) open() {
	if b.Rows > 0 {
		b.books = []book{{horizon: float64(b.Rows)}}
		return
	}
	h := float64(firstHorizon)
	for range books {
		b.books = append(b.books, book{horizon: h})
		h *= nextHorizon
	}
}

// stake counts the observations with one bet and one bound.
type stake struct {
	bet, least quarter
	times      float64
}

// quarter is the exponent of a power of 2^(1/4), or none for 0.
type quarter int16

const none quarter = math.MinInt16

// quarters are 2^(k/4).
var quarters = [4]float64{1, 1.189207115002721, 1.4142135623730951, 1.681792830507429}

// quarterOf returns the least power that is at least x, which must be finite.
func quarterOf(x float64) quarter {
	if !(x > 0) {
		return none
	}
	fraction, exponent := math.Frexp(x) // in [1/2, 1)
	k := 0
	for k < 4 && quarters[k] < 2*fraction {
		k++
	}
	return quarter(4*(exponent-1) + k)
}

func (q quarter) value() float64 {
	if q == none {
		return 0
	}
	return math.Ldexp(quarters[q&3], int(q>>2))
}

// mostBet is the largest share of the wealth that is bet against the mean so far.
const mostBet = 0.75

// priorVariance is that of the bets before there are observations: the largest in [0, 1].
const priorVariance = 0.25

// Add adds an observation, which must be finite and at least −least. Least must be known before the
// observation, and at least 0. Amortized O(1), less than a microsecond.
func (b *Betting) Add(x, least float64) {
	if b.books == nil {
		b.open()
	}
	n := float64(b.n)
	floor := quarterOf(least)
	least = floor.value()
	mean := (float64(n*b.mean) + 0.5) / (n + 1)
	variance := (b.squares + priorVariance) / (n + 1)
	at := max(mean+least, 1e-300)
	x = max(x, -least) // but for rounding
	for i := range b.books {
		k := &b.books[i]
		const logs = 3.6888794541139363 // ln 40
		bet := min(math.Sqrt(2*logs/float64(k.horizon*variance)), mostBet/at)
		chosen := quarterOf(bet / (1 - float64(bet*at)))
		k.gain += portable.Log1p(float64(chosen.value() * (x + least)))
		k.count(chosen, floor)
	}
	b.n++
	d := x - b.mean
	b.mean += d / float64(b.n)
	b.squares += float64(d * (x - b.mean))
}

// count counts a stake.
func (k *book) count(bet, least quarter) {
	if k.last >= len(k.stakes) || k.stakes[k.last].bet != bet || k.stakes[k.last].least != least {
		k.last = slices.IndexFunc(k.stakes, func(s stake) bool { return s.bet == bet && s.least == least })
		if k.last < 0 {
			k.last = len(k.stakes)
			k.stakes = append(k.stakes, stake{bet, least, 0})
		}
	}
	k.stakes[k.last].times++
}

// N is the number of observations.
func (b *Betting) N() int64 { return b.n }

// LogWealth is the logarithm of the wealth against the mean v, which must be at least 0. O(number
// of different bets), some microseconds.
func (b *Betting) LogWealth(v float64) float64 {
	if b.n == 0 {
		return 0
	}
	top, logs := math.Inf(-1), [books]float64{}
	for i := range b.books {
		k := &b.books[i]
		logs[i] = k.gain
		for j := range k.stakes {
			s := &k.stakes[j]
			logs[i] -= float64(s.times * portable.Log1p(float64(s.bet.value()*(v+s.least.value()))))
		}
		top = max(top, logs[i])
	}
	if len(b.books) == 1 {
		return top
	}
	sum := 0.0
	for _, l := range logs[:len(b.books)] {
		sum += portable.Exp(l - top)
	}
	return top + portable.Log(sum/float64(len(b.books)))
}

// Low is the least mean in [0, high] that is left at level alpha: the probability that the true
// mean is ever below is at most alpha. It is 0 where nothing is excluded, and high where all is.
func (b *Betting) Low(alpha, high float64) float64 { return LowOf(b.LogWealth, alpha, high) }

// LowOf is [Betting.Low] for the logarithm of a wealth that falls with v, such as that of several
// bettors with a part of the wealth each.
func LowOf(logWealth func(v float64) float64, alpha, high float64) float64 {
	bar := -portable.Log(alpha)
	low := 0.0
	if !(logWealth(low) >= bar) {
		return low
	}
	if logWealth(high) >= bar {
		return high
	}
	for range 48 { // low is excluded, and high is not
		middle := low + float64(0.5*(high-low))
		if logWealth(middle) >= bar {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
