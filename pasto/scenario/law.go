package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/law"
	"github.com/noregret/noregret/pasto"
)

// mostUnits is the largest number of units of a group.
const mostUnits = 1_000_000_000

// checkLaws validates the laws, units, delay and level.
func (p *Problem) checkLaws() error {
	switch {
	case p.Units < 0 || p.Units > mostUnits:
		return noregret.BadInputf("units", "%d: want 1 to %d in a group", p.Units, mostUnits)
	case p.Delay < 0 || p.Delay > 100_000:
		return noregret.BadInputf("delay", "%d rounds: want 0 to 100,000", p.Delay)
	case len(p.Laws) > 0 && p.Units == 0:
		return noregret.BadInputf("units", "none: laws are those of one unit, want the number of units of a group")
	case len(p.Laws) == 0 && p.Units > 0:
		return noregret.BadInputf("laws", "none: with %d units in a group, want the law of each metric", p.Units)
	case len(p.Laws) > 0 && p.Noise != 0:
		return noregret.BadInputf("noise", "%v beside laws: want one of them", p.Noise)
	case p.Level != nil && len(p.Laws) == 0:
		return noregret.BadInputf("level", "set without laws: it is the level of metrics with laws")
	}
	if len(p.Laws) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.Laws)) {
		i := slices.IndexFunc(p.Metrics, func(m pasto.Metric) bool { return m.Name == name })
		if i < 0 {
			return noregret.BadInputf("laws", "%q is not a metric", name)
		}
		if err := p.checkLaw("laws."+name, i, p.Laws[name]); err != nil {
			return err
		}
	}
	for i := range p.Metrics {
		if _, ok := p.Laws[p.Metrics[i].Name]; !ok {
			return noregret.BadInputf("laws", "metric %q has none: want the law of each metric", p.Metrics[i].Name)
		}
	}
	return p.checkLevel()
}

// checkLaw validates the law of metric i.
func (p *Problem) checkLaw(place string, i int, l law.Law) error {
	m := &p.Metrics[i]
	ranged := m.Lower != 0 || m.Upper != 0
	normal, lognormal := l.Kind == "normal", l.Kind == "lognormal"
	switch {
	case !slices.Contains([]string{"normal", "bernoulli", "poisson", "lognormal"}, l.Kind):
		return noregret.BadInputf(place+".kind", "%q: want normal, bernoulli, poisson or lognormal", l.Kind)
	case normal && !(l.SD > 0 && l.SD <= MostNoise):
		return noregret.BadInputf(place+".sd", "%v: want a standard deviation above 0 and at most %v", l.SD, MostNoise)
	case !normal && l.SD != 0:
		return noregret.BadInputf(place+".sd", "%v: only a normal law has one", l.SD)
	case lognormal && !(l.Rate > 0 && l.Rate <= 1):
		return noregret.BadInputf(place+".rate", "%v: want a share above 0 and at most 1", l.Rate)
	case lognormal && !(l.Sigma > 0 && l.Sigma <= 5):
		return noregret.BadInputf(place+".sigma", "%v: want a number above 0 and at most 5", l.Sigma)
	case !lognormal && (l.Rate != 0 || l.Sigma != 0):
		return noregret.BadInputf(place, "only a lognormal law has rate and sigma")
	case lognormal && float64(float64(p.Units)*l.Rate) > 1e7:
		return noregret.BadInputf(place, "%v values in a group: want at most 1e7, as each is drawn",
			float64(float64(p.Units)*l.Rate))
	case l.Kind == "poisson" && ranged || lognormal && ranged || normal && ranged:
		return noregret.BadInputf(place, "%q has a range: want a bernoulli law, or no range", m.Name)
	case l.Kind == "bernoulli" && ranged && (m.Lower != 0 || m.Upper != 1):
		return noregret.BadInputf(place, "%q has the range [%v, %v]: want [0, 1], or none", m.Name, m.Lower, m.Upper)
	}
	for k := range p.Arms {
		if len(p.Arms[k].Means) <= i {
			continue // refused elsewhere
		}
		v := p.Arms[k].Means[i]
		if l.Kind == "bernoulli" && !(v >= 0 && v <= 1) || !normal && !(v >= 0) {
			return noregret.BadInputf(fmt.Sprintf("arms[%d].means[%d]", k, i), "%v: %q has a %s law, want %s", v,
				m.Name,
				l.Kind, map[bool]string{
					true:  "a rate from 0 to 1",
					false: "a mean of at least 0",
				}[l.Kind == "bernoulli"])
		}
	}
	return nil
}

