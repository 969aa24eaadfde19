package dashboard

import (
	"bytes"
	"image/color"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/picture"
	"github.com/noregret/noregret/internal/picture/svgcheck"
	"github.com/noregret/noregret/policy"
)

// liftHistory returns a report of versions whose intervals narrow.
func liftHistory(n int) *api.Report {
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r := &api.Report{Version: uint64(n), Time: begin.Add(time.Duration(n) * 6 * time.Hour)}
	r.Lift.Control = "old"
	of := func(mean, half float64) api.Interval {
		low, high := mean-half, mean+half
		return api.Interval{Estimate: &mean, Low: &low, High: &high}
	}
	for i := range n {
		h := api.HistoryPoint{Version: uint64(i + 1), Time: begin.Add(time.Duration(i) * 6 * time.Hour)}
		if i > 0 {
			half := 0.2 / float64(i)
			h.Lift = &api.LiftPoint{Served: of(0.03-0.03/float64(i), half)}
			if i > 2 {
				h.Lift.Deployed = of(0.06-0.05/float64(i), 1.5*half)
			}
		}
		r.History = append(r.History, h)
	}
	return r
}

// TestLiftPicture checks that both mixtures have a line and a band, by time and by version.
func TestLiftPicture(t *testing.T) {
	t.Parallel()
	r := liftHistory(40)
	c := liftChart(r)
	c.History = r.History
	if got := liftChart(liftHistory(1)); len(got.Lines) != 1 || got.Lines[0].Level == nil {
		t.Errorf("without an interval: %+v", got.Lines)
	}
	for _, f := range []frame{{Theme: picture.Light}, {Theme: picture.Dark, versions: true, narrow: true}} {
		p, err := f.draw(c, r)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		width, height := f.size()
		if err := picture.Write(&b, "svg", p, width, height); err != nil {
			t.Fatal(err)
		}
		for _, fault := range svgcheck.Faults(b.Bytes()) {
			if strings.Contains(fault, "lies on") || strings.Contains(fault, "covers") ||
				strings.Contains(fault, "not in the picture") {
				t.Error(fault)
			}
		}
		for _, want := range []string{
			"served, 95 %", "would be deployed, 95 %", "as the control arm", "Lift against old",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the picture lacks %q", want)
			}
		}
		if n := strings.Count(b.String(), "fill-opacity"); n < 2 {
			t.Errorf("%d translucent areas, want a band for each mixture", n)
		}
	}
}

// TestTimeTicks checks that tick marks are at round times, are few and have short labels.
func TestTimeTicks(t *testing.T) {
	t.Parallel()
	begin := float64(time.Date(2026, 3, 1, 10, 7, 0, 0, time.UTC).Unix())
	for _, c := range []struct {
		span        time.Duration
		first, last string
	}{
		{10 * time.Second, "10:07:00", "10:07:10"},
		{20 * time.Minute, "10:10", "10:25"},
		{5 * time.Hour, "11:00", "15:00"},
		{36 * time.Hour, "Mar 1 12:00", "Mar 2 12:00"},
		{30 * 24 * time.Hour, "Mar 5", "Mar 26"},
		{3 * 365 * 24 * time.Hour, "2026", "2028"},
	} {
		ticks := timeTicks(begin, begin+c.span.Seconds(), 5)
		if len(ticks) < 2 || len(ticks) > 6 || ticks[0].Label != c.first || ticks[len(ticks)-1].Label != c.last {
			t.Errorf("%v: %+v, want from %s to %s", c.span, ticks, c.first, c.last)
		}
	}
}

