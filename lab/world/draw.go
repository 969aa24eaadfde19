package world

import (
	"math"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/law"
)

// Group is what a learner sees of the units that it served one arm in one round.
type Group struct {
	Arm   int
	Units int
	// Means are the units' mean values, by metric; Variances the sample variances of one unit's
	// value, NaN for a group of one unit.
	Means, Variances []float64
	// Low and High are the smallest and the largest value of a unit: typical ones of Normal values,
	// and 0 as the smallest of Revenue.
	Low, High []float64
}

// NewGroup returns a group with room for the given number of metrics.
func NewGroup(arm, units, metrics int) Group {
	v := make([]float64, 4*metrics)
	part := func(i int) []float64 { return v[i*metrics : (i+1)*metrics : (i+1)*metrics] }
	return Group{Arm: arm, Units: units, Means: part(0), Variances: part(1), Low: part(2), High: part(3)}
}

// Sampler draws the outcomes of a run. The outcome of a group is a function of the seed, the run,
// the round, the arm and the number of units, and of nothing else: learners that serve an arm as
// many units in a round see the same group. For about as many they see nearly the same one. The
// standard normal number z of each (round, arm, metric) is common to all numbers of units, and
// means are quantiles at z; buyers come in the same order and spend the same amounts.
type Sampler struct {
	// Law returns the raw means of arm k in round t, at level one. [NewSampler] sets it to the
	// world's own; a study whose learner makes the arms sets another.
	Law func(t, k int) []float64

	w    *World
	seed uint64
	t    int
	// Sums over the first buyers of (round, arm), by metric of kind Revenue: what they spend and
	// its square, of a mean amount of one. They are kept for the learners that come later in the
	// round.
	buyers [][]buyers
}

// buyers are the buyers of an arm in a round, in order.
type buyers struct {
	source       random.SplitMix64
	sum, squares []float64
	most         []float64 // the largest amount so far
}

// NewSampler returns a sampler of a world.
func NewSampler(w *World, seed uint64) *Sampler {
	s := &Sampler{w: w, seed: seed, t: -1}
	s.Law = func(t, k int) []float64 { return w.Phases[w.PhaseAt(t)].Means.Arm(k) }
	return s
}

// streams that a round has beside those of its arms and metrics.
const (
	allocationStream = 1 << 40
	amountStream     = 1 << 41
	varianceStream   = 1 << 42
	unitStream       = 1 << 43
	ownStream        = 1 << 44
	segmentStream    = 1 << 45
)

// source returns the random numbers of one purpose in round t.
func (s *Sampler) source(t int, stream uint64) random.SplitMix64 {
	return random.SplitMix64(random.Mix(random.Mix(s.seed^random.Mix(uint64(t)+1)) ^ stream))
}

// Allocate writes the number of units of each arm in round t to dst: p_k·N rounded up or down, so
// that its mean is p_k·N, by systematic sampling with one random number that all learners share.
// Shares that sum to less than one leave units to no arm.
func (s *Sampler) Allocate(t int, p []float64, dst []int) {
	source := s.source(t, allocationStream)
	u := float64(source.Float64())
	n, sum, last := float64(s.w.Units[t]), 0.0, 0
	for k, share := range p {
		sum += share
		next := min(int(math.Floor(float64(n*sum)+u)), s.w.Units[t])
		dst[k] = max(next-last, 0)
		last = max(next, last)
	}
	if sum < 1-1e-9 {
		return
	}
	for k := len(p) - 1; last < s.w.Units[t]; k-- { // rounding of the sum
		if p[k] > 0 || k == 0 {
			dst[k] += s.w.Units[t] - last
			break
		}
	}
}

// Round draws the outcome of round t for a learner that serves the mixture p: a group of each arm
// that gets units.
func (s *Sampler) Round(t int, p []float64) (groups []Group) {
	counts := make([]int, len(p))
	s.Allocate(t, p, counts)
	for k, n := range counts {
		if n > 0 {
			g := NewGroup(k, n, len(s.w.Outcomes))
			s.Draw(t, &g)
			groups = append(groups, g)
		}
	}
	return groups
}

// mean is the mean of metric m of an arm in round t, at the level of the round.
func (s *Sampler) mean(t, k, m int) float64 {
	return float64(float64(s.Law(t, k)[m]*s.w.Level(t, m)) * s.w.tilted(t, k))
}

