package forget

import (
	"math"
	"testing"

	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/internal/snapshot/snapshottest"
)

// triggers are one trigger of each kind, at its start.
func triggers() map[string]Trigger {
	return map[string]Trigger{
		"every": must(Every(7)),
		"never": Never(),
		"adwin": must(Detect(must(changepoint.NewADWIN(changepoint.DefaultADWINOptions())), 0, 1)),
		"page-hinkley": must(DetectRise(must(changepoint.NewPageHinkley(changepoint.DefaultPageHinkleyOptions())),
			-10, 10)),
		"cusum": must(Detect(must(changepoint.NewCUSUM(changepoint.DefaultCUSUMOptions())), -10, 10)),
		"kswin": must(DetectRise(must(changepoint.NewKSWIN(changepoint.DefaultKSWINOptions())), -10, 10)),
	}
}

// level is a sequence that jumps from 0 to 1 and back every 100 numbers.
func level(t int) float64 { return float64(t/100%2) + .1*math.Sin(float64(t)) }

func TestTriggers(t *testing.T) {
	for name, want := range map[string][]int{
		"every": {7, 14, 21}, "never": nil, "adwin": {112, 201}, "cusum": {111, 113},
	} {
		trigger := triggers()[name]
		var got []int
		for i := range 210 {
			if must(trigger.Add(level(i))) && len(got) < 3 {
				got = append(got, i+1)
			}
		}
		switch {
		case name == "adwin" && (len(got) == 0 || got[0] <= 100 || got[0] > 125):
			t.Errorf("%s restarts after %v", name, got)
		case name == "cusum" && (len(got) == 0 || got[0] <= 100 || got[0] > 120):
			t.Errorf("%s restarts after %v", name, got)
		case name == "every" && len(got) != len(want), name == "never" && got != nil:
			t.Errorf("%s restarts after %v, want %v", name, got, want)
		}
		for i, v := range want {
			if name == "every" && got[i] != v {
				t.Errorf("restart %d after %d, want %d", i, got[i], v)
			}
		}
	}
}

// TestDetectRise: rises restart, falls do not.
func TestDetectRise(t *testing.T) {
	options := changepoint.PageHinkleyOptions{Drift: .2, Threshold: 4, Rounds: 20}
	count := func(make func(changepoint.Detector, float64, float64) (Trigger, error)) (rises, falls int) {
		trigger := must(make(must(changepoint.NewPageHinkley(options)), -1, 2))
		for i := range 1000 {
			if must(trigger.Add(level(i))) {
				if i/100%2 == 1 {
					rises++
				} else {
					falls++
				}
			}
		}
		return rises, falls
	}
	if rises, falls := count(Detect); rises != 5 || falls != 4 {
		t.Errorf("Detect: %d rises and %d falls, want 5 and 4", rises, falls)
	}
	if rises, falls := count(DetectRise); rises != 5 || falls != 0 {
		t.Errorf("DetectRise: %d rises and %d falls, want 5 and 0", rises, falls)
	}
}

// TestTriggersCutOff: a detector with a range survives numbers outside it.
func TestTriggersCutOff(t *testing.T) {
	for name, trigger := range triggers() {
		for _, x := range []float64{-1e100, 1e100} {
			if _, err := trigger.Add(x); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestTriggersRefuse(t *testing.T) {
	for name, trigger := range triggers() {
		for i := range 30 {
			must(trigger.Add(level(i)))
		}
		before := must(trigger.MarshalBinary())
		for _, x := range []float64{math.NaN(), math.Inf(1), -1e101} {
			refused(t, name, trigger.Check(x))
			_, err := trigger.Add(x)
			refused(t, name, err)
		}
		if string(before) != string(must(trigger.MarshalBinary())) {
			t.Errorf("%s: a refused number changed it", name)
		}
	}
	for _, n := range []int{0, -1} {
		_, err := Every(n)
		refused(t, "every", err)
	}
	adwin := must(changepoint.NewADWIN(changepoint.DefaultADWINOptions()))
	for _, c := range [][2]float64{{1, 1}, {math.NaN(), 1}, {0, math.Inf(1)}, {0, 2}} {
		_, err := Detect(adwin, c[0], c[1])
		refused(t, "range", err)
	}
	_, err := Detect(nil, 0, 1)
	refused(t, "detector", err)
}

func TestTriggerSnapshots(t *testing.T) {
	for name, a := range triggers() {
		b := triggers()[name]
		for i := range 110 {
			must(a.Add(level(i)))
		}
		snapshottest.Restore(t, a, b)
		for i := 110; i < 400; i++ {
			if must(a.Add(level(i))) != must(b.Add(level(i))) {
				t.Fatalf("%s: another decision in round %d", name, i+1)
			}
		}
		b.Reset()
		if string(must(b.MarshalBinary())) != string(must(triggers()[name].MarshalBinary())) {
			t.Errorf("%s: Reset leaves a state", name)
		}
	}
}

func TestTriggersAllocateNothing(t *testing.T) {
	for name, trigger := range triggers() {
		for i := range 2000 {
			must(trigger.Add(level(i)))
		}
		i := 0
		if n := testing.AllocsPerRun(100, func() { _, _ = trigger.Add(level(i)); i++ }); n != 0 && name != "adwin" {
			t.Errorf("%s: %v allocations a round", name, n)
		}
	}
}
