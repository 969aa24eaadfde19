package confident

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// rates is a world of arms with two Bernoulli metrics: a gain, and a guardrail.
type rates struct {
	gain, guard []float64
	units       int
	level       func(round int) float64 // what all arms' rates are multiplied by; nil for 1
}

// binomial is the normal approximation of a binomial number, rounded; exact for few units.
func binomial(r *random.Source, n int, p float64) float64 {
	if float64(n)*p < 30 {
		count := 0.0
		// by the gaps between events
		for at := 0.0; ; count++ {
			at += math.Ceil(math.Log1p(-r.Float64()) / math.Log1p(-p))
			if at > float64(n) || count > float64(n) {
				return count
			}
		}
	}
	return min(max(math.Round(float64(n)*p+math.Sqrt(float64(n)*p*(1-p))*stat.Normal(r)), 0), float64(n))
}

// play serves the units of a round by the shares, and returns the observations.
func (w *rates) play(r *random.Source, p []float64, round int) []pasto.Observation {
	var obs []pasto.Observation
	level := 1.0
	if w.level != nil {
		level = w.level(round)
	}
	left, rest := w.units, 1.0
	for k, share := range p {
		n := 0
		if share > 0 && left > 0 {
			n = int(binomial(r, left, min(share/rest*(1-1e-12), 1-1e-12)))
			rest = max(rest-share, 1e-12)
		}
		if k == len(p)-1 && share > 0 {
			n = left
		}
		left -= n
		if n == 0 {
			continue
		}
		x, y := binomial(r, n, level*w.gain[k])/float64(n), binomial(r, n, level*w.guard[k])/float64(n)
		obs = append(obs, pasto.Observation{
			Arm: k, Metrics: []float64{x, y}, Size: float64(n), Variances: []float64{x * (1 - x), y * (1 - y)},
		})
	}
	return obs
}

// guarded plays a learner with control arm 0, and returns the number of rounds in which what was
// served broke the guardrail in truth, the mean gain over the control's of what was served, and the
// learner.
func guarded(t *testing.T, w *rates, m pasto.Metric, o Options, rounds int, seed uint64) (broken int, l *Learner) {
	t.Helper()
	m.Name, m.Role, m.Hard, m.Upper = "guard", pasto.Guardrail, true, 1
	l, err := New(pastotest.One(t, pasto.Metric{Name: "gain", Upper: 1}, m), len(w.gain), o)
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(seed, "guarded")
	for n := range rounds {
		p, value := l.Serving(), 0.0
		for k, share := range p {
			value += share * w.guard[k]
		}
		limit := m.Threshold
		if m.Relative {
			limit = w.guard[0] * (1 + m.Threshold)
		}
		if m.Direction.Sign()*(limit-value) > 1e-9*math.Abs(limit) {
			broken++
		}
		if err := l.Observe(w.play(r, p, n)); err != nil {
			t.Fatal(err)
		}
	}
	return broken, l
}

func controlOptions() Options {
	o := DefaultOptions()
	o.Control = 0
	return o
}

// What is served holds a hard guardrail in at least 99 % of all rounds, from the first: rates of
// 0.3 to 5 %, 1,000 to 100,000 units a round, 2 to 20 arms, margins of 2 to 10 %, relative and
// absolute.
func TestServedHoldsGuardrails(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(20, 2)
	all, broken := 0, 0
	for _, c := range []struct {
		rate     float64
		units    int
		arms     int
		margin   float64
		absolute bool
		down     bool
	}{
		{.003, 1_000, 4, .1, false, false},
		{.01, 1_000, 2, .05, false, false},
		{.05, 1_000, 20, .1, false, false},
		{.05, 20_000, 4, .05, false, false},
		{.02, 20_000, 10, .1, false, false},
		{.01, 100_000, 4, .02, false, false},
		{.05, 100_000, 20, .05, false, false},
		{.01, 20_000, 4, .1, false, true},
		{.05, 100_000, 4, .05, false, true},
		{.05, 20_000, 4, .1, true, false},
		{.02, 100_000, 10, .05, true, true},
	} {
		m := pasto.Metric{Relative: !c.absolute, Threshold: -c.margin}
		if c.down {
			m.Direction, m.Threshold = pasto.Down, c.margin
		}
		if c.absolute {
			m.Threshold = c.rate * (1 + m.Threshold)
		}
		bad, moved, promised := 0, 0.0, 0
		const rounds = 100
		for seed := range uint64(runs) {
			r := random.New(seed, "rates")
			w := &rates{units: c.units}
			for k := range c.arms {
				// Arms of more gain break the guardrail by up to 40 %.
				off := .4 * r.Float64()
				if k == 0 {
					off = 0
				}
				w.gain = append(w.gain, c.rate*(1+off))
				if c.down {
					w.guard = append(w.guard, c.rate*(1+off*(2*r.Float64()-.5)))
				} else {
					w.guard = append(w.guard, c.rate*(1-off*(2*r.Float64()-.5)))
				}
			}
			if w.guard[0] = c.rate; false {
				continue
			}
			n, l := guarded(t, w, m, controlOptions(), rounds, seed)
			bad += n
			moved += (1 - l.Serving()[0]) / float64(runs)
			if l.Promise().Holds {
				promised++
			}
		}
		t.Logf("%+v: broken in %d of %d rounds, %.3f of what is served at the end is not the control, promised in %d "+
			"runs",
			c, bad, runs*rounds, moved, promised)
		all += runs * rounds
		broken += bad
		if promised < runs {
			t.Errorf("%+v: promised in %d of %d runs", c, promised, runs)
		}
	}
	if broken > all/100 {
		t.Errorf("broken in %d of %d rounds", broken, all)
	}
}

