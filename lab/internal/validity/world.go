package validity

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/lab/internal/service"
	"github.com/noregret/noregret/policy"
)

// world is an experiment with known true means.
type world struct {
	name   string
	level  func(t int) float64 // of the guarded metric, the same for all arms
	effect float64             // the arms' mean over that of the control
	arms   int                 // beside the control
	share  float64             // of the control
	rounds int
	units  int // per round
	// metric selects how the guarded metric is drawn: "coin", "normal", "ratio" or "people". People
	// are units that return in every round with a constant part in their values.
	metric string
	rate   float64 // of the coin at level 1
	limit  string  // of the guardrail
	hidden bool    // the coin's range is not declared
	fixed  bool    // the mixture is fixed: the arms share evenly what the control does not have
}

// definition is the experiment's.
func (w *world) definition() string {
	var b strings.Builder
	b.WriteString("name: aa\narms:\n")
	for k := range w.arms {
		fmt.Fprintf(&b, "  - {name: a%d, value: %d}\n", k, k+1)
	}
	if w.fixed {
		fmt.Fprintf(&b, "  - {name: c, value: 0}\ncontrol: {arm: c}\npolicy: {kind: fixed, split: {c: %v", w.share)
		for k := range w.arms {
			fmt.Fprintf(&b, ", a%d: %v", k, (1-w.share)/float64(w.arms))
		}
		b.WriteString("}}\n")
	} else {
		fmt.Fprintf(&b, "control: {arm: c, value: 0, share: %v}\n", w.share)
	}
	b.WriteString("metrics:\n  - {name: gain}\n")
	guarded := "y"
	switch {
	case w.metric == "coin" && !w.hidden:
		b.WriteString("  - {name: y, kind: count, range: [0, 1]}\n")
	case w.metric == "coin":
		b.WriteString("  - {name: y, kind: count}\n")
	case w.metric == "ratio":
		b.WriteString("  - {name: y, kind: count}\n  - {name: n, kind: count}\n" +
			"  - {name: r, kind: ratio, numerator: y, denominator: n}\n")
		guarded = "r"
	default:
		b.WriteString("  - {name: y}\n")
	}
	fmt.Fprintf(&b, "objective: {goals: [{metric: gain}]}\nguardrails:\n  - {metric: %s, %s, hard: false}\n", guarded,
		w.limit)
	b.WriteString("round: {length: 1h, min_units: 1}\nattribution_window: 1h\n")
	if w.metric == "people" {
		b.WriteString("stickiness: unit\n")
	}
	return b.String()
}

// run is one run of a world.
type run struct {
	*service.Service
	w      *world
	r      *random.Source
	person []float64 // the constant part of each unit's value
}