// TestLiftTable checks that a single goal is shown as the objective, that arms keep their order and
// that rows without a comparison are left out.
func TestLiftTable(t *testing.T) {
	t.Parallel()
	one := 0.1
	c := api.Comparison{Interval: api.Interval{Estimate: &one}, Verdict: api.TooFew}
	c.Relative.Estimate = &one
	q := api.LiftQuantity{Kind: api.LiftObjective, Arms: map[string]api.Comparison{"a": c, "b": c}, SoFar: c}
	goal, guard := q, q
	goal.Kind, goal.Metric = api.LiftGoal, "sales"
	guard.Kind, guard.Metric, guard.Guardrail, guard.Limit = api.LiftGuardrail, "time", "max_change", &one
	r := &api.Report{Lift: api.Lift{Quantities: []api.LiftQuantity{q, goal, guard}}}
	table := tableOfLifts(r, []armRow{{Name: "b"}, {Name: "old"}, {Name: "a"}})
	if got := strings.Join(table.Columns, "|"); got != "goal sales|guardrail time: change at most 0.1000" {
		t.Errorf("columns %s", got)
	}
	var names []string
	for _, row := range table.Rows {
		names = append(names, row.Name)
	}
	if got := strings.Join(names, "|"); got != "served now|served so far|b|a" {
		t.Errorf("rows %s", got)
	}
	r.Lift.Quantities[0].SoFar.Relative.Estimate = nil // several goals
	if got := tableOfLifts(r, nil).Columns[0]; got != "objective" {
		t.Errorf("the first column is %s", got)
	}
	if got := tableOfLifts(&api.Report{}, nil); len(got.Rows) != 0 {
		t.Errorf("%d rows for an empty report", len(got.Rows))
	}
}

// render executes a template.
func render(t *testing.T, b *bytes.Buffer, name string, data any) {
	t.Helper()
	all, err := pageTemplates()
	if err != nil {
		t.Fatal(err)
	}
	if err := all[""].ExecuteTemplate(b, name, data); err != nil {
		t.Fatal(err)
	}
}

// TestLiftCells renders the cells of the table of lifts: nothing is green without an interval, and
// an interval that says next to nothing is not printed.
func TestLiftCells(t *testing.T) {
	t.Parallel()
	part := func(estimate, low, high float64) api.Interval {
		return api.Interval{Estimate: &estimate, Low: &low, High: &high}
	}
	one := 0.3
	wide := api.Comparison{Interval: part(0.1, -0.2, 5), Relative: part(0.8, -1, 63.35)}
	wide.Verdict = api.TooFew
	guarded, alone := wide, api.Comparison{Verdict: api.GuardOk.Verdict()}
	guarded.Verdict = api.GuardWatch.Verdict()
	alone.Estimate, alone.Relative.Estimate = &one, &one
	clear := api.Comparison{Interval: part(0.1, 0.05, 0.2), Relative: part(0.2, 0.1, 0.4)}
	clear.Verdict = api.GuardHeld.Verdict()
	for _, c := range []struct {
		comparison api.Comparison
		want       string
	}{
		{wide, `<span class="state unknown">not enough data</span>`},
		{guarded, `<span class="state unknown">not yet known</span>`},
		{alone, `<span class="state unknown">not yet known</span>`},
		{clear, `<span class="state ok">shown to hold</span> <strong>&#43;20.0 %</strong> ` +
			`<span class="pair">[&#43;10.0 %, &#43;40.0 %]</span><small>0.1000 [0.05000, 0.2000]</small>`},
	} {
		row := liftRow{Name: "a", Active: true, Cells: []liftCell{{"goal x", &c.comparison}}}
		v := &view{Report: &api.Report{}, Lifts: liftTable{Columns: []string{"goal x"}, Rows: []liftRow{row}}}
		var b bytes.Buffer
		render(t, &b, "part-lift", v)
		_, cell, _ := strings.Cut(b.String(), `data-label="goal x">`)
		if cell, _, _ = strings.Cut(cell, "</td>"); cell != c.want {
			t.Errorf("%+v:\n%s, want\n%s", c.comparison, cell, c.want)
		}
	}
}

