package world

import (
	"math"
	"testing"

	"github.com/noregret/noregret/experiment/definition"
)

// TestWorld checks that the true recall is linear in the mixture, that the best single arm and the
// best mixture hold the guardrail, and that the best mixture is at least as good as the best single
// arm.
func TestWorld(t *testing.T) {
	w, err := New(100, 3)
	if err != nil {
		t.Fatal(err)
	}
	single, arm := w.Single()
	if arm < 0 || arm >= w.Arms() || w.Guard(single) < w.Limit() {
		t.Errorf("the best single arm is %d, with documentary recall %v, limit %v", arm, w.Guard(single), w.Limit())
	}
	if best := w.Best(); w.Guard(best) < w.Limit()-1e-9 || w.Value(best) < w.Value(single)-1e-12 {
		t.Errorf("the best mixture has recall %v and documentary recall %v; the best single arm %v, limit %v",
			w.Value(best), w.Guard(best), w.Value(single), w.Limit())
	}
	if fine := w.Fine(); w.Guard(fine) < w.Limit() || w.Value(fine) < w.Value(single)-0.01 {
		t.Errorf("the best fine setting has recall %v and documentary recall %v", w.Value(fine), w.Guard(fine))
	}
	half := w.Mixture(map[string]float64{w.Name(0): 0.5, w.Name(1): 0.5})
	want := (w.Value(w.setting(0)) + w.Value(w.setting(1))) / 2
	if got := w.Value(half); math.Abs(got-want) > 1e-12 {
		t.Errorf("half of each is worth %v, want %v", got, want)
	}
}

// TestWorldSeeds checks that the same seed makes the same world and another seed a different one.
func TestWorldSeeds(t *testing.T) {
	value := func(seed uint64) float64 {
		w, err := New(60, seed)
		if err != nil {
			t.Fatal(err)
		}
		return w.Value(w.Fine())
	}
	if a, b, c := value(3), value(3), value(4); a != b || a == c {
		t.Errorf("recall %v, again %v, with another seed %v", a, b, c)
	}
}

// TestWorldDefinition checks that the service accepts the definition and that it has the guardrail
// of this world.
func TestWorldDefinition(t *testing.T) {
	w, err := New(60, 3)
	if err != nil {
		t.Fatal(err)
	}
	text, err := w.Definition()
	if err != nil {
		t.Fatal(err)
	}
	d, err := definition.Parse("demo", text)
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != Experiment || *d.Guardrails[0].Min != w.Limit() {
		t.Errorf("%s with the limit %v, want %s with %v", d.Name, *d.Guardrails[0].Min, Experiment, w.Limit())
	}
}
