package papers_test

import (
	"fmt"

	"github.com/noregret/noregret/lab/papers"
)

// A cell agrees with a stated number within two of its standard deviations, or 0.003.
func ExampleCell_Agrees() {
	for _, c := range []papers.Cell{
		{Mean: .6312, SD: .0011, Runs: 5, Stated: .6305, StatedSD: .0009},
		{Mean: .4391, SD: .0020, Runs: 5, Stated: .4466, StatedSD: .0012},
	} {
		fmt.Printf("%.4f [%.4f]: %v\n", c.Mean, c.Stated, c.Agrees())
	}
	// Output:
	// 0.6312 [0.6305]: true
	// 0.4391 [0.4466]: false
}
