package classify

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// recorder is a learner that remembers what it was given.
type recorder struct {
	learned []Example
	scores  []float64 // of the tests to come
}

func (r *recorder) Score([]uint32, []float32) float64 {
	z := r.scores[0]
	r.scores = r.scores[1:]
	return z
}

func (r *recorder) Observe(x Example) error {
	x.Index, x.Value = append([]uint32{}, x.Index...), append([]float32{}, x.Value...)
	r.learned = append(r.learned, x)
	return nil
}

// With a delay the learner gets each example after the prediction for the one that many later,
// unchanged though the caller reuses its memory.
func TestPrequentialDelay(t *testing.T) {
	xs := stream(1, 50)
	for _, delay := range []int{0, 1, 7, 60} {
		r := &recorder{scores: make([]float64, len(xs))}
		p, err := newPrequential(r, 10, delay)
		if err != nil {
			t.Fatal(err)
		}
		var index []uint32
		var value []float32
		for i, x := range xs {
			index, value = append(index[:0], x.Index...), append(value[:0], x.Value...)
			x.Index, x.Value = index, value
			if err := p.Observe(x); err != nil {
				t.Fatal(err)
			}
			if got, want := len(r.learned), max(i+1-delay, 0); got != want {
				t.Fatalf("delay %d: %d examples learned after %d, want %d", delay, got, i+1, want)
			}
		}
		for i, x := range r.learned {
			want := xs[i]
			if x.Positive != want.Positive || x.Weight != want.Weight || len(x.Index) != len(want.Index) {
				t.Fatalf("delay %d: example %d is %+v, want %+v", delay, i, x, want)
			}
			for j := range x.Index {
				if x.Index[j] != want.Index[j] || x.Value[j] != want.Value[j] {
					t.Fatalf("delay %d: example %d is %+v, want %+v", delay, i, x, want)
				}
			}
		}
	}
}

// The matrices are those of all predictions and of the latest ones, with weights.
func TestPrequentialWindow(t *testing.T) {
	const window = 8
	xs := stream(2, 100)
	r := new(recorder)
	for i := range xs {
		r.scores = append(r.scores, float64(i%3-1))
	}
	p, err := newPrequential(r, window, 0)
	if err != nil {
		t.Fatal(err)
	}
	var total measure.Confusion
	for i, x := range xs {
		if err := p.Observe(x); err != nil {
			t.Fatal(err)
		}
		total.Add(x.Positive, i%3 == 2, x.Weight)
		var latest measure.Confusion
		for j := max(0, i-window+1); j <= i; j++ {
			latest.Add(xs[j].Positive, j%3 == 2, xs[j].Weight)
		}
		a, b := p.Window(), latest
		for _, d := range []float64{a.TP - b.TP, a.FN - b.FN, a.TN - b.TN, a.FP - b.FP} {
			if math.Abs(d) > 1e-12 {
				t.Fatalf("example %d: window %+v, want %+v", i, a, b)
			}
		}
	}
	if p.Total() != total || p.Tested() != 100 {
		t.Errorf("total %+v of %d, want %+v", p.Total(), p.Tested(), total)
	}
}

