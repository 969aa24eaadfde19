package changepoint_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/changepoint"
)

// A latency of 20 ± 2 ms rises to 22 ms: the alarm comes after a few more numbers.
func ExampleCUSUM() {
	o := changepoint.DefaultCUSUMOptions()
	o.Mean, o.Deviation = 20, 2
	c, err := changepoint.NewCUSUM(o)
	if err != nil {
		panic(err)
	}
	fmt.Printf("a false alarm in %.0f numbers, a delay of %.0f\n", c.FalseAlarm(), c.Delay(1))
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		mean := 20.0
		if n >= 100 {
			mean = 22
		}
		changed, err := c.Add(mean + 2*r.NormFloat64())
		if err != nil {
			panic(err)
		}
		if changed {
			fmt.Println("changed at", n)
			break
		}
	}
	// Output:
	// a false alarm in 469 numbers, a delay of 10
	// changed at 114
}

// The mean before the change is unknown.
func ExamplePageHinkley() {
	p, err := changepoint.NewPageHinkley(changepoint.PageHinkleyOptions{Drift: 1, Threshold: 10, Rounds: 5})
	if err != nil {
		panic(err)
	}
	for n, x := range []float64{7, 8, 7, 6, 7, 8, 6, 7, 14, 15, 13, 14} {
		if changed, _ := p.Add(x); changed {
			fmt.Println("changed at", n)
		}
	}
	// Output: changed at 9
}

// A conversion rate falls from 30 to 10 %: the window forgets the old rate.
func ExampleADWIN() {
	a, err := changepoint.NewADWIN(changepoint.DefaultADWINOptions())
	if err != nil {
		panic(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 4000 {
		rate, x := 0.3, 0.0
		if n >= 2000 {
			rate = 0.1
		}
		if r.Float64() < rate {
			x = 1
		}
		if _, err := a.Add(x); err != nil {
			panic(err)
		}
	}
	fmt.Printf("mean %.1f, the window is of the new rate: %v\n", a.Mean(), a.Length() < 2300)
	// Output: mean 0.1, the window is of the new rate: true
}