// TestGuardWords: one word for one state, and green only what is shown to hold.
func TestGuardWords(t *testing.T) {
	t.Parallel()
	for state, want := range map[api.GuardState]string{
		api.GuardHeld: "ok: shown to hold", api.GuardOk: "unknown: not yet known",
		api.GuardUnknown: "unknown: not yet known", api.GuardWatch: "watch: not yet known",
		api.GuardBreached: "breached: shown broken", api.GuardRolledBack: "breached: shown broken, rolled back",
	} {
		var b bytes.Buffer
		render(t, &b, "guard", state)
		class, word, _ := strings.Cut(want, ": ")
		if got := b.String(); got != `<span class="state `+class+`">`+word+`</span>` {
			t.Errorf("%s: %s, want %s", state, got, want)
		}
	}
}

// TestArmsKeepTheirColours: an arm has the colour of its place, whatever its share, in the pictures
// and in an explanation, and the 24 colours of the pictures differ.
func TestArmsKeepTheirColours(t *testing.T) {
	t.Parallel()
	r := &api.Report{Arms: map[string]api.ArmReport{}, Mixture: map[string]float64{}}
	e := &api.Explanation{}
	for i, name := range []string{"c", "a", "b"} {
		r.Arms[name] = api.ArmReport{Place: i}
		r.Mixture[name] = float64(i) / 3
		e.Distribution = append(e.Distribution, policy.Share{Arm: name, P: r.Mixture[name]})
	}
	r.History = []api.HistoryPoint{{Mixture: r.Mixture}}
	for _, line := range mixtureChart(r, 7).Lines {
		if line.Colour != r.Arms[line.Name].Place {
			t.Errorf("the picture draws %s in the colour %d, want %d", line.Name, line.Colour, r.Arms[line.Name].Place)
		}
	}
	var v explained
	v.show(e, r)
	for _, b := range v.Bars {
		if b.Colour != r.Arms[b.Arm].Place {
			t.Errorf("the explanation draws %s in the colour %d, want %d", b.Arm, b.Colour, r.Arms[b.Arm].Place)
		}
	}
	for _, theme := range []picture.Theme{picture.Light, picture.Dark} {
		f, seen := frame{Theme: theme}, map[color.Color]int{}
		for i := range hues * shades {
			if j, ok := seen[f.colour(i)]; ok {
				t.Errorf("the colours %d and %d are the same", j, i)
			}
			seen[f.colour(i)] = i
		}
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0.1234: "+12.3 %", -0.004: "−0.40 %", 2.5: "+250 %"} {
		if got := signed(&v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}

// TestPrivateParts: what a private experiment does not have is not said to be unknown yet, and its
// means have no intervals.
func TestPrivateParts(t *testing.T) {
	t.Parallel()
	one := 0.5
	for _, c := range []struct {
		privacy     *api.PrivacyReport
		wants, bans []string
	}{
		{
			nil,
			[]string{"means with 95 % confidence sequences", "not enough data", "Nothing is known yet: in no version"},
			[]string{"is private"},
		},
		{
			&api.PrivacyReport{Epsilon: 1, Spent: 1 - 1e-9, UnitContribution: 1},
			[]string{
				"means of what was released, with its noise", "None: the experiment is private",
				"epsilon 1.000 spent of 1.000", "one decision of a unit counts.",
			},
			[]string{"confidence sequences", "not enough data", "Nothing is known yet"},
		},
	} {
		v := &view{
			Report: &api.Report{
				Privacy: c.privacy, Uniform: &api.UniformReport{}, Regret: &api.Regret{},
			},
			Definition: &definition.Definition{Metrics: []definition.Metric{{Name: "m"}}},
			ArmRows:    []armRow{{Name: "a", Metrics: []api.MetricReport{{Mean: &one}}}},
		}
		v.Regret.BestSingle.Arm = "a"
		var b bytes.Buffer
		for _, part := range []string{"part-guardrails", "part-arms", "part-regret"} {
			render(t, &b, part, v)
		}
		for _, want := range c.wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("private %v: no %q in %s", c.privacy != nil, want, b.String())
			}
		}
		for _, ban := range c.bans {
			if strings.Contains(b.String(), ban) {
				t.Errorf("private %v: %q in %s", c.privacy != nil, ban, b.String())
			}
		}
	}
}
