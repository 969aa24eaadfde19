package classify_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset/synth"
)

// exampleOf returns a source of examples of the seeded problem of draw.
func exampleOf(t *testing.T, seed uint64) func() classify.Example {
	t.Helper()
	g, err := synth.New(synth.G3, seed)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float64, g.Dim())
	return func() classify.Example {
		e := classify.Example{Weight: 1, Positive: g.Next(x)}
		for i, v := range x {
			e.Index, e.Value = append(e.Index, uint32(i)), append(e.Value, float32(v))
		}
		return e
	}
}

// modelOf trains on rows of draw.
func modelOf(t *testing.T, rows int, opt classify.Options) *classify.Model {
	t.Helper()
	d := draw(rows, 3001)
	r, err := classify.Fit(context.Background(), d, opt)
	if err != nil {
		t.Fatal(err)
	}
	m, err := classify.NewModel(r, opt, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// valueOf is the measure of a model on rows that it has not seen.
func valueOf(t *testing.T, m *classify.Model) float64 {
	t.Helper()
	c, err := classify.Evaluate(context.Background(), draw(20_000, 3003), m.Classifier())
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.ParsedMeasure()
	if err != nil {
		t.Fatal(err)
	}
	return c.Value(p)
}

// TestContinuationLearns: a model of few rows that goes on with many becomes better, and a good one
// does not become worse, whatever the algorithm and its steps.
func TestContinuationLearns(t *testing.T) {
	for name, opt := range map[string]classify.Options{
		"spade":    {Measure: measure.GMean{}, Algorithm: "spade"},
		"min":      {Measure: measure.Min{}, Algorithm: "spade"},
		"stamp":    {Measure: measure.FBeta{B: 1}, Algorithm: "stamp"},
		"balanced": {Measure: measure.GMean{}, Algorithm: "sgd-balanced"},
		"adaptive": {
			Measure: measure.GMean{}, Algorithm: "sgd-balanced", Config: classify.Config{Steps: classify.StepsAdaptive},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				rows  int
				least float64 // by which the measure must rise
			}{{200, 0.005}, {20_000, -0.01}} {
				m := modelOf(t, c.rows, opt)
				before := valueOf(t, m)
				l, err := classify.Continue(m)
				if err != nil {
					t.Fatal(err)
				}
				next := exampleOf(t, 4001)
				for range 20_000 {
					if err := l.Observe(next()); err != nil {
						t.Fatal(err)
					}
				}
				after, err := l.Model()
				if err != nil {
					t.Fatal(err)
				}
				v := valueOf(t, after)
				t.Logf("%d rows: %.4f, then %.4f", c.rows, before, v)
				if v < before+c.least {
					t.Errorf("of %d rows the measure was %.4f, after 20000 more it is %.4f", c.rows, before, v)
				}
			}
		})
	}
}

// TestContinuationOfAModel: the first rows change nothing, a bad row never does, and a continuation
// restored from a snapshot goes on with the same bits, before and after its start.
func TestContinuationOfAModel(t *testing.T) {
	m := modelOf(t, 2000, classify.Options{Measure: measure.FBeta{B: 1}, Algorithm: "stamp"})
	base := m.Classifier()
	probe := exampleOf(t, 9)()
	var other *classify.Continuation
	l, err := classify.Continue(m)
	if err != nil {
		t.Fatal(err)
	}
	next := exampleOf(t, 4001)
	for i := range 1500 {
		want := base.RawScores(nil, probe.Index, probe.Value)[0]
		if n, held := l.Learned(); n == 0 && l.Score(probe.Index, probe.Value) != want {
			t.Fatalf("with %d rows held back the model has changed", held)
		}
		if i == 100 || i == 1000 {
			b, err := l.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			if other, err = classify.Continue(m); err != nil {
				t.Fatal(err)
			}
			if err := other.UnmarshalBinary(b); err != nil {
				t.Fatal(err)
			}
			again, err := other.MarshalBinary()
			if err != nil || !bytes.Equal(b, again) {
				t.Fatalf("after %d rows a snapshot does not return: %v", i, err)
			}
		}
		x := next()
		bad := x
		bad.Index = append(slices.Clone(x.Index), 99)
		bad.Value = append(slices.Clone(x.Value), 1)
		if err := l.Observe(bad); noregret.CodeOf(err) != noregret.BadInput {
			t.Fatalf("a bad row: %v", err)
		}
		for _, c := range []*classify.Continuation{l, other} {
			if c == nil {
				continue
			}
			if err := c.Observe(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, held := l.Learned(); n != 1500 || held != 0 {
		t.Errorf("learned from %d, %d held back", n, held)
	}
	var texts [2]bytes.Buffer
	for i, c := range []*classify.Continuation{l, other} {
		after, err := c.Model()
		if err != nil {
			t.Fatal(err)
		}
		if err := classify.WriteModel(&texts[i], after); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(texts[0].Bytes(), texts[1].Bytes()) {
		t.Error("the restored continuation has another model")
	}
	read, err := classify.ReadModel(&texts[0], "model")
	if err != nil {
		t.Fatal(err)
	}
	got, want := read.Classifier().RawScores(nil, probe.Index, probe.Value)[0], l.Score(probe.Index, probe.Value)
	if !close9(got, want) {
		t.Errorf("the model scores %v, the continuation %v", got, want)
	}
	if _, err := classify.Continue(read); err != nil {
		t.Errorf("a continued model cannot be continued: %v", err)
	}
	foreign, err := classify.Continue(read)
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if err := foreign.UnmarshalBinary(b); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("the snapshot of another model: %v", err)
	}
	b[len(b)/2] ^= 1
	if err := other.UnmarshalBinary(b); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("a damaged snapshot: %v", err)
	}
}

func close9(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

func TestContinueRefuses(t *testing.T) {
	plugin := modelOf(t, 500, classify.Options{Measure: measure.FBeta{B: 1}, Algorithm: "plugin"})
	bets := modelOf(t, 500, classify.Options{
		Measure: measure.FBeta{B: 1}, Algorithm: "sgd-logistic", Config: classify.Config{Steps: classify.StepsBetting},
	})
	for want, m := range map[string]*classify.Model{
		"plugin learns from all rows at once": plugin, "coin betting": bets,
		"the model is private": {Privacy: &classify.ModelPrivacy{}}, "of 3 labels": {
			Task: classify.Multiclass, Labels: []string{"a", "b", "c"},
		},
	} {
		_, err := classify.Continue(m)
		if noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
