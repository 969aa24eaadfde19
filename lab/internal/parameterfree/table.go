package parameterfree

import (
	"fmt"
	"io"
	"math"

	"github.com/noregret/noregret/internal/portable"
)

// leastLoss is what losses below it count as in ratios: sets that are separable have losses near 0.
const leastLoss = 1e-3

// meanOf is the mean and the standard deviation of values, those that are not defined counted as 0.
func meanOf(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, v := range values {
		if v == v {
			mean += v / n
		}
	}
	for _, v := range values {
		if v != v {
			v = 0
		}
		deviation += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(deviation / (n - 1))
}

// cell is a mean with its spread.
func cell(values []float64) string {
	m, s := meanOf(values)
	return fmt.Sprintf("%.3f ± %.3f", m, s)
}

// ratio is the ratio of the mean losses.
func (r row) ratio() float64 {
	a, _ := meanOf(r.autoLoss)
	b, _ := meanOf(r.bestLoss)
	return max(a, leastLoss) / max(b, leastLoss)
}

// writeTable writes the rows of a trainer as a Markdown table with a summary.
func writeTable(w io.Writer, trainer string, rows []row) {
	losses := lossOf(trainer) != nil
	fmt.Fprintf(w, "### %s (%s)\n\n| set | default | tuned | auto |", trainer, measureOf(trainer).Name())
	if losses {
		fmt.Fprint(w, " loss, default | loss, best of 5 | loss, auto | ratio |")
	}
	fmt.Fprint(w, "\n| --- | --- | --- | --- |")
	if losses {
		fmt.Fprint(w, " --- | --- | --- | --- |")
	}
	fmt.Fprintln(w)
	var logs, toTuned, toPlain float64
	var steps [3]int64
	ahead, better := 0, 0
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s |", r.set, cell(r.plain), cell(r.tuned), cell(r.auto))
		if losses {
			plain, _ := meanOf(r.plainLoss)
			best, _ := meanOf(r.bestLoss)
			auto, _ := meanOf(r.autoLoss)
			fmt.Fprintf(w, " %.4f | %.4f | %.4f | %.2f |", plain, best, auto, r.ratio())
			logs += portable.Log(r.ratio())
			if r.ratio() <= 1 {
				better++
			}
		}
		fmt.Fprintln(w)
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
	fmt.Fprintf(w, "\nMean of %s over the %d sets: auto is %+.3f from tuned and %+.3f from the default; it is at "+
		"least as "+
		"good as tuned on %d.\n", measureOf(trainer).Name(), len(rows), toTuned/n, toPlain/n, ahead)
	if losses {
		fmt.Fprintf(w, "Training loss: auto has %.2f times the loss of the best of %d step scales in hindsight "+
			"(geometric mean), and no more than it on %d sets.\n", portable.Exp(logs/n), len(scales), better)
	}
	fmt.Fprintf(w, "Examples visited, default : tuned : auto = 1 : %.1f : %.1f.\n\n",
		float64(steps[1])/float64(steps[0]), float64(steps[2])/float64(steps[0]))
}
