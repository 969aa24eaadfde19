package arena

import (
	"fmt"
	"strings"

	"github.com/noregret/noregret/lab/internal/study"
)

// Report returns a table of each family and the tables of verdicts.
func (r *Result) Report() *study.Report {
	out := &study.Report{
		Head: fmt.Sprintf("%d runs of each family, seed %d; mean ± standard error over runs\n", r.Runs, r.Seed),
		Data: r,
	}
	for i := range r.Families {
		out.Tables = append(out.Tables, r.Families[i].table())
	}
	r.addVerdicts(out)
	if t := r.servedTable(); t != nil {
		out.Tables = append(out.Tables, *t)
	}
	return out
}

// values is a cell with a value.
func values(e study.Estimate) study.Cell { return e.Cell("%.3f") }

// percent is a cell with a share in percent.
func percent(e study.Estimate) study.Cell {
	return study.Estimate{Mean: 100 * e.Mean, Error: 100 * e.Error}.Cell("%.1f")
}

// table returns the family's table.
func (f *FamilyResult) table() study.Table {
	t := study.Table{Title: f.Family, Columns: []string{
		"learner", "deployed", "served", "violation", "rounds broken, %", "runs broken, %", "deployed broken, %",
		"below control, %: deployed", "served",
	}}
	for i := range f.Rows {
		x := &f.Rows[i]
		t.Add(x.Learner, values(x.Deployed), values(x.Served), values(x.Violation), percent(x.BrokenRounds),
			percent(x.BrokenRuns), percent(x.DeployedBroken), percent(x.DeployedWorse), percent(x.ServedWorse))
	}
	return t
}

// addVerdicts adds the comparisons of the default with the best peers.
func (r *Result) addVerdicts(out *study.Report) {
	safe, above, n := 0, 0, 0
	for i := range r.Families {
		if v := r.Families[i].Verdict; v != nil {
			n++
			safe += int(indicator(v.Safe))
			above += int(indicator(v.AboveControl))
		}
	}
	if n == 0 {
		return
	}
	own, level := r.comparisons("of its caution", func(v *Verdict) *Comparison { return &v.Caution })
	all, any := r.comparisons("that keeps the guardrails", func(v *Verdict) *Comparison { return &v.Any })
	out.Tables = append(out.Tables, own, all)
	out.Notes = fmt.Sprintf(`The default is level or better in %d of %d families beside the best peer of its caution,
and in %d beside the best of all that keep the guardrails. It breaks guardrails in at most 1 %% of
the rounds in %d families and is not below the control in %d.
`, level, n, any, safe, above)
}

// comparisons returns one comparison of all families, and the number of those in which the default
// is level.
func (r *Result) comparisons(peers string, of func(*Verdict) *Comparison) (t study.Table, level int) {
	t = study.Table{Title: "the default beside the best peer " + peers, Columns: []string{
		"family", "deployed", "best peer", "lead", "served", "best peer", "lead", "rounds broken, %", "verdict",
	}}
	for i := range r.Families {
		f := &r.Families[i]
		if f.Verdict == nil {
			continue
		}
		c, x := of(f.Verdict), &f.Rows[0]
		level += int(indicator(c.Level()))
		t.Add(f.Family, study.Number("%.3f", x.Deployed.Mean), c.DeployedPeer, values(c.DeployedLead),
			study.Number("%.3f", x.Served.Mean), c.ServedPeer, values(c.ServedLead),
			study.Number("%.2f", 100*x.BrokenRounds.Mean), f.Verdict.words(c))
	}
	return t, level
}

// words states a verdict.
func (v *Verdict) words(c *Comparison) string {
	var words []string
	switch {
	case c.Level():
		words = append(words, "level")
	case !c.DeployedLevel && !c.ServedLevel:
		words = append(words, "behind")
	case c.ServedLevel:
		words = append(words, "behind in deployed")
	default:
		words = append(words, "behind in served")
	}
	if !v.Safe {
		words = append(words, "unsafe")
	}
	if !v.AboveControl {
		words = append(words, "below control")
	}
	return strings.Join(words, ", ")
}
