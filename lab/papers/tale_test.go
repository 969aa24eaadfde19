package papers

import (
	"context"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
)

// TestTale holds every mean to within max(.003, 2 sd) of its reference, except those marked loose,
// and TestCertificates the gaps to the reference's six digits. noregret-lab papers spade-stamp
// --full has the whole tables.
func TestTale(t *testing.T) {
	testsize.NoRace(t)
	tale, err := RunTale(context.Background(), []string{"g3"}, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, tale.SPADE)
	agree(t, tale.STAMP)
}

func TestCertificates(t *testing.T) {
	testsize.NoRace(t)
	table, err := RunCertificates(context.Background(), 5)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, table)
}

// agree checks the cells of a table.
func agree(t *testing.T, table Table) {
	t.Helper()
	for _, row := range table.Rows {
		for i, c := range row.Cells {
			if !c.Agrees() {
				t.Errorf("%s, %s: %.6f ± %.4f, want %.6f ± %.4f", row.Name, table.Columns[i], c.Mean, c.SD, c.Stated,
					c.StatedSD)
			}
		}
	}
}

// TestAverageBeatsLastIterate checks that for Min on G3 with η = 1/√t the average iterate is better
// than the last one and varies far less.
func TestAverageBeatsLastIterate(t *testing.T) {
	testsize.NoRace(t)
	problem, err := newTale("g3")
	if err != nil {
		t.Fatal(err)
	}
	values := map[classify.Averaging][]float64{}
	for _, how := range []classify.Averaging{classify.AverageAll, classify.AverageNone} {
		for seed := range uint64(4) {
			cfg := problem.config(nil)
			cfg.Step, cfg.Averaging = 1, how
			l, err := classify.NewSPADE(classify.SPADEConfig{Config: cfg, Measure: measure.Min{}, DualStep: 1})
			if err != nil {
				t.Fatal(err)
			}
			if err := problem.order(100+seed, 8, l.Observe, func(int) error { return nil }); err != nil {
				t.Fatal(err)
			}
			v, err := problem.value(context.Background(), l.Model(), measure.Min{})
			if err != nil {
				t.Fatal(err)
			}
			values[how] = append(values[how], v)
		}
	}
	avg, avgSD := summarize(values[classify.AverageAll])
	last, lastSD := summarize(values[classify.AverageNone])
	t.Logf("average %.4f ± %.4f, last %.4f ± %.4f (reference, 25 passes: .773 ± .001 and .737 ± .030)", avg, avgSD,
		last,
		lastSD)
	if avg < last+0.01 || avgSD > lastSD/2 {
		t.Error("the average is not clearly better and steadier than the last iterate")
	}
}

// TestGMeanDualTrap checks that for G-mean on G3 with η₀ = 1 hinge rewards drive the duals up if
// they are passed to the dual, and that the default, max(r, 0), does not.
func TestGMeanDualTrap(t *testing.T) {
	t.Parallel()
	problem, err := newTale("g3")
	if err != nil {
		t.Fatal(err)
	}
	dual := map[classify.DualReward]float64{}
	for _, reward := range []classify.DualReward{classify.DualSurrogate, classify.DualDefault} {
		cfg := problem.config(nil)
		cfg.Step = 1
		l,
			err := classify.NewSPADE(classify.SPADEConfig{
			Config: cfg, Measure: measure.GMean{}, DualStep: 1,
			DualReward: reward,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := problem.order(100, 5, l.Observe, func(int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		a, b := l.AverageDual()
		dual[reward] = max(a, b)
	}
	t.Logf("average dual %.2f with the surrogate, %.2f by default", dual[classify.DualSurrogate],
		dual[classify.DualDefault])
	if dual[classify.DualSurrogate] < 3 || dual[classify.DualDefault] > 2 {
		t.Error("the surrogate does not drive the dual up, or the default does")
	}
}

// TestTolerance checks that the measured spread widens a tolerance only if there is no reference
// spread, and only up to a limit.
func TestTolerance(t *testing.T) {
	for _, tc := range []struct {
		c    Cell
		want float64
	}{
		{Cell{}, 0.003},
		{Cell{SD: 0.001}, 0.003},
		{Cell{SD: 0.004}, 0.008},
		{Cell{SD: 0.5}, 0.02},
		{Cell{SD: 0.5, StatedSD: 0.0002}, 0.003},
		{Cell{SD: 0.0001, StatedSD: 0.01}, 0.02},
		{Cell{StatedSD: 0.08}, 0.16},
	} {
		if got := tc.c.Tolerance(); got != tc.want {
			t.Errorf("%+v: tolerance %v, want %v", tc.c, got, tc.want)
		}
	}
	noisy := Cell{Mean: 0.75, SD: 0.1, Stated: 0.8, StatedSD: 0.0008}
	if noisy.Agrees() {
		t.Errorf("%+v agrees", noisy)
	}
}

func TestReproductionsRefuse(t *testing.T) {
	ctx := context.Background()
	tale := func(problems []string, runs int) error {
		_, err := RunTale(ctx, problems, runs, nil)
		return err
	}
	_, noPasses := RunCertificates(ctx, 0)
	for want, err := range map[string]error{
		"number of runs is 0, want at least 1":     tale([]string{"g3"}, 0),
		"number of runs is -2, want at least 1":    tale([]string{"g3"}, -2),
		`no problem is named "g2"; there are g1`:   tale([]string{"g2"}, 1),
		`no problem is named "nope"; there are g1`: tale([]string{"nope"}, 1),
		"no problem is named; there are g1":        tale(nil, 1),
		"problem g3 is named twice":                tale([]string{"g3", "g3"}, 1),
		"number of passes is 0, want at least 1":   noPasses,
	} {
		if noregret.CodeOf(err) != noregret.Usage || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want a usage error with %q", err, want)
		}
	}
}

// TestPrintedLinesFail checks that the paper's printed lines 7 and 18 fail for classes of unequal
// size.
func TestPrintedLinesFail(t *testing.T) {
	testsize.NoRace(t)
	problem, err := newTale("g3")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, v := range stampVariants {
		if v.name != printedLines && v.name != "STAMP, last epoch, threshold 0" {
			continue
		}
		if values[v.name], err = problem.stamp(context.Background(), v, 200); err != nil {
			t.Fatal(err)
		}
	}
	if printed, right := values[printedLines], values["STAMP, last epoch, threshold 0"]; !(printed < 0.25 &&
		right > 0.4) {
		t.Errorf("F1 is %.4f with the printed lines and %.4f with the general ones; want about .2066 and .4466",
			printed, right)
	}
}