// play plays a run and returns the round in which the guardrail was first called breached, 0 for
// never.
func (w *world) play(seed uint64) (breached int, err error) {
	x := &run{w: w, r: random.New(seed, "validity/"+w.name)}
	if x.Service, err = service.New("aa.yaml", []byte(w.definition())); err != nil {
		return 0, err
	}
	for t := range w.rounds {
		if w.metric == "people" {
			err = x.people(t)
		} else {
			err = x.sums(t)
		}
		if err != nil {
			return 0, err
		}
		v, err := x.State.Vitals("aa")
		if err != nil {
			return 0, err
		}
		if v.Guardrails[0].State == api.GuardBreached {
			return t + 1, nil
		}
		if err := x.Pass(time.Hour); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// mean is the guarded metric's mean of an arm in a round.
func (x *run) mean(t int, control bool) float64 {
	if control {
		return x.w.level(t)
	}
	return x.w.level(t) * x.w.effect
}

// sums reports a round as sums by arm.
func (x *run) sums(t int) error {
	p := x.State.Policy("aa")
	a := api.Aggregate{Experiment: "aa", Source: "s", Sequence: uint64(t + 1)}
	left, rest := x.w.units, 1.0
	for k, share := range p.Mixture() {
		if !(share > 0) {
			continue
		}
		n := left
		if share < rest {
			n = binomial(x.r, left, share/rest)
		}
		left, rest = left-n, rest-share
		if n == 0 {
			continue
		}
		item := api.AggregateItem{
			Version: p.Version, Arm: p.Arms[k].Name, Units: int64(n),
			Metrics: map[string]api.Sums{"gain": normalSums(x.r, n, 0, 1)},
		}
		switch mean := x.mean(t, k == p.Control); x.w.metric {
		case "coin":
			s := float64(binomial(x.r, n, x.w.rate*mean))
			low, high := 0.0, min(s, 1)
			item.Metrics["y"] = api.Sums{N: int64(n), Sum: s, Squares: s, Low: &low, High: &high}
		case "ratio":
			q := x.ratio(n, mean)
			item.Pairs = map[string]api.PairSums{"r": q}
			item.Metrics["y"] = api.Sums{N: q.N, Sum: q.X, Squares: q.XX}
			item.Metrics["n"] = api.Sums{N: q.N, Sum: q.Y, Squares: q.YY}
		default:
			item.Metrics["y"] = normalSums(x.r, n, mean, 1)
		}
		a.Items = append(a.Items, item)
	}
	return x.Report(experiment.KindAggregate, a)
}

// ratio draws n units with 1 to 5 views, whose number follows the level, and clicks among them with
// a rate that differs from unit to unit.
func (x *run) ratio(n int, mean float64) (q api.PairSums) {
	for range n {
		views := 1 + math.Floor(5*x.r.Float64()*min(mean, 1))
		rate, clicks := 0.4*x.r.Float64()*mean, 0.0
		for range int(views) {
			if x.r.Float64() < rate {
				clicks++
			}
		}
		q.Add(clicks, views)
	}
	return q
}

// people reports a round of units that all return in every round.
func (x *run) people(t int) error {
	for len(x.person) < x.w.units {
		x.person = append(x.person, stat.Normal(x.r))
	}
	p := x.State.Policy("aa")
	seen, told := experiment.UnitsEvent{Experiment: "aa"}, experiment.UnitsEvent{Experiment: "aa"}
	for i, own := range x.person {
		d := p.Decide(fmt.Sprint("unit-", i))
		token := policy.Token{
			Experiment: "aa", Version: d.Version, Arm: d.Arm, Propensity: d.Propensity, Unit: d.Unit,
			Time: time.Unix(0, x.Now),
		}
		y := x.mean(t, d.Arm == p.Control) + 0.8*own + 0.6*stat.Normal(x.r)
		seen.Items = append(seen.Items, experiment.UnitOf(token, nil))
		told.Items = append(told.Items, experiment.UnitOf(token, map[string]float64{"gain": stat.Normal(x.r), "y": y}))
	}
	if err := x.Report(experiment.KindExposures, seen); err != nil {
		return err
	}
	return x.Report(experiment.KindFeedback, told)
}

// binomial draws the number of successes of n trials: one by one up to 200, else by the normal
// approximation where that is good, else by waiting times.
func binomial(r *random.Source, n int, p float64) int {
	if n > 200 && float64(n)*min(p, 1-p) > 30 {
		m := float64(n) * p
		return int(min(max(math.Round(m+math.Sqrt(m*(1-p))*stat.Normal(r)), 0), float64(n)))
	}
	s := 0
	for i := 0; i < n; i++ {
		if p < 0.1 && p > 0 { // skip the failures
			i += int(math.Log(1-r.Float64()) / math.Log1p(-p))
			if i < n {
				s++
			}
		} else if r.Float64() < p {
			s++
		}
	}
	return s
}

// normalSums draws the sums of n normal numbers. For many numbers it approximates the extremes by
// their typical values.
func normalSums(r *random.Source, n int, mean, sd float64) api.Sums {
	if n < 50 {
		var s api.Sums
		for range n {
			s.Add(mean + sd*stat.Normal(r))
		}
		return s
	}
	m := float64(n)
	sum := m*mean + sd*math.Sqrt(m)*stat.Normal(r)
	chi := m - 1 + math.Sqrt(2*(m-1))*stat.Normal(r)
	far := sd * math.Sqrt(2*math.Log(m))
	low, high := sum/m-far, sum/m+far
	return api.Sums{N: int64(n), Sum: sum, Squares: sd*sd*chi + sum*sum/m, Low: &low, High: &high}
}
