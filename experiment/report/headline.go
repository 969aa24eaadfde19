package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

const (
	// longest is the number of days that an experiment is advised to wait at most. What needs
	// longer is said to be too small to be shown.
	longest = 60
	// leastOfTwo is the least share of each of two arms between which further arms are advised, and
	// mostOfTwo the least share of both.
	leastOfTwo, mostOfTwo = 0.2, 0.8
)

// Headline summarises the report of an experiment with the definition d: what its serving mixture
// gains, whether each guardrail is shown to hold, is not yet known or is shown broken and since
// when, and what to do next. Of a private experiment, which has neither intervals nor verdicts, it
// says that; of one that is rolled back only what to do. It costs O(K log K) in the number of arms.
// Reports of a page of arms give the same headline, but for advice about arms that are not on the
// page.
//
// The days to wait are an estimate: confidence sequences shrink about like one over the root of the
// time, so an interval of half-width h around an estimate at distance e from its limit excludes the
// limit after (h/e)² times the time so far, if the estimate stays.
func Headline(d *definition.Definition, r *api.Report) *api.Headline {
	x := &headline{d: d, r: r}
	for i := range r.Lift.Quantities {
		q := &r.Lift.Quantities[i]
		switch {
		case q.Kind == api.LiftGuardrail:
			x.guards = append(x.guards, q)
		case x.goal == nil || len(d.Objective.Goals) == 1 && q.Kind == api.LiftGoal:
			x.goal = q // the only goal, or the objective, which comes first
		}
	}
	next, text, days := x.next()
	var sentences []string
	switch {
	case r.State == policy.RolledBack: // all units get the control arm: nothing differs from it
	case r.Privacy != nil:
		sentences = []string{x.unpublished()}
	default:
		sentences = []string{x.gain()}
		if text := x.guardrails(); text != "" {
			sentences = append(sentences, text)
		}
	}
	return &api.Headline{Text: strings.Join(append(sentences, text), "; ") + ".", Next: next, Days: days}
}

// headline is a report on the way to its headline.
type headline struct {
	d      *definition.Definition
	r      *api.Report
	goal   *api.LiftQuantity   // what is to be gained, nil if nothing is compared
	guards []*api.LiftQuantity // in the order of the definition's guardrails
}

// what names the quantity that is to be gained.
func (x *headline) what() string {
	if x.goal.Metric != "" {
		return x.goal.Metric
	}
	return "the objective"
}

// unpublished says what a private experiment never has: intervals, and verdicts on guardrails.
func (x *headline) unpublished() string {
	text := "the experiment is private, so no interval is published"
	if len(x.r.Guardrails) > 0 {
		text += " and no guardrail is judged"
	}
	return text
}

// gain says what the serving mixture gains.
func (x *headline) gain() string {
	if x.goal == nil {
		if text := x.uniform(); text != "" {
			return text
		}
		if x.r.Lift.Reason != "" {
			return "no gain is estimated, because " + x.r.Lift.Reason
		}
		return "no gain is estimated"
	}
	c := &x.goal.Served
	if c.Verdict == api.TooFew || c.Estimate == nil || c.Low == nil || c.High == nil {
		return "there is not enough data to say what is gained in " + x.what()
	}
	change, between := figure(math.Abs(*c.Estimate)), figure(*c.Low)+" to "+figure(*c.High)
	if q := &c.Relative; q.Estimate != nil && q.Low != nil && q.High != nil {
		change, between = percent(math.Abs(*q.Estimate)), signed(*q.Low)+" to "+signed(*q.High)
	}
	if c.Verdict == api.NoDifference && *c.Low == 0 && *c.High == 0 {
		return "all units get the control arm, " + x.r.Lift.Control
	}
	if c.Verdict == api.NoDifference {
		yet := " yet"
		if x.r.State == policy.Concluded {
			yet = ""
		}
		return fmt.Sprintf("what is served shows no difference from %s in %s%s (%s)", x.r.Lift.Control, x.what(), yet,
			between)
	}
	verb := "raises"
	if *c.Estimate < 0 {
		verb = "lowers"
	}
	text := fmt.Sprintf("what is served %s %s by %s against %s (%s)", verb, x.what(), change, x.r.Lift.Control, between)
	if c.Verdict == api.Worse {
		text += ", which is a loss"
	}
	return text
}

