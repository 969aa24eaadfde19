package play

import (
	"math"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// TestParseSweep compares sweeps with their specs written out.
func TestParseSweep(t *testing.T) {
	for s, want := range map[string]string{
		"eg":                    "eg",
		"eg:eta=2":              "eg:eta=2",
		"ogd:eta=0.01..1:5":     "ogd:eta=0.01 ogd:eta=0.0316228 ogd:eta=0.1 ogd:eta=0.316228 ogd:eta=1",
		"ogd:eta=1..0.01:3":     "ogd:eta=1 ogd:eta=0.1 ogd:eta=0.01",
		"f:b=1..4:3:a=0.5..2:2": "f:a=0.5:b=1 f:a=2:b=1 f:a=0.5:b=2 f:a=2:b=2 f:a=0.5:b=4 f:a=2:b=4",
		"f:a=1e-3..1e3:3:b=7":   "f:a=0.001:b=7 f:a=1:b=7 f:a=1000:b=7",
		"f:a=.5...9:2":          "f:a=0.5 f:a=0.9",
	} {
		specs, err := ParseSweep("learner", s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		var got []string
		for _, spec := range specs {
			got = append(got, spec.String())
			again, err := ParseSpec("learner", spec.String())
			if err != nil || again.String() != spec.String() || len(again.Options) != len(spec.Options) {
				t.Errorf("%s: read again as %v, %v", spec, again, err)
			}
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", s, g, want)
		}
	}
}

// TestNarrowSweep checks that values are not rounded if six digits cannot distinguish them.
func TestNarrowSweep(t *testing.T) {
	specs, err := ParseSweep("learner", "f:a=1..1.000001:4")
	if err != nil {
		t.Fatal(err)
	}
	last := 0.0
	for i, s := range specs {
		v := s.Options["a"]
		if want := 1 + 1e-6*float64(i)/3; !(v > last) || math.Abs(v-want) > 1e-12 {
			t.Errorf("value %d is %v, want %v", i, v, want)
		}
		last = v
	}
}

func TestParseSweepRefuses(t *testing.T) {
	for _, s := range []string{
		"", ":a=1", "f:a", "f:a=", "f:=1", "f:a=NaN", "f:a=1:a=2", "f:a=1..2", "f:a=1..2:b=3", "f:a=1..2:1",
		"f:a=1..2:2.5",
		"f:a=1..2:1001", "f:a=0..2:3", "f:a=-2..-1:3", "f:a=1..Inf:3", "f:a=..2:3", "f:a=1..:3", "f:a=2..2:3", "f:3",
		"f:a=1..2:3:4", "f:a=1..2:3:a=4", "f:a=1..2:1000:b=1..2:11",
	} {
		if specs, err := ParseSweep("learner", s); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%q: %v, %v", s, specs, err)
		}
	}
	if s, err := ParseSpec("game", "g:a=1..2:5"); err == nil {
		t.Errorf("a range was accepted as a spec: %v", s)
	}
}
