package bandit_test

import (
	"fmt"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
)

// Three headlines have click rates of 10, 12 and 20 %. Thompson sampling finds the third and shows
// the others less and less.
func Example() {
	b, err := bandit.New(3, bandit.Thompson)
	if err != nil {
		panic(err)
	}
	rates, r := []float64{.10, .12, .20}, random.New(1, "example")
	pulls := make([]int, 3)
	for range 5000 {
		k := b.Draw(r)
		click := 0.0
		if r.Float64() < rates[k] {
			click = 1
		}
		pulls[k]++
		if err := b.Observe([]bandit.Reward{{Arm: k, Value: click, Size: 1}}); err != nil {
			panic(err)
		}
	}
	mean, se := b.Estimate(b.Best())
	fmt.Printf("best %d, rate %.2f ± %.2f\n", b.Best(), mean, se)
	fmt.Println("the best was shown in most rounds:", pulls[2] > 4000)
	// Output:
	// best 2, rate 0.20 ± 0.01
	// the best was shown in most rounds: true
}

// heights implements user-defined scores: arms with a known score and standard error.
type heights []float64

func (h heights) Count(int) float64         { return 10 }
func (h heights) Score(k int) float64       { return h[k] }
func (h heights) StandardError(int) float64 { return 0.1 }
func (h heights) Sample(k int) float64      { return h[k] }
func (h heights) Noise() bool               { return true }

// A chooser applies a rule to scores of any kind.
func ExampleChooser() {
	c, err := bandit.NewChooser(3, bandit.Elimination)
	if err != nil {
		panic(err)
	}
	c.Update(1, heights{0.1, 2, 1.9})
	fmt.Println(c.Serving(), c.Best())
	// Output: [0 0.5 0.5] [0 1 0]
}