// uniform compares what is served with the uniform policy, "" if that is unknown.
func (x *headline) uniform() string {
	u := x.r.Uniform
	if u == nil || len(u.Goals) == 0 || u.Covered == 0 {
		return ""
	}
	g := &u.Goals[0]
	c := &g.Gain
	if c.Estimate == nil || c.Low == nil || c.High == nil {
		return ""
	}
	return fmt.Sprintf("what is served changes %s by %s per unit against the uniform policy (%s to %s)", g.Metric,
		figure(*c.Estimate), figure(*c.Low), figure(*c.High))
}

// guardrails says how each guardrail stands, those that are broken first; "" without any.
func (x *headline) guardrails() string {
	if len(x.r.Guardrails) == 0 {
		return ""
	}
	var parts []string
	for _, v := range []api.Verdict{api.ShownBroken, api.NotYetKnown, api.ShownToHold} {
		var names []string
		for i := range x.r.Guardrails {
			g := &x.r.Guardrails[i]
			if g.State.Verdict() != v {
				continue
			}
			name := g.Metric
			if v != api.NotYetKnown {
				name += " (since " + g.Since.UTC().Format(time.DateOnly) + ")"
			}
			names = append(names, name)
		}
		if len(names) > 0 {
			parts = append(parts, string(v)+": "+strings.Join(names, ", "))
		}
	}
	return "guardrails " + strings.Join(parts, "; ")
}

// next says what to do.
func (x *headline) next() (next, text string, days *float64) {
	r := x.r
	switch {
	case r.State == policy.Concluded:
		return api.NextNothing, "it is concluded, and nothing is left to do", nil
	case r.State == policy.RolledBack:
		return api.NextResume, "it is rolled back and all units get the control arm: resume it when the cause is " +
			"mended, or delete it", nil
	case r.State == policy.Paused:
		return api.NextResume, "it is paused: resume it to learn more", nil
	case r.Health.SampleRatio.Mismatch:
		return api.NextLook, "the units are not exposed as they were decided: find out why before you believe any of " +
			"this", nil
	}
	if p := r.Privacy; p != nil {
		switch {
		case p.Released == 0 && p.Ended == "":
			return api.NextWait, "wait for the first release of sums", nil
		case p.Released < p.Rounds && p.Ended == "":
			return api.NextWait, "look at the released sums, and conclude when they say enough", nil
		}
		return api.NextConclude, "nothing more is released: look at the released sums, and conclude", nil
	}
	for i := range r.Guardrails {
		if g := &r.Guardrails[i]; g.State == api.GuardBreached && g.Action == "alert" {
			return api.NextLook, "roll back, or retire the arms that break " + g.Metric, nil
		}
	}
	if x.goal == nil {
		return api.NextWait, "wait for feedback, and read the means of the arms", nil
	}
	need, late := x.open()
	switch {
	case late == "" && x.goal.Deployed != nil && x.goal.Deployed.Verdict == api.Worse:
		return api.NextLook, "the policy would deploy a loss: look for what has changed", nil
	case late == "":
		if a, b := x.between(); a != "" {
			return api.NextAddArms, fmt.Sprintf("conclude, or add arms between %s and %s", a, b), nil
		}
		return api.NextConclude, "conclude", nil
	case math.IsInf(need, 1):
		return api.NextWait, "wait for " + late, nil
	}
	need = math.Ceil(need)
	switch {
	case need == 1:
		return api.NextWait, "wait about a day for " + late, &need
	case need <= longest:
		return api.NextWait, fmt.Sprintf("wait some %s days for %s", whole(need), late), &need
	}
	advice := "drop it, or give it a wider limit"
	if late == x.what() {
		advice = "conclude, or try arms that differ more"
	}
	return api.NextDropMetric, fmt.Sprintf("%s would stay open for some %s days: %s", late, whole(need), advice), &need
}

