package reproduce

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/lab/papers"
)

// covtypeRows writes 600 rows of two features whose class 5 is rare.
func covtypeRows(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "covtype"), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "covtype", "covtype-sample10000.data.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z, r := gzip.NewWriter(f), random.New(1, "rows")
	for i := range 600 {
		label, shift := 1+i%3, 0.0
		if i%6 == 0 {
			label, shift = 5, 2
		}
		fmt.Fprintf(z, "%.3f,%.3f,%d\n", 100*(r.NormFloat64()+shift), r.Float64(), label)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The command prints a table for each figure of the sets that there are, and the claims; JSON has
// the series of every method; a picture is drawn; values do not change from run to run.
func TestClassify(t *testing.T) {
	dir := t.TempDir()
	covtypeRows(t, dir)
	picture := filepath.Join(dir, "figure.svg")
	args := []string{
		"reproduce", "classify", "--data", dir, "--splits", "2", "--passes", "3", "--cuts", "8", "--progress", "quiet",
	}
	s, out, notes := cmds.Try(t.Context(), append(args, "--plot", picture)...)
	if s != 0 || !strings.Contains(notes, "skipped: mnist-5: ") {
		t.Fatalf("status %d, %s", s, notes)
	}
	for _, want := range []string{
		"### Figure 1: qmean\n", "### Figure 3: f1\n", "### Figure 4: jaccard\n", "### Claims of the paper\n",
		"| covtype-5 | 1PMB ", "| 3 passes ", "| 1 pass ", "STAMP is better than 1PMB",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "Figure 2") {
		t.Errorf("figure 2 has no set here:\n%s", out)
	}
	drawing, err := os.ReadFile(picture)
	if err != nil || !strings.Contains(string(drawing), "Figure 4, covtype-5") {
		t.Errorf("the picture: %v", err)
	}
	values := func() (list []float64) {
		s, out, notes := cmds.Try(t.Context(), append(args, "--json", "--figures", "3")...)
		var results []classifyResult
		if err := json.Unmarshal([]byte(out), &results); s != 0 || err != nil {
			t.Fatalf("status %d, %v, %s", s, err, notes)
		}
		if len(results) != 1 || results[0].Set != "covtype-5" || len(results[0].Curves) != 5 {
			t.Fatalf("%+v", results)
		}
		for _, c := range results[0].Curves {
			for _, p := range c.Points {
				list = append(list, p.Budget, p.Passes, p.Value)
			}
		}
		return list
	}
	if first, again := fmt.Sprint(values()), fmt.Sprint(values()); first != again {
		t.Errorf("%s\nand then\n%s", first, again)
	}
}

func TestClassifyRefuses(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--splits 1":                       "--splits: 1 is out of range, want at least 2",
		"--passes 0":                       "--passes: 0 is out of range, want at least 1",
		"--cuts 0":                         "--cuts: 0 is out of range, want at least 1",
		"--figures 5":                      "--figures: 5 is out of range, want 1, 2, 3 or 4",
		"--sets nope":                      "want one of ijcnn1, covtype-5, mnist-5",
		"--plot figure.txt":                "figure.txt",
		"--data " + dir + " --sets ijcnn1": "no data set of these figures",
	} {
		s, out, notes := cmds.Try(t.Context(), append([]string{"reproduce", "classify"}, strings.Fields(args)...)...)
		if s == 0 || out != "" || !strings.Contains(notes, want) {
			t.Errorf("%s: status %d, %s%s, want %q", args, s, out, notes, want)
		}
	}
}

// series is a method that has the values after 1, 2, 4, ... seconds times the pace.
func series(method string, pace float64, values ...float64) classifyCurve {
	c := classifyCurve{Method: method, Unit: "passes"}
	at := pace
	for k, v := range values {
		c.Points = append(c.Points, classifyPoint{Budget: float64(k + 1), Seconds: at, Value: v})
		at *= 2
	}
	return c
}

