package edges

import (
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/lab/internal/labtest"
)

// TestMeasure looks at reports of few and of many units.
func TestMeasure(t *testing.T) {
	o := &options{edges: 100, decisions: 8.64e6, arms: 4, metrics: 2, seed: 1} // 100 a second
	few, err := o.measure(t.Context(), time.Second, 20)
	if err != nil {
		t.Fatal(err)
	}
	many, err := o.measure(t.Context(), time.Hour, 20)
	if err != nil {
		t.Fatal(err)
	}
	none, err := o.measure(t.Context(), time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(few.units-1) > 1e-9 || math.Abs(many.units-3600) > 1e-6 {
		t.Errorf("units of a report: %v and %v, want 1 and 3600", few.units, many.units)
	}
	// One arm of four, and all of them.
	if ratio := many.report / few.report; !(ratio > 2 && ratio < 4) {
		t.Errorf("a report of all arms has %v times the bytes of a report of one", ratio)
	}
	for _, m := range []measured{few, many} {
		if !(m.event >= m.report/2 && m.event <= 2*m.report) || !(m.policy > 100) ||
			m.policyTime <= 0 || m.reportTime <= 0 {
			t.Errorf("%+v: want an event of about the report's size, a policy and times", m)
		}
	}
	if !(many.state > none.state+20*8) {
		t.Errorf("the state has %v bytes after 20 processes, %v before: want a number for each", many.state, none.state)
	}
}

func TestCommand(t *testing.T) {
	args := []string{"--edges", "50", "--decisions", "1e6", "--families", "week", "--runs", "2"}
	var b strings.Builder
	if err := labtest.Run(t.Context(), Command(), args, &b, io.Discard); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for _, want := range []string{"50 processes", "| 10m0s ", "| 0.5 "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestBadFlags(t *testing.T) {
	flags := []string{"--edges=0", "--decisions=NaN", "--arms=1", "--metrics=0", "--appends=0", "--runs=1"}
	for _, flag := range flags {
		err := labtest.Run(t.Context(), Command(), []string{flag}, io.Discard, io.Discard)
		if err == nil ||
			!strings.Contains(err.Error(), strings.Trim(flag[:5], "-")) {
			t.Errorf("%s: %v, want an error that names it", flag, err)
		}
	}
}
