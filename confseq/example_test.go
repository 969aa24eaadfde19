package confseq_test

import (
	"fmt"
	"math"

	"github.com/noregret/noregret/confseq"
)

// A rate of ½ is distinguished from a limit of 0.3, with a check after every observation.
func ExampleSequence() {
	var s confseq.Sequence
	for i := range 1000 {
		if err := s.Add(float64(i % 2)); err != nil {
			panic(err)
		}
		if low, high := s.Interval(0.05, 0, 1); low > 0.3 {
			fmt.Printf("after %d observations: [%.3f, %.3f]\n", s.N, low, high)
			break
		}
	}
	// Output: after 82 observations: [0.301, 0.699]
}

// A source that keeps only sums gives the same sequence.
func ExampleFromSums() {
	s, err := confseq.FromSums(1000, 120, 120) // 120 of 1,000 units bought
	if err != nil {
		panic(err)
	}
	low, high := s.Interval(0.05, 0, 1)
	fmt.Printf("[%.3f, %.3f]\n", low, high)
	_, err = confseq.FromSums(10, 20, 30)
	fmt.Println(err)
	// Output:
	// [0.084, 0.162]
	// squares: 30 for 10 observations with sum 20: by Cauchy and Schwarz it is at least 40
}

// Clicks per view, of units that view ten pages or so each.
func ExamplePair() {
	var p confseq.Pair
	for i := range 2000 {
		p.Add(float64(i%3), float64(8+i%5))
	}
	ratio, low, high, _ := p.Interval(0.05)
	fmt.Printf("%.4f in [%.4f, %.4f]\n", ratio, low, high)
	// Output: 0.0999 in [0.0943, 0.1056]
}

// Each round is compared with the control's units of the same round, so a level that doubles does
// not affect the result, even if the arm's share changes with it.
func ExampleContrast() {
	var c confseq.Contrast
	for round := range 20 {
		level := 0.1 + 0.01*float64(round)
		arm := confseq.Sequence{N: 500 + 400*int64(round), Mean: 0.8 * level, High: 1}
		control := confseq.Sequence{N: 1000, Mean: level, High: 1}
		for _, s := range []*confseq.Sequence{&arm, &control} {
			s.M2 = float64(s.N) * s.Mean * (1 - s.Mean) // each is 0 or 1
		}
		c.AddArm(arm.Group(), control.Group(), float64(arm.N+control.N))
	}
	low, high := c.Interval(-0.05, 0.05, confseq.ContrastOptions{Width: math.Inf(1), Tight: c.Tight(-0.05)})
	fmt.Printf("more than 5 %% below the control: %.4f in [%.4f, %.4f]\n", c.Mean(-0.05), low, high)
	// Output: more than 5 % below the control: -0.0307 in [-0.0393, -0.0222]
}

// A split that should be half and half is not, and the test detects it.
func ExampleSampleRatio() {
	s, err := confseq.NewSampleRatio([]float64{0.5, 0.5}, 50)
	if err != nil {
		panic(err)
	}
	for day := 1; s.P() > 1e-4; day++ {
		if err := s.Add(0, 5200); err != nil {
			panic(err)
		}
		if err := s.Add(1, 4800); err != nil {
			panic(err)
		}
		fmt.Printf("day %d: p = %.1g\n", day, s.P())
	}
	// Output:
	// day 1: p = 0.004
	// day 2: p = 2e-06
}
