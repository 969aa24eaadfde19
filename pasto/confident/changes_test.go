package confident

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// standardError is that of the mean of arm k in metric i.
func standardError(l *Learner, k, i int) float64 {
	_, errors := l.Estimate()
	return errors.Arm(k)[i]
}

// All arms jump at once by the same amount, up or down, by so much that it hides which arm is best.
// What was seen before the jump does not keep the wrong arm deployed: 6,000 rounds later the best
// one is in all but at most two of 40 runs.
func TestJumpOfAllArms(t *testing.T) {
	testsize.NoRace(t)
	seeds := testsize.Of(40, 4)
	for _, c := range []struct{ jump, gap float64 }{
		{3, .5},
		{-3, .5},
		{5, .5},
		{10, .5},
		{-10, .5},
		{20, 1},
		{-20, 1},
	} {
		for _, groups := range []int{1, 10} {
			wrong := 0
			for seed := range uint64(seeds) {
				l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 3, DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				r, arms, obs := random.New(seed, "season"), make([]int, groups), make([]pasto.Observation, groups)
				for n := range 8000 {
					l.Draw(r, arms)
					for q, k := range arms {
						x := stat.Normal(r)
						if k == 2 {
							x += c.gap
						}
						if n >= 2000 {
							x += c.jump
						}
						obs[q] = pasto.Observation{Arm: k, Metrics: []float64{x}}
					}
					if err := l.Observe(obs); err != nil {
						t.Fatal(err)
					}
				}
				if groups == 1 && l.Changes() == 0 {
					t.Errorf("%+v: the jump is not noticed", c)
				}
				if l.Deployed()[2] < .5 {
					wrong++
				}
			}
			t.Logf("%+v, %d groups: the wrong arm in %d of %d runs", c, groups, wrong, seeds)
			if wrong > seeds/20 {
				t.Errorf("%+v, %d groups: the wrong arm in %d of %d runs", c, groups, wrong, seeds)
			}
		}
	}
}

