package papers

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/loss"
)

// certificateRow is a row of the reference table of duality gaps: after 1, 5, 25 and 100 passes,
// and Ψ_A of the last model.
type certificateRow struct {
	problem string
	m       measure.Concave
	gaps    [4]float64
	value   float64
}

var certificateRows = []certificateRow{
	{"g1", measure.QMean{}, [4]float64{.015058, .006995, .003141, .001442}, .500805},
	{"g1", measure.Min{}, [4]float64{.005849, .002171, .001079, .001136}, .499668},
	{"g3", measure.QMean{}, [4]float64{.011374, .004525, .001898, .000932}, .324510},
	{"g3", measure.Min{}, [4]float64{.005514, .002969, .002884, .001898}, .322180},
	{"g3", measure.HMean{}, [4]float64{.016373, .005201, .001915, .000855}, .324208},
}

var certificatePasses = [4]int{1, 5, 25, 100}

// RunCertificates re-runs the duality-gap certificates of SPADE: logistic reward, default steps,
// known p, seed 100, on the training set. The gap bounds how far the surrogate measure is from the
// best possible; it must never be negative. Columns beyond the given number of passes are left out.
// Fewer passes than one are an error of code usage.
func RunCertificates(ctx context.Context, passes int) (Table, error) {
	if passes < 1 {
		return Table{}, noregret.Errorf(noregret.Usage, "", "number of passes is %d, want at least 1", passes)
	}
	out := Table{Title: "SPADE's duality gap on its training set, logistic reward [reference]"}
	for _, p := range certificatePasses {
		if p <= passes {
			out.Columns = append(out.Columns, fmt.Sprintf("gap, pass %d", p))
		}
	}
	if passes >= 100 {
		out.Columns = append(out.Columns, "Ψ_A, pass 100")
	}
	tales := map[string]*tale{}
	for _, row := range certificateRows {
		t := tales[row.problem]
		if t == nil {
			var err error
			if t, err = newTale(row.problem); err != nil {
				return out, err
			}
			tales[row.problem] = t
		}
		cells, err := t.certificates(ctx, row, passes)
		if err != nil {
			return out, err
		}
		out.Rows = append(out.Rows, Row{Name: row.problem + " " + row.m.Name(), Cells: cells})
	}
	return out, nil
}

func (t *tale) certificates(ctx context.Context, row certificateRow, passes int) ([]Cell, error) {
	l, err := classify.NewSPADE(classify.SPADEConfig{Config: t.config(loss.Logistic{}), Measure: row.m})
	if err != nil {
		return nil, err
	}
	var cells []Cell
	err = t.order(100, min(passes, 100), l.Observe, func(pass int) error {
		l.NextPass()
		for i, p := range certificatePasses {
			if p != pass {
				continue
			}
			model := l.Model()
			pr, nr, err := classify.MeanRewards(ctx, t.train, &model, loss.Logistic{})
			if err != nil {
				return err
			}
			alpha, beta := l.AverageDual()
			bound, err := classify.UpperBound(ctx, t.train, row.m, classify.DefaultBoundOptions(alpha, beta))
			if err != nil {
				return err
			}
			value := row.m.Extended(pr, nr, math.Inf(1))
			cells = append(cells, Cell{Mean: bound.Value - value, Runs: 1, Stated: row.gaps[i], Within: 2e-6})
			if pass == 100 {
				cells = append(cells, Cell{Mean: value, Runs: 1, Stated: row.value, Within: 2e-6})
			}
		}
		return nil
	})
	return cells, err
}
