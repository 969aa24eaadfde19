package papers

import (
	"context"
	"os"
	"testing"
)

// Spec spade-stamp 8.5, acceptance: every mean within max(.003, 2 sd). The whole table takes long under the race detector: NOREGRET_FULL=1
// (make papers) runs it, and the short form is G3 with two runs.
func TestTale(t *testing.T) {
	problems, runs := []string{"g3"}, 2
	if os.Getenv("NOREGRET_FULL") != "" {
		problems, runs = []string{"g1", "g3", "g4"}, 5
	}
	tale, err := RunTale(context.Background(), problems, runs)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []Table{tale.SPADE, tale.STAMP} {
		if testing.Verbose() {
			if err := table.Write(os.Stdout); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range table.Rows {
			for i, c := range row.Cells {
				if !c.Agrees() {
					t.Errorf("%s, %s: %.4f ± %.4f, the spec has %.4f ± %.4f", row.Name, table.Columns[i], c.Mean, c.SD, c.Stated, c.StatedSD)
				}
			}
		}
	}
}

// Spec 8.4: the gap is never negative, and equals the printed one to its six digits.
func TestCertificates(t *testing.T) {
	passes := 5
	if os.Getenv("NOREGRET_FULL") != "" {
		passes = 100
	}
	table, err := RunCertificates(context.Background(), passes)
	if err != nil {
		t.Fatal(err)
	}
	if testing.Verbose() {
		if err := table.Write(os.Stdout); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range table.Rows {
		for i, c := range row.Cells {
			if c.Mean < -1e-9 {
				t.Errorf("%s, %s: the gap is %g, below 0", row.Name, table.Columns[i], c.Mean)
			}
			if d := c.Mean - c.Stated; d > 2e-6 || d < -2e-6 {
				t.Errorf("%s, %s: %.6f, the spec has %.6f", row.Name, table.Columns[i], c.Mean, c.Stated)
			}
		}
	}
}
