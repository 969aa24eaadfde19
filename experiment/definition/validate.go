package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/legible"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

// Validate returns an error for a definition that breaks a rule, with the field's path as its
// place.
func (d *Definition) Validate() error {
	for _, check := range []func() error{
		d.checkHead, d.checkArms, d.checkControl, d.checkMetrics, d.checkObjective, d.checkTimes, d.checkWindows,
		d.checkGuardrails, d.checkPolicy, d.checkLearning, d.checkMaxShare, d.checkRamp, d.checkPlan,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if err := checkPrivacy(d); err != nil || d.Objective == nil {
		return err
	}
	for _, goals := range []func() (*pasto.Goals, error){d.Goals, d.PricedGoals} {
		if _, err := goals(); err != nil {
			return err
		}
	}
	return nil
}

func (d *Definition) checkHead() error {
	switch {
	case !ValidName(d.Name):
		return noregret.BadInputf("name", "%q: want 1 to 63 of a-z, 0-9 and . _ -, beginning with a letter or digit",
			d.Name)
	case d.Project != "" && !ValidName(d.Project):
		return noregret.BadInputf("project", "%q: want 1 to 63 of a-z, 0-9 and . _ -, beginning with a letter or digit",
			d.Project)
	case characters(d.Unit) > 63:
		return noregret.BadInputf("unit", "%d characters: want at most 63", characters(d.Unit))
	case characters(d.Salt) > 255:
		return noregret.BadInputf("salt", "%d characters: want at most 255", characters(d.Salt))
	case characters(d.Description) > 4096:
		return noregret.BadInputf("description", "%d characters: want at most 4096", characters(d.Description))
	case !(d.ExplorationFloor >= 0 && d.ExplorationFloor <= 1):
		return noregret.BadInputf("exploration_floor", "%v: want a share in [0, 1]", d.ExplorationFloor)
	case !(d.HoldBack >= 0 && d.HoldBack < 1):
		return noregret.BadInputf("hold_back", "%v: want a share in [0, 1)", d.HoldBack)
	case d.HoldBack > 0 && d.Control == nil:
		return noregret.BadInputf("hold_back", "no control arm for the units held back: want a control, or "+
			"hold_back 0")
	case !(d.Traffic > 0 && d.Traffic <= 1):
		return noregret.BadInputf("traffic", "%v: want a share in (0, 1]", d.Traffic)
	case d.Traffic < 1 && d.Control == nil:
		return noregret.BadInputf("traffic", "no control arm for the units that do not take part: want a control, or "+
			"traffic 1")
	case d.OpenTokens < 1 || d.OpenTokens > maxOpenTokens:
		return noregret.BadInputf("open_tokens", "%d: want 1 to 100000000", d.OpenTokens)
	}
	if err := oneOf("stickiness", d.Stickiness, "round", "unit"); err != nil {
		return err
	}
	return oneOf("exposure", d.Exposure, "reported", "immediate")
}

// maxOpenTokens is the largest OpenTokens, and the default.
const maxOpenTokens = 100_000_000

func oneOf(place, v string, allowed ...string) error {
	if slices.Contains(allowed, v) {
		return nil
	}
	return noregret.BadInputf(place, "%q: %swant %s", v, named.DidYouMean(v, allowed), strings.Join(allowed, " or "))
}

// CheckArmName returns an error if name is not a valid name of an arm.
func CheckArmName(place, name string) error {
	if name == "" || characters(name) > maxArmName || strings.ContainsFunc(name, legible.Unclear) {
		return noregret.BadInputf(place, "%.400q: want 1 to %d characters without control characters", name, maxArmName)
	}
	return nil
}

// checkTexts returns an error for a text that people could misread ([legible.Check]), or for two
// arms whose names differ by Unicode normalisation only: people see no difference between "é" as
// one character and as "e" with an accent.
func checkTexts(d *Definition) error {
	for _, text := range []struct{ place, text string }{
		{"unit", d.Unit}, {"salt", d.Salt}, {"description", d.Description},
	} {
		if err := legible.Check(text.place, text.text); err != nil {
			return err
		}
	}
	for i := range d.Context {
		for k, v := range d.Context[i].Values {
			if err := legible.Check(fmt.Sprintf("context[%d].values[%d]", i, k), v); err != nil {
				return err
			}
		}
	}
	arms, err := d.NamedArms()
	if err != nil {
		return err
	}
	seen := make(map[string]string, len(arms))
	for i, arm := range arms {
		key := norm.NFC.String(arm.Name)
		if other, ok := seen[key]; ok && other != arm.Name {
			return noregret.BadInputf(armPlace(d, i), "%q looks the same as the arm %q: want names that differ not "+
				"only in the form of Unicode characters", arm.Name, other)
		}
		seen[key] = arm.Name
	}
	return nil
}

// armPlace is the place of an arm of [Definition.NamedArms].
func armPlace(d *Definition, i int) string {
	if d.Control != nil && d.Control.Value != nil {
		if i == 0 {
			return "control.arm"
		}
		i--
	}
	if d.Arms.Grid != nil {
		return "arms.grid"
	}
	return fmt.Sprintf("arms[%d].name", i)
}

// checkValue returns an error for null, which no type of flag has and which is often a forgotten
// value. No value at all is written as null, too: a snapshot may have none where a document may
// not.
func checkValue(place string, v json.RawMessage) error {
	if v == nil || string(v) == "null" {
		return noregret.BadInputf(place, "null: want a value")
	}
	return nil
}

// maxArmName is the greatest number of characters of an arm's name.
const maxArmName = 200

func characters(s string) int { return utf8.RuneCountInString(s) }

func (d *Definition) checkArms() error {
	a := &d.Arms
	if (a.Grid != nil) && (a.Box != nil) {
		return noregret.BadInputf("arms", "a grid and a box: want one of them")
	}
	if a.Box != nil {
		return d.checkBox()
	}
	if a.Nodes != nil || a.Every != nil {
		return noregret.BadInputf("arms", "only a box has nodes and every")
	}
	if a.Grid != nil {
		return d.checkGrid()
	}
	if len(a.List) == 0 || len(a.List) > MaxArms {
		return noregret.BadInputf("arms", "%d arms: want 1 to %d", len(a.List), MaxArms)
	}
	seen := map[string]int{}
	for i, arm := range a.List {
		if err := CheckArmName(fmt.Sprintf("arms[%d].name", i), arm.Name); err != nil {
			return err
		}
		if err := checkValue(fmt.Sprintf("arms[%d].value", i), arm.Value); err != nil {
			return err
		}
		if j, ok := seen[arm.Name]; ok {
			return noregret.BadInputf(fmt.Sprintf("arms[%d].name", i), "%q is also the name of arms[%d]", arm.Name, j)
		}
		seen[arm.Name] = i
	}
	return nil
}

// checkGrid checks only the parameters, so that a grid that is too large is never built.
func (d *Definition) checkGrid() error {
	if len(d.Arms.Grid) == 0 {
		return noregret.BadInputf("arms.grid", "no parameters: at least one is required")
	}
	points, longest := 1, -1
	for _, name := range slices.Sorted(maps.Keys(d.Arms.Grid)) {
		values, place := d.Arms.Grid[name], "arms.grid."+name
		if !metricForm.MatchString(name) {
			return noregret.BadInputf("arms.grid", "%.400q: want a parameter's name of letters, digits and _ . -", name)
		}
		if len(values) == 0 {
			return noregret.BadInputf(place, "no values: at least one is required")
		}
		if len(values) > MaxArms || points*len(values) > MaxArms {
			return noregret.BadInputf("arms.grid", "more than %d points", MaxArms)
		}
		points *= len(values)
		most, named, equal := 0, map[string]int{}, map[string]int{}
		for i, v := range values {
			at, text := fmt.Sprintf("%s[%d]", place, i), valueText(v)
			if err := checkValue(at, v); err != nil {
				return err
			}
			if err := CheckArmName(at, name+"="+text); err != nil {
				return err
			}
			if j, ok := equal[valueKey(v)]; ok {
				return noregret.BadInputf(at, "%s repeats the value at [%d]", v, j)
			}
			if j, ok := named[text]; ok {
				return noregret.BadInputf(at, "%s would have the name of the value at [%d], %s=%s: want values that "+
					"read differently",
					v, j, name, text)
			}
			named[text], equal[valueKey(v)] = i, i
			most = max(most, characters(text))
		}
		longest += len(name) + 2 + most
	}
	if longest > maxArmName {
		return noregret.BadInputf("arms.grid", "a point's name would have %d characters: want at most %d, by shorter "+
			"values or a "+
			"list of arms with names", longest, maxArmName)
	}
	// Values with commas and equals signs could still give two points one name.
	arms, err := d.Expand()
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(arms))
	for _, a := range arms {
		if seen[a.Name] {
			return noregret.BadInputf("arms.grid",
				"two points would have the name %q: want values without \",\" and \"=\", or a "+
					"list of arms with names", a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

func (d *Definition) checkBox() error {
	a := &d.Arms
	if len(a.Box) < 1 || len(a.Box) > 16 {
		return noregret.BadInputf("arms.box", "%d parameters: want 1 to 16", len(a.Box))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Box)) {
		s := a.Box[name]
		if !metricForm.MatchString(name) {
			return noregret.BadInputf("arms.box", "%q: want a parameter's name of letters, digits and _ . -", name)
		}
		if !within(s.Low) || !within(s.High) || s.Low >= s.High {
			return noregret.BadInputf("arms.box."+name, "from %v to %v: want low < high, both of size at most %v",
				s.Low, s.High,
				largest)
		}
	}
	if n := a.Nodes; n != nil && (*n < 1 || *n > 200) {
		return noregret.BadInputf("arms.nodes", "%d: want 1 to 200", *n)
	}
	if n := a.Every; n != nil && (*n < 1 || *n > 1_000_000) {
		return noregret.BadInputf("arms.every", "%d rounds: want 1 to 1000000", *n)
	}
	if d.Policy.Kind != "pasto" {
		return noregret.BadInputf("arms.box", "the policy %q cannot choose points of a box: want pasto", d.Policy.Kind)
	}
	return nil
}

func (d *Definition) checkControl() error {
	c := d.Control
	if c == nil {
		return nil
	}
	if err := CheckArmName("control.arm", c.Arm); err != nil {
		return err
	}
	if c.Value != nil {
		if err := checkValue("control.value", c.Value); err != nil {
			return err
		}
	}
	arms, err := d.Expand()
	if err != nil {
		return err
	}
	if d.Arms.Box != nil && pointForm.MatchString(c.Arm) {
		return noregret.BadInputf("control.arm",
			"%q: reserved for the points of the box, want another name", c.Arm)
	}
	listed := slices.ContainsFunc(arms, func(a policy.Arm) bool { return a.Name == c.Arm })
	switch {
	case listed && c.Value != nil:
		return noregret.BadInputf("control.value", "%q is among the arms and has its value there", c.Arm)
	case !listed && c.Value == nil:
		return noregret.BadInputf("control.arm", "%q is not among the arms: want one of them, or a value", c.Arm)
	case !(c.Share >= 0 && c.Share < 1):
		return noregret.BadInputf("control.share", "%v: want a share in [0, 1)", c.Share)
	case d.Policy.Kind == "fixed" && c.Share != 0:
		return noregret.BadInputf("control.share", "with a fixed policy, policy.split has the control's share")
	case d.Policy.Kind == "pasto" && c.Share == 0:
		return noregret.BadInputf("control.share",
			"0: want a share above 0, as the other arms are compared with the control")
	case d.Policy.Kind == "pasto" && listed && len(arms) < 2:
		return noregret.BadInputf("arms", "the control is the only arm: want another one to learn about")
	}
	return nil
}

func (d *Definition) checkMetrics() error {
	if len(d.Metrics) == 0 || len(d.Metrics) > MaxMetrics {
		return noregret.BadInputf("metrics", "%d metrics: want 1 to %d", len(d.Metrics), MaxMetrics)
	}
	seen := map[string]int{}
	for i := range d.Metrics {
		m, place := &d.Metrics[i], fmt.Sprintf("metrics[%d]", i)
		if !metricForm.MatchString(m.Name) {
			return noregret.BadInputf(place+".name",
				"%q: want 1 to 64 letters, digits and _ . -, beginning with a letter or _",
				m.Name)
		}
		if j, ok := seen[m.Name]; ok {
			return noregret.BadInputf(place+".name", "%q is also the name of metrics[%d]", m.Name, j)
		}
		seen[m.Name] = i
		if err := oneOf(place+".kind", m.Kind, "mean", "count", "ratio"); err != nil {
			return err
		}
		if err := oneOf(place+".direction", m.Direction, "up", "down"); err != nil {
			return err
		}
		if err := d.checkMetric(m, place); err != nil {
			return err
		}
	}
	return nil
}

func (d *Definition) checkMetric(m *Metric, place string) error {
	if m.Kind == "ratio" {
		if m.Range != nil || m.Default != nil || m.Cap != nil {
			return noregret.BadInputf(place, "the ratio %q has neither range nor default nor cap: give them to its "+
				"parts",
				m.Name)
		}
		for _, part := range []struct{ field, name string }{
			{"numerator", m.Numerator},
			{"denominator", m.Denominator},
		} {
			if o := d.Metric(part.name); o == nil || o.Kind == "ratio" {
				return noregret.BadInputf(place+"."+part.field, "%q: want the name of a mean or a count", part.name)
			}
		}
		if m.Numerator == m.Denominator {
			return noregret.BadInputf(place+".denominator", "%q is also the numerator", m.Denominator)
		}
		return d.checkPartCaps(m, place)
	}
	if m.Numerator != "" || m.Denominator != "" {
		return noregret.BadInputf(place, "%q is not a ratio: only a ratio has a numerator and a denominator", m.Name)
	}
	low, _ := m.Interval()
	if m.Range != nil && (len(m.Range) != 2 || !within(m.Range[0]) || !within(m.Range[1]) || m.Range[0] >= m.Range[1]) {
		return noregret.BadInputf(place+".range", "%v: want two numbers of size at most %v, the lower first", m.Range,
			largest)
	}
	if m.Kind == "count" && low < 0 {
		return noregret.BadInputf(place+".range", "%v: a count is at least 0", m.Range)
	}
	if c := (*float64)(m.Cap); c != nil && !(*c > 0 && *c > low && *c <= largest) {
		return noregret.BadInputf(place+".cap", "%v: want a number above 0 and above the range's lower end, at most %v",
			*c, largest)
	}
	if c := (*float64)(m.Cap); c != nil && m.Kind == "count" && *c != math.Trunc(*c) {
		return noregret.BadInputf(place+".cap", "%v: a count is a whole number", *c)
	}
	least, most := m.Counted()
	if m.Default != nil && !(*m.Default >= least && *m.Default <= most) {
		return noregret.BadInputf(place+".default", "%v: want a number in the range [%v, %v]", *m.Default, least, most)
	}
	if m.Default != nil && m.Kind == "count" && *m.Default != math.Trunc(*m.Default) {
		return noregret.BadInputf(place+".default", "%v: a count is a whole number", *m.Default)
	}
	return nil
}

// checkPartCaps refuses a ratio of which one part only has a cap. Such a cap takes from a large
// unit a piece of one part and nothing of the other, so that the ratio of the sums is of no unit's
// values.
func (d *Definition) checkPartCaps(m *Metric, place string) error {
	capped, other := d.Metric(m.Numerator), d.Metric(m.Denominator)
	if capped.Cap == nil {
		capped, other = other, capped
	}
	if capped.Cap == nil || other.Cap != nil {
		return nil
	}
	return noregret.BadInputf(place, "the ratio %q has a part with a cap, %q, and one without, %q, so that a large "+
		"unit would lose a piece of one part only: give both a cap or neither, or report the capped value as a "+
		"metric of its own", m.Name, capped.Name, other.Name)
}

func (d *Definition) checkObjective() error {
	if d.Objective == nil {
		if d.Policy.Kind == "pasto" {
			return noregret.BadInputf("objective", "none: the policy pasto needs one")
		}
		return nil
	}
	if len(d.Objective.Goals) == 0 {
		return noregret.BadInputf("objective.goals", "none: at least one is required")
	}
	for i, g := range d.Objective.Goals {
		place := fmt.Sprintf("objective.goals[%d]", i)
		m := d.Metric(g.Metric)
		switch {
		case m == nil:
			return noregret.BadInputf(place+".metric", "%q is not a metric: %swant one of %s", g.Metric,
				named.DidYouMean(g.Metric, metricList(d)), d.metricNames())
		case m.Kind == "ratio":
			return noregret.BadInputf(place+".metric",
				"%q is a ratio, which is not linear in the mixture: improve its numerator "+
					"and keep its denominator, or make it a guardrail", g.Metric)
		case !isWeight(g.Weight):
			return noregret.BadInputf(place+".weight", "%v: want a number in [%v, %v]", g.Weight, 1/largest, largest)
		case slices.ContainsFunc(d.Objective.Goals[:i], func(o Goal) bool { return o.Metric == g.Metric }):
			return noregret.BadInputf(place+".metric", "duplicate goal %q", g.Metric)
		}
	}
	if s := d.Objective.Soft; !(s >= 0 && s <= largest) {
		return noregret.BadInputf("objective.soft", "%v: want a number in [0, %v]", s, largest)
	}
	return nil
}

func (d *Definition) checkGuardrails() error {
	for i := range d.Guardrails {
		g, place := &d.Guardrails[i], fmt.Sprintf("guardrails[%d]", i)
		m := d.Metric(g.Metric)
		limit, _, relative, given := g.Limit()
		switch {
		case m == nil:
			return noregret.BadInputf(place+".metric", "%q is not a metric: %swant one of %s", g.Metric,
				named.DidYouMean(g.Metric, metricList(d)), d.metricNames())
		case given != 1:
			return noregret.BadInputf(place, "%d limits: want exactly one of min, max, min_change and max_change",
				given)
		case !within(limit):
			return noregret.BadInputf(place, "limit %v: want a number of size at most %v", limit, largest)
		case relative && limit <= -1:
			return noregret.BadInputf(place, "a change of %v: want one above -1", limit)
		case relative && d.Control == nil:
			return noregret.BadInputf(place, "a change is relative to the control arm: want a control")
		case !isWeight(g.Penalty):
			return noregret.BadInputf(place+".penalty", "%v: want a number in [%v, %v]", g.Penalty, 1/largest, largest)
		case !(g.Alpha > 0 && g.Alpha < 1):
			return noregret.BadInputf(place+".alpha", "%v: want a probability in (0, 1)", g.Alpha)
		case g.Action != "alert" && d.Control == nil:
			return noregret.BadInputf(place+".action", "%q needs a control arm: want a control", g.Action)
		case g.Hard && d.Objective != nil && d.Objective.Soft > 0:
			return noregret.BadInputf(place+".hard",
				"a hard guardrail needs objective.soft 0: want hard: false, or soft 0")
		}
		if err := d.checkHold(g, place+".hold"); err != nil {
			return err
		}
		if err := oneOf(place+".action", g.Action, "alert", "shrink", "rollback"); err != nil {
			return err
		}
	}
	return nil
}

// checkHold checks where a guardrail is to hold.
func (d *Definition) checkHold(g *Guardrail, place string) error {
	if g.Hold == "" {
		return nil
	}
	if err := oneOf(place, g.Hold, "served", "deployed"); err != nil {
		return err
	}
	switch {
	case !g.Hard:
		return noregret.BadInputf(place, "only a hard guardrail has it")
	case g.Hold == "served" && !d.LearnsControl():
		return noregret.BadInputf(place, "served: needs a control arm and a learned policy, and no box")
	case d.Policy.Kind == "fixed":
		return noregret.BadInputf(place, "a fixed policy serves its split")
	}
	for i := range d.Guardrails {
		if o := &d.Guardrails[i]; o.Hard && (o.Hold == "deployed") != (g.Hold == "deployed") {
			return noregret.BadInputf(place, "%s, unlike guardrails[%d]: want the same for all hard guardrails", g.Hold,
				i)
		}
	}
	return nil
}

func (d *Definition) checkPolicy() error {
	if err := oneOfMany("policy.kind", d.Policy.Kind, policyKinds); err != nil {
		return err
	}
	if err := checkContext(d); err != nil {
		return err
	}
	if d.Bandit() || d.Contextual() {
		return checkBandit(d)
	}
	if d.Policy.Kind == "pasto" {
		if d.Policy.Split != nil {
			return noregret.BadInputf("policy.split", "only the policy fixed has a split")
		}
		return nil
	}
	if d.ExplorationFloor != 0 {
		return noregret.BadInputf("exploration_floor", "%v: a fixed policy explores nothing", d.ExplorationFloor)
	}
	arms, err := d.Expand()
	if err != nil {
		return err
	}
	var sum float64
	for _, name := range slices.Sorted(maps.Keys(d.Policy.Split)) {
		p := d.Policy.Split[name]
		if !slices.ContainsFunc(arms, func(a policy.Arm) bool { return a.Name == name }) {
			return noregret.BadInputf("policy.split."+name, "%q is not an arm", name)
		}
		if !(p >= 0 && p <= 1) {
			return noregret.BadInputf("policy.split."+name, "%v: want a share in [0, 1]", p)
		}
		sum += p
	}
	if math.Abs(sum-1) > 1e-9 {
		return noregret.BadInputf("policy.split", "the shares sum to %v: want 1", sum)
	}
	return nil
}

func (d *Definition) checkTimes() error {
	switch {
	case d.Round.Length < policy.Duration(time.Millisecond) || d.Round.Length > mostWindow:
		return noregret.BadInputf("round.length", "%v: want 1ms to 8784h", d.Round.Length)
	case d.Round.MinUnits < 1 || d.Round.MinUnits > 1_000_000_000:
		return noregret.BadInputf("round.min_units", "%d: want 1 to 1000000000", d.Round.MinUnits)
	case d.AttributionWindow < policy.Duration(time.Millisecond) || d.AttributionWindow > mostWindow:
		return noregret.BadInputf("attribution_window", "%v: want 1ms to 8784h", d.AttributionWindow)
	}
	return checkDrift(d)
}
