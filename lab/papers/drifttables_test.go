package papers

import (
	"context"
	"math"
	"testing"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/internal/testsize"
)

// TestDriftTables measures Tables 3 and 4 of Besbes, Gur and Zeevi (2015) and compares every cell
// with the published number and, for the restarted policies, with an independent simulation of 200
// runs. One row cannot be reproduced: the published losses of the estimated gradient step without
// restarts are 5 to 16 times those of the steps 2/k, which lab/docs/drift-tables.md explains.
func TestDriftTables(t *testing.T) {
	testsize.NoRace(t) // one goroutine a run, whose code TestDriftWorkers runs there
	runs := testsize.Of(30, 4)
	tables, err := RunDriftTables(context.Background(), DriftOptions{Runs: runs, Seed: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if len(table.Rows) != 12 || len(table.Columns) != 9 || len(table.Fits) != 9 {
			t.Fatalf("%d rows, %d columns, %d fits", len(table.Rows), len(table.Columns), len(table.Fits))
		}
		for _, row := range table.Rows {
			for j := range row.Errors {
				// The error that few runs estimate may be far too small: 0.25 % and 1 % are about
				// the largest deviations of single runs.
				spread := 1.0
				if table.Setting == "gradient" {
					spread = 0.25 * table.Columns[j].Noise
				}
				row.Errors[j] = max(row.Errors[j], show.Number(spread/math.Sqrt(float64(runs))))
			}
			for j, v := range row.Values {
				checkDriftCell(t, &table, &row, j, float64(v))
			}
		}
	}
	for i, want := range [2][2][9]float64{
		{
			{0.56, 0.68, 2.00, 0.05, 0.18, 1.52, 0.03, 0.18, 1.72},
			{0.27, 0.32, 0.94, 0.02, 0.07, 0.70, 0.01, 0.08, 0.80},
		},
		{
			{14.6, 15.0, 18.3, 14.8, 15.1, 18.7, 15.9, 16.2, 20.2},
			{8.5, 8.7, 11.0, 8.4, 8.6, 10.9, 8.9, 9.2, 11.8},
		},
	} {
		for k, row := range []int{2, 7} {
			r := tables[i].Rows[row]
			for j, v := range want[k] {
				within(t, tables[i].Name+" "+tables[i].Columns[j].String()+": the other simulation",
					float64(r.Values[j]), v, 0.006+0.02*v+3*float64(r.Errors[j]))
			}
		}
	}
}

// checkDriftCell compares a cell with the published number.
func checkDriftCell(t *testing.T, table *DriftTable, row *DriftRow, j int, v float64) {
	t.Helper()
	name := table.Name + ", " + row.Name + ", " + table.Columns[j].String()
	paper := row.Paper[j]
	switch {
	case row.Name == "1 − α":
		if table.Setting == "gradient" && table.Columns[j].Noise == 0.1 && j > 0 {
			// Without noise the regret hardly grows with T: 1 − α is about 0.3. See the page.
			within(t, name, v, 0.33, 0.08)
			return
		}
		within(t, name, v, paper, 0.06)
	case row.Name == "C":
		if table.Setting == "cost" {
			within(t, name, v, paper, 0.2*paper+0.3)
		}
	case table.Setting == "cost" && row.Name == "plain":
		low, high := 3.5, 7.5
		if row.Rounds == 25000 {
			low, high = 1.5, 5.0
		}
		within(t, name, v, (low+high)/2, (high-low)/2+4*float64(row.Errors[j]))
	case table.Setting == "cost":
		within(t, name, v, paper, 0.125*paper+4*float64(row.Errors[j]))
	default:
		within(t, name, v, paper, 0.1+4*float64(row.Errors[j]))
	}
}
