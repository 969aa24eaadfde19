package papers

import (
	"context"
	"fmt"
	"slices"

	"github.com/noregret/noregret/internal/cli/show"
	"github.com/noregret/noregret/regret"
)

// DriftTable is a table of Besbes, Gur and Zeevi (2015), Appendix D, measured again.
type DriftTable struct {
	// Name is the table's title and Setting that of its cells.
	Name    string `json:"name"`
	Setting string `json:"setting"`
	// Runs is the number of runs that the numbers are from, of those Asked for.
	Runs  int `json:"runs"`
	Asked int `json:"runs_asked"`
	// Columns are the patterns and the noise of the columns.
	Columns []DriftColumn `json:"columns"`
	// Rows are the rows in the paper's order.
	Rows []DriftRow `json:"rows"`
	// Fits are the results of the restarted policy over all horizons, one for each column: the
	// first two rows come from them.
	Fits []DriftResult `json:"fits"`
}

// DriftColumn is a column of a [DriftTable].
type DriftColumn struct {
	Pattern regret.Pattern `json:"pattern"`
	Noise   float64        `json:"noise"`
}

// String is the column's head.
func (c DriftColumn) String() string { return fmt.Sprintf("%v %v", c.Pattern, c.Noise) }

// DriftRow is a row of a [DriftTable]: the exponent 1 − α, the constant C, or the loss in percent
// of a policy for a horizon.
type DriftRow struct {
	Name string `json:"name"`
	// Rounds is the horizon, 0 for the two rows of the fit.
	Rounds int `json:"rounds"`
	// Values are measured; Errors are their standard errors, none for the rows of the fit. Paper
	// are the published values.
	Values []show.Number `json:"values"`
	Errors []show.Number `json:"errors"`
	Paper  []float64     `json:"paper"`
}

// driftPolicies are the policies of the rows.
var driftPolicies = []string{"restarted", "plain", "fixed:0.1", "fixed:0.01", "fixed:0.001"}

// driftColumns are the columns of both tables.
func driftColumns() []DriftColumn {
	var all []DriftColumn
	for _, p := range []regret.Pattern{regret.Jump, regret.Decay, regret.Ramp} {
		for _, noise := range []float64{0.1, 0.3, 1} {
			all = append(all, DriftColumn{p, noise})
		}
	}
	return all
}

// driftTable3 and driftTable4 are the published numbers: two rows of fits, then the five policies
// for 5,000 and for 25,000 rounds.
var (
	driftTable3 = [12][9]float64{
		{0.54, 0.54, 0.54, 0.47, 0.47, 0.52, 0.47, 0.51, 0.54},
		{0.26, 0.32, 1.02, 0.14, 0.16, 0.89, 0.05, 0.09, 0.94},
		{0.56, 0.68, 2.02, 0.05, 0.17, 1.56, 0.03, 0.17, 1.78},
		{3.02, 3.02, 3.08, 4.94, 4.95, 5.01, 5.81, 5.81, 5.86},
		{0.09, 0.31, 2.80, 0.05, 0.27, 2.82, 0.05, 0.31, 3.26},
		{0.64, 0.66, 0.89, 0.22, 0.25, 0.49, 0.18, 0.21, 0.49},
		{2.87, 2.87, 2.89, 2.41, 2.41, 2.43, 2.44, 2.45, 2.47},
		{0.26, 0.32, 0.94, 0.02, 0.07, 0.71, 0.01, 0.08, 0.82},
		{1.49, 1.49, 1.50, 3.49, 3.50, 3.51, 5.41, 5.41, 5.41},
		{0.04, 0.25, 2.70, 0.03, 0.25, 2.75, 0.04, 0.29, 3.21},
		{0.13, 0.15, 0.38, 0.03, 0.06, 0.29, 0.03, 0.06, 0.34},
		{0.85, 0.85, 0.88, 0.43, 0.44, 0.46, 0.37, 0.38, 0.41},
	}
	driftTable4 = [12][9]float64{
		{0.68, 0.68, 0.68, 0.67, 0.67, 0.68, 0.67, 0.67, 0.68},
		{2.22, 2.28, 2.84, 2.13, 2.18, 2.88, 2.09, 2.16, 2.83},
		{14.45, 14.82, 19.02, 14.42, 14.89, 19.01, 15.52, 16.06, 21.20},
		{37.71, 38.03, 41.25, 29.96, 31.30, 33.35, 28.49, 29.46, 39.35},
		{26.58, 27.33, 34.99, 26.78, 27.53, 35.62, 28.49, 29.46, 39.35},
		{8.48, 8.70, 11.22, 8.10, 8.33, 10.87, 8.48, 8.86, 11.82},
		{5.22, 5.30, 5.95, 4.94, 4.81, 5.53, 4.96, 5.03, 5.80},
		{8.44, 8.67, 11.19, 8.35, 8.58, 11.18, 8.92, 9.19, 12.27},
		{31.27, 31.31, 32.54, 32.42, 31.22, 33.14, 19.10, 19.42, 23.56},
		{26.29, 27.00, 34.51, 26.57, 27.30, 35.12, 28.32, 29.25, 38.94},
		{7.89, 8.10, 10.59, 7.86, 8.08, 10.61, 8.41, 8.66, 11.59},
		{3.26, 3.32, 4.07, 2.84, 2.92, 3.69, 2.96, 3.04, 3.91},
	}
)

