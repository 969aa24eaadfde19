package dashboard

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/picture"
)

// guardHistory returns a report of versions whose guardrail on time has a value that rises to its
// limit, with intervals that narrow. The first version has recorded nothing.
func guardHistory(n int, kind string) *api.Report {
	begin := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	r := &api.Report{Version: uint64(n), Time: begin.Add(time.Duration(n) * time.Hour)}
	other := api.GuardrailPoint{Metric: "time", Kind: "min", Limit: 99}
	for i := range n {
		h := api.HistoryPoint{Version: uint64(i + 1), Time: begin.Add(time.Duration(i) * time.Hour)}
		if i > 0 {
			mean, half := 0.1*float64(i)/float64(n), 0.3/float64(i)
			low, high := mean-half, mean+half
			p := api.GuardrailPoint{Metric: "time", Kind: kind, Limit: 0.1}
			p.Interval = api.Interval{Estimate: &mean, Low: &low, High: &high}
			h.Guardrails = []api.GuardrailPoint{other, p}
			h.Metrics = map[string]*float64{"time": &mean}
		}
		r.History = append(r.History, h)
	}
	g := api.GuardrailReport{Metric: "time", Kind: kind, Limit: 0.1}
	if n > 1 {
		g.Interval = r.History[n-1].Guardrails[1].Interval
	}
	r.Guardrails = []api.GuardrailReport{g}
	return r
}

// TestGuardrailChart checks that a guardrail has the interval of each version as a band, on both
// axes and for both kinds of limits, and a limit that changed as it was in each version.
func TestGuardrailChart(t *testing.T) {
	t.Parallel()
	def := &definition.Definition{Control: &definition.Control{Arm: "old"}}
	for kind, want := range map[string][]string{
		"max":        {"mean of the version's units", "mixture, known then", "limit: at most 0.1000"},
		"max_change": {"mixture, known then", "limit: change at most 0.1000"},
	} {
		r := guardHistory(20, kind)
		c := guardrailChart(def, r, 0)
		c.History = r.History
		var names []string
		for _, l := range c.Lines {
			names = append(names, l.Name)
		}
		if strings.Join(names, "|") != strings.Join(want, "|") {
			t.Fatalf("%s: the lines are %q, want %q", kind, names, want)
		}
		limit, line := c.Lines[len(want)-1], c.Lines[len(want)-2]
		if limit.Level == nil || *limit.Level != 0.1 || line.Low[0] != nil || len(c.Now) != 1 {
			t.Errorf("%s: limit %+v, %d intervals now", kind, limit, len(c.Now))
		}
		for i, h := range r.History[1:] {
			p := h.Guardrails[1]
			if *line.Values[i+1] != *p.Estimate || *line.Low[i+1] != *p.Low || *line.High[i+1] != *p.High {
				t.Errorf("%s: version %d has %v in [%v, %v]", kind, h.Version, *line.Values[i+1], *line.Low[i+1],
					*line.High[i+1])
			}
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
			if n := strings.Count(b.String(), "fill-opacity"); n < 1 {
				t.Errorf("%s: the picture has no band", kind)
			}
		}
	}
	r := guardHistory(5, "max")
	r.History[2].Guardrails[1].Limit = 0.2
	if l := guardrailChart(def, r, 0).Lines[2]; l.Level != nil || l.Values[0] != nil || *l.Values[1] != 0.1 ||
		*l.Values[2] != 0.2 || *l.Values[4] != 0.1 {
		t.Errorf("a limit that changed is %+v", l)
	}
	r = guardHistory(5, "max")
	for i := range r.History {
		if i > 0 {
			r.History[i].Guardrails[1].Low = nil
		}
	}
	if l := guardrailChart(def, r, 0).Lines[1]; l.Low != nil || l.High != nil || l.Values[1] == nil {
		t.Errorf("an interval without a lower end: %+v", l)
	}
	for i := range r.History {
		if i > 0 {
			p := &r.History[i].Guardrails[1]
			low := *p.Estimate - 1
			p.Served = api.Interval{Estimate: p.Estimate, Low: &low, High: p.High}
		}
	}
	l := guardrailChart(def, r, 0).Lines
	if len(l) != 4 || l[2].Name != "all served so far, known then" || l[2].Low[0] != nil ||
		*l[2].Low[3] != *r.History[3].Guardrails[1].Estimate-1 || *l[2].High[3] != *r.History[3].Guardrails[1].High {
		t.Errorf("no mixture has an interval, and the lines are %+v", l)
	}
	if c := guardrailChart(def, guardHistory(1, "max"), 0); len(c.Lines) != 1 || len(c.Now) != 0 {
		t.Errorf("without a history: %+v", c)
	}
}
