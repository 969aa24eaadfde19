package papers

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset/synth"
)

// StructSVMOptions are the options of [RunStructSVM]. [DefaultStructSVMOptions] returns those of
// the full table.
type StructSVMOptions struct {
	// Problem is the synthetic problem g1, g3 or g4.
	Problem string
	// Rows is the largest number of training rows, at least 500. The problem may have fewer: g1 has
	// 20,000.
	Rows int
	// Clock, if not nil, returns the time since a fixed moment; the table then has a column of
	// seconds.
	Clock func() time.Duration
	// Passes caps the passes of the cutting-plane method for each C, at least 1.
	Passes int
}

// DefaultStructSVMOptions returns options with problem g1, all of its training rows, at most 300
// passes, and no clock.
func DefaultStructSVMOptions() StructSVMOptions {
	return StructSVMOptions{Problem: "g1", Rows: math.MaxInt, Passes: 300}
}

// RunStructSVM compares F₁ of STAMP with that of the struct-SVM baselines on a synthetic problem:
// cutting planes as in SVMperf (Joachims 2005) for C in {10, 100, 1000, 10000}, and a
// reconstruction of the one-pass mini-batch method 1PMB (Kar, Narasimhan and Jain 2014) for buffers
// of ⌈10/p⌉ and ⌈40/p⌉ rows and η in {1, 10, 100, 1000}, with the plug-in logistic model for
// reference. Every method's parameters and threshold are chosen on the validation set. Columns:
// test F₁; passes over the training data of the chosen run (and epochs for STAMP); seconds of all
// runs of the method, scoring included, if there is a clock. The baselines are for comparisons
// only; the library does not contain them. The paper prints no numbers to compare with.
//
// On the full problems the struct SVM collapses: its QP proves that ½‖w‖² + Cξ is at least 0.999·C
// for every w, and w = 0 has C. The labeling that calls all positives negative (Δ = 1) and every
// negative with z > 0 positive requires by itself ξ ≥ 1 - 2p·E[z|+] + 2(1-p)·E[z₊|-], and at 5 %
// positives two standard deviations away no threshold makes that less than one. The remaining F₁
// comes from the direction of a tiny w and the tuned threshold; it varies by about 0.02 with the
// tolerance of the QP.
func RunStructSVM(ctx context.Context, opt StructSVMOptions) (Table, error) {
	switch {
	case opt.Rows < 500:
		return Table{}, noregret.Errorf(noregret.Usage, "", "number of rows is %d, want at least 500", opt.Rows)
	case opt.Passes < 1:
		return Table{}, noregret.Errorf(noregret.Usage, "", "number of passes is %d, want at least 1", opt.Passes)
	case !slices.Contains([]string{"g1", "g3", "g4"}, opt.Problem):
		return Table{}, noregret.Errorf(noregret.Usage, "", "no problem is named %q; there are g1, g3, g4", opt.Problem)
	}
	t, err := newTale(opt.Problem)
	if err != nil {
		return Table{}, err
	}
	if err := t.shorten(opt.Rows); err != nil {
		return Table{}, err
	}
	out := Table{
		Title: fmt.Sprintf("F1 of STAMP and of struct-SVM baselines on %s, %d training rows, parameters and "+
			"thresholds by validation", opt.Problem, len(t.rows)),
		Columns: []string{"test F1", "passes"},
	}
	if opt.Clock != nil {
		out.Columns = append(out.Columns, "seconds")
	}
	for _, row := range []struct {
		name string
		run  func(ctx context.Context) (f1 float64, passes int, err error)
	}{
		{"plug-in logistic", t.plugIn},
		{"STAMP", t.stampRow},
		{"SVMperf, cutting planes", func(ctx context.Context) (float64, int, error) {
			return t.svmPerf(ctx, opt.Passes)
		}},
		{"1PMB, reconstruction", t.onePass},
	} {
		var start time.Duration
		if opt.Clock != nil {
			start = opt.Clock()
		}
		f1, passes, err := row.run(ctx)
		if err != nil {
			return out, err
		}
		cells := []Cell{{Mean: f1, Runs: 1, Stated: math.NaN()}, {Mean: float64(passes), Runs: 1, Stated: math.NaN()}}
		if opt.Clock != nil {
			cells = append(cells, Cell{Mean: (opt.Clock() - start).Seconds(), Runs: 1, Stated: math.NaN()})
		}
		out.Rows = append(out.Rows, Row{Name: row.name, Cells: cells})
	}
	return out, nil
}

// shorten keeps only the first rows of the training set.
func (t *tale) shorten(n int) error {
	if n >= len(t.rows) {
		return nil
	}
	spec, err := synth.ByName(t.name)
	if err != nil {
		return err
	}
	g, err := synth.New(spec, map[string]uint64{"g1": 1001, "g3": 3001, "g4": 4001}[t.name])
	if err != nil {
		return err
	}
	rows, set, err := draw(g, n)
	if err != nil {
		return err
	}
	t.rows, t.train = rows, classify.Data{Set: set, Positive: 1}
	t.p, t.meanSquare = 0, 0
	for _, x := range rows {
		if x.Positive {
			t.p++
		}
		t.meanSquare++
		for _, v := range x.Value {
			t.meanSquare += float64(float64(v) * float64(v))
		}
	}
	t.p /= float64(n)
	t.meanSquare /= float64(n)
	return nil
}

var f1 = measure.FBeta{B: 1}

func (t *tale) plugIn(ctx context.Context) (float64, int, error) {
	r,
		err := classify.Fit(ctx, t.train, classify.Options{
		Algorithm: "plugin", Measure: f1, Valid: &t.valid,
		Unscaled: true,
	})
	if err != nil {
		return 0, 0, err
	}
	v, err := t.value(ctx, r.Models[0], f1)
	return v, r.Passes, err
}

func (t *tale) stampRow(ctx context.Context) (float64, int, error) {
	v, err := t.stamp(ctx, stampVariant{measure: f1, first: 100, growth: 2, best: true, tunedTh: true}, 200)
	return v, 25, err
}

// best is the model with the largest validation F₁ after its threshold is tuned.
type best struct {
	value  float64
	model  classify.Linear
	passes int
}

func (t *tale) consider(ctx context.Context, b *best, r trained) error {
	th, v, err := classify.Tune(ctx, t.valid, &r.model, f1)
	if err != nil {
		return err
	}
	if b.model.Weights == nil || v > b.value {
		r.model.Threshold = th
		*b = best{value: v, model: r.model, passes: r.passes}
	}
	return nil
}

func (t *tale) svmPerf(ctx context.Context, limit int) (float64, int, error) {
	s := newStructSVM(structLosses[0], t.rows, 10)
	var b best
	for _, c := range []float64{10, 100, 1000, 10_000} {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		if err := t.consider(ctx, &b, s.cuttingPlanes(c, limit, nil)); err != nil {
			return 0, 0, err
		}
	}
	v, err := t.value(ctx, b.model, f1)
	return v, b.passes, err
}

func (t *tale) onePass(ctx context.Context) (float64, int, error) {
	var b best
	for _, positives := range []float64{10, 40} {
		for _, eta := range []float64{1, 10, 100, 1000} {
			if err := t.consider(ctx, &b, miniBatch(t.rows, 10, int(math.Ceil(positives/t.p)), eta)); err != nil {
				return 0, 0, err
			}
		}
	}
	v, err := t.value(ctx, b.model, f1)
	return v, b.passes, err
}
