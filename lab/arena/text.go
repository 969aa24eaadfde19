package arena

import (
	"fmt"

	"github.com/noregret/noregret/lab/internal/study"
)

// Report returns a table of each family and that of what package mixture promises.
func (r *Result) Report() *study.Report {
	out := &study.Report{
		Head: fmt.Sprintf("%d runs of each family, seed %d; mean ± standard error over runs\n", r.Runs, r.Seed),
		Data: r,
	}
	for i := range r.Families {
		out.Tables = append(out.Tables, r.Families[i].table())
	}
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
