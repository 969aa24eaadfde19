package study

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret/lab/internal/labtest"
)

// TestEstimate: the mean of 1, 3 and 8 is 4 and their variance 13; one value has no error.
func TestEstimate(t *testing.T) {
	values := []float64{1, 3, 8}
	e := MeanOf(values)
	mean, deviation := Spread(values)
	if math.Abs(e.Mean-4) > 1e-12 || mean != e.Mean || math.Abs(deviation-math.Sqrt(13)) > 1e-12 ||
		math.Abs(e.Error-math.Sqrt(13./3)) > 1e-12 {
		t.Errorf("%+v, deviation %v", e, deviation)
	}
	if one := MeanOf([]float64{2}); one.Mean != 2 || one.Error == one.Error {
		t.Errorf("one value: %+v", one)
	}
	if e := (Estimate{1, 0.5}); !e.AtLeast(2) || e.AtLeast(2.1) || !e.AtMost(0) || e.AtMost(-0.1) {
		t.Errorf("bounds of %+v", e)
	}
}

// counting is a study of six runs, whose command is run with the given arguments. A run fails with
// the error.
func counting(t *testing.T, failed error, args ...string) (stdout string, err error) {
	t.Helper()
	c := New(&cobra.Command{Use: "count"}, "runs", func(ctx context.Context, r *Runner) (*Report, error) {
		squares, err := Runs(ctx, r, 6, func(run int) (float64, error) { return float64(run * run), nil })
		if err != nil {
			return nil, err
		}
		table := Table{Title: "Squares", Columns: []string{"name", "mean", "n", "worst"}, Notes: "Of six runs.\n"}
		table.Add("é", MeanOf(squares).Cell("%.2f"), len(squares), Number("%.1f", math.Inf(1)))
		return &Report{Head: "Head.\n", Tables: []Table{table, {Columns: []string{"a", "b"}}}}, failed
	})
	var out bytes.Buffer
	err = labtest.Run(t.Context(), c, args, &out, io.Discard)
	return out.String(), err
}

// TestReport: a report is Markdown or JSON, the same for any number of workers, and what there is
// of it is printed if the study fails.
func TestReport(t *testing.T) {
	const want = `Head.

### Squares

| name | mean        | n   | worst |
| ---- | ----------- | --- | ----- |
| é    | 9.17 ± 3.98 | 6   | +Inf  |

Of six runs.

| a   | b   |
| --- | --- |
`
	for _, workers := range []string{"0", "1", "4"} {
		if got, err := counting(t, nil, "--workers", workers); err != nil || got != want {
			t.Errorf("%s workers: %v\n%s", workers, err, got)
		}
	}
	if got, err := counting(t, errors.New("broken"), "--workers", "1"); err == nil || got != want {
		t.Errorf("a study that fails: %v\n%s", err, got)
	}
	got, err := counting(t, nil, "--json")
	if err != nil || !strings.Contains(got, `"mean": 9.16`) || !strings.Contains(got, "null") ||
		strings.Contains(got, "±") {
		t.Errorf("%v\n%s", err, got)
	}
	for _, args := range [][]string{{"--workers", "-1"}, {"x"}, {"--progress", "none"}} {
		if _, err := counting(t, nil, args...); err == nil {
			t.Errorf("%q is not refused", args)
		}
	}
}
