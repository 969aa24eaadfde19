package privacy_test

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/lab/privacy"
)

// Tight clips and better noise are worth more than the constants of any theorem.
func Example() {
	o := privacy.DefaultRegressionOptions(1.5, 5, 1000)
	o.Runs, o.Test = 3, 1000
	o.Columns = []string{privacy.NonPrivate, privacy.Tree, privacy.TreeTight, privacy.SquareRootTight}
	columns, err := privacy.Regression(context.Background(), o)
	if err != nil {
		panic(err)
	}
	better := func(a, b privacy.Column) bool { return a.Mean < b.Mean }
	fmt.Println("a tight clip helps:", better(columns[2], columns[1]))
	fmt.Println("the square-root mechanism helps:", better(columns[3], columns[2]))
	fmt.Println("privacy costs something:", better(columns[0], columns[3]))
	// Output:
	// a tight clip helps: true
	// the square-root mechanism helps: true
	// privacy costs something: true
}
