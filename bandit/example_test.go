package bandit_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/noregret/noregret/bandit"
)

// Three headlines have click rates of 10, 12 and 20 %. Thompson sampling finds the third. Each hour
// has 500 visits, which are drawn from one distribution.
func ExampleBatched() {
	b, err := bandit.NewBatched(3, bandit.BatchThompson, math.Inf(-1), math.Inf(1))
	if err != nil {
		panic(err)
	}
	rates, r := []float64{.10, .12, .20}, rand.New(rand.NewPCG(1, 2))
	for range 20 {
		visits, clicks := make([]float64, 3), make([]float64, 3)
		for range 500 {
			u, k := r.Float64(), 0
			for u -= b.Serving()[0]; u >= 0 && k < 2; u -= b.Serving()[k] {
				k++
			}
			visits[k]++
			if r.Float64() < rates[k] {
				clicks[k]++
			}
		}
		var batch []bandit.Batch
		for k, n := range visits {
			if n > 0 {
				rate := clicks[k] / n
				batch = append(batch, bandit.Batch{Arm: k, Size: n, Mean: rate, Variance: rate * (1 - rate)})
			}
		}
		if err := b.Observe(batch, b.Serving()); err != nil {
			panic(err)
		}
	}
	mean, _ := b.Estimate(2)
	fmt.Printf("best %v, rate %.2f\n", b.Best(), mean)
	fmt.Println("the best is shown to more than 99 %:", b.Serving()[2] > .99)
	// Output:
	// best [0 0 1], rate 0.20
	// the best is shown to more than 99 %: true
}

// Tsallis-INF needs neither the number of rounds nor a word on where the losses come from: here the
// best of three arms changes in the middle.
func ExamplePlayer() {
	p, err := bandit.NewPlayer(3, bandit.TsallisINF{Limit: 1})
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

// Losses may come late, in any order or never, and arms may be out of stock. Each choice has an id
// and the propensity to log.
func ExampleDelayed() {
	p, err := bandit.NewPlayer(3, bandit.TsallisINF{Limit: 1})
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