// driftHorizons are the horizons of the rows of losses.
var driftHorizons = []int{5000, 25000}

// driftFitHorizons are the horizons of the fits. The published ones are not known.
var driftFitHorizons = []int{1000, 2500, 5000, 10000, 25000, 50000}

// RunDriftTables measures Tables 3 and 4 of Besbes, Gur and Zeevi (2015). The options are as for
// [RunDrift], and so are errors.
func RunDriftTables(ctx context.Context, o DriftOptions) ([]DriftTable, error) {
	columns := driftColumns()
	var cells []DriftCell
	var horizons [][]int
	settings := []string{"gradient", "cost"}
	for _, setting := range settings {
		for _, policy := range driftPolicies {
			for _, c := range columns {
				cells = append(cells, DriftCell{setting, c.Pattern, c.Noise, policy})
				if policy == "restarted" {
					horizons = append(horizons, driftFitHorizons)
				} else {
					horizons = append(horizons, driftHorizons)
				}
			}
		}
	}
	results, err := RunDrift(ctx, cells, horizons, o)
	if results == nil {
		return nil, err
	}
	half := len(results) / 2
	return []DriftTable{
		driftTable("Table 3: gradient descent, noisy gradients", settings[0], columns, results[:half], &driftTable3),
		driftTable("Table 4: estimated gradient step, noisy costs", settings[1], columns, results[half:], &driftTable4),
	}, err
}

// driftTable arranges results as a table: they are ordered by policy, then by column.
func driftTable(name, setting string, columns []DriftColumn, results []DriftResult, paper *[12][9]float64) DriftTable {
	n := len(columns)
	t := DriftTable{
		Name: name, Setting: setting, Runs: results[0].Runs, Asked: results[0].Asked, Columns: columns,
		Fits: results[:n],
	}
	exponent := DriftRow{Name: "1 − α", Errors: []show.Number{}}
	constant := DriftRow{Name: "C", Errors: []show.Number{}}
	for _, r := range t.Fits {
		exponent.Values = append(exponent.Values, show.Number(1-r.Alpha))
		constant.Values = append(constant.Values, show.Number(r.C))
	}
	t.Rows = append(t.Rows, exponent, constant)
	for _, rounds := range driftHorizons {
		for i, policy := range driftPolicies {
			row := DriftRow{Name: policy, Rounds: rounds}
			for _, r := range results[i*n : (i+1)*n] {
				k := slices.IndexFunc(r.Horizons, func(h DriftHorizon) bool { return h.Rounds == rounds })
				row.Values = append(row.Values, show.Number(r.Horizons[k].Loss))
				row.Errors = append(row.Errors, show.Number(r.Horizons[k].LossError))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	for i := range t.Rows {
		t.Rows[i].Paper = paper[i][:]
	}
	return t
}
