package contextual_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/noregret/noregret/bandit/contextual"
	"github.com/noregret/noregret/policy"
)

// Young visitors like the first page, older ones the second. The learner finds out.
func ExampleLearner() {
	features := []policy.Feature{{Name: "age", Kind: policy.Number, Range: policy.Range{0, 100}}}
	l, err := contextual.NewLearner(contextual.DefaultLearnerOptions(policy.LinThompson, features, 2))
	if err != nil {
		panic(err)
	}
	for i := range 1000 {
		age, arm := i%100, i/100%2
		reward := float64((i / 7) % 2) // noise
		if (age < 50) == (arm == 0) {
			reward++
		}
		x, err := l.Encoder().Encode(nil, json.RawMessage(fmt.Sprintf(`{"age": %d}`, age)))
		if err != nil {
			panic(err)
		}
		if err := l.Observe(arm, x, reward, 1); err != nil {
			panic(err)
		}
	}
	p, err := l.Seal()
	if err != nil {
		panic(err)
	}
	for _, age := range []string{"20", "49", "80"} {
		x, err := p.Encoder().Encode(nil, json.RawMessage(`{"age": `+age+`}`))
		if err != nil {
			panic(err)
		}
		shares, err := p.Distribution(nil, x)
		fmt.Printf("%s: %.3f %v\n", age, shares, err)
	}
	// Output:
	// 20: [1.000 0.000] <nil>
	// 49: [0.683 0.317] <nil>
	// 80: [0.000 1.000] <nil>
}

// A player decides round by round. Rewards come by the choice's ID; here those of even rounds are
// lost.
func ExamplePlayer() {
	p, err := contextual.NewSquareCB(contextual.DefaultSquareCBOptions(2, 2),
		func() (contextual.Regressor, error) { return contextual.NewRidge(2, 1) })
	if err != nil {
		panic(err)
	}
	r, right := rand.New(rand.NewPCG(1, 2)), 0
	for round := range 2000 {
		x := []float64{1, 2*r.Float64() - 1}
		choice, err := p.Draw(r, contextual.Context{X: x})
		if err != nil {
			panic(err)
		}
		reward := 0.0
		if (x[1] > 0) == (choice.Arm == 1) {
			reward = 1
		}
		if round >= 1000 {
			right += int(reward)
		}
		if round%2 == 1 {
			if err := p.Update(choice.ID, reward); err != nil {
				panic(err)
			}
		}
	}
	fmt.Println("right in the last 1000 rounds:", right > 900)
	// Output:
	// right in the last 1000 rounds: true
}