// Each claim is judged by what it says.
func TestClaims(t *testing.T) {
	spade := func(values ...float64) classifyCurve { return series(papers.CurveSPADE, 1, values...) }
	for name, tc := range map[string]struct {
		result classifyResult
		want   string // by claim: + holds, - does not
		here   string
	}{
		"better, sooner": {classifyResult{Figure: 1, Set: "ijcnn1", Curves: []classifyCurve{
			spade(0.75, 0.8), series(papers.CurvePlugIn, 3, 0.7, 0.77), series(papers.CurveLogistic, 1, 0.4, 0.4),
			series(papers.CurveStruct, 20, 0.6, 0.77),
		}}, "+++++", "+0.030, no other is close, +0.030, × 40, +0.400"},
		"as good, not sooner": {classifyResult{Figure: 1, Set: "ijcnn1", Curves: []classifyCurve{
			spade(0.6, 0.8), series(papers.CurvePlugIn, 1, 0.7, 0.805), series(papers.CurveLogistic, 1, 0.7, 0.75),
			series(papers.CurveStruct, 9, 0.76, 0.78),
		}}, "+----", "-0.005, × 1, -0.005, × 4.5, +0.050"},
		"worse": {classifyResult{Figure: 2, Set: "mnist-5", Curves: []classifyCurve{
			spade(0.7, 0.7), series(papers.CurvePlugIn, 1, 0.7, 0.8), series(papers.CurveLogistic, 1, 0.1),
			series(papers.CurveStruct, 9, 0.7, 0.7),
		}}, "----+", "-0.100, not close, not close, not close, +0.600"},
		"sixty times": {classifyResult{Figure: 2, Set: "mnist-5", Curves: []classifyCurve{
			spade(0.8), series(papers.CurvePlugIn, 60, 0.8), series(papers.CurveLogistic, 1, 0.75),
			series(papers.CurveStruct, 9, 0.7, 0.7),
		}}, "++++-", "+0.000, × 60, × 60, no other is close, +0.050"},
		"STAMP": {classifyResult{Figure: 3, Set: "ijcnn1", Curves: []classifyCurve{
			series(papers.CurveSTAMP, 1, 0.5, 0.605), series(papers.CurvePlugIn, 4, 0.5, 0.61),
			series(papers.CurveOnePass, 8, 0.6),
		}}, "+++", "-0.005, × 4, +0.005, × 4"},
		"1PMB ahead": {classifyResult{Figure: 3, Set: "ijcnn1", Curves: []classifyCurve{
			series(papers.CurveSTAMP, 1, 0.5, 0.6), series(papers.CurvePlugIn, 4, 0.5, 0.6),
			series(papers.CurveOnePass, 1, 0.62),
		}}, "---", "-0.020, not close, -0.020, not close"},
		"Jaccard": {classifyResult{Figure: 4, Set: "ijcnn1", Curves: []classifyCurve{
			series(papers.CurveSTAMP, 1, 0.5, 0.6), series(papers.CurvePlugIn, 1, 0.5, 0.605),
		}}, "+-", "-0.005, × 1"},
	} {
		var holds strings.Builder
		var here []string
		for _, c := range claimsOf([]classifyResult{tc.result}) {
			holds.WriteString(map[bool]string{true: "+", false: "-"}[c.holds])
			here = append(here, c.here)
		}
		if holds.String() != tc.want || strings.Join(here, ", ") != tc.here {
			t.Errorf("%s: %s (%s), want %s (%s)", name, holds.String(), strings.Join(here, ", "), tc.want, tc.here)
		}
	}
}

// Means are over the runs, and points after the end of a method in all runs are left out.
func TestMeanCurves(t *testing.T) {
	run := func(values, passes []float64) []papers.Curve {
		c := papers.Curve{Method: "m", Unit: "cuts"}
		for k, v := range values {
			c.Points = append(c.Points, papers.CurvePoint{
				Budget: float64(int(1) << k), Passes: passes[k], Seconds: 2 * passes[k], Value: v,
			})
		}
		return []papers.Curve{c}
	}
	out := meanCurves([][]papers.Curve{
		run([]float64{0.1, 0.3, 0.3, 0.3}, []float64{1, 2, 2, 2}),
		run([]float64{0.3, 0.3, 0.5, 0.5}, []float64{1, 2, 4, 4}),
	})
	if len(out) != 1 || len(out[0].Points) != 3 {
		t.Fatalf("%+v", out)
	}
	if p := out[0].Points[2]; p.Budget != 4 || p.Passes != 3 || p.Seconds != 6 || p.Value != 0.4 {
		t.Errorf("%+v", p)
	}
	if sd := float64(out[0].Points[0].SD); sd < 0.141 || sd > 0.142 {
		t.Errorf("spread %v", sd)
	}
}
