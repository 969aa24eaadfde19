package catalogue

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/box"
)

// oldSnapshot is a snapshot of format 1, and where the learner that it was taken of was 20 rounds
// later.
type oldSnapshot struct {
	Name     string    `json:"name"`
	Snapshot []byte    `json:"snapshot"`
	Serving  []float64 `json:"serving"`
	Deployed []float64 `json:"deployed"`
}

// Snapshots of format 1, which the learners wrote when all were in one package, still open, and the
// learners continue from them bit for bit.
func TestOldSnapshots(t *testing.T) {
	f, err := pasto.NewGoals([]pasto.Metric{{Name: "x"}, {Name: "y", Role: pasto.Guardrail}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("testdata/snapshots-1.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	seen := 0
	for d := json.NewDecoder(file); ; seen++ {
		var old oldSnapshot
		if err := d.Decode(&old); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		var l pasto.Learner
		if old.Name == "continuous" {
			l, err = box.New(f, []float64{0}, []float64{1}, box.Options{Nodes: 3, Every: 10})
		} else {
			l, err = New(old.Name, f, 3, 100, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := l.UnmarshalBinary(old.Snapshot); err != nil {
			t.Errorf("%s: %v", old.Name, err)
			continue
		}
		r, arms := rand.New(rand.NewPCG(3, 4)), make([]int, 3)
		for range 20 {
			l.Draw(r, arms)
			var obs []pasto.Observation
			for _, k := range arms {
				x, y := 2*float64(k%2)+r.Float64(), 1-float64(k)+r.Float64()
				obs = append(obs, pasto.Observation{Arm: k, Metrics: []float64{x, y}})
			}
			if err := l.Observe(obs); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(l.Serving(), old.Serving) || !slices.Equal(l.Deployed(), old.Deployed) {
			t.Errorf("%s: serves %v and deploys %v, it was %v and %v", old.Name, l.Serving(), l.Deployed(), old.Serving,
				old.Deployed)
		}
	}
	if want := len(Algorithms()); seen != want { // "tracking" came later, "continuous" is not listed
		t.Errorf("%d snapshots, want %d", seen, want)
	}
}
