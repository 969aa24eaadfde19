package serving_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/serving"
	"github.com/noregret/noregret/dataset"
)

// live answers n rows and gives each the label of the world, which turn may change, until the model
// stops learning. It returns the number of rows.
func live(t *testing.T, s *serving.Service, seed uint64, n int, turn func(positive bool) bool) int {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range n {
		x, z := r.NormFloat64(), r.NormFloat64()
		var b dataset.Block
		b.Append([]uint32{0, 1}, []float32{float32(x), float32(z)}, dataset.NoClass, 1)
		one(t, s, &b, turn(x+0.3*r.NormFloat64() > 0.8))
		if s.Learning().Stopped != nil {
			return i + 1
		}
	}
	return n
}

// one answers a row and gives it its label.
func one(t *testing.T, s *serving.Service, b *dataset.Block, positive bool) serving.Result {
	t.Helper()
	p := predict(t, s, b)
	r := s.Label(p[0].ID, map[bool]string{true: "1", false: "0"}[positive])
	if r.Fate != serving.Accepted {
		t.Fatal(r)
	}
	return r
}

func same(positive bool) bool { return positive }

// learning makes a service that learns, of a model of an algorithm.
func learning(t *testing.T, algorithm string) *serving.Service {
	t.Helper()
	m := trained(t, classify.Binary, "f1", classify.Options{Algorithm: algorithm}, func(x, _ float64) string {
		return map[bool]string{true: "1", false: "0"}[x > 0.8]
	})
	opt := serving.DefaultOptions()
	opt.Learn = true
	return newService(t, m, opt)
}

// TestFarRow: a labelled row far outside the scale of the others is answered and counted, but the
// model does not learn from it, whether it comes among the rows held back or later.
func TestFarRow(t *testing.T) {
	for _, algorithm := range []string{"sgd-logistic", "stamp", "sgd-balanced"} {
		for _, at := range []int{20, 600} {
			for _, value := range []float32{1e4, 1e30} {
				s, plain := learning(t, algorithm), learning(t, algorithm)
				live(t, s, 5, at, same)
				live(t, plain, 5, at, same)
				var b dataset.Block
				b.Append([]uint32{0, 1}, []float32{value, 1}, dataset.NoClass, 1)
				one(t, s, &b, false)
				for _, x := range []*serving.Service{s, plain} {
					live(t, x, 6, 1200, same)
				}
				if l := s.Learning(); l.Skipped != 1 || l.Stopped != nil || l.Held != 0 {
					t.Errorf("%s, %g after %d rows: %+v", algorithm, value, at, l)
				}
				if f := figures(t, s); *f.WindowValue < *figures(t, plain).WindowValue-0.03 {
					t.Errorf("%s, %g after %d rows: f1 %v, without it %v", algorithm, value, at, *f.WindowValue,
						*figures(t, plain).WindowValue)
				}
			}
		}
	}
}

// TestWorse: a model that is led astray by wrong labels falls back to that of the start when the
// labels are right again, and says so; a service that was saved and restored does at the same row.
func TestWorse(t *testing.T) {
	s := learning(t, "sgd-logistic")
	live(t, s, 5, 1500, func(positive bool) bool { return !positive })
	if s.Learning().Stopped != nil {
		t.Fatal("it learned what it was told")
	}
	state := saved(t, s)
	n := live(t, s, 6, 3000, same)
	l := s.Learning()
	if l.Stopped == nil || n > 300 || l.Learned != 0 ||
		!strings.Contains(l.Stopped.Error(), "worse than the model of the start by more than chance") {
		t.Fatalf("after %d rows: %+v", n, l)
	}
	now, err := s.Learned()
	if err != nil || !reflect.DeepEqual(now.Models, s.Model().Models) {
		t.Errorf("the model of the start does not predict: %v", err)
	}
	again := learning(t, "sgd-logistic")
	if err := again.UnmarshalBinary(state); err != nil {
		t.Fatal(err)
	}
	if m := live(t, again, 6, 3000, same); m != n || !bytes.Equal(saved(t, again), saved(t, s)) {
		t.Errorf("restored, it stops after %d rows, not %d", m, n)
	}
}

// TestNotWorse: a model that learns of the same world, or of another one, goes on.
func TestNotWorse(t *testing.T) {
	for _, algorithm := range []string{"sgd-logistic", "stamp"} {
		for seed := range uint64(5) {
			for name, turn := range map[string]func(bool) bool{"same": same, "other": func(p bool) bool { return !p }} {
				s := learning(t, algorithm)
				if live(t, s, 10+seed, 4000, turn); s.Learning().Stopped != nil {
					t.Errorf("%s, %s world: %v", algorithm, name, s.Learning().Stopped)
				}
			}
		}
	}
}
