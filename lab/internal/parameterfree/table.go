package parameterfree

import (
	"fmt"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/lab/internal/study"
)

// leastLoss is what losses below it count as in ratios: sets that are separable have losses near 0.
const leastLoss = 1e-3

// meanOf is the mean and the standard deviation of values, those that are not defined counted as 0.
func meanOf(values []float64) (mean, deviation float64) {
	defined := make([]float64, len(values))
	for i, v := range values {
		if v == v {
			defined[i] = v
		}
	}
	return study.Spread(defined)
}

// cell is a mean with its spread.
func cell(values []float64) study.Cell {
	m, s := meanOf(values)
	return study.Estimate{Mean: m, Error: s}.Cell("%.3f")
}

// ratio is the ratio of the mean losses.
func (r row) ratio() float64 {
	a, _ := meanOf(r.autoLoss)
	b, _ := meanOf(r.bestLoss)
	return max(a, leastLoss) / max(b, leastLoss)
}

// tableOf has the rows of a trainer and a summary.
func tableOf(trainer string, rows []row) study.Table {
	losses := lossOf(trainer) != nil
	t := study.Table{
		Title:   fmt.Sprintf("%s (%s)", trainer, measureOf(trainer).Name()),
		Columns: []string{"set", "default", "tuned", "auto"},
	}
	if losses {
		t.Columns = append(t.Columns, "loss, default", "loss, best of 5", "loss, auto", "ratio")
	}
	var logs, toTuned, toPlain float64
	var steps [3]int64
	ahead, better := 0, 0
	for _, r := range rows {
		line := []any{r.set, cell(r.plain), cell(r.tuned), cell(r.auto)}
		if losses {
			for _, v := range [][]float64{r.plainLoss, r.bestLoss, r.autoLoss} {
				mean, _ := meanOf(v)
				line = append(line, study.Number("%.4f", mean))
			}
			line = append(line, study.Number("%.2f", r.ratio()))
			logs += portable.Log(r.ratio())
			if r.ratio() <= 1 {
				better++
			}
		}
		t.Add(line...)
		plain, _ := meanOf(r.plain)
		tuned, _ := meanOf(r.tuned)
		auto, _ := meanOf(r.auto)
		toTuned += auto - tuned
		toPlain += auto - plain
		if auto >= tuned {
			ahead++
		}
		for k := range steps {
			steps[k] += r.steps[k]
		}
	}
	n := float64(len(rows))
	t.Notes = fmt.Sprintf("Mean of %s over the %d sets: auto is %+.3f from tuned and %+.3f from the default; it is at "+
		"least as good as tuned on %d.\n", measureOf(trainer).Name(), len(rows), toTuned/n, toPlain/n, ahead)
	if losses {
		t.Notes += fmt.Sprintf("Training loss: auto has %.2f times the loss of the best of %d step scales in "+
			"hindsight (geometric mean), and no more than it on %d sets.\n", portable.Exp(logs/n), len(scales), better)
	}
	t.Notes += fmt.Sprintf("Examples visited, default : tuned : auto = 1 : %.1f : %.1f.\n",
		float64(steps[1])/float64(steps[0]), float64(steps[2])/float64(steps[0]))
	return t
}
