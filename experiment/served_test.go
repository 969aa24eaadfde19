package experiment

import (
	"fmt"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
)

// servedWorld is an experiment whose arms have rates that are known to the test: of sales, which is
// the goal, and of complaints and clicks, which have guardrails.
type servedWorld struct {
	*scenario
	arms  []string
	rates [][]float64 // by arm and metric
	r     *random.Source
	sent  uint64
}

var servedMetrics = []string{"sales", "complaints", "clicks"}

// newServedWorld begins an experiment whose control arm holds the guardrails by a margin. Other
// arms sell more and break one of them, or hold them, at random.
func newServedWorld(t *testing.T, seed uint64, guardrails string) *servedWorld {
	w := &servedWorld{
		scenario: newScenario(t), r: random.New(seed, "served"), arms: []string{"today", "a", "b", "c"},
		rates: [][]float64{{0.1, 0.02, 0.3}},
	}
	for range 3 {
		w.rates = append(w.rates, []float64{
			0.05 + 0.2*w.r.Float64(), 0.01 + 0.09*w.r.Float64(), 0.2 + 0.2*w.r.Float64(),
		})
	}
	out := w.run("apply\nname: e\narms: [{name: today, value: 0}, {name: a, value: 1}, {name: b, value: 2}, " +
		"{name: c, value: 3}]\ncontrol: {arm: today, share: 0.1}\nmetrics: [{name: sales, range: [0, 1]}, {name: " +
		"complaints, kind: count, range: [0, 1], direction: down}, {name: clicks, range: [0, 1]}]\nobjective: " +
		"{goals: [{metric: sales}]}\nguardrails: [" + guardrails + "]\nround: {length: 1h}\nattribution_window: 3h")
	if out != "definition: version 1\n" {
		t.Fatal(out)
	}
	return w
}

// round lets units come, as sums, and ends the round.
func (w *servedWorld) round(units float64) {
	p := w.state.Policy("e")
	w.sent++
	event := api.Aggregate{Experiment: "e", Source: "test", Sequence: w.sent}
	for k, share := range p.Links[len(p.Links)-1].Split.Shares() {
		n := int64(units * share)
		if n == 0 {
			continue
		}
		item := api.AggregateItem{
			Version: p.Version, Arm: w.arms[k], Units: n, Metrics: map[string]api.Sums{},
		}
		for m, name := range servedMetrics {
			v := stat.Binomial(w.r, n, w.rates[k][m])
			item.Metrics[name] = api.Sums{N: n, Sum: v, Squares: v}
		}
		event.Items = append(event.Items, item)
	}
	w.event(KindAggregate, event)
	w.now += int64(time.Hour)
	w.run("due")
}

// mean returns the rate of a metric in what is served.
func (w *servedWorld) mean(m int) (v float64) {
	for k, p := range w.state.live["e"].joiner.Running().Mixture {
		v += p * w.rates[k][m]
	}
	return v
}

// TestServedHolds checks that what is served holds hard guardrails by the true rates, in every
// version of nearly every run, although windows are three rounds long, and that something is
// learned all the same. Where guardrails need hold only in what is deployed, what is served breaks
// them.
func TestServedHolds(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t)
	runs, rounds := testsize.Of(60, 30), 40
	for _, hold := range []string{"served", "deployed"} {
		broken, gained := 0, 0
		for seed := range runs {
			w := newServedWorld(t, uint64(seed), fmt.Sprintf(
				"{metric: complaints, max: 0.04, hold: %s}, {metric: clicks, min_change: -0.1, hold: %s}", hold, hold))
			bad := false
			for range rounds {
				w.round(20_000)
				bad = bad || w.mean(1) > 0.04 || w.mean(2) < 0.9*0.3
			}
			if bad {
				broken++
			}
			if w.mean(0) > 0.105 {
				gained++
			}
		}
		t.Logf("%s: broken in %d of %d runs, a gain of 5 %% in %d", hold, broken, runs, gained)
		if hold == "served" && (broken > runs/20+1 || gained < runs/3) || hold == "deployed" && broken < runs/8 {
			t.Errorf("%s: broken in %d of %d runs, a gain of 5 %% in %d", hold, broken, runs, gained)
		}
	}
}

// TestServedRatioHolds is TestServedHolds for a change of a ratio: the rate of taps, of which a
// unit has as many chances as it has views, and more in some arms than in others. Metrics have no
// range, so that arms without data get a hundredth of the units.
func TestServedRatioHolds(t *testing.T) {
	t.Parallel()
	testsize.NoRace(t)
	runs, broken, tried := testsize.Of(40, 8), 0, 0
	for seed := range runs {
		s, r := newScenario(t), random.New(uint64(seed), "served ratio")
		out := s.run("apply\nname: e\narms: [{name: today, value: 0}, {name: a, value: 1}, {name: b, value: 2}]\n" +
			"control: {arm: today, share: 0.1}\nmetrics: [{name: views, kind: count}, {name: taps, kind: count}, " +
			"{name: rate, kind: ratio, numerator: taps, denominator: views}]\nobjective: {goals: [{metric: views}]}\n" +
			"guardrails: [{metric: rate, min_change: -0.1}]\nround: {length: 1h}\nattribution_window: 2h")
		if out != "definition: version 1\n" {
			t.Fatal(out)
		}
		names, most, rates := []string{"today", "a", "b"}, []int{3, 6, 4}, []float64{0.2, 0.1 + 0.08*r.Float64(), 0.21}
		bad, best := false, 0.0
		for round := range 30 {
			p := s.state.Policy("e")
			event := api.Aggregate{Experiment: "e", Source: "test", Sequence: uint64(round + 1)}
			for k, share := range p.Links[len(p.Links)-1].Split.Shares() {
				pair := api.PairSums{N: int64(4000 * share)}
				for range pair.N {
					views := float64(1 + r.IntN(most[k]))
					taps := stat.Binomial(r, int64(views), rates[k])
					pair.X, pair.Y = pair.X+taps, pair.Y+views
					pair.XX, pair.YY, pair.XY = pair.XX+taps*taps, pair.YY+views*views, pair.XY+taps*views
				}
				if pair.N > 0 {
					event.Items = append(event.Items, api.AggregateItem{
						Version: p.Version, Arm: names[k], Units: pair.N,
						Metrics: map[string]api.Sums{
							"taps":  {N: pair.N, Sum: pair.X, Squares: pair.XX},
							"views": {N: pair.N, Sum: pair.Y, Squares: pair.YY},
						},
						Pairs: map[string]api.PairSums{"rate": pair},
					})
				}
			}
			s.event(KindAggregate, event)
			s.now += int64(time.Hour)
			s.run("due")
			taps, views, mixture := 0.0, 0.0, s.state.live["e"].joiner.Running().Mixture
			for k, share := range mixture {
				mean := float64(1+most[k]) / 2
				taps, views = taps+share*mean*rates[k], views+share*mean
			}
			bad, best = bad || taps/views < 0.9*0.2, max(best, mixture[1])
		}
		if bad {
			broken++
		}
		if best > 0.1 {
			tried++
		}
	}
	t.Logf("broken in %d of %d runs, the arm of most views got a tenth in %d", broken, runs, tried)
	if broken > runs/20+1 || tried < runs/2 {
		t.Errorf("broken in %d of %d runs, the arm of most views got a tenth in %d", broken, runs, tried)
	}
}