// The first share of arms without data is what the margin allows: that of the guardrail, where the
// worst value of the range is 0.
func TestFirstShare(t *testing.T) {
	for _, margin := range []float64{.02, .1} {
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{
			Name: "y", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -margin, Upper: 1,
		}), 5, controlOptions())
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Near(t, "share of the control", l.Serving()[0], 1-margin, 1e-12)
		for k := 1; k < 5; k++ {
			pastotest.Near(t, "share of an arm", l.Serving()[k], margin/4, 1e-12)
		}
	}
	// An absolute guardrail leaves no room before the control is known to hold it, and then what it
	// is above the limit by its bound: an arm of which nothing is known may be at 0.
	l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{
		Name: "y", Role: pasto.Guardrail, Hard: true, Threshold: .4, Upper: 1,
	}), 2, controlOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "share of the control", l.Serving()[0], 1, 0)
	for range 3 {
		if err := l.Observe([]pasto.Observation{{
			Arm: 0, Size: 1e6, Metrics: []float64{0, .5}, Variances: []float64{1, .25},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	share := l.Serving()[1]
	if most := .1 / (.1 + .4); !(share > .9*most && share <= most) {
		t.Errorf("the share of the other arm is %v, want nearly %v", share, most)
	}
}

// Where the control itself is beyond the guardrail, or nothing but the control holds it, the
// control is served and deployed, never the luckiest arm.
func TestControlWhereNothingHolds(t *testing.T) {
	w := &rates{gain: []float64{.05, .06, .07}, guard: []float64{.05, .06, .07}, units: 20_000}
	broken, l := guarded(t, w, pasto.Metric{Direction: pasto.Down, Threshold: .04}, controlOptions(), 60, 1)
	if broken != 60 || l.Serving()[0] != 1 || l.Deployed()[0] != 1 {
		t.Errorf("served %v, deployed %v", l.Serving(), l.Deployed())
	}
	if p := l.Promise(); p.Holds || p.Reason == "" {
		t.Errorf("%+v", p)
	}
	w.guard = []float64{.05, .02, .03}
	_, l = guarded(t, w, pasto.Metric{Relative: true, Threshold: -.02}, controlOptions(), 60, 1)
	if l.Deployed()[0] < .95 || l.Serving()[0] < .95 {
		t.Errorf("served %v, deployed %v", l.Serving(), l.Deployed())
	}
}

// An arm that is better and holds the guardrail is found and served.
func TestServedLearns(t *testing.T) {
	w := &rates{gain: []float64{.05, .06, .07}, guard: []float64{.05, .05, .04}, units: 20_000}
	broken, l := guarded(t, w, pasto.Metric{Relative: true, Threshold: -.05}, controlOptions(), 300, 1)
	x := 0.0
	for k, p := range l.Serving() {
		x += p * w.gain[k]
	}
	d := 0.0
	for k, p := range l.Deployed() {
		d += p * w.gain[k]
	}
	// The optimum: a quarter of the third arm beside the second.
	if broken > 0 || x < .058 || d < .061 {
		t.Errorf("broken in %d rounds; served %v, worth %v, deployed %v, worth %v", broken, l.Serving(), x,
			l.Deployed(), d)
	}
}

// The least share of the control, the caps, and an arm without any range.
func TestShareAndCaps(t *testing.T) {
	w := &rates{gain: []float64{.05, .06, .07}, guard: []float64{.05, .05, .05}, units: 20_000}
	o := controlOptions()
	o.Share, o.Caps = .2, []float64{0, .3, .4}
	_, l := guarded(t, w, pasto.Metric{Relative: true, Threshold: -.1}, o, 200, 1)
	for name, p := range map[string][]float64{"served": l.Serving(), "deployed": l.Deployed()} {
		sum := 0.0
		for _, v := range p {
			sum += v
		}
		if p[1] > .3+1e-12 || p[2] > .4+1e-12 || math.Abs(sum-1) > 1e-12 || p[2] < .2 {
			t.Errorf("%s: %v", name, p)
		}
	}
	if l.Serving()[0] < .2 {
		t.Errorf("served %v: want a share of the control of .2", l.Serving())
	}
	// What a cap takes from the best arm goes to the second best, not to the control.
	o.Caps = []float64{0, 1, .3}
	if _, l = guarded(t, w, pasto.Metric{Relative: true, Threshold: -.1}, o, 200, 1); l.Deployed()[1] < .7-1e-9 ||
		l.Serving()[1] < .4 || l.Deployed()[2] < .3-1e-9 {
		t.Errorf("deployed %v, served %v: want .7 of the second arm and .3 of the third", l.Deployed(), l.Serving())
	}
	// Without a control the excess goes to the others.
	o = DefaultOptions()
	o.Caps = []float64{.5, .5, .3}
	l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 3, o)
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Play(t, l, pastotest.Table(t, []float64{0, 1, 2}), 3, 300, .1, random.New(1, "caps"))
	if p := l.Deployed(); math.Abs(p[2]-.3) > 1e-9 || math.Abs(p[1]-.5) > 1e-9 {
		t.Errorf("deployed %v", p)
	}
	// No range: no promise, and one percent.
	l, err = New(pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{
		Name: "y", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -.1,
	}), 3, controlOptions())
	if err != nil {
		t.Fatal(err)
	}
	pastotest.Near(t, "share without a range", l.Serving()[1]+l.Serving()[2], unboundedShare, 1e-12)
	if p := l.Promise(); p.Holds {
		t.Error("a promise without a range")
	}
	if err := l.RetireArm(0); err == nil {
		t.Error("the control is retired")
	}
}

// Caps that leave no room where arms have no data or are retired are no problem, with hard
// guardrails or without: arms then have shares in proportion to their caps, and the largest share
// that is deployed is kept where there is room.
func TestCapsWithoutRoom(t *testing.T) {
	o := DefaultOptions()
	o.Caps = []float64{.5, .5, .3}
	for _, hard := range []bool{true, false} {
		for seed := range uint64(10) {
			l, err := New(pastotest.Goals(t, 5, hard, 0), 3, o)
			if err != nil {
				t.Fatal(err)
			}
			means := pastotest.Table(t, []float64{2, 0, 1}, []float64{-2, 2, .5})
			pastotest.Play(t, l, means, 1, 200, 1, random.New(seed, "room"))
			for k, v := range l.Deployed() {
				if v > o.Caps[k]+1e-9 {
					t.Errorf("seed %d: deployed %v", seed, l.Deployed())
				}
			}
			if err := l.RetireArm(0); err != nil {
				t.Fatal(err)
			}
			pastotest.Play(t, l, means, 1, 20, 1, random.New(seed, "retired"))
			if p := l.Deployed(); math.Abs(p[1]-.5/.8) > 1e-9 || math.Abs(p[2]-.3/.8) > 1e-9 {
				t.Errorf("seed %d: deployed %v, want the caps in proportion", seed, p)
			}
		}
	}
}

// slackOf is the slack of mixture p in hard guardrail j by the bounds.
func slackOf(l *Learner, p []float64, j int) float64 {
	sum := 0.0
	for k, v := range p {
		if v > 0 {
			sum += v * l.guard.slack.Arm(k)[j]
		}
	}
	return sum
}

// Random problems: what is served is always a mixture that holds each guardrail by the learner's
// own bounds, retired arms have no share, and a restored learner serves the same.
func TestServedIsSafeByItsBounds(t *testing.T) {
	for seed := range uint64(testsize.Of(60, 15)) {
		r := random.New(seed, "property")
		arms := 2 + int(5*r.Float64())
		metrics := []pasto.Metric{
			{Name: "x", Upper: 1},
			{Name: "y", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -.1, Upper: 1},
			{Name: "z", Role: pasto.Guardrail, Hard: true, Direction: pasto.Down, Threshold: .6, Upper: 1},
		}
		g := pastotest.One(t, metrics...)
		fresh := func() *Learner {
			l, err := New(g, arms, controlOptions())
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l := fresh()
		for n := range 60 {
			p := l.Serving()
			sum := 0.0
			for k, v := range p {
				sum += v
				if v < 0 || v > 0 && !l.s.Active[k] {
					t.Fatalf("seed %d, round %d: %v", seed, n, p)
				}
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Fatalf("seed %d, round %d: they sum to %v", seed, n, sum)
			}
			for j := range l.guards {
				// restored: it does not have the bounds until its next solution
				if l.guard.slack.Arms() == 0 {
					break
				}
				if v := slackOf(l, p, j); v < -1e-12 {
					t.Fatalf("seed %d, round %d: a slack of %v", seed, n, v)
				}
			}
			var obs []pasto.Observation
			for k, v := range p {
				if v > 0 {
					x, y, z := r.Float64(), .3+.4*r.Float64(), .3+.2*r.Float64()
					obs = append(obs, pasto.Observation{
						Arm: k, Size: 1 + math.Floor(1000*v), Metrics: []float64{x, y, z},
						Variances: []float64{.2, .2, math.NaN()},
					})
				}
			}
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
			switch {
			case n == 30:
				if err := l.RetireArm(arms - 1); err != nil && arms > 1 {
					t.Fatal(err)
				}
			case n == 40:
				if _, err := l.AddArm(); err != nil {
					t.Fatal(err)
				}
			}
			data, err := l.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			other := fresh()
			if err := other.UnmarshalBinary(data); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, n, err)
			}
			if !slices.Equal(other.Serving(), l.Serving()) {
				t.Fatalf("seed %d, round %d: restored it serves %v, not %v", seed, n, other.Serving(), l.Serving())
			}
			if n%3 == 0 {
				l = other // goes on as the other would
			}
		}
	}
}