// rareRun plays the default on arms whose one metric is the share of a group's units with an event,
// and returns it.
func rareRun(t *testing.T, g *pasto.Goals, rates []float64, units, rounds int, seed uint64,
	each func(n int, l *Learner),
) *Learner {
	t.Helper()
	l, err := New(g, len(rates), DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, arms, x := random.New(seed, "rare"), make([]int, 1), make([]float64, 1)
	for n := 1; n <= rounds; n++ {
		l.Draw(r, arms)
		x[0] = 0
		for range units {
			if r.Float64() < rates[arms[0]] {
				x[0] += 1 / float64(units)
			}
		}
		o := pasto.Observation{Arm: arms[0], Metrics: x}
		if units > 1 {
			o.Size = float64(units)
		}
		if err := l.Observe([]pasto.Observation{o}); err != nil {
			t.Fatal(err)
		}
		if each != nil {
			each(n, l)
		}
	}
	return l
}

// Events that are rare: an arm without one yet is not taken to be known to have none, and so the
// better arm does not freeze.
func TestRareEvents(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(60, 6)
	for _, c := range []struct {
		low, high float64
		units     int
		rounds    int
	}{{.003, .006, 1, 50_000}, {.01, .02, 1, 20_000}, {.0003, .0006, 10, 50_000}} {
		wrong, changes := 0, 0
		for seed := range uint64(runs) {
			l := rareRun(t, pastotest.One(t, pasto.Metric{Name: "rate"}), []float64{c.low, c.high}, c.units, c.rounds,
				seed, nil)
			if l.Deployed()[1] < .5 {
				wrong++
			}
			changes += l.Changes()
		}
		t.Logf("%+v: the arm of half the rate in %d of %d runs, %d changes", c, wrong, runs, changes)
		if wrong > runs/15 || changes > 0 {
			t.Errorf("%+v: the arm of half the rate in %d of %d runs, %d changes", c, wrong, runs, changes)
		}
	}
}

// The same with a hard guardrail on the rate, which the arm that is better otherwise breaks: in how
// many runs what is deployed breaks it.
func TestRareGuardrail(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(200, 50)
	g := pastotest.One(t, pasto.Metric{Name: "x"},
		pasto.Metric{Name: "rate", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: .003, Hard: true})
	at := []int{100, 300, 1000, 3000}
	broken := make([]int, len(at))
	for seed := range uint64(runs) {
		l, err := New(g, 2, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, arms, rates := random.New(seed, "rare"), make([]int, 1), []float64{.001, .006}
		next := 0
		for n := 1; next < len(at); n++ {
			l.Draw(r, arms)
			x := []float64{float64(arms[0]) + .1*stat.Normal(r), 0}
			if r.Float64() < rates[arms[0]] {
				x[1] = 1
			}
			if err := l.Observe([]pasto.Observation{{Arm: arms[0], Metrics: x}}); err != nil {
				t.Fatal(err)
			}
			if n == at[next] {
				if d := l.Deployed(); d[0]*.001+d[1]*.006 > .003 {
					broken[next]++
				}
				next++
			}
		}
	}
	t.Logf("broken at %v: %v of %d", at, broken, runs)
	// As long as no event has been seen, and 1,000 groups have six at most, nobody can know.
	if broken[3] > runs*16/100 {
		t.Errorf("broken in %d of %d runs at %d", broken[3], runs, at[3])
	}
}

// A metric that is only watched restarts nothing, whatever it does, and a drift of one that is not
// does.
func TestReportDoesNotRestart(t *testing.T) {
	for _, role := range []pasto.Role{pasto.Report, pasto.Primary} {
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}, pasto.Metric{Name: "clock", Role: role}), 2,
			DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, arms := random.New(1, "clock"), make([]int, 1)
		for n := range 5000 {
			l.Draw(r, arms)
			if err := l.Observe([]pasto.Observation{{
				Arm:     arms[0],
				Metrics: []float64{stat.Normal(r), float64(n) / 50},
			}}); err != nil {
				t.Fatal(err)
			}
		}
		if (l.Changes() > 0) != (role == pasto.Primary) {
			t.Errorf("%v: %d changes", role, l.Changes())
		}
	}
}

// Metrics that are not normal raise few false alarms: events of a rate of 0.0003 to 0.1 and revenue
// none, and lognormal values with σ = 1.5 hardly any.
func TestAlarmOfSkewedMetrics(t *testing.T) {
	testsize.NoRace(t)
	runs := testsize.Of(10, 1)
	for name, draw := range map[string]func(r *random.Source) float64{
		"0.0003":    func(r *random.Source) float64 { return event(r, .0003) },
		"0.003":     func(r *random.Source) float64 { return event(r, .003) },
		"0.03":      func(r *random.Source) float64 { return event(r, .03) },
		"lognormal": func(r *random.Source) float64 { return math.Exp(1.5 * stat.Normal(r)) },
		"revenue":   func(r *random.Source) float64 { return event(r, .01) * math.Exp(stat.Normal(r)) },
	} {
		changes, most := 0, 0
		if name == "lognormal" {
			most = testsize.Of(2, 0)
		}
		for seed := range uint64(runs) {
			l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 2, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r, arms := random.New(seed, "skewed"), make([]int, 1)
			for range 100_000 {
				l.Draw(r, arms)
				if err := l.Observe([]pasto.Observation{{Arm: arms[0], Metrics: []float64{draw(r)}}}); err != nil {
					t.Fatal(err)
				}
			}
			changes += l.Changes()
		}
		if changes > most {
			t.Errorf("%s: %d changes in %d runs where there are none: want at most %d", name, changes, runs, most)
		}
	}
}

func event(r *random.Source, rate float64) float64 {
	if r.Float64() < rate {
		return 1
	}
	return 0
}

