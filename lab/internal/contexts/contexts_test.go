package contexts

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/lab/internal/labtest"
)

// TestTable plays a small set with three classes around three points. All players must be between
// full information and uniform, and the same arguments must give the same table.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(sets[0].file))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "table")
	var text strings.Builder
	for i := range 600 {
		class := i % 3
		a, b := []float64{0, 3, 0}[class], []float64{0, 0, 3}[class]
		fmt.Fprintf(&text, "%.3f,%.3f,%d\n", a+stat.Normal(r), b+stat.Normal(r), class+1)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", dir, "--sets", "covtype", "--orders", "2"}
	var one, two bytes.Buffer
	if err := labtest.Run(t.Context(), Command(), args, &one, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := labtest.Run(t.Context(), Command(), args, &two, io.Discard); err != nil || one.String() != two.String() {
		t.Errorf("the second run differs: %v", err)
	}
	if !strings.HasPrefix(one.String(), "### covtype: 600 rounds, 3 arms, 3 coordinates\n") {
		t.Errorf("%.100s", one.String())
	}
	loss := map[string]float64{}
	for _, line := range strings.Split(one.String(), "\n")[1:] {
		if cells := strings.Split(line, "|"); strings.Contains(line, "±") {
			var mean float64
			if _, err := fmt.Sscanf(strings.TrimSpace(cells[2]), "%f", &mean); err != nil {
				t.Fatal(line, err)
			}
			loss[strings.TrimSpace(cells[1])] = mean
		}
	}
	for _, c := range contestants {
		v, ok := loss[c.name]
		constant := c.name == "uniform" || c.name == "best constant arm"
		if !ok || constant && (v < 66 || v > 67) || !constant && (v < 5 || v > 60) {
			t.Errorf("%s: %v", c.name, v)
		}
	}
	if loss["ridge, full information"] > loss["LinUCB, α = 1"] {
		t.Errorf("full information is worse: %v", loss)
	}
	if err := labtest.Run(t.Context(), Command(), []string{"--orders", "1"}, &one, io.Discard); err == nil {
		t.Error("one order has no spread")
	}
}

// TestRefused: the error for missing data names the directory, that for an unknown set all sets.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	for flag, want := range map[string]string{
		"--data=" + dir: dir + ": no covtype/covtype-sample10000.data.gz in this directory",
		"--sets=nope":   `"nope": want one of covtype, letter, mnist`,
	} {
		err := labtest.Run(t.Context(), Command(), []string{flag}, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", flag, err, want)
		}
	}
}
