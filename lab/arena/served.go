package arena

import (
	"fmt"
	"slices"

	"github.com/noregret/noregret/lab/internal/study"
)

// Safe reports whether a learner is as safe in fact as package mixture is meant to be: at most 1 %
// of the rounds that it served broke a hard guardrail by more than .5 % of the control's mean, and
// at most 5 % of its runs deployed a mixture that breaks one.
func (x *Row) Safe() bool {
	return x.ClearRounds.Mean <= mostBroken && x.DeployedBroken.Mean <= mostDeployedBroken
}

// bestSafe returns the best learner that is safe in fact by what it served or deployed, other than
// the given one and the oracle; −1 for none. It is picked after the fact.
func (f *FamilyResult) bestSafe(than int, of func(*Row) study.Estimate) int {
	best := -1
	for i := range f.Rows {
		x := &f.Rows[i]
		if i == than || x.Learner == "oracle" || !x.Safe() {
			continue
		}
		if best < 0 || of(x).Mean > of(&f.Rows[best]).Mean {
			best = i
		}
	}
	return best
}

// servedTable returns what package mixture promises and what was measured, by family; nil if it has
// not played. Its promise for a served round is its caution of three standard errors, .13 % for
// each guardrail.
func (r *Result) servedTable() *study.Table {
	t := &study.Table{
		Title: "package mixture beside the best peer that was as safe in fact, picked after the fact",
		Columns: []string{
			"family", "served", "best peer", "its", "share", "deployed", "best peer", "its", "share",
			"rounds broken by > .5 %", "runs broken, %", "deployed broken, %",
		},
	}
	var shares [2][]float64
	for i := range r.Families {
		f := &r.Families[i]
		own := slices.IndexFunc(f.Rows, func(x Row) bool { return x.Learner == "mixture" })
		if own < 0 {
			return nil
		}
		x := &f.Rows[own]
		row := []any{f.Family}
		for j, of := range []func(*Row) study.Estimate{
			func(x *Row) study.Estimate { return x.Served }, func(x *Row) study.Estimate { return x.Deployed },
		} {
			peer := f.bestSafe(own, of)
			if peer < 0 || !(of(&f.Rows[peer]).Mean > 0) {
				row = append(row, values(of(x)), "none", "", "")
				continue
			}
			best := of(&f.Rows[peer]).Mean
			shares[j] = append(shares[j], of(x).Mean/best)
			row = append(row, values(of(x)), f.Rows[peer].Learner, study.Number("%.3f", best),
				study.Number("%.2f", of(x).Mean/best))
		}
		t.Add(append(row, percent(x.ClearRounds), percent(x.BrokenRuns), percent(x.DeployedBroken))...)
	}
	t.Notes = "Promised: a served round beyond a limit in .13 % for each guardrail, a deployed mixture in 2.3 %.\n"
	if len(shares[0]) > 0 && len(shares[1]) > 0 {
		t.Notes += fmt.Sprintf("Median share of the best safe peer: served %.2f, deployed %.2f.\n", median(shares[0]),
			median(shares[1]))
	}
	return t
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