// A jump far beyond the noise of the only arm never leaves it with an error of 0.
func TestNoiseAfterChange(t *testing.T) {
	for seed := range uint64(testsize.Of(100, 20)) {
		l,
			err := New(pastotest.One(t, pasto.Metric{Name: "x"},
			pasto.Metric{Name: "y", Role: pasto.Guardrail, Threshold: -1, Hard: true}),
			1, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r := random.New(seed, "noise")
		for n := range 300 {
			y := 1e-10 * stat.Normal(r)
			if n >= 100+int(seed) {
				y++
			}
			if err := l.Observe([]pasto.Observation{{Arm: 0, Metrics: []float64{0, y}}}); err != nil {
				t.Fatal(err)
			}
			if n > 2 && !(standardError(l, 0, 1) > 0) {
				t.Fatalf("round %d: an error of %v", n, standardError(l, 0, 1))
			}
		}
	}
}

// What is found and kept does not depend on the order of a round's observations.
func TestOrderOfObservations(t *testing.T) {
	play := func(turn int) (*Learner, int) {
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 4, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, found := random.New(1, "order"), 0
		for n := range 400 {
			obs := make([]pasto.Observation, 4)
			for k := range obs {
				x := stat.Normal(r)
				if n >= 300 {
					x += float64(10 * k)
				}
				obs[(k+turn)%4] = pasto.Observation{Arm: k, Metrics: []float64{x}}
			}
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
			if found == 0 && l.Changes() > 0 {
				found = n
			}
		}
		return l, found
	}
	want, at := play(0)
	if at == 0 {
		t.Fatal("the change is not noticed")
	}
	for turn := 1; turn < 4; turn++ {
		got, found := play(turn)
		if found != at || got.Changes() != want.Changes() {
			t.Errorf("turn %d: found at %d, not at %d", turn, found, at)
		}
		for k := range 4 {
			pastotest.Near(t, "mean", got.s.Sums.Mean[k], want.s.Sums.Mean[k], 0)
			pastotest.Near(t, "variance", got.s.Sums.variance(k, 0), want.s.Sums.variance(k, 0), 1e-9)
		}
	}
}

// All sizes that are valid can follow each other: errors stay numbers.
func TestSizesApart(t *testing.T) {
	testsize.NoRace(t)
	for seed := range uint64(testsize.Of(300, 30)) {
		l, err := New(pastotest.Goals(t, 5, false, 0), 3, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r := random.New(seed, "sizes")
		for n := range 40 {
			size := []float64{1e-9, 1e9, 1, check.LargestSize}[int(4*r.Float64())]
			if n < 3 {
				size = 1e-9
			}
			if err := l.Observe([]pasto.Observation{{
				Arm: n % 3, Size: size,
				Metrics: []float64{stat.Normal(r), stat.Normal(r)},
			}}); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, n, err)
			}
			data, err := l.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if err := l.UnmarshalBinary(data); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, n, err)
			}
			for k := range 3 {
				if se := standardError(l, k, 0); n > 6 && !(se >= 0) {
					t.Fatalf("seed %d, round %d: an error of %v", seed, n, se)
				}
			}
		}
	}
}

// A soft minimum beside a hard guardrail is the same whatever the units of its metrics.
func TestHardSoftMinUnits(t *testing.T) {
	var want float64
	for _, u := range []float64{1, 1e-3, 1e-6, 1e-9, 1e-12, 1e9} {
		g,
			err := pasto.NewGoals([]pasto.Metric{
			{Name: "a"},
			{Name: "b"},
			{Name: "y", Role: pasto.Guardrail, Hard: true, Threshold: -u},
		},
			1/u)
		if err != nil {
			t.Fatal(err)
		}
		l, err := New(g, 2, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, pastotest.Table(t, []float64{2 * u, -2 * u}, []float64{0, 2 * u}, []float64{0, 0}), 2, 200,
			.001*u,
			random.New(1, "units"))
		if u == 1 {
			if want = l.Deployed()[0]; want < .2 || want > .8 {
				t.Fatalf("a share of %v: the test sees nothing", want)
			}
		}
		pastotest.Near(t, "share", l.Deployed()[0], want, 1e-4)
	}
}

