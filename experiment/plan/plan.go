package plan

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/policy"
)

// Result is what [Compute] finds; its JSON is the contract of noregret plan --json.
type Result struct {
	Experiment string `json:"experiment"`
	// UnitsPerDay is the number of units a day that are learned from; Arms is the number of arms
	// beside the control.
	UnitsPerDay float64 `json:"units_per_day"`
	Arms        int     `json:"arms"`
	// Shares are the shares of the control and of each other arm that the closed forms assume: the
	// control's own share, and equal parts of the rest.
	Shares Shares `json:"shares"`
	// Days are the lengths of time of [Effect.Smallest].
	Days       []float64   `json:"days"`
	Guardrails []Guardrail `json:"guardrails"`
	Effects    []Effect    `json:"effects"`
	// Gain is nil without an objective.
	Gain *Gain `json:"gain,omitempty"`
	// Ramp has, by stage of the ramp, the day on which it ends in closed form, nil where that is
	// beyond ten years; it is left out without a ramp.
	Ramp []*float64 `json:"ramp,omitempty"`
	// WithoutRamp names the closed forms that take the full shares from the first day on though
	// there is a ramp: those of [Effect] ("effects"), and of [Guardrail.Breached] for changes
	// ("breached").
	WithoutRamp []string `json:"without_ramp,omitempty"`
	// Advice is a definition that serves most of the gain in time, nil unless that was asked for.
	// The caller sets it to what [Advise] returned.
	Advice *Advice `json:"advice,omitempty"`
	// Without says which parts of the definition the plan leaves out, a sentence each. The caller
	// sets it to what [Simplify] returned.
	Without []string `json:"without,omitempty"`
	// Runs is the number of simulated runs that the results are from, and RunsAsked the number that
	// was asked for: more than Runs if the simulation failed or was interrupted. Horizon is the
	// number of days that a run covers. They are 0 without a simulation.
	Runs      int     `json:"runs"`
	RunsAsked int     `json:"runs_asked"`
	Horizon   float64 `json:"horizon"`
}

// ClearVerdicts removes when the guardrails are held and breached. It is for private experiments,
// which call no guardrail held or breached, and which are planned without privacy.
func (r *Result) ClearVerdicts() {
	for i := range r.Guardrails {
		g := &r.Guardrails[i]
		g.Held, g.Breached, g.Prevented = Time{}, Time{}, false
	}
}

// Shares are the expected shares while the experiment learns.
type Shares struct {
	Control float64 `json:"control"`
	Arm     float64 `json:"arm"`
}

// Guardrail tells when a guardrail is decided.
type Guardrail struct {
	Metric string  `json:"metric"`
	Kind   string  `json:"kind"` // min, max, min_change or max_change
	Limit  float64 `json:"limit"`
	// Expected is the value that the limit applies to if every arm is like the control.
	Expected float64 `json:"expected"`
	// Held is when it is shown to hold for what is served if every arm is like the control.
	Held Time `json:"held"`
	// Broken is a value as far beyond the limit as Expected is inside it, and Breached is when the
	// guardrail is called breached if what is served has that value, the control's share included.
	Broken   float64 `json:"broken"`
	Breached Time    `json:"breached"`
	// Prevented says that the policy holds the guardrail in what it serves: arms that break it get
	// no more than there is room for, so that no breach is expected and Breached has no closed
	// form.
	Prevented bool `json:"prevented"`
}

// Time is a number of days by both methods; nil where it is beyond ten years or, in simulation,
// where fewer than half of the runs get there within the horizon.
type Time struct {
	ClosedForm *float64 `json:"closed_form"`
	// Simulated is the median over runs, Reached the share of the runs that get there.
	Simulated *float64 `json:"simulated"`
	Reached   *float64 `json:"reached"`
}

// Effect is the smallest relative difference between one arm and the control that a 95 % confidence
// sequence distinguishes from none, by days. It is nil if the window of a metric with a default has
// closed for no unit by then, or if it is above 1000 %.
type Effect struct {
	Metric string  `json:"metric"`
	Mean   float64 `json:"mean"`
	// Deviation is the standard deviation of one unit's value.
	Deviation float64    `json:"deviation"`
	Smallest  []*float64 `json:"smallest"`
}

