package policy_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/noregret/noregret/policy"
)

// A policy in its JSON form decides the same in every process.
func ExampleParse() {
	split, err := policy.NewSplit([]float64{0.25, 0.75})
	if err != nil {
		panic(err)
	}
	p := &policy.Policy{
		Experiment: "checkout", Version: 1, Round: 1, State: policy.Running, Salt: "checkout", Exposure: "reported",
		Control: -1, Stream: "arm", Links: []policy.Link{{Version: 1, Split: split}},
		Arms: []policy.Arm{
			{Name: "old", Value: json.RawMessage("2")},
			{Name: "new", Value: json.RawMessage("1")},
		},
	}
	text, err := p.Seal()
	if err != nil {
		panic(err)
	}
	q, err := policy.Parse(text)
	if err != nil {
		panic(err)
	}
	ann := q.Decide("ann")
	fmt.Println(ann.Name, string(ann.Value), ann.Propensity)

	text[20] = 'X'
	_, err = policy.Parse(text)
	fmt.Println(err != nil)
	// Output:
	// new 1 0.75
	// true
}

// A contextual policy decides for a unit and its context.
func ExamplePolicy_DecideIn() {
	split, err := policy.NewSplit([]float64{0.5, 0.5})
	if err != nil {
		panic(err)
	}
	p := &policy.Policy{
		Experiment: "news", Version: 1, Round: 1, State: policy.Running, Salt: "news", Exposure: "immediate",
		Control: -1, Stream: "arm", Links: []policy.Link{{Version: 1, Split: split}},
		Arms: []policy.Arm{
			{Name: "sports", Value: json.RawMessage("1")},
			{Name: "politics", Value: json.RawMessage("2")},
		},
		Linear: &policy.Linear{
			Kind: policy.SquareCB, Gamma: 100,
			Features: []policy.Feature{{Name: "age", Kind: policy.Number, Range: policy.Range{0, 100}}},
			Arms: []policy.LinearArm{
				{Mean: []float64{0.3, -0.2}}, // clicks fall with age
				{Mean: []float64{0.3, 0.1}},
			},
		},
	}
	if err := p.Prepare(nil); err != nil {
		panic(err)
	}
	for _, context := range []string{`{"age": 20}`, `{"age": 80}`, `{"age": 800}`} {
		x, err := p.Linear.Encoder().Encode(nil, json.RawMessage(context))
		if err != nil {
			fmt.Println(err)
			continue
		}
		shares, err := p.Linear.Distribution(nil, x)
		if err != nil {
			panic(err)
		}
		ann := p.DecideIn("ann", x)
		fmt.Printf("%.3f %s %.3f\n", shares, ann.Name, ann.Propensity)
	}
	// Output:
	// [0.950 0.050] sports 0.950
	// [0.050 0.950] politics 0.950
	// context.age: 800: want a number from 0 to 100
}

// A signer signs the token of a decision and verifies it when it comes back with feedback.
func ExampleSigner() {
	s, err := policy.NewSigner(policy.Keys{Secrets: map[byte][]byte{0: []byte("sixteen bytes or more")}})
	if err != nil {
		panic(err)
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	text, err := s.Append(nil, policy.Token{
		Experiment: "checkout", Version: 1, Arm: 1, Propensity: 0.75, Unit: policy.Hash("unit", "checkout", "ann"),
		Time: noon,
	})
	if err != nil {
		panic(err)
	}
	token, err := s.Verify(string(text), noon.Add(time.Hour))
	fmt.Println(token.Experiment, token.Version, token.Arm, token.Propensity, err)

	text[30] ^= 1
	_, err = s.Verify(string(text), noon.Add(time.Hour))
	fmt.Println(err)
	// Output:
	// checkout 1 1 0.75 <nil>
	// the token cannot be read or was changed
}