// An arm whose rate halves is begun anew within two rounds, and seldom another, in spite of a
// season that all have in common.
// An arm that has nearly all units crashes in a hard guardrail. Beside it are 200 units, too few to
// be sure, or none in rounds of which effects were shown. A fall of all arms begins at most that
// arm anew, and where comparisons are of many units hardly any.

// exchange plays 30 arms of which the best and the worst exchange their means in round 1,000, and
// returns the mean share of the new best one in what is deployed over the 300 rounds
// after that.
func exchange(t *testing.T, o Options, seed uint64) (share float64, l *Learner) {
	l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 30, o)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]float64, 30)
	for k := range row {
		row[k] = float64(k) / 30
	}
	row[29] = 2
	means, r := pastotest.Table(t, row), random.New(seed, "exchange")
	pastotest.Play(t, l, means, 5, 1000, 1, r)
	means.Arm(0)[0], means.Arm(29)[0] = means.Arm(29)[0], means.Arm(0)[0]
	for range 10 {
		pastotest.Play(t, l, means, 5, 30, 1, r)
		share += l.Deployed()[0] / 10
	}
	return share, l
}

// without returns o with a rule switched off.
// When the best arm gets worse, the others are looked at again, as one that was bad and has hardly
// been served since may have become the best. Only arms that have changed begin anew. Without this
// rule the new best arm is deployed much later.
// What arms have had since a change never makes optimism smaller, and it is finite where an arm
// that began anew has been served only alone: else no exploration would be left.
// A learner that looks at its arms again goes on from a snapshot as it does itself.
// What explores where nothing is promised, and the part of it that goes to all arms, by the formula
// of [Exploration]. Up to four arms it does not depend on their number.
// There is a solution in a round in which the size of an arm's groups reaches or passes a power of
// two, unless there are more than 128 arms.
// When the best arm gets worse, the others are looked at again, as one that was bad and has hardly
// been served since may have become the best. Few arms begin anew.
func TestChangeOfOneArmRechecksOthers(t *testing.T) {
	share, runs := 0.0, testsize.Of(20, 6)
	for seed := range uint64(runs) {
		new, l := exchange(t, DefaultOptions(), seed)
		share += new / float64(runs)
		if l.Changes() == 0 || l.Changes() > 5 {
			t.Errorf("seed %d: %d arms began anew, and 2 have changed", seed, l.Changes())
		}
	}
	t.Logf("share of the new best arm: %.3f", share)
	if share < .3 {
		t.Errorf("the new best arm has a share of %.3f: want at least 0.3", share)
	}
}

// Exploration does not end where the best arm fell slowly after a change was found: an arm that
// becomes the best by far long after that is served.
func TestExplorationOutlivesChange(t *testing.T) {
	for seed := range uint64(testsize.Of(20, 5)) {
		l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 4, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		r, drawn, obs := random.New(seed, "quiet"), make([]int, 4), make([]pasto.Observation, 4)
		for n := range 12_000 {
			means := []float64{0, 1, .2, .1}
			switch { // arm 0 changes, the best arm falls slowly, and much later arm 3 is the best
			case n > 7000:
				means[1], means[3] = .4, 4
			case n > 1500:
				means[1] = .4
			case n > 500:
				means[1] -= .6 * float64(n-500) / 1000
			}
			if n > 300 {
				means[0] = -3
			}
			l.Draw(r, drawn)
			u := stat.Normal(r)
			for q, k := range drawn {
				obs[q] = pasto.Observation{Arm: k, Metrics: []float64{means[k] + u + .5*stat.Normal(r)}}
			}
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		if l.Deployed()[3] < .5 {
			t.Errorf("seed %d: deployed %v with a width of %v", seed, l.Deployed(), l.s.Width)
		}
	}
}
