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
	"github.com/noregret/noregret/internal/random"
)

// CurveOptions are the options of [RunCurves]. [DefaultCurveOptions] returns those of the paper.
type CurveOptions struct {
	// Measure is Q-mean or min, for which SPADE is trained, or F₁ or Jaccard, for STAMP.
	Measure measure.Measure
	// Passes is the number of passes of SPADE and STAMP, at least 1.
	Passes int
	// Cuts bounds the cuts of the struct-SVM for each C, at least 1.
	Cuts int
	// Seed determines the division of the rows and their order.
	Seed uint64
	// Clock, if not nil, returns the time since a fixed moment; without it all times are 0.
	Clock func() time.Duration
}

// DefaultCurveOptions returns 25 passes, at most 200 cuts and no clock. The measure must be set.
func DefaultCurveOptions() CurveOptions { return CurveOptions{Passes: 25, Cuts: 200} }

// CurvePoint is what a method reaches after part of its training.
type CurvePoint struct {
	// Budget is the part: passes, or iterations of batch methods. Passes counts the passes over the
	// training rows, and Seconds the time.
	Budget, Passes, Seconds float64
	// Value is the measure on the test rows.
	Value float64
}

// Curve has the points of a method, by rising budget.
type Curve struct {
	Method string
	// Unit is that of the budgets.
	Unit   string
	Points []CurvePoint
}

// The names of methods.
const (
	CurveSPADE    = "SPADE"
	CurveSTAMP    = "STAMP"
	CurvePlugIn   = "plug-in"
	CurveLogistic = "logistic"
	CurveStruct   = "struct-SVM"
	CurveOnePass  = "1PMB"
)