// Gain tells when the experiment serves most of the possible gain, if one arm improves every goal
// by Improvement and the others are like the control.
type Gain struct {
	Improvement float64 `json:"improvement"`
	// Days is when 90 % of the gain is served. In closed form, without noise, the arms get as much
	// as hard guardrails leave room for by what is known, evenly until the others are two standard
	// errors below the best, and then it alone; a ramp leaves them its share. In simulation it is
	// the first day on which the mean over runs is at 90 % or more.
	Days Time `json:"days"`
	// Costs are the days in closed form without each guardrail, each of several goals, and half of
	// the arms, those that save most first. WaitsFor names the part that the gain waits for: the
	// first one, "" if it costs less than a tenth of the days.
	Costs    []Cost `json:"costs,omitempty"`
	WaitsFor string `json:"waits_for,omitempty"`
	// Curve is the served share of the gain by day, the mean over runs; empty without a simulation.
	Curve []Point `json:"curve,omitempty"`
}

// Point is a point of a curve.
type Point struct {
	Day  float64 `json:"day"`
	Gain float64 `json:"gain"`
}

// longest is the number of days beyond which no answer is given.
const longest = 3660

// Options are the parameters of [Compute] and [Simulate].
type Options struct {
	// Runs is the number of simulated runs, 0 for the closed forms only.
	Runs int
	// Horizon is the number of days that a run covers, above 0.
	Horizon float64
	// Seed is the seed of all random numbers.
	Seed uint64
	// Progress is called after each run with the number of completed runs and their total number;
	// nil for none.
	Progress func(done, total int)
}

// DefaultOptions are 20 runs of 28 days with seed 1.
func DefaultOptions() Options { return Options{Runs: 20, Horizon: 28, Seed: 1} }

// arms describes the arms of a definition for the plan.
type arms struct {
	list    []policy.Arm
	control int // -1 for none
	shares  Shares
}

// newArms returns the arms of a definition. Without a control arm the first arm takes its place.
func newArms(d *definition.Definition) (*arms, error) {
	if d.Arms.Box != nil {
		return nil, noregret.BadInputf("arms", "a box: its points are unknown before the experiment runs; list some "+
			"points as arms to plan with them")
	}
	list, err := d.NamedArms()
	if err != nil {
		return nil, err
	}
	a := &arms{list: list, control: -1}
	for i := range list {
		if d.Control != nil && list[i].Name == d.Control.Arm {
			a.control = i
		}
	}
	if len(list) < 2 {
		return nil, noregret.BadInputf("arms", "1 arm: want at least 2 to compare")
	}
	others := float64(len(list) - 1)
	a.shares = Shares{1 / (others + 1), 1 / (others + 1)}
	if s := d.ControlShare(); s > 0 {
		a.shares = Shares{s, (1 - s) / others}
	}
	if d.Policy.Kind == "fixed" {
		s := d.Policy.Split[list[max(a.control, 0)].Name]
		a.shares = Shares{s, (1 - s) / others}
	}
	return a, nil
}

// limitOf returns the value that a guardrail's limit applies to if every arm is like the control,
// and one as far beyond the limit.
func limitOf(d *definition.Definition, g *definition.Guardrail) (kind string, limit, expected, broken float64) {
	limit, up, relative, _ := g.Limit()
	kind = map[bool]string{true: "min", false: "max"}[up]
	if relative {
		return kind + "_change", limit, 0, 2 * limit
	}
	expected = mean(d, d.MetricIndex(g.Metric))
	return kind, limit, expected, 2*limit - expected
}

// mean returns the expected mean of a metric; for a ratio, the ratio of the means.
func mean(d *definition.Definition, metric int) float64 {
	if r := d.RatioIndex(metric); r >= 0 {
		parts := d.Ratios()[r]
		return mean(d, parts.Numerator) / mean(d, parts.Denominator)
	}
	e, m := d.Plan.Expect[d.Metrics[metric].Name], &d.Metrics[metric]
	if e.Rate != nil {
		first, _ := lognormal(&e, m)
		return float64(*e.Rate * first)
	}
	return e.Mean
}

// lognormal returns the first two moments of a value other than 0, as it counts: capped by the
// metric's cap or range.
func lognormal(e *definition.Expectation, m *definition.Metric) (first, second float64) {
	size, sigma := e.Mean / *e.Rate, *e.Sigma
	first, second = size, float64(float64(size*size)*portable.Exp(float64(sigma*sigma)))
	_, most := m.Counted()
	// The logarithm of the cap in standard deviations above the logarithm's mean.
	z := (portable.Log(most/size) + float64(0.5*float64(sigma*sigma))) / sigma
	above := stat.NormalBelow(-z)
	first = float64(first*stat.NormalBelow(z-sigma)) + float64(most*above)
	second = float64(second*stat.NormalBelow(z-float64(2*sigma))) + float64(float64(most*most)*above)
	return first, second
}

