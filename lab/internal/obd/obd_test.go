package obd

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/bandit/offpolicy"
	"github.com/noregret/noregret/internal/picture/svgcheck"
	"github.com/noregret/noregret/lab/internal/labtest"
)

// write writes a log of the data: its rows are item, position, click and propensity.
func write(t *testing.T, dir, name string, rows ...string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, name+".csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	fmt.Fprint(z, ",timestamp,item_id,position,click,propensity_score,more\n")
	for i, row := range rows {
		fmt.Fprintf(z, "%d,2019,%s,x\n", i, row)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTrials checks the truth, the targets and the estimates on rows that can be computed by hand.
func TestTrials(t *testing.T) {
	dir := t.TempDir()
	for _, campaign := range []string{"men", "women"} {
		write(t, dir, "random-"+campaign, "0,1,1,0.5", "1,1,0,0.5", "1,2,1,0.5", "0,2,0,0.5")
		write(t, dir, "bts-"+campaign, "0,1,1,0.75", "0,1,1,0.75", "1,1,0,0.25", "0,2,1,0.8")
	}
	uniform, err := readLog(dir, "random-men")
	if err != nil {
		t.Fatal(err)
	}
	thompson, err := readLog(dir, "bts-men")
	if err != nil {
		t.Fatal(err)
	}
	a := uniformFrom("men", thompson, uniform)
	if err := a.estimate(context.Background(), 20); err != nil {
		t.Fatal(err)
	}
	// The weights of Thompson's rows are ½ over the propensity: 2/3, 2/3, 2 and 5/8.
	if got, want := a.estimates[0].Value, (2.0/3+2.0/3+5.0/8)/4; a.estimates[0].Method != offpolicy.IPS ||
		math.Abs(got-want) > 1e-12 || a.truth != .5 {
		t.Errorf("ips %v, want %v; truth %v", got, want, a.truth)
	}
	b := thompsonFrom("men", uniform, thompson)
	if err := b.estimate(context.Background(), 20); err != nil {
		t.Fatal(err)
	}
	// Thompson's shares are 2/3 and 1/3 at position 1, and 1 and 0 at position 2; the uniform log
	// has clicks on item 0 at position 1 and on item 1 at position 2.
	if got, want := b.estimates[0].Value, 2*(2.0/3)/4; math.Abs(got-want) > 1e-12 || b.truth != .75 {
		t.Errorf("ips %v, want %v; truth %v", got, want, b.truth)
	}
	if c := b.covered[offpolicy.Clipped]; c[2] != 20 {
		t.Errorf("covered %v", c)
	}

	plot := filepath.Join(dir, "new", "a.svg")
	var out strings.Builder
	err = labtest.Run(t.Context(), Command(), []string{"--data", dir, "--resamples", "5", "--plot", plot}, &out,
		io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"### women: Thompson from the uniform log", "| ips ", "| 333.33 | ",
		"Own log: 750.00 ± ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if text, err := os.ReadFile(plot); err != nil || !strings.Contains(string(text), "doubly-robust") {
		t.Errorf("picture: %v", err)
	} else if faults := svgcheck.Faults(text); len(faults) > 0 {
		t.Errorf("picture: %q", faults)
	}
}

// TestMissingData: the error for missing data names the directory, that for bad data the line.
func TestMissingData(t *testing.T) {
	dir := t.TempDir()
	err := labtest.Run(t.Context(), Command(), []string{"--data", dir}, io.Discard, io.Discard)
	if want := dir + ": no random-men.csv.gz in this directory"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	write(t, dir, "random-men", "0,1,1,0.5", "x,1,1,0.5")
	if _, err := readLog(dir, "random-men"); err == nil || !strings.Contains(err.Error(), "random-men.csv.gz:3: ") {
		t.Errorf("error %v", err)
	}
}