// Draw writes the outcome of g.Units units of arm g.Arm in round t to g.
func (s *Sampler) Draw(t int, g *Group) {
	if t != s.t {
		s.t = t
		for k := range s.buyers {
			for m := range s.buyers[k] {
				b := &s.buyers[k][m]
				b.sum, b.squares, b.most = b.sum[:0], b.squares[:0], b.most[:0]
			}
		}
	}
	n, means := float64(g.Units), s.Law(t, g.Arm)
	count := func(m int) float64 {
		source := s.source(t, uint64(g.Arm*len(means)+m))
		rate := min(s.mean(t, g.Arm, m), 1)
		z := stat.Normal(&source)
		if r := float64(s.w.Repeats); r > 1 && n >= r {
			// People of r units each; what is left of the units has the same rate.
			return min(math.Round(stat.BinomialQuantile(z, int64(n/r), rate)*(n/math.Floor(n/r))), n)
		}
		return stat.BinomialQuantile(z, int64(g.Units), rate)
	}
	for m := range means {
		o := &s.w.Outcomes[m]
		switch o.Kind {
		case Bernoulli:
			c := count(m)
			g.Means[m] = c / n
			g.Variances[m] = float64(g.Means[m]*(1-g.Means[m])) * (n / (n - 1))
			g.Low[m], g.High[m] = math.Floor(g.Means[m]), min(c, 1)
		case Normal:
			source := s.source(t, uint64(g.Arm*len(means)+m))
			z := stat.Normal(&source)
			deviation := s.w.deviation(g.Arm, m)
			g.Means[m] = s.mean(t, g.Arm, m) + float64(z*(deviation/math.Sqrt(n)))
			source = s.source(t, varianceStream+uint64(g.Arm*len(means)+m))
			spread := max(0, 1+float64(stat.Normal(&source)*math.Sqrt(2/(n-1))))
			g.Variances[m] = float64(float64(deviation*deviation) * spread)
			far := float64(deviation * math.Sqrt(float64(2*portable.Log(n))))
			g.Low[m], g.High[m] = g.Means[m]-far, g.Means[m]+far
		case Revenue:
			amount := 0.0
			if means[o.Of] > 0 {
				amount = means[m] / means[o.Of]
			}
			sum, squares, most := s.spent(t, g.Arm, m, int(count(o.Of)))
			sum, squares = float64(sum*amount), float64(squares*float64(amount*amount))
			g.Means[m] = sum / n
			g.Variances[m] = max(squares-float64(sum*g.Means[m]), 0) / (n - 1)
			g.Low[m], g.High[m] = 0, float64(most*amount)
		default:
			panic("world: only Unit draws metrics of kind Value")
		}
		if g.Units < 2 {
			g.Variances[m] = math.NaN()
		}
	}
	s.addGiants(t, g)
}

// coin is the law of Bernoulli values.
var coin = law.Law{Kind: "bernoulli"}

// Unit writes the values of one unit of arm k in round t to dst, by metric. It is a draw of its own
// beside those of [Sampler.Draw]: a study takes its units one by one or by groups. A unit that
// returns, in other rounds and of other arms, has the same number.
func (s *Sampler) Unit(t, k int, unit uint64, dst []float64) {
	source := s.source(t, random.Mix(unit^unitStream)+uint64(k))
	person := random.SplitMix64(random.Mix(s.seed ^ random.Mix(unit^ownStream)))
	for m := range s.w.Outcomes {
		mean := s.mean(t, k, m)
		switch o := &s.w.Outcomes[m]; o.Kind {
		case Bernoulli:
			dst[m] = coin.Unit(&source, mean)
		case Normal:
			own := float64(o.Own * stat.Normal(&person))
			rest := float64(math.Sqrt(1-float64(o.Own*o.Own)) * stat.Normal(&source))
			dst[m] = mean + float64(s.w.deviation(k, m)*(own+rest))
		case Value:
			dst[m] = o.Value(&source, mean, dst)
		default:
			panic("world: only Draw draws metrics of kind Revenue")
		}
	}
}

// addGiants puts huge units in the places of usual ones.
func (s *Sampler) addGiants(t int, g *Group) {
	for _, x := range s.w.Giants {
		if n := float64(g.Units); x.Round == t && x.Arm == g.Arm && g.Units > 1 {
			mean := g.Means[x.Metric] + x.Value/n
			d := x.Value - mean
			g.Variances[x.Metric] += float64(d*d) / (n - 1)
			g.Means[x.Metric] = mean
			g.Low[x.Metric], g.High[x.Metric] = min(g.Low[x.Metric], x.Value), max(g.High[x.Metric], x.Value)
		}
	}
}

// spent returns what the first n buyers of an arm spend in round t, the sum of squares and the
// largest amount, where the mean amount is one.
func (s *Sampler) spent(t, k, m, n int) (sum, squares, most float64) {
	if n == 0 {
		return 0, 0, 0
	}
	for len(s.buyers) <= k {
		s.buyers = append(s.buyers, make([]buyers, len(s.w.Outcomes)))
	}
	b, o := &s.buyers[k][m], &s.w.Outcomes[m]
	if len(b.sum) == 0 {
		b.source = s.source(t, amountStream+uint64(k*len(s.w.Outcomes)+m))
	} else {
		last := len(b.sum) - 1
		sum, squares, most = b.sum[last], b.squares[last], b.most[last]
	}
	mean := cappedMean(o.Sigma, o.Cap)
	for len(b.sum) < n {
		x := law.Lognormal(&b.source, o.Sigma)
		if o.Cap > 0 {
			x = min(x, o.Cap)
		}
		x /= mean
		sum += x
		squares += float64(x * x)
		most = max(most, x)
		b.sum, b.squares, b.most = append(b.sum, sum), append(b.squares, squares), append(b.most, most)
	}
	return b.sum[n-1], b.squares[n-1], b.most[n-1]
}