// open returns for how many days, by an estimate, not all is known that a conclusion needs, and the
// quantity that takes so long: "" if all is known, +Inf days if there is no estimate.
func (x *headline) open() (days float64, late string) {
	so := x.r.Time.Sub(x.r.Created).Hours() / 24
	wait := func(name string, distance, half float64) {
		need := math.Inf(1)
		if distance > 0 && half > distance && so > 0 {
			ratio := half / distance
			need = float64(so * (float64(ratio*ratio) - 1))
		}
		if late == "" || need > days {
			days, late = need, name
		}
	}
	c := x.goal.Deployed
	if c == nil {
		return math.Inf(1), x.what()
	}
	if c.Verdict == api.TooFew || c.Verdict == api.NoDifference {
		distance, half := math.NaN(), math.NaN()
		if c.Estimate != nil && c.Low != nil && c.High != nil {
			if distance, half = *c.Estimate, *c.Estimate-*c.Low; x.goal.Direction == "down" {
				distance, half = -*c.Estimate, *c.High-*c.Estimate
			}
		}
		wait(x.what(), distance, half)
	}
	for i, q := range x.guards {
		if i >= len(x.d.Guardrails) || !x.d.Guardrails[i].Hard || q.Deployed == nil ||
			q.Deployed.Verdict == api.ShownToHold {
			continue
		}
		g, distance, half := &x.r.Guardrails[i], math.NaN(), math.NaN()
		of := &g.Interval // of what is served, which is near what would be deployed
		if strings.HasSuffix(g.Kind, "_change") {
			of = &q.Deployed.Relative
		}
		if of.Estimate != nil && of.Low != nil && of.High != nil {
			if distance, half = *of.Estimate-g.Limit, *of.Estimate-*of.Low; strings.HasPrefix(g.Kind, "max") {
				distance, half = g.Limit-*of.Estimate, *of.High-*of.Estimate
			}
		}
		name := q.Metric
		if g.State.Verdict() == api.ShownToHold {
			name += ", which is open in what would be deployed"
		}
		wait(name, distance, half)
	}
	return days, late
}

// between returns the two arms with neighbouring numbers as values that nearly all of the deployed
// mixture consists of, "" if there are none: the best single value may lie between them.
func (x *headline) between() (a, b string) {
	type arm struct {
		name         string
		value, share float64
	}
	var arms []arm
	for _, name := range slices.Sorted(maps.Keys(x.r.Arms)) {
		r := x.r.Arms[name]
		if !r.Active {
			continue
		}
		v := math.NaN()
		if json.Unmarshal(r.Value, &v) != nil || math.IsNaN(v) {
			return "", ""
		}
		arms = append(arms, arm{name, v, x.r.Deployed[name]})
	}
	slices.SortFunc(arms, func(a, b arm) int { return cmp.Compare(a.value, b.value) })
	for i := 1; i < len(arms); i++ {
		if p, q := arms[i-1], arms[i]; min(p.share, q.share) >= leastOfTwo && p.share+q.share >= mostOfTwo {
			return p.name, q.name
		}
	}
	return "", ""
}

// figure writes a number with three significant digits.
func figure(v float64) string {
	return strings.Replace(strconv.FormatFloat(v, 'g', 3, 64), "-", "−", 1)
}

// whole writes a number of days.
func whole(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// percent writes a share in per cent.
func percent(v float64) string {
	digits := 1
	if math.Abs(v) < 0.01 {
		digits = 2
	}
	return strconv.FormatFloat(100*v, 'f', digits, 64) + " %"
}

// signed writes a change in per cent with its sign.
func signed(v float64) string {
	if v < 0 {
		return "−" + percent(-v)
	}
	return "+" + percent(v)
}