func (p *Problem) checkLevel() error {
	if p.Level == nil {
		return nil
	}
	total := 0.0
	for i, s := range p.Level.Seasons {
		if !(s.Period > 0 && s.Period <= 1e9) || !(s.Size >= 0 && s.Size < 1) {
			return noregret.BadInputf(fmt.Sprintf("level.seasons[%d]", i),
				"period %v and size %v: want a period above 0 and at most 1e9 rounds, and a size in [0, 1)", s.Period,
				s.Size)
		}
		total += s.Size
	}
	switch l := p.Level; {
	case !(total < 1):
		return noregret.BadInputf("level.seasons", "the sizes sum to %v: want less than 1", total)
	case !(math.Abs(l.Growth) <= 0.1):
		return noregret.BadInputf("level.growth", "%v: want -0.1 to 0.1 in a round", l.Growth)
	case !(l.Shock >= 0 && l.Shock <= 2):
		return noregret.BadInputf("level.shock", "%v: want 0 to 2", l.Shock)
	}
	return nil
}

// checkGrowth checks that the means stay below the largest in the given number of rounds, whatever
// the seasons; shocks are bounded by 13 standard deviations.
func (p *Problem) checkGrowth(rounds int) error {
	if p.Level == nil {
		return nil
	}
	log := max(float64(float64(rounds)*portable.Log1p(p.Level.Growth)), 0) + float64(13*p.Level.Shock) + math.Ln2
	for k := range p.Arms {
		for i, v := range p.Arms[k].Means {
			if size := portable.Log(math.Abs(v)) + log; size > portable.Log(mostMean) {
				return noregret.BadInputf("level.growth",
					"%v: in %d rounds the mean %v of %q can grow to e^%.0f: want "+
						"fewer rounds or less growth, as the largest is 1e100", p.Level.Growth, rounds, v,
					p.Metrics[i].Name, size)
			}
		}
	}
	return nil
}

// lawWorld shows groups of units whose values have laws.
type lawWorld struct {
	*problemWorld
	laws   []law.Law // of each metric
	units  int64
	late   int
	level  *law.Level
	now    int // the round that factor belongs to
	factor float64
	spread []float64 // variances of the last groups observed
}

// Observe implements [World]. All groups of a round have its level in common.
func (w *lawWorld) Observe(t int, arms []int, dst []float64, r *random.Source) {
	if t != w.now {
		w.now, w.factor = t, w.level.At(t, r)
	}
	m := w.raw.Metrics()
	w.spread = append(w.spread[:0], dst...)
	for i, k := range arms {
		for j, v := range w.raw.Arm(k) {
			dst[i*m+j], w.spread[i*m+j] = w.laws[j].Group(r, w.units, float64(v*w.factor))
		}
	}
}

// control implements grouped.
func (w *lawWorld) control(t int, dst []float64, r *random.Source) {
	if w.arm >= 0 {
		spread := slices.Clone(w.spread) // those of the groups stay
		w.Observe(t, []int{w.arm}, dst, r)
		w.spread = spread
	}
}

// split implements splitting. There are as many units as in all groups together.
func (w *lawWorld) split(t int, p []float64, draws, noise *random.Source) (obs []pasto.Observation) {
	if t != w.now {
		w.now, w.factor = t, w.level.At(t, noise)
	}
	left, rest := int64(w.q)*w.units, 1.0
	for k, share := range p {
		n := left
		if share < rest {
			n = int64(stat.Binomial(draws, left, share/rest))
		}
		if left, rest = left-n, rest-share; n == 0 {
			continue
		}
		m := w.raw.Metrics()
		o := pasto.Observation{
			Arm: k, Metrics: make([]float64, m), Size: float64(n), Variances: make([]float64, m), Earlier: true,
		}
		for j, v := range w.raw.Arm(k) {
			o.Metrics[j], o.Variances[j] = w.laws[j].Group(noise, n, float64(v*w.factor))
		}
		obs = append(obs, o)
	}
	return obs
}

// Size implements [Sized].
func (w *lawWorld) Size() float64 { return float64(w.units) }

// Variances implements [Sized].
func (w *lawWorld) Variances() []float64 { return w.spread }

// delay implements delayed.
func (w *lawWorld) delay() int { return w.late }
