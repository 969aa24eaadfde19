package serving_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/serving"
)

// learner is a model that can learn from single rows.
func learner(t testing.TB) *classify.Model {
	return trained(t, classify.Binary, "f1", classify.Options{Algorithm: "stamp"}, func(x, _ float64) string {
		if x > 0.8 {
			return "1"
		}
		return "0"
	})
}

// TestLearn: the model goes on with accepted labels, once each, in the order in which they come,
// and what counts is the answer from before the label.
func TestLearn(t *testing.T) {
	m := learner(t)
	opt := serving.DefaultOptions()
	opt.Learn, opt.Window = true, 1e6
	s := newService(t, m, opt)
	want, err := classify.Continue(m)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 8))
	right, n, moved := 0, 0, false
	type open struct {
		p        serving.Prediction
		index    []uint32
		value    []float32
		positive bool
	}
	var waiting []open
	for round := range 400 {
		b := rows(uint64(100+round), 3)
		for i, p := range predict(t, s, b) {
			index, value := b.Row(i)
			if got := want.Score(index, value); p.Scores[0] != got {
				t.Fatalf("round %d: score %v, want %v", round, p.Scores[0], got)
			}
			moved = moved || p.Scores[0] != m.Classifier().RawScores(nil, index, value)[0]
			waiting = append(waiting, open{p, index, value, value[1] > 0}) // the world has changed
		}
		for range min(3, len(waiting)-10) { // late and out of order
			k := r.IntN(len(waiting))
			x := waiting[k]
			waiting = slices.Delete(waiting, k, k+1)
			label, other := "0", "1"
			if x.positive {
				label, other = "1", "0"
			}
			for _, c := range []struct {
				label string
				want  serving.Fate
			}{
				{"x", serving.Rejected},
				{label, serving.Accepted},
				{label, serving.Duplicate},
				{other, serving.Rejected},
			} {
				if got := s.Label(x.p.ID, c.label); got.Fate != c.want {
					t.Fatalf("label %s: %+v", c.label, got)
				}
			}
			if n++; len(x.p.Labels) > 0 == x.positive {
				right++
			}
			e := classify.Example{Index: x.index, Value: x.value, Weight: 1, Positive: x.positive}
			if err := want.Observe(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	l := s.Learning()
	if learned, held := want.Learned(); l != (serving.Learning{Learned: learned, Held: held}) {
		t.Errorf("%+v, want %d and %d", l, learned, held)
	}
	f := figures(t, s)
	if !moved || f.WindowRows != n || l.Learned != int64(n) || *f.Exact != float64(right)/float64(n) {
		t.Errorf("moved %t, learned %d of %d, %+v", moved, l.Learned, n, f)
	}
	now, err := s.Learned()
	if err != nil {
		t.Fatal(err)
	}
	wantModel, err := want.Model()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(now, wantModel) || reflect.DeepEqual(now.Models, m.Models) {
		t.Error("the model is not that of the labels")
	}
}

// TestLearnRefuses: models that cannot learn from single rows are refused.
func TestLearnRefuses(t *testing.T) {
	opt := serving.DefaultOptions()
	opt.Learn = true
	_, err := serving.New(binary(t), opt)
	if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), "logistic learns from all rows") {
		t.Error(err)
	}
}
