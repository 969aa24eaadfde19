package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// ratioLive returns an experiment whose ratio test can be fed versions with given mixtures.
func ratioLive(t testing.TB, stickiness string) *experimentState {
	d, err := definition.Parse("x", []byte("name: x\nmetrics: [{name: m}]\n"+
		"arms: [{name: a, value: 1}, {name: b, value: 1}, {name: c, value: 1}]\n"+
		"policy: {kind: fixed, split: {a: 1}}\nstickiness: "+stickiness))
	if err != nil {
		t.Fatal(err)
	}
	return &experimentState{roster: roster{def: d}}
}

// beginRatio begins a version in a stream. The two versions before it stay open.
func (x *experimentState) beginRatio(mixture []float64, stream uint64) *cohort {
	x.rounds.Version++
	c := newCohort(nil, x.roster.def, x.rounds.Version, 1, mixture)
	x.Ratio.begin(c, stream)
	x.joiner.cohorts = append(x.joiner.cohorts, c)
	if len(x.joiner.cohorts) > 2 {
		x.Ratio.mature(x.roster.def.Stickiness, x.joiner.cohorts, x.joiner.cohorts[0])
		x.joiner.cohorts = x.joiner.cohorts[1:]
	}
	return c
}

func (x *experimentState) addRatio(c *cohort, arm int, n int64) {
	x.Ratio.add(c, arm, n)
	c.Stats[arm].Units += n
}

// pick draws an arm with probability proportional to its share times its tilt.
func pick(rng *random.Source, p, tilt []float64) int {
	total := 0.0
	for k := range p {
		total += p[k] * tilt[k]
	}
	u, k := rng.Float64()*total, 0
	for ; k < len(p)-1 && u >= p[k]*tilt[k]; k++ {
		u -= p[k] * tilt[k]
	}
	return k
}

// ratioRun counts n units whose true shares are tilted while the policy claims the shares of
// mixtures, one after the other, each with its own stream.
func ratioRun(t testing.TB, seed uint64, n int, mixtures [][]float64, tilt []float64) *ratioTest {
	x, rng := ratioLive(t, "round"), random.New(seed, "ratio")
	var c *cohort
	for i := range n {
		if i%(n/len(mixtures)) == 0 && i/(n/len(mixtures)) < len(mixtures) {
			c = x.beginRatio(mixtures[i/(n/len(mixtures))], x.rounds.Version+1)
		}
		x.addRatio(c, pick(rng, c.Mixture, tilt), 1)
		x.Ratio.evaluate(x.roster.def.Stickiness, x.joiner.cohorts)
	}
	return &x.Ratio
}

// TestRatioTest checks that the test, evaluated after every unit while the mixture changes, raises
// no alarm in 400 runs of 5,000 units under the null hypothesis, and that it raises one when an arm
// loses a tenth of its units.
func TestRatioTest(t *testing.T) {
	testsize.NoRace(t)
	mixtures := [][]float64{{.5, .3, .2}, {.1, .1, .8}, {.4, .4, .2}, {.98, .01, .01}}
	low := 0
	for seed := range uint64(400) {
		r := ratioRun(t, seed, 5000, mixtures, []float64{1, 1, 1})
		if alarm, p := r.mismatch(); alarm {
			t.Errorf("seed %d: alarm, p = %v", seed, p)
		} else if p <= .1 {
			low++
		}
	}
	if low > 60 { // at most 40 in expectation
		t.Errorf("p was at most 0.1 at some time in %d of 400 runs", low)
	}
	for seed := range uint64(20) {
		r := ratioRun(t, seed, 40_000, mixtures[:3], []float64{1, .9, 1})
		if alarm, p := r.mismatch(); !alarm {
			t.Errorf("seed %d: no alarm though an arm lost a tenth of its units, p = %v", seed, p)
		}
	}
}

// TestHealthSays checks that the report describes every problem in words.
func TestHealthSays(t *testing.T) {
	s := newScenario(t)
	s.run(`apply
name: ill
arms:
  - {name: a, value: 1}
  - {name: b, value: 2}
metrics: [{name: y}]
policy: {kind: fixed, split: {a: 0.5, b: 0.5}}
round: {length: 1m}
attribution_window: 1m`)
	var units UnitsEvent
	units.Experiment = "ill"
	for i := 0; len(units.Items) < 300; i++ {
		u := fmt.Sprint("u", i)
		if s.decide(u).Arm == 0 { // the other arm's pages never report an exposure
			units.Items = append(units.Items, UnitOf(s.tokens[u], nil))
		}
	}
	s.event(KindExposures, units)
	s.decide("orphan")
	s.run("feedback orphan:y=1")
	s.run("wait 1m")
	s.run("due")
	s.run("wait 1m5s")
	s.run("due")
	r, err := s.state.Report("ill")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(r.Health.Problems, "; ")
	for _, want := range []string{"sample ratio mismatch", "missing feedback: y", "dead arm: b", "orphan feedback"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing in %q", want, said)
		}
	}
	s.check()
}

// A guardrail on revenue without a cap says why it has no verdict; with a cap it has one.
func TestUndecided(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form    string
		largest float64
		want    bool
	}{
		{"", 400, true},
		{"", 2, false},
		{", cap: 400", 400, false},
	} {
		s := newScenario(t)
		s.run("apply\nname: e\narms: [{name: a, value: 0}, {name: b, value: 1}]\ncontrol: {arm: a}\n" +
			"metrics: [{name: revenue" + c.form + "}]\nguardrails: [{metric: revenue, min: 0.01}]\n" +
			"policy: {kind: fixed, split: {a: 0.5, b: 0.5}}\nround: {length: 1h}\nattribution_window: 1h")
		// 40 of 1000 units of each arm buy for 1 but one of them, who buys for the largest amount.
		low, sum, squares := 0.0, 39+c.largest, 39+c.largest*c.largest
		event := api.Aggregate{Experiment: "e", Source: "test", Sequence: 1}
		for _, arm := range []string{"a", "b"} {
			event.Items = append(event.Items, api.AggregateItem{
				Version: 1, Arm: arm, Units: 1000, Metrics: map[string]api.Sums{
					"revenue": {N: 1000, Sum: sum, Squares: squares, Low: &low, High: &c.largest},
				},
			})
		}
		s.event(KindAggregate, event)
		r, err := s.state.Report("e")
		if err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(r.Health.Problems, "\n")
		if got := strings.Contains(problems, "guardrail revenue: no verdict yet"); got != c.want {
			t.Errorf("revenue%s up to %v: problems %q", c.form, c.largest, problems)
		}
	}
}