// variance returns the variance of one unit's value; for a ratio, that of numerator −
// ratio·denominator with independent parts.
func variance(d *definition.Definition, metric int) float64 {
	if r := d.RatioIndex(metric); r >= 0 {
		parts, ratio := d.Ratios()[r], mean(d, metric)
		return variance(d, parts.Numerator) + float64(float64(ratio*ratio)*variance(d, parts.Denominator))
	}
	e := d.Plan.Expect[d.Metrics[metric].Name]
	if e.Rate != nil {
		first, second := lognormal(&e, &d.Metrics[metric])
		first = float64(*e.Rate * first)
		return max(float64(*e.Rate*second)-float64(first*first), 0)
	}
	sd := e.Deviation(&d.Metrics[metric])
	return float64(sd * sd)
}

// some returns a pointer to a number of days, nil if it is infinite.
func some(days float64) *float64 {
	if !(days <= longest) || math.IsInf(days, 0) {
		return nil
	}
	return &days
}

// Compute plans an experiment by both methods: it is [Closed], then [Simulate] if o.Runs is above
// 0. If the simulation fails or ctx ends, it returns the error with the closed forms and the
// results of the runs before.
func Compute(ctx context.Context, d *definition.Definition, o Options) (*Result, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	r, err := Closed(ctx, d)
	if err != nil || o.Runs == 0 {
		return r, err
	}
	return r, Simulate(ctx, d, o, r)
}

// check validates the options.
func (o *Options) check() error {
	if o.Runs < 0 || o.Runs > 100_000 {
		return noregret.BadInputf("runs", "%d: want 0 to 100,000", o.Runs)
	}
	if o.Runs > 0 && !(o.Horizon > 0 && o.Horizon <= longest) {
		return noregret.BadInputf("horizon", "%v days: want a number above 0 and at most %d", o.Horizon, longest)
	}
	return nil
}

// Closed plans an experiment in closed form: in some milliseconds for a few arms, in about a second
// for a hundred. The definition must have a plan, and neither privacy, contexts nor a box:
// [Simplify] leaves these out. If ctx ends it returns the error of ctx.
func Closed(ctx context.Context, d *definition.Definition) (*Result, error) {
	if d.Plan == nil {
		return nil, noregret.BadInputf("plan", "missing: want the part plan with units_per_day and expect")
	}
	if d.Privacy != nil {
		return nil, noregret.BadInputf("privacy", "a plan is for raw feedback, and a private experiment has noisy "+
			"sums alone and calls no guardrail held or breached: want a definition without it for the times without "+
			"noise; noregret-lab private-pasto says what the noise costs")
	}
	if d.Contextual() {
		return nil, noregret.BadInputf("policy", "%s decides by contexts, of which a plan knows nothing: want another "+
			"policy", d.Policy.Kind)
	}
	a, err := newArms(d)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Experiment: d.Name, UnitsPerDay: unitsPerDay(d), Arms: len(a.list) - 1, Shares: a.shares, Days: d.Plan.Days,
	}
	form := &closedForm{d: d, units: r.UnitsPerDay, shares: a.shares, arms: r.Arms}
	learns := d.Objective != nil && d.Policy.Kind != "fixed"
	course := newCourse(form)
	var judges []*judge
	var judged []int
	for i := range d.Guardrails {
		g, along := form.guardrail(&d.Guardrails[i])
		if r.Guardrails = append(r.Guardrails, g); along {
			judges, judged = append(judges, newJudge(course, &d.Guardrails[i])), append(judged, i)
		}
	}
	for i := range d.Metrics {
		if mean(d, i) != 0 {
			r.Effects = append(r.Effects, form.effect(i))
		}
	}
	reached, err := course.run(ctx, learns, judges, true)
	if err != nil {
		return nil, err
	}
	for k, i := range judged {
		r.Guardrails[i].Held.ClosedForm = reached.held[k]
	}
	if len(d.Ramp) > 0 {
		r.Ramp, r.WithoutRamp = reached.ramps, []string{"effects"}
		if slices.ContainsFunc(d.Guardrails, func(g definition.Guardrail) bool {
			_, _, relative, _ := g.Limit()
			return relative && !guarded(d, &g)
		}) {
			r.WithoutRamp = append(r.WithoutRamp, "breached")
		}
	}
	if learns {
		r.Gain = &Gain{Improvement: d.Plan.Improvement}
		r.Gain.Days.ClosedForm = reached.gain
		if r.Gain.Costs, err = costs(ctx, d); err != nil {
			return nil, err
		}
		r.Gain.WaitsFor = waitsFor(r.Gain.Days.ClosedForm, r.Gain.Costs)
	}
	return r, nil
}
