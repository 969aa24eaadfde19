package privacy

import (
	"context"
	"fmt"
	"testing"
)

// TestBandit: in a short game the greedy player without noise beats random play by far, curves end
// at the final regret, and a large budget helps.
func TestBandit(t *testing.T) {
	o := DefaultBanditOptions(12)
	o.Dim, o.Rounds, o.WarmUp, o.Runs, o.Points = 8, 2000, 50, 3, 10
	o.Columns = []string{Greedy, Uniform, ExponentialTight, HonakerNarrow, LinearUCB}
	columns, err := Bandit(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	regret := map[string]float64{}
	for _, c := range columns {
		regret[c.Name] = c.Mean
		if len(c.Regret) != 10 || c.Rounds[9] != 2000 || c.Regret[9] < c.Mean*0.999999 ||
			c.Regret[9] > c.Mean*1.000001 {
			t.Errorf("%s: the curve %v %v ends elsewhere than at %v", c.Name, c.Rounds, c.Regret, c.Mean)
		}
		if len(c.Deviations) != 10 || c.Deviations[9] != c.SD || !(c.Deviations[0] < c.SD) {
			t.Errorf("%s: deviations %v, that of the last round is %v", c.Name, c.Deviations, c.SD)
		}
	}
	if regret[Greedy] > 0.35*regret[Uniform] || regret[ExponentialTight] > 0.8*regret[Uniform] ||
		regret[HonakerNarrow] > 0.8*regret[Uniform] {
		t.Errorf("regrets %v", regret)
	}
	o.Columns = []string{"other"}
	if _, err := Bandit(context.Background(), o); err == nil {
		t.Error("an unknown column is accepted")
	}
	o.Rounds = 0
	if _, err := Bandit(context.Background(), o); err == nil {
		t.Error("no rounds are accepted")
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	o = DefaultBanditOptions(1)
	if _, err := Bandit(cancelled, o); err == nil {
		t.Error("a context that ended is ignored")
	}
}

// BenchmarkBandit measures the study of lab/docs/privacy-learners.md, one row per column:
//
//	go test ./privacy -run '^$' -bench Bandit -benchtime 1x -timeout 2h
func BenchmarkBandit(b *testing.B) {
	for _, epsilon := range []float64{1, 8} {
		for _, name := range BanditColumns() {
			b.Run(fmt.Sprintf("epsilon=%v/%s", epsilon, name), func(b *testing.B) {
				for range b.N {
					o := DefaultBanditOptions(epsilon)
					o.Columns = []string{name}
					columns, err := Bandit(context.Background(), o)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(columns[0].Mean, "regret")
					b.ReportMetric(columns[0].SD, "sd")
				}
			})
		}
	}
}
