package arena

import (
	"bytes"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/lab/internal/study"
)

// TestMixtureServes: package mixture's policy keeps the guardrails and serves more than a peer that
// bounds what it serves, and where single units are huge more than a plain design.
func TestMixtureServes(t *testing.T) {
	r := play(t, Options{
		Runs: testsize.Of(20, 6), Seed: 7,
		Families: []string{"rate-2", "conflict", "giants", "late-purchases", "joining"},
		Learners: []string{"mixture", "small", "greedy-2-safe"},
	})
	for i := range r.Families {
		f := &r.Families[i]
		x := &f.Rows[0]
		if x.ClearRounds.Mean > mostBroken || !(x.Served.Mean > f.Rows[2].Served.Mean) || x.Deployed.Mean < 0.5 {
			t.Errorf("%s: served %+v, deployed %+v, rounds broken %v, greedy-2-safe served %v", f.Family, x.Served,
				x.Deployed, x.ClearRounds.Mean, f.Rows[2].Served.Mean)
		}
	}
	giants := r.Families[2].Rows
	if giants[0].Served.Mean < giants[1].Served.Mean+0.1 {
		t.Errorf("giants: served %v beside %v", giants[0].Served.Mean, giants[1].Served.Mean)
	}
	var text bytes.Buffer
	if err := r.Report().Write(&text, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "Median share of the best safe peer: served ") {
		t.Errorf("no table of what is served in\n%s", text.String())
	}
}

// TestBestSafe: the best peer is one that kept the guardrails in fact.
func TestBestSafe(t *testing.T) {
	f := FamilyResult{Rows: []Row{
		{Learner: "mixture", Served: study.Estimate{Mean: 0.5}},
		{Learner: "rash", Served: study.Estimate{Mean: 0.9}},
		{Learner: "plain", Served: study.Estimate{Mean: 0.4}},
		{Learner: "oracle", Served: study.Estimate{Mean: 1}},
	}}
	f.Rows[1].ClearRounds.Mean = 0.02
	if got := f.bestSafe(0, func(x *Row) study.Estimate { return x.Served }); got != 2 {
		t.Errorf("the best safe peer is row %d", got)
	}
	f.Rows[2].DeployedBroken.Mean = 0.06
	if got := f.bestSafe(0, func(x *Row) study.Estimate { return x.Served }); got != -1 {
		t.Errorf("the best safe peer is row %d, want none", got)
	}
}
