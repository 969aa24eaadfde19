package join_test

import (
	"fmt"
	"time"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
)

// Two units are exposed, one of them buys, and the window closes: the other one counts with the
// default.
func ExampleJoiner() {
	d, err := definition.Parse("shop.yaml", []byte(`
name: shop
arms: [{name: old, value: 1}, {name: new, value: 2}]
metrics: [{name: bought, range: [0, 1], default: 0}]
policy: {kind: fixed, split: {old: 0.5, new: 0.5}}
attribution_window: 1h
`))
	if err != nil {
		panic(err)
	}
	j := join.New(nil, d)
	shares := []float64{.5, .5}
	for range shares {
		j.AddArm(d)
	}
	begin := func(version uint64, at time.Duration) {
		j.Seal(int64(at))
		j.Begin(d, join.Start{Version: version, Round: 1, Mixture: shares, Control: -1, Learnable: true}, int64(at))
	}
	begin(1, 0)

	in := &join.Input{Definition: d, Policy: &policy.Policy{Version: 1, Round: 1, Control: -1}, Now: int64(time.Minute)}
	ann, bob := join.Unit{Version: 1, Unit: "00000000000000aa"}, join.Unit{Version: 1, Unit: "00000000000000bb"}
	if _, err := j.Expose(in, &join.Units{Items: []join.Unit{ann, bob}}); err != nil {
		panic(err)
	}
	ann.Metrics = map[string]float64{"bought": 1}
	r, err := j.Report(in, &join.Units{Items: []join.Unit{ann, ann}})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Items[0].Status, r.Items[1].Status)
	fmt.Println("before the window closes:", j.Arms[0].Units, "units,", j.Arms[0].Metrics[0].N, "values")

	begin(2, 2*time.Hour)
	closed := j.Close(d, int64(4*time.Hour))
	_, mean := closed.Stats[0].Mean(d, 0)
	fmt.Println("after it:", closed.Units, "units, of which", mean, "bought")
	closed.Release()
	// Output:
	// accepted duplicate
	// before the window closes: 2 units, 0 values
	// after it: 2 units, of which 0.5 bought
}
