package drift_test

import (
	"bytes"
	"encoding"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/catalogue"
)

// equalsFresh plays rounds with a restarted learner and with one that is made anew at the start of
// every batch, and compares their snapshots after every round.
func equalsFresh[L encoding.BinaryMarshaler](t *testing.T, name string, size, rounds int, fresh func() (L, error),
	play func(round int, l L) error,
) {
	t.Helper()
	trigger, err := forget.Every(size)
	if err != nil {
		t.Fatal(err)
	}
	r, err := drift.NewRestarter(trigger, func(int) (L, error) { return fresh() })
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var other L
	for round := range rounds {
		if round%size == 0 {
			if other, err = fresh(); err != nil {
				t.Fatal(err)
			}
		}
		l := r.Learner()
		for _, x := range []L{l, other} {
			if err := play(round, x); err != nil {
				t.Fatalf("%s, round %d: %v", name, round+1, err)
			}
		}
		a, err := l.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		b, err := other.MarshalBinary()
		if err != nil || !bytes.Equal(a, b) {
			t.Fatalf("%s, round %d: the restarted learner differs from a fresh one (%v)", name, round+1, err)
		}
		if _, err := r.End(0); err != nil {
			t.Fatal(err)
		}
	}
	if r.Batch() != rounds/size {
		t.Errorf("%s: %d restarts", name, r.Batch())
	}
}

// TestRestartedClassifiers: restarted classifiers have in every batch the state of a fresh one, bit
// for bit.
func TestRestartedClassifiers(t *testing.T) {
	config := classify.Config{Dim: 3}
	for name, fresh := range map[string]func() (classify.Learner, error){
		"sgd": func() (classify.Learner, error) { return classify.NewSGD(classify.SGDConfig{Config: config}) },
		"spade": func() (classify.Learner, error) {
			return classify.NewSPADE(classify.SPADEConfig{Config: config, Measure: measure.GMean{}})
		},
		"stamp": func() (classify.Learner, error) {
			return classify.NewSTAMP(classify.STAMPConfig{Config: config, Measure: measure.FBeta{B: 1}, FirstEpoch: 20})
		},
	} {
		equalsFresh(t, name, 150, 500, fresh, func(round int, l classify.Learner) error {
			r := random.New(uint64(round), name)
			x := classify.Example{Index: []uint32{0, 2}, Value: make([]float32, 2), Positive: r.IntN(3) == 0, Weight: 1}
			for i := range x.Value {
				x.Value[i] = float32(r.NormFloat64())
			}
			return l.Observe(x)
		})
	}
}

// TestRestartedMixtures: restarted learners of mixtures have in every batch the state of a fresh
// one, bit for bit.
func TestRestartedMixtures(t *testing.T) {
	goals, err := pasto.NewGoals([]pasto.Metric{{Name: "gain"}, {Name: "guard", Role: pasto.Guardrail}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range catalogue.Algorithms() {
		fresh := func() (pasto.Learner, error) { return e.New(goals, 3, 20, nil) }
		arms := make([]int, 6)
		equalsFresh(t, e.Name, 20, 50, fresh, func(round int, l pasto.Learner) error {
			r := random.New(uint64(round), e.Name)
			l.Draw(r, arms)
			var obs []pasto.Observation
			for _, k := range arms {
				obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{
					float64(k) + r.NormFloat64(), 1 - float64(k) + r.NormFloat64(),
				}})
			}
			return l.Observe(obs)
		})
	}
}
