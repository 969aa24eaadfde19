package forget_test

import (
	"fmt"

	"github.com/noregret/noregret/forget"
)

// Rules and their texts.
func ExampleParse() {
	for _, text := range []string{"memory=50", "rate=0.02", "restart=500", "detector=adwin:delta=0.01", "memory=0"} {
		r, err := forget.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(r, r.Keep())
	}
	// Output:
	// memory=50 0.98
	// memory=50 0.98
	// restart=500 1
	// detector=adwin:delta=0.01 1
	// memory: "0": want a finite number of rounds above 1
}

// A mean that a learner restarts when CUSUM finds that its residuals have changed.
func ExampleMemory() {
	rule, err := forget.Parse("detector=cusum")
	if err != nil {
		fmt.Println(err)
		return
	}
	memory, err := forget.NewMemory(rule, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	sum, n := 0.0, 0.0
	for round := range 200 {
		x := float64(round % 2) // 0, 1, 0, 1, ..., of mean ½ and standard deviation ½
		if round >= 100 {
			x += 2
		}
		residual := 0.0
		if n > 0 {
			residual = (x - sum/n) / 0.5
		}
		sum, n = sum+x, n+1
		memory.Next()
		changed, err := memory.Detect(0, residual)
		if err != nil {
			fmt.Println(err)
			return
		}
		if changed {
			sum, n = 0, 0
			memory.Alarm(nil, residual)
		}
	}
	events, _ := memory.Events()
	fmt.Printf("mean %.1f of %v rounds\n", sum/n, memory.Worth())
	for _, e := range events {
		fmt.Printf("%s after %d rounds\n", e.Cause, e.Round)
	}
	// Output:
	// mean 2.5 of 96 rounds
	// cusum after 104 rounds
}

// A trigger tells a loop of its own when to begin again.
func ExampleRule_Trigger() {
	trigger, err := forget.Rule{Kind: forget.Restart, Rounds: 3}.Trigger(forget.Mistakes)
	if err != nil {
		fmt.Println(err)
		return
	}
	for round := 1; round <= 7; round++ {
		restart, err := trigger.Add(0)
		if err != nil {
			fmt.Println(err)
			return
		}
		if restart {
			fmt.Println("restart after round", round)
		}
	}
	// Output:
	// restart after round 3
	// restart after round 6
}