// Without positives in the window the G-mean is undefined, whatever rounding has left of the
// weights of earlier ones.
func TestPrequentialWindowRounding(t *testing.T) {
	weights := []float64{.1, .7, .2, .3, .6, .1, .7}
	r := &recorder{scores: make([]float64, 3*len(weights))}
	for i := range r.scores {
		r.scores[i] = 1
	}
	p, err := newPrequential(r, len(weights)+1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.scores {
		x := Example{Positive: i < len(weights), Weight: weights[i%len(weights)]}
		if err := p.Observe(x); err != nil {
			t.Fatal(err)
		}
		if i < 2*len(weights) {
			continue
		}
		if c := p.Window(); c.TP != 0 || !math.IsNaN(measure.GMean{}.Value(c)) {
			t.Fatalf("example %d: %+v, a G-mean of %v", i, c, measure.GMean{}.Value(c))
		}
	}
}

// Each example is tested before it is learned: the predictions are those of a learner driven by
// hand.
func TestPrequentialTestsFirst(t *testing.T) {
	xs := stream(3, 1500)
	p, err := NewPrequential(PrequentialOptions{Fit: Options{Measure: measure.GMean{}, Algorithm: "spade"}})
	if err != nil {
		t.Fatal(err)
	}
	twin := driftLearner(t, "spade", "none", func(o *Options) { o.Config.BurnIn = 0 })
	var total measure.Confusion
	for _, x := range xs {
		total.Add(x.Positive, twin.Score(x.Index, x.Value) > 0, x.Weight)
		feed(t, twin, []Example{x})
		if err := p.Observe(x); err != nil {
			t.Fatal(err)
		}
	}
	if p.Total() != total {
		t.Errorf("%+v, want %+v", p.Total(), total)
	}
}

// A bad example is refused; options out of range are refused with the allowed range.
func TestPrequentialErrors(t *testing.T) {
	for _, text := range driftTexts {
		for _, delay := range []int{0, 5} {
			p, err := NewPrequential(PrequentialOptions{
				Fit: Options{Measure: measure.GMean{}, Drift: parseDrift(t, text)}, LabelDelay: delay,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []Example{
				{Index: []uint32{1}, Weight: 1},
				{Index: []uint32{1}, Value: []float32{float32(math.Inf(1))}, Weight: 1},
				{Index: []uint32{1, 1}, Value: []float32{1, 2}, Weight: 1},
				{Weight: -1},
			} {
				if err := p.Observe(x); noregret.CodeOf(err) != noregret.BadInput || p.Tested() != 0 {
					t.Errorf("%s, delay %d, %+v: %v, %d tested", text, delay, x, err, p.Tested())
				}
			}
		}
	}
	o := Options{Measure: measure.GMean{}}
	for _, opt := range []PrequentialOptions{
		{Fit: o, Window: -1},
		{Fit: o, LabelDelay: -1},
		{Fit: o, Window: 2e8},
		{Fit: Options{Measure: measure.GMean{}, TuneSteps: true}},
		{},
	} {
		if _, err := NewPrequential(opt); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}

// An example allocates nothing in the steady state, with and without a delay, for every way to keep
// up: only new learners allocate, and these intervals are longer than the test.
func TestPrequentialAllocations(t *testing.T) {
	xs := stream(4, 3000)
	for _, text := range []string{
		"none", "restart:interval=2500", "restart:interval=2500,mode=full", "discount:window=40", "detector",
		"detector:kswin", "adaptive:interval=900",
	} {
		for _, delay := range []int{0, 20} {
			p, err := newPrequential(driftLearner(t, "spade", text, nil), 100, delay)
			if err != nil {
				t.Fatal(err)
			}
			i := 0
			observe := func() {
				if err := p.Observe(xs[i%len(xs)]); err != nil {
					t.Fatal(err)
				}
				i++
			}
			for range 2650 {
				observe()
			}
			if n := testing.AllocsPerRun(200, observe); n != 0 {
				t.Errorf("%s, delay %d: %v allocations", text, delay, n)
			}
		}
	}
}

// The curve has every window of a short stream, and at most 2,000 points of a long one at equal
// distances.
func TestPrequentialCurve(t *testing.T) {
	c := curve{every: 5}
	for row := int64(1); row <= 5*1999; row++ {
		c.add(row, measure.Confusion{})
	}
	if len(c.points) != 1999 || c.points[0].Row != 5 || c.points[1998].Row != 5*1999 {
		t.Fatalf("%d points", len(c.points))
	}
	for row := int64(5*1999 + 1); row <= 100_000; row++ {
		c.add(row, measure.Confusion{})
	}
	for i, p := range c.points {
		if p.Row != int64(i+1)*c.every {
			t.Fatalf("point %d is of row %d, the distance is %d", i, p.Row, c.every)
		}
	}
	if n := len(c.points); n >= 2*mostPoints || n < mostPoints || int64(n+1)*c.every <= 100_000 {
		t.Errorf("%d points at a distance of %d", n, c.every)
	}
}

// A stream of text is evaluated for several forms at once as for each alone, beside two baselines.
func TestEvaluateStream(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		label, x := "-1", i%11
		if (x > 6) == (i/1000%2 == 0) {
			label = "+1"
		}
		text.WriteString(label + " 1:" + string(rune('0'+x%10)) + " 2:1\n")
	}
	path := filepath.Join(t.TempDir(), "rows.svm")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	evaluate := func(forms ...string) *PrequentialResult {
		s, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		opt := PrequentialStreamOptions{Baselines: true}
		opt.Fit, opt.Window = Options{Measure: measure.FBeta{B: 1}, Algorithm: "sgd-balanced"}, 500
		for _, f := range forms {
			opt.Forms = append(opt.Forms, parseDrift(t, f))
		}
		r, err := EvaluateStream(context.Background(), s, opt)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	all := evaluate("none", "discount:window=100")
	if all.Info.Rows != 3000 || all.Algorithm != "sgd-balanced" || all.Positive != "1" || len(all.Forms) != 4 {
		t.Fatalf("%+v", all)
	}
	for i, f := range []string{"none", "discount:window=100"} {
		alone := evaluate(f)
		if alone.Forms[0].Total != all.Forms[i].Total || len(all.Forms[i].Curve) != 6 ||
			all.Forms[i].Curve[5] != alone.Forms[0].Curve[5] || all.Forms[i].Name != f {
			t.Errorf("%s: %+v alone, %+v beside others", f, alone.Forms[0], all.Forms[i])
		}
	}
	f1 := measure.FBeta{B: 1}
	if a, b := f1.Value(all.Forms[0].Total), f1.Value(all.Forms[1].Total); a >= b {
		t.Errorf("the stream flips twice: F1 %v without discount, %v with", a, b)
	}
	if all.Forms[2].Name != "last label" || all.Forms[3].Name != "majority" {
		t.Errorf("baselines %s and %s", all.Forms[2].Name, all.Forms[3].Name)
	}
}
