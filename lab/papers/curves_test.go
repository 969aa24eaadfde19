package papers

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
)

// overlapping are rows of two classes that overlap, a fifth of them positive: feature 0 tells the
// classes apart on a scale of thousands, around an offset, and feature 1 is rare.
func overlapping(n int) []classify.Example {
	r := rand.New(rand.NewPCG(7, 8))
	rows := make([]classify.Example, n)
	for i := range rows {
		x := classify.Example{Positive: i%5 == 0, Weight: 1}
		v := r.NormFloat64()
		if x.Positive {
			v += 2
		}
		x.Index, x.Value = []uint32{0}, []float32{float32(5000 + 1000*v)}
		if r.IntN(10) == 0 {
			x.Index, x.Value = append(x.Index, 1), append(x.Value, 3)
		}
		rows[i] = x
	}
	return rows
}

// Every series ends near the best that one feature allows, by the measure's own formula, but for
// logistic regression at threshold 0 with a rare class; values are the same in every run and times
// are those of the clock.
func TestRunCurves(t *testing.T) {
	rows := overlapping(3000)
	for _, tc := range []struct {
		m       measure.Measure
		methods []string
		least   float64
	}{
		{measure.QMean{}, []string{CurveSPADE, CurvePlugIn, CurveLogistic, CurveStruct}, 0.80},
		{measure.Min{}, []string{CurveSPADE, CurvePlugIn, CurveLogistic, CurveStruct}, 0.79},
		{f1, []string{CurveSTAMP, CurvePlugIn, CurveLogistic, CurveStruct, CurveOnePass}, 0.68},
		{measure.Jaccard(), []string{CurveSTAMP, CurvePlugIn, CurveLogistic, CurveStruct}, 0.51},
	} {
		opt := DefaultCurveOptions()
		opt.Measure, opt.Passes, opt.Cuts, opt.Seed = tc.m, 5, 20, 3
		now := time.Duration(0)
		opt.Clock = func() time.Duration {
			now += time.Second
			return now
		}
		list, err := RunCurves(t.Context(), rows, 2, opt)
		if err != nil {
			t.Fatal(err)
		}
		opt.Clock = nil
		again, err := RunCurves(t.Context(), rows, 2, opt)
		if err != nil {
			t.Fatal(err)
		}
		var methods []string
		for k, c := range list {
			methods = append(methods, c.Method)
			last := c.Points[len(c.Points)-1]
			if c.Method != CurveLogistic && last.Value < tc.least {
				t.Errorf("%s, %s ends at %.4f, want at least %v", tc.m.Name(), c.Method, last.Value, tc.least)
			}
			for i, p := range c.Points {
				before := CurvePoint{}
				if i > 0 {
					before = c.Points[i-1]
				}
				if p.Budget <= before.Budget || p.Seconds < before.Seconds || p.Seconds == 0 {
					t.Errorf("%s, %s: point %d is %+v after %+v", tc.m.Name(), c.Method, i, p, before)
				}
				other := again[k].Points[i]
				if other.Value != p.Value || other.Passes != p.Passes || other.Seconds != 0 {
					t.Errorf("%s, %s: %+v again, %+v at first", tc.m.Name(), c.Method, other, p)
				}
			}
		}
		if !slices.Equal(methods, tc.methods) {
			t.Errorf("%s: methods %v, want %v", tc.m.Name(), methods, tc.methods)
		}
		plugIn, plain := list[1].Points, list[2].Points
		if a, b := plugIn[len(plugIn)-1], plain[len(plain)-1]; a.Value < b.Value+0.02 {
			t.Errorf("%s: the plug-in has %.4f, logistic regression at 0 %.4f", tc.m.Name(), a.Value, b.Value)
		}
	}
}

// The last point of the logistic series is where the gradient vanishes, which differences confirm.
func TestLogLoss(t *testing.T) {
	c := &curves{ctx: context.Background(), dim: 2, opt: CurveOptions{Clock: func() time.Duration { return 0 }}}
	if err := c.divide(overlapping(600)); err != nil {
		t.Fatal(err)
	}
	gradient, scratch := make([]float64, 3), make([]float64, 3)
	w := []float64{0.3, -0.7, 0.2}
	c.logLoss(w, gradient)
	for j := range w {
		up, down := slices.Clone(w), slices.Clone(w)
		up[j], down[j] = up[j]+1e-5, down[j]-1e-5
		if d := (c.logLoss(up, scratch) - c.logLoss(down, scratch)) / 2e-5; math.Abs(d-gradient[j]) > 1e-8 {
			t.Errorf("derivative %d is %v, differences give %v", j, gradient[j], d)
		}
	}
	steps, err := c.minimize()
	if err != nil {
		t.Fatal(err)
	}
	c.logLoss(steps[len(steps)-1].w, gradient)
	for j, g := range gradient {
		if math.Abs(g) > 1e-6 {
			t.Errorf("derivative %d at the end is %v", j, g)
		}
	}
}

// Features have the variance 1 on the training rows; one that is mostly there is also centred.
func TestScaleOf(t *testing.T) {
	rows := overlapping(1000)
	all := make([]int, len(rows))
	for i := range all {
		all[i] = i
	}
	s := scaleOf(rows, all, 3)
	var sum, squares [3]float64
	for i := range rows {
		x := s.apply(&rows[i])
		for j, f := range x.Index {
			sum[f] += float64(x.Value[j]) / 1000
			squares[f] += float64(x.Value[j]*x.Value[j]) / 1000
		}
	}
	if math.Abs(sum[0]) > 1e-6 || sum[1] == 0 || sum[2] != 0 {
		t.Errorf("means %v", sum)
	}
	if math.Abs(squares[0]-1) > 1e-5 || math.Abs(squares[1]-1) > 1e-5 || squares[2] != 0 {
		t.Errorf("mean squares %v", squares)
	}
	// A row whose feature 0 is missing has the value 0 there before it is centred.
	x := s.apply(&classify.Example{Index: []uint32{1}, Value: []float32{3}})
	if !reflect.DeepEqual(x.Index, []uint32{0, 1}) || math.Abs(float64(x.Value[0])+s.center[0]*s.inverse[0]) > 1e-5 {
		t.Errorf("a row without the feature becomes %+v", x)
	}
}

func TestRunCurvesRefuses(t *testing.T) {
	rows := overlapping(300)
	for name, change := range map[string]func(*CurveOptions){
		"no measure":      func(o *CurveOptions) { o.Measure = nil },
		"another measure": func(o *CurveOptions) { o.Measure = measure.GMean{} },
		"no passes":       func(o *CurveOptions) { o.Passes = 0 },
		"no cuts":         func(o *CurveOptions) { o.Cuts = 0 },
	} {
		opt := DefaultCurveOptions()
		opt.Measure = f1
		change(&opt)
		if _, err := RunCurves(t.Context(), rows, 2, opt); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	opt := DefaultCurveOptions()
	opt.Measure = f1
	if _, err := RunCurves(t.Context(), rows[:80], 2, opt); noregret.CodeOf(err) != noregret.BadInput {
		t.Errorf("few positives: %v", err)
	}
}
