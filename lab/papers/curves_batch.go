package papers

import (
	"math"
	"slices"

	gonum "gonum.org/v1/gonum/optimize"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/optimize"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/vec"
)

// mostIterations bounds the iterations of L-BFGS, which ends when the largest coordinate of the
// gradient is at most logisticPrecision of that at the start.
const (
	mostIterations    = 1024
	logisticPrecision = 1e-6
	logisticLambda    = 1e-6
)

// pass is a model after some passes of a batch method.
type pass struct {
	w       []float64
	passes  int
	seconds float64
}

// logistic is regularised logistic regression by L-BFGS after numbers of iterations: with the best
// threshold, the plug-in, and at threshold 0.
func (c *curves) logistic() ([]Curve, error) {
	steps, err := c.minimize()
	if err != nil {
		return nil, err
	}
	plugIn := Curve{Method: CurvePlugIn, Unit: "iterations"}
	plain := Curve{Method: CurveLogistic, Unit: "iterations"}
	for _, k := range iterationsOf(mostIterations) {
		s := steps[min(k, len(steps))-1]
		m := linearModel(s.w)
		point := CurvePoint{Budget: float64(k), Passes: float64(s.passes), Seconds: s.seconds, Value: c.value(&m)}
		plain.Points = append(plain.Points, point)
		m, _ = c.choose(m)
		point.Value = c.value(&m)
		plugIn.Points = append(plugIn.Points, point)
	}
	return []Curve{plugIn, plain}, nil
}

// minimize returns the points of the iterations of logistic regression.
func (c *curves) minimize() ([]pass, error) {
	var steps []pass
	var at, gradient []float64
	var value float64
	passes := 0
	begin := c.opt.Clock()
	evaluate := func(w []float64) {
		if at != nil && slices.Equal(at, w) {
			return
		}
		if gradient == nil {
			gradient = make([]float64, len(w))
		}
		at = append(at[:0], w...)
		value = c.logLoss(w, gradient)
		passes++
	}
	start := make([]float64, c.dim+1)
	evaluate(start)
	settings := &gonum.Settings{
		GradientThreshold: logisticPrecision * max(1, vec.MaxAbs(gradient)), MajorIterations: mostIterations,
		Converger: gonum.NeverTerminate{}, Recorder: recorder(func(w []float64) {
			steps = append(steps, pass{slices.Clone(w), passes, (c.opt.Clock() - begin).Seconds()})
		}),
	}
	res, err := gonum.Minimize(gonum.Problem{
		Func: func(w []float64) float64 {
			evaluate(w)
			return value
		},
		Grad: func(dst, w []float64) {
			evaluate(w)
			copy(dst, gradient)
		},
		Status: func() (gonum.Status, error) {
			if err := c.ctx.Err(); err != nil {
				return gonum.Failure, err
			}
			return gonum.NotTerminated, nil
		},
	}, start, settings, new(optimize.LBFGS))
	if cancelled := c.ctx.Err(); cancelled != nil {
		return nil, cancelled
	}
	// A line search without progress (err is not nil) has reached the limit of the arithmetic: the
	// points are good. The driver does not record the last one.
	if res == nil {
		return nil, err
	}
	return append(steps, pass{slices.Clone(res.X), passes, (c.opt.Clock() - begin).Seconds()}), nil
}

// recorder is a [gonum.Recorder] of the points of iterations.
type recorder func(w []float64)

// Init implements [gonum.Recorder].
func (recorder) Init() error { return nil }

// Record implements [gonum.Recorder].
func (r recorder) Record(at *gonum.Location, o gonum.Operation, s *gonum.Stats) error {
	if o == gonum.MajorIteration && s.MajorIterations > 0 {
		r(at.X)
	}
	return nil
}

// logLoss is (1/n)Σ log(1 + e^(-yz)) + (λ/2)‖w‖², the intercept free, with its gradient.
func (c *curves) logLoss(w, gradient []float64) (value float64) {
	clear(gradient)
	d, n := c.dim, float64(len(c.train))
	for _, x := range c.train {
		z := w[d]
		for j, f := range x.Index {
			z += float64(w[f] * float64(x.Value[j]))
		}
		y := 1.0
		if !x.Positive {
			y = -1
		}
		m := y * z
		e := portable.Exp(-math.Abs(m))
		value += max(-m, 0) + portable.Log1p(e)
		g := -y / (1 + e) / n
		if m > 0 {
			g *= e
		}
		for j, f := range x.Index {
			gradient[f] += float64(g * float64(x.Value[j]))
		}
		gradient[d] += g
	}
	value /= n
	for f := range d {
		value += float64(logisticLambda / 2 * w[f] * w[f])
		gradient[f] += float64(logisticLambda * w[f])
	}
	return value
}

// structSVM is SVMperf after numbers of cuts, for the C whose last model is best on the validation
// rows. Each model has its best threshold.
func (c *curves) structSVM() ([]Curve, error) {
	var best []pass
	most := math.Inf(-1)
	for _, strength := range []float64{10, 100, 1000, 10_000} {
		s := newStructSVM(c.loss, c.train, c.dim)
		var cuts []pass
		// The time of the callback is that of a copy.
		begin := c.opt.Clock()
		s.cuttingPlanes(strength, c.opt.Cuts, func(k int, w []float64) {
			cuts = append(cuts, pass{slices.Clone(w), k, (c.opt.Clock() - begin).Seconds()})
		})
		if err := c.ctx.Err(); err != nil {
			return nil, err
		}
		if len(cuts) == 0 {
			cuts = []pass{{w: make([]float64, c.dim+1), passes: 1, seconds: (c.opt.Clock() - begin).Seconds()}}
		}
		if _, v := c.choose(linearModel(cuts[len(cuts)-1].w)); v > most {
			best, most = cuts, v
		}
	}
	curve := Curve{Method: CurveStruct, Unit: "cuts"}
	for _, k := range iterationsOf(c.opt.Cuts) {
		s := best[min(k, len(best))-1]
		m, _ := c.choose(linearModel(s.w))
		curve.Points = append(curve.Points,
			CurvePoint{Budget: float64(k), Passes: float64(s.passes), Seconds: s.seconds, Value: c.value(&m)})
	}
	return []Curve{curve}, nil
}

// onePass is 1PMB, only for F₁: one pass, with the buffer and the step that are best on the
// validation rows.
func (c *curves) onePass() ([]Curve, error) {
	if c.loss.measure != f1 {
		return nil, nil
	}
	var point CurvePoint
	most := math.Inf(-1)
	for _, positives := range []float64{10, 40} {
		for _, eta := range []float64{1, 10, 100, 1000} {
			// The rows are stored by their place in the file, which may be sorted.
			rows := slices.Clone(c.train)
			c.shuffle(rows)
			var r trained
			seconds, err := c.timed(func() error {
				r = miniBatch(rows, c.dim, int(math.Ceil(positives/c.p)), eta)
				return c.ctx.Err()
			})
			if err != nil {
				return nil, err
			}
			if m, v := c.choose(r.model); v > most {
				point, most = CurvePoint{Budget: 1, Passes: 1, Seconds: seconds, Value: c.value(&m)}, v
			}
		}
	}
	return []Curve{{Method: CurveOnePass, Unit: "passes", Points: []CurvePoint{point}}}, nil
}

// shuffle puts rows in a random order.
func (c *curves) shuffle(rows []classify.Example) {
	r := randomOrder(c.opt.Seed)
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
}
