package export_test

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// vwModel returns a model of two classes with given weights, and its threshold subtracted from 0.
func vwModel(t *testing.T, threshold float64) *classify.Model {
	m := trained(t, []string{"1", "-1"}, classify.Binary)
	m.Models[0] = classify.ModelLinear{
		Weights:   classify.SparseVector{Index: []uint32{0, 3}, Value: []float64{0.5, -2}},
		Threshold: threshold,
	}
	return m
}

// TestVWBytes compares with the bytes that Vowpal Wabbit 9.11.9 writes for --predict_only_model,
// with the version 9.0.0 and the largest range of labels.
func TestVWBytes(t *testing.T) {
	got := hex.EncodeToString(exported(t, "vw", vwModel(t, -0.25)))
	want := "06000000" + hex.EncodeToString([]byte("9.0.0\x00")) + "0100000000" + "6d" + "ffff7fff" + "ffff7f7f" +
		"12000000" + "00000000" + "00000000" + "00000000" + "0100000000" + "04000000" + "6c86080b" + "00" +
		"00000000" + "0000003f" + "03000000" + "000000c0" + "5cc50100" + "0000803e"
	if got != want {
		t.Errorf("the bytes are\n%s, want\n%s", got, want)
	}
}

// TestVWPredicts loads models in Vowpal Wabbit and compares its predictions with the scores.
func TestVWPredicts(t *testing.T) {
	python := cmp.Or(os.Getenv("NOREGRET_PYTHON"), "python3")
	if err := exec.Command(python, "-c", "import vowpalwabbit").Run(); err != nil {
		t.Skip("NOT RUN: Vowpal Wabbit is not installed (pip install vowpalwabbit; NOREGRET_PYTHON names its python)")
	}
	const script = `
import sys, vowpalwabbit
vw = vowpalwabbit.Workspace(arg_list=["--testonly", "--quiet", "--initial_regressor", sys.argv[1]])
for line in sys.stdin:
    print(repr(vw.predict(line.rstrip("\n"))))
`
	dir := t.TempDir()
	train := filepath.Join(dir, "train.vw")
	var rows bytes.Buffer
	r := random.New(2, "vw")
	line := func() (text string, positive bool) {
		positive = r.IntN(2) == 0
		text = fmt.Sprintf("|user age:%v %t |n:2 colour_%d", float32(stat.Normal(r)), positive != (r.IntN(5) == 0),
			r.IntN(40))
		return text, positive
	}
	for range 500 {
		text, positive := line()
		fmt.Fprintf(&rows, "%d %s\n", map[bool]int{true: 1, false: -1}[positive], text)
	}
	if err := os.WriteFile(train, rows.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Load(t.Context(), []string{train}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := classify.NewData(set, classify.Binary)
	if err != nil {
		t.Fatal(err)
	}
	m, err := classify.Task.Measure(classify.Binary, "f1")
	if err != nil {
		t.Fatal(err)
	}
	opt := classify.Options{Measure: m, Algorithm: "plugin"}
	result, err := classify.Fit(t.Context(), data, opt)
	if err != nil {
		t.Fatal(err)
	}
	own, err := classify.NewModel(result, opt, data)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		model *classify.Model
		row   func() string
	}{
		"by number": {vwModel(t, 0.7), func() string {
			return fmt.Sprintf("| 0:%v 3:%v", float32(stat.Normal(r)), float32(stat.Normal(r)))
		}},
		"its own text": {own, func() string { text, _ := line(); return text }},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, exported(t, "vw", c.model), 0o600); err != nil {
			t.Fatal(err)
		}
		var input bytes.Buffer
		for range 100 {
			fmt.Fprintln(&input, c.row())
		}
		cmd := exec.Command(python, "-c", script, path)
		cmd.Stdin = bytes.NewReader(input.Bytes())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		predicted := strings.Fields(string(out))
		rows := path + ".txt"
		if err := os.WriteFile(rows, input.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		scores := scoresOf(t, c.model, rows)
		if len(predicted) != len(scores) || len(scores) != 100 {
			t.Fatalf("%s: %d predictions and %d scores", name, len(predicted), len(scores))
		}
		for i, z := range scores {
			p, err := strconv.ParseFloat(predicted[i], 64)
			if err != nil || math.Abs(p-z) > 1e-5*(1+math.Abs(z)) {
				t.Fatalf("%s: row %d is predicted %s, want %v", name, i+1, predicted[i], z)
			}
		}
	}
}

// scoresOf are the scores less the threshold of the rows of a file in Vowpal Wabbit's text.
func scoresOf(t *testing.T, m *classify.Model, path string) (out []float64) {
	t.Helper()
	s, err := dataset.Open(t.Context(), []string{path}, dataset.Options{
		Format: dataset.VW, Bits: 18, AllowNoLabel: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	c := m.Classifier()
	var b dataset.Block
	for s.Next(&b) == nil {
		for i := range b.Len() {
			index, value := b.Row(i)
			out = append(out, c.Scores(nil, index, value)...)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}
