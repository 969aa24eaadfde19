package study

import (
	"bytes"
	"context"
	"encoding/json"
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

// TestCompared: a number agrees with one, a range or a bound within the distance that is allowed, a
// number that is none agrees with nothing, and a study with a cell that does not agree fails.
func TestCompared(t *testing.T) {
	inf, none := math.Inf(1), math.NaN()
	for _, c := range []struct {
		compared Compared
		text     string
	}{
		{Compared{Estimate{1, .25}, 1.5, 1.5, .5}, "1.00 ± 0.25 [1.50]"},
		{Compared{Estimate{1, none}, 1.5, 1.5, .25}, "1.00 [1.50] !"},
		{Compared{Estimate{2.25, none}, 1, 2, .25}, "2.25 [1.00 to 2.00]"},
		{Compared{Estimate{.75, none}, 1, 2, .2}, "0.75 [1.00 to 2.00] !"},
		{Compared{Estimate{1, none}, 1, inf, 0}, "1.00 [at least 1.00]"},
		{Compared{Estimate{2, none}, -inf, 1, 0}, "2.00 [at most 1.00] !"},
		{Compared{Estimate{none, none}, 1, 1, 9}, "NaN [1.00] !"},
		{Beside(1, 9), "1.00 [9.00]"},
		{Beside(1, none), "1.00"},
	} {
		if got := c.compared.Cell("%.2f"); got.text != c.text || got.off != strings.HasSuffix(c.text, "!") {
			t.Errorf("%+v: %+v, want %q", c.compared, got, c.text)
		}
	}
	study := New(&cobra.Command{Use: "off"}, "runs", func(_ context.Context, r *Runner) (*Report, error) {
		for done := range 2 {
			r.Progress(done+1, 2)
		}
		table := Table{Columns: []string{"|x|"}}
		table.Add(Compared{Estimate{1, none}, 2, 2, 0}.Cell("%.0f"))
		table.Add("|a|")
		return &Report{Tables: []Table{table}}, nil
	})
	var out bytes.Buffer
	err := labtest.Run(t.Context(), study, []string{"--json"}, &out, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "off: 1 cell is outside the tolerance") ||
		!strings.Contains(out.String(), `"agrees": false`) {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestObject: members keep their order.
func TestObject(t *testing.T) {
	b, err := json.Marshal(Object{{"b", 1}, {"a", Object{}}})
	if err != nil || string(b) != `{"b":1,"a":{}}` {
		t.Errorf("%s, %v", b, err)
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