// RunCurves measures a figure of "A Tale of Two Classes" (Narasimhan, Kar and Jain 2015) on the
// rows of a set: the measure on test rows against the training of SPADE or STAMP, of a plug-in
// (logistic regression by L-BFGS, and a threshold), of logistic regression at threshold 0 and of a
// struct-SVM (SVMperf), for F₁ also of 1PMB. 30 % of the rows of each class are test rows and 14 %
// are for the choice of thresholds, of the epoch of STAMP, of C in {10, 100, 1000, 10000} and of
// the buffer and step of 1PMB. The time of these choices and of tests is not counted, and of
// several runs only that of the chosen one. All methods see the same scaled features. With equal
// options the values are the same everywhere, and only the times differ. Options out of range are
// an error of code usage, and fewer than 20 rows of a class one of code bad_input.
func RunCurves(ctx context.Context, rows []classify.Example, dim int, opt CurveOptions) ([]Curve, error) {
	k := slices.IndexFunc(structLosses, func(l structLoss) bool {
		return opt.Measure != nil && l.measure.Name() == opt.Measure.Name()
	})
	switch {
	case k < 0:
		return nil, noregret.Errorf(noregret.Usage, "", "the measure is none of f1, jaccard, qmean, min")
	case opt.Passes < 1 || opt.Cuts < 1:
		return nil, noregret.Errorf(noregret.Usage, "", "%d passes and %d cuts, want at least 1", opt.Passes, opt.Cuts)
	}
	c := &curves{opt: opt, ctx: ctx, dim: dim, loss: structLosses[k]}
	if c.opt.Clock == nil {
		c.opt.Clock = func() time.Duration { return 0 }
	}
	if err := c.divide(rows); err != nil {
		return nil, err
	}
	var out []Curve
	for _, method := range []func() ([]Curve, error){c.online, c.logistic, c.structSVM, c.onePass} {
		list, err := method()
		if err != nil {
			return nil, err
		}
		if out = append(out, list...); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return out, nil
}

// curves is a run of [RunCurves].
type curves struct {
	ctx                context.Context
	opt                CurveOptions
	dim                int
	loss               structLoss
	train, valid, test []classify.Example
	p, meanSquare      float64 // of the training rows
}

// fewestOfClass is the least number of rows of each class.
const fewestOfClass = 20

// divide draws the parts of the rows and scales their features by the training rows.
func (c *curves) divide(rows []classify.Example) error {
	r := random.New(c.opt.Seed, "curves")
	var classes [2][]int
	for i := range rows {
		k := 0
		if rows[i].Positive {
			k = 1
		}
		classes[k] = append(classes[k], i)
	}
	var parts [3][]int
	for _, list := range classes {
		if len(list) < fewestOfClass {
			return noregret.BadInputf("", "a class has %d rows, want at least %d", len(list), fewestOfClass)
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		test := int(math.Round(0.3 * float64(len(list))))
		valid := test + int(math.Round(0.14*float64(len(list))))
		parts[2] = append(parts[2], list[:test]...)
		parts[1] = append(parts[1], list[test:valid]...)
		parts[0] = append(parts[0], list[valid:]...)
	}
	s := scaleOf(rows, parts[0], c.dim)
	for k, dst := range []*[]classify.Example{&c.train, &c.valid, &c.test} {
		slices.Sort(parts[k])
		for _, i := range parts[k] {
			*dst = append(*dst, s.apply(&rows[i]))
		}
	}
	for _, x := range c.train {
		if x.Positive {
			c.p++
		}
		c.meanSquare++
		for _, v := range x.Value {
			c.meanSquare += float64(float64(v) * float64(v))
		}
	}
	c.p /= float64(len(c.train))
	c.meanSquare /= float64(len(c.train))
	return nil
}

// scale is the scaling of features: x ↦ (x - center)·inverse.
type scale struct{ center, inverse []float64 }

// scaleOf is the scale of some rows: a feature that is not zero on at least half of them is centred
// and divided by its standard deviation, another one is divided by its root mean square.
func scaleOf(rows []classify.Example, part []int, dim int) scale {
	n := float64(len(part))
	count, sum, squares := make([]float64, dim), make([]float64, dim), make([]float64, dim)
	for _, i := range part {
		for j, f := range rows[i].Index {
			v := float64(rows[i].Value[j])
			count[f]++
			sum[f] += v
			squares[f] += float64(v * v)
		}
	}
	s := scale{make([]float64, dim), make([]float64, dim)}
	for f := range dim {
		square := squares[f] / n
		if count[f] >= n/2 {
			s.center[f] = sum[f] / n
			square -= float64(s.center[f] * s.center[f])
		}
		if square > 1e-12*max(1e-12, squares[f]/n) {
			s.inverse[f] = 1 / math.Sqrt(square)
		}
	}
	return s
}

// apply scales a row. Features that never vary are left out.
func (s *scale) apply(x *classify.Example) classify.Example {
	out := classify.Example{Positive: x.Positive, Weight: 1}
	j := 0
	for f, center := range s.center {
		var v float64
		if j < len(x.Index) && int(x.Index[j]) == f {
			v = float64(x.Value[j])
			j++
		} else if center == 0 {
			continue
		}
		if v = float64((v - center) * s.inverse[f]); v != 0 {
			out.Index, out.Value = append(out.Index, uint32(f)), append(out.Value, float32(v))
		}
	}
	return out
}

// timed runs f and returns the seconds that it took.
func (c *curves) timed(f func() error) (float64, error) {
	begin := c.opt.Clock()
	err := f()
	return (c.opt.Clock() - begin).Seconds(), err
}

// scores are those of the model on rows.
func scores(m *classify.Linear, rows []classify.Example) []classify.Scored {
	out := make([]classify.Scored, len(rows))
	for i, x := range rows {
		out[i] = classify.Scored{Score: m.Score(x.Index, x.Value), Positive: x.Positive, Weight: 1}
	}
	return out
}

// value is the measure of the model on the test rows.
func (c *curves) value(m *classify.Linear) float64 {
	var counts measure.Confusion
	for _, x := range scores(m, c.test) {
		counts.Add(x.Positive, x.Score > m.Threshold, 1)
	}
	return c.opt.Measure.Value(counts)
}

// choose returns the model with the largest measure on the validation rows, with its best threshold
// there.
func (c *curves) choose(models ...classify.Linear) (best classify.Linear, value float64) {
	value = math.Inf(-1)
	for _, m := range models {
		th, v := classify.TuneThreshold(scores(&m, c.valid), c.opt.Measure)
		if m.Threshold = th; v > value {
			best, value = m, v
		}
	}
	return best, value
}

// passesOf are the numbers of passes after which an online method is measured.
func passesOf(most int) []float64 {
	list := []float64{1.0 / 16, 0.25}
	for k := 1; k < most; k *= 2 {
		list = append(list, float64(k))
	}
	return append(list, float64(most))
}

// iterationsOf are the numbers of iterations after which a batch method is measured.
func iterationsOf(most int) []int {
	var list []int
	for k := 1; k < most; k *= 2 {
		list = append(list, k)
	}
	return append(list, most)
}

// randomOrder is the source of the orders of rows.
func randomOrder(seed uint64) *random.Source { return random.New(seed, "order") }

// online is SPADE or STAMP: a curve with a point after parts of the first pass and after passes.
func (c *curves) online() ([]Curve, error) {
	config := classify.Config{
		Dim: c.dim, Positives: c.p, Scaling: classify.Identity(c.dim), MeanSquare: c.meanSquare, MeanWeight: 1,
	}
	var learner interface {
		Observe(x classify.Example) error
		NextPass()
	}
	curve := Curve{Unit: "passes"}
	var model func() classify.Linear
	switch m := c.opt.Measure.(type) {
	case measure.Concave:
		l, err := classify.NewSPADE(classify.SPADEConfig{Config: config, Measure: m})
		if err != nil {
			return nil, err
		}
		curve.Method, learner, model = CurveSPADE, l, l.Model
	case measure.Ratio:
		l, err := classify.NewSTAMP(classify.STAMPConfig{Config: config, Measure: m, FirstEpoch: 100, Growth: 2})
		if err != nil {
			return nil, err
		}
		curve.Method, learner = CurveSTAMP, l
		model = func() classify.Linear {
			models := []classify.Linear{l.Current()}
			for _, p := range l.Checkpoints() {
				models = append(models, p.Model)
			}
			best, _ := c.choose(models...)
			return best
		}
	}
	r, order := randomOrder(c.opt.Seed), make([]int, len(c.train))
	for i := range order {
		order[i] = i
	}
	var seconds float64
	seen := 0
	for _, passes := range passesOf(c.opt.Passes) {
		until := int(math.Round(passes * float64(len(order))))
		took, err := c.timed(func() error {
			for ; seen < until; seen++ {
				at := seen % len(order)
				if at == 0 {
					if seen > 0 {
						learner.NextPass()
					}
					if err := c.ctx.Err(); err != nil {
						return err
					}
					r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
				}
				if err := learner.Observe(c.train[order[at]]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", curve.Method, err)
		}
		seconds += took
		m := model()
		curve.Points = append(curve.Points, CurvePoint{passes, passes, seconds, c.value(&m)})
	}
	return []Curve{curve}, nil
}
