package bandit_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/bandit"
)

// Three headlines have click rates of 10, 12 and 20 %. Thompson sampling finds the third and shows
// the others less and less.
func Example() {
	b, err := bandit.New(3, bandit.Thompson)
	if err != nil {
		panic(err)
	}
	rates, r := []float64{.10, .12, .20}, rand.New(rand.NewPCG(1, 2))
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

// Tsallis-INF needs neither the number of rounds nor a word on where the losses come from: here the
// best of three arms changes in the middle.
func ExamplePlayer() {
	p, err := bandit.NewTsallisINF(3, bandit.ImportanceWeighted, 1)
	if err != nil {
		panic(err)
	}
	const rounds = 10000
	r, paid, totals := rand.New(rand.NewPCG(1, 2)), 0.0, make([]float64, 3)
	for t := range rounds {
		losses := []float64{0.5, 0.2, 0.6}
		if t >= rounds/2 {
			losses = []float64{0.1, 0.9, 0.6}
		}
		k := p.Draw(r)
		paid += losses[k]
		for i, g := range losses {
			totals[i] += g
		}
		if err := p.Update(k, losses[k]); err != nil {
			panic(err)
		}
	}
	regret := paid - min(totals[0], totals[1], totals[2])
	fmt.Println("within the bound:", regret <= bandit.TsallisINFBound(3, rounds, 1))
	fmt.Printf("the last arm's propensity is %.4f\n", p.Probabilities()[2])
	// Output:
	// within the bound: true
	// the last arm's propensity is 0.0005
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

// Losses may come late, in any order or never, and arms may be out of stock. Each choice has an id
// and the propensity to log.
func ExampleDelayed() {
	p, err := bandit.NewTsallisINF(3, bandit.ImportanceWeighted, 1)
	if err != nil {
		panic(err)
	}
	d, err := bandit.NewDelayed(p, bandit.DefaultDelayedOptions())
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	first, err := d.Choose(r, nil)
	if err != nil {
		panic(err)
	}
	second, err := d.Choose(r, []bool{true, true, false}) // the third arm is out of stock
	if err != nil {
		panic(err)
	}
	fmt.Printf("propensities %.4f and %.4f, %d pending\n", first.Propensity, second.Propensity, d.Pending())
	fmt.Println(d.Learn(second.ID, 1), d.Forget(first.ID))
	fmt.Println(d.Learn(first.ID, 1))
	// Output:
	// propensities 0.3333 and 0.5000, 2 pending
	// <nil> <nil>
	// choice: 1 has already been learned or forgotten
}
