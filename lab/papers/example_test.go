package papers_test

import (
	"fmt"
	"math"
	"os"

	"github.com/noregret/noregret/lab/papers"
)

// A table prints measured numbers with their reference values in brackets. An exclamation mark is a
// cell outside of its tolerance.
func ExampleTable_Write() {
	t := papers.Table{
		Title: "test F1 over 5 seeds", Columns: []string{"g1", "g3"},
		Rows: []papers.Row{
			{Name: "STAMP", Cells: []papers.Cell{
				{Mean: .6312, SD: .0011, Runs: 5, Stated: .6305, StatedSD: .0009},
				{Mean: .4391, SD: .0020, Runs: 5, Stated: .4466, StatedSD: .0012},
			}},
			{Name: "plug-in logistic", Cells: []papers.Cell{
				{Mean: .6290, Runs: 1, Stated: .6288},
				{Mean: .4402, Runs: 1, Stated: math.NaN()},
			}},
		},
	}
	if err := t.Write(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// test F1 over 5 seeds
	//                   g1                      g3
	// STAMP             0.6312±0.0011 [0.6305]  0.4391±0.0020 [0.4466]!
	// plug-in logistic  0.6290 [0.6288]         0.4402
}
