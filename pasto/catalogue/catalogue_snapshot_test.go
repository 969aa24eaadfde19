package catalogue

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/pasto/confident"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// oldSnapshot is a snapshot of format 1, with the state of its learner 20 rounds later.
type oldSnapshot struct {
	Name     string    `json:"name"`
	Snapshot []byte    `json:"snapshot"`
	Serving  []float64 `json:"serving"`
	Deployed []float64 `json:"deployed"`
}

// Snapshots of format 1, from when all learners were in one package, still open, and the learners
// continue from them bit for bit. The default and the learners built on it are exceptions.
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
			o := box.DefaultOptions(1)
			o.Nodes, o.MaxNodes, o.Every = 3, 12, 10
			l, err = box.New(f, []float64{0}, []float64{1}, o)
		} else {
			l, err = New(old.Name, f, 3, 100, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := l.UnmarshalBinary(old.Snapshot); old.Name == "continuous" {
			if err == nil || !strings.Contains(err.Error(), `this learner is "surface(`) {
				t.Errorf("%s: %v: want it refused, because the box learner has changed since", old.Name, err)
			}
			continue
		} else if old.Name == "default" || old.Name == "default-floor" {
			if err == nil || !strings.Contains(err.Error(), "before state 8") {
				t.Errorf("%s: %v: want it refused by its format", old.Name, err)
			}
			continue
		} else if err != nil {
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
			t.Errorf("%s: serves %v and deploys %v, want %v and %v", old.Name, l.Serving(), l.Deployed(), old.Serving,
				old.Deployed)
		}
	}
	// "tracking" and the default's ways to forget came later, "continuous" is not listed.
	if want := len(Algorithms()) - len(forgetful()); seen != want {
		t.Errorf("%d snapshots, want %d", seen, want)
	}
}

// A snapshot belongs to its objective: restoring under another threshold, price or utility is
// refused.
func TestSnapshotObjective(t *testing.T) {
	a, b := pastotest.Goals(t, 5, false, 0), pastotest.Goals(t, 5, false, .1)
	c := pastotest.Goals(t, 6, false, 0)
	for _, e := range Algorithms() {
		l, _ := e.New(a, 2, 100, nil)
		pastotest.Play(t, l, pastotest.Toy(t), 1, 10, 1, random.New(1, "test"))
		data, _ := l.MarshalBinary()
		for _, f := range []pasto.Objective{b, c} {
			other, _ := e.New(f, 2, 100, nil)
			if err := other.UnmarshalBinary(data); err == nil || !strings.Contains(err.Error(), "it was taken from") {
				t.Errorf("%s: restored under another objective: %v", e.Name, err)
			}
		}
		again, _ := e.New(pastotest.Goals(t, 5, false, 0), 2, 100, nil)
		if err := again.UnmarshalBinary(data); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	u, v := pastotest.Cliff(), pastotest.Cliff()
	v.Name = "another"
	l, _ := confident.New(u, 2, confident.DefaultOptions())
	data, _ := l.MarshalBinary()
	other, _ := confident.New(v, 2, confident.DefaultOptions())
	if err := other.UnmarshalBinary(data); err == nil {
		t.Error("restored under another utility")
	}
	x, _ := box.New(a, []float64{0}, []float64{1}, box.DefaultOptions(1))
	y, _ := box.New(b, []float64{0}, []float64{1}, box.DefaultOptions(1))
	data, _ = x.MarshalBinary()
	if err := y.UnmarshalBinary(data); err == nil {
		t.Error("a box learner was restored under another objective")
	}
}