// A season, growth and shocks of any size that all arms have in common are no change, and leave the
// comparison of arms alone.
func TestCommonLevelsAreNoChange(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(40, 6)
	for _, size := range []float64{.5, 10, 1e6} {
		for name, level := range map[string]func(n int) float64{
			"season":  func(n int) float64 { return math.Sin(float64(n) / 20) },
			"growth":  func(n int) float64 { return float64(n) / 300 },
			"decline": func(n int) float64 { return -float64(n) / 300 },
			"shock": func(n int) float64 {
				if n%100 >= 90 {
					return 1
				}
				return 0
			},
			"jump": func(n int) float64 { return float64(n / 150) },
		} {
			changes, off, wrong := 0, 0.0, 0
			for seed := range uint64(runs) {
				l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{
					Name: "y", Role: pasto.Guardrail, Hard: true, Relative: true, Threshold: -.1, Lower: -1e8,
					Upper: 1e8,
				}), 4, func() Options { o := controlOptions(); o.Hold, o.Share = Deployed, .1; return o }())
				if err != nil {
					t.Fatal(err)
				}
				r := random.New(seed, "level")
				for n := range 600 {
					var obs []pasto.Observation
					u := size * level(n)
					for k, p := range l.Serving() {
						if p > 0 {
							units := 1 + math.Floor(1000*p)
							x := []float64{u + .05*float64(k), u + 10*size}
							for i := range x {
								x[i] += stat.Normal(r) / math.Sqrt(units)
							}
							obs = append(obs, pasto.Observation{
								Arm: k, Size: units, Metrics: x,
								Variances: []float64{1, 1},
							})
						}
					}
					if err := l.Observe(obs); err != nil {
						t.Fatal(err)
					}
				}
				changes += l.Changes()
				means, _ := l.Estimate()
				for k := 1; k < 4; k++ {
					_, square := l.model.Contrast(k, 0, 0)
					se := math.Sqrt(square)
					z := (means.Arm(k)[0] - means.Arm(0)[0] - .05*float64(k)) / se
					off += z * z / float64(3*runs)
				}
				if l.Deployed()[3] < .5 {
					wrong++
				}
			}
			t.Logf("%s of %v: %d changes in %d runs, mean square of contrasts' errors %.2f, wrong arm in %d", name,
				size,
				changes, runs, off, wrong)
			if changes > 0 || off > 2 || off < .3 || wrong > runs/10 {
				t.Errorf("%s of %v: %d changes in %d runs, mean square of contrasts' errors %.2f, wrong arm in %d",
					name,
					size, changes, runs, off, wrong)
			}
		}
	}
}
