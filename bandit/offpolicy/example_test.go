package offpolicy_test

import (
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/noregret/noregret/bandit/offpolicy"
)

// A log of two arms that were chosen with equal probabilities. Arm 1 earns more.
func tenThousandRows() string {
	var b strings.Builder
	b.WriteString("arm,propensity,reward\n")
	for i := range 10_000 {
		arm, reward := i%2, 0
		if i/2%10 < 2+3*arm {
			reward = 1
		}
		fmt.Fprintf(&b, "%d,0.5,%d\n", arm, reward)
	}
	return b.String()
}

// The value of a policy that would choose arm 1 in nine decisions of ten.
func Example() {
	o := offpolicy.DefaultEvaluatorOptions(2)
	o.MaxWeight = 2 // the logging policy gives each arm at least 1/2
	o.Rows = 10_000
	e, err := offpolicy.NewEvaluator(o)
	if err != nil {
		log.Fatal(err)
	}
	target := []float64{0.1, 0.9}
	in := offpolicy.NewCSV("log.csv", strings.NewReader(tenThousandRows()))
	var row offpolicy.Row
	for err = in.Read(&row); err == nil; err = in.Read(&row) {
		if err := e.Add(&row, target, nil); err != nil {
			log.Fatalf("line %d: %v", in.Line(), err)
		}
	}
	if err != io.EOF {
		log.Fatal(err)
	}
	for _, m := range offpolicy.Methods() {
		v, err := e.Estimate(m, 0.05)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-15s %.3f  at one time [%.3f, %.3f]  at all times [%.3f, %.3f]\n",
			m, v.Value, v.OneLook.Low, v.OneLook.High, v.Sequence.Low, v.Sequence.High)
	}
	w := e.Weights()
	fmt.Printf("%d rows, worth %.0f of the policy's own\n", w.Rows, w.Effective)
	// Output:
	// ips             0.470  at one time [0.449, 0.491]  at all times [0.444, 0.496]
	// self-normalized 0.470  at one time [0.453, 0.489]  at all times [0.446, 0.494]
	// clipped         0.470  at one time [0.449, 0.491]  at all times [0.444, 0.496]
	// doubly-robust   0.470  at one time [0.452, 0.489]  at all times [0.447, 0.494]
	// switch          0.470  at one time [0.450, 0.495]  at all times [0.444, 0.502]
	// shrinkage       0.471  at one time [0.452, 0.489]  at all times [0.447, 0.494]
	// direct          0.470  at one time [0.452, 0.489]  at all times [0.447, 0.494]
	// 10000 rows, worth 6098 of the policy's own
}

// A log in which an arm was chosen that could not be.
func ExampleDoctor() {
	d, err := offpolicy.NewDoctor(offpolicy.DefaultDoctorOptions(2))
	if err != nil {
		log.Fatal(err)
	}
	for i := range 1000 {
		d.Add(&offpolicy.Row{Arm: i % 2, Propensity: 0.5, Propensities: []float64{0.5, 0.5}})
	}
	d.Add(&offpolicy.Row{Arm: 1, Propensity: 0.5, Propensities: []float64{1, 0}})
	for _, f := range d.Report().Findings {
		fmt.Printf("%s: %d row(s), first %d: %s\n", f.Kind, f.Rows, f.First, f.Message)
	}
	// Output:
	// impossible-arm: 1 row(s), first 1001: arm 1 was chosen with the probability 0
}
