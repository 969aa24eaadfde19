package privacy

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/parallel"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/lab/privacy/internal/printed"
	"github.com/noregret/noregret/private"
)

// The columns of a regression study.
const (
	// NonPrivate is DP-TOFW without noise.
	NonPrivate = "non-private"
	// PrintedLiteral is the noise of the paper's formula (3.2) with its printed norm. UNSAFE.
	PrintedLiteral = "printed-literal-unsafe"
	// PrintedTypo is the noise with the printed scale of the Gamma distribution, the reading that
	// reproduces the paper's table. UNSAFE.
	PrintedTypo = "printed-typo-unsafe"
	// Tree is tree noise in Gaussian differential privacy with the clip βD + L.
	Tree = "tree"
	// TreeTight is tree noise with a tight Euclidean clip.
	TreeTight = "tree-tight"
	// SquareRootTight is the square-root mechanism with a tight Euclidean clip.
	SquareRootTight = "square-root-tight"
	// GradientDescent is noisy gradient descent over one pass, with a tight Euclidean clip.
	GradientDescent = "sgd-tight"
)

// RegressionColumns lists all columns of a regression study.
func RegressionColumns() []string {
	return []string{NonPrivate, PrintedLiteral, PrintedTypo, Tree, TreeTight, SquareRootTight, GradientDescent}
}

// RegressionOptions configure [Regression].
type RegressionOptions struct {
	// P is the exponent of the norm, 1.5 or +Inf in the paper; Dim is d, Rounds is T.
	P           float64
	Dim, Rounds int
	// Runs is the number of repetitions, each with data and noise of its own.
	Runs int
	// Test is the number of records on which risks are measured.
	Test int
	// Epsilon and Delta are the budget of each run; Delta 0 means 1/T.
	Epsilon, Delta float64
	// Scales are the step scales. A column shows the one with the smallest mean, as the paper's
	// table does: a choice by the result, which on private data would cost its budget.
	Scales []float64
	// TightClip is the Euclidean clip of the tight columns.
	TightClip float64
	// Columns are the names of the columns.
	Columns []string
	// Seed is that of data and noise. With Secure the noise is from the system's generator.
	Seed   uint64
	Secure bool
	// Clock returns seconds since some start, to measure runs; nil measures nothing.
	Clock func() float64
	// Workers is the number of runs at a time, 0 for one a processor. Results do not depend on it.
	Workers int
	// Progress, if not nil, is called after each run. Calls do not overlap.
	Progress func()
}

// DefaultRegressionOptions are those of the paper for an exponent, a dimension and a number of
// rounds: 10 runs, 10⁴ records for tests, ε = 1, δ = 1/T, the scales ¼, ½, 1 and 2, all columns,
// and the tight clip 2 for p < 2 and 1 otherwise.
func DefaultRegressionOptions(p float64, dim, rounds int) RegressionOptions {
	o := RegressionOptions{
		P: p, Dim: dim, Rounds: rounds, Runs: 10, Test: 10000, Epsilon: 1, Scales: []float64{0.25, 0.5, 1, 2},
		TightClip: 1, Columns: RegressionColumns(), Seed: 1,
	}
	if p < 2 {
		o.TightClip = 2
	}
	return o
}

// Column is the result of one column.
type Column struct {
	Name string
	// Runs is the number of runs that the column is from.
	Runs int
	// Mean and SD are the mean and the standard deviation over runs of the suboptimality (ℒ(θ) −
	// ℒ(θ*))/(ℒ(0) − ℒ(θ*)) of the last point: 0 is the best, 1 is what the point 0 has.
	Mean, SD float64
	// Scale is the step scale that the column shows.
	Scale float64
	// Seconds is the mean time of a run, 0 without a clock.
	Seconds float64
	// Unsafe marks columns that are not private although they add noise.
	Unsafe bool
}

// The constants of the paper's regression: the radius of the ball, the standard deviation of
// rewards, and L + βD for the squared loss with X = Y = 1 and D = 4.
const (
	radius    = 2
	deviation = 0.05
	increment = 14
)

// Regression measures the suboptimality of private regression: records x ~ N(0, 0.05²)^d scaled to
// ‖x‖_q = 1, y = ⟨x, θ*⟩ + N(0, 0.05²), θ* with entries of equal size, random signs and ‖θ*‖_p = 1,
// the loss (y − ⟨x, θ⟩)² on the ball of radius 2. The paper does not state the noise of y; and its
// numbers show that its θ* was not the one of its text.
//
// If ctx ends, it returns the error with the columns of the runs that are complete, nil without
// any.
func Regression(ctx context.Context, o RegressionOptions) ([]Column, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Delta == 0 {
		o.Delta = 1 / float64(o.Rounds)
	}
	report := func(int) {
		if o.Progress != nil {
			o.Progress()
		}
	}
	runs, err := parallel.Runs(ctx, o.Runs, o.Workers, report, func(run int) ([]trained, error) {
		return o.run(ctx, run)
	})
	if n := slices.IndexFunc(runs, func(r []trained) bool { return r == nil }); n >= 0 {
		runs = runs[:n] // those before the first that is not complete
	}
	if err != nil && (ctx.Err() == nil || len(runs) == 0) {
		return nil, err
	}
	columns := make([]Column, len(o.Columns))
	for i := range columns {
		columns[i] = o.best(i, runs)
	}
	return columns, err
}

// trained is the suboptimality that one training reaches, and its seconds.
type trained struct{ value, seconds float64 }

// run trains all columns with all scales on the data of one run.
func (o RegressionOptions) run(ctx context.Context, run int) (all []trained, err error) {
	s := newSample(o, run)
	for _, name := range o.Columns {
		for _, scale := range o.Scales {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			start := o.now()
			theta, err := o.train(name, scale, s, o.Seed+uint64(run)*7919)
			if err != nil {
				return nil, err
			}
			all = append(all, trained{s.suboptimality(theta), o.now() - start})
		}
	}
	return all, nil
}

// best is a column with the best scale over the runs.
func (o RegressionOptions) best(column int, runs [][]trained) Column {
	name := o.Columns[column]
	best := Column{Name: name, Runs: len(runs), Mean: math.Inf(1)}
	best.Unsafe = name == PrintedLiteral || name == PrintedTypo
	for i, scale := range o.Scales {
		var values []float64
		seconds := 0.0
		for _, r := range runs {
			t := r[column*len(o.Scales)+i]
			values = append(values, t.value)
			seconds += t.seconds
		}
		if mean, sd := meanSD(values); mean < best.Mean {
			best.Mean, best.SD, best.Scale, best.Seconds = mean, sd, scale, seconds/float64(len(runs))
		}
	}
	return best
}

func (o RegressionOptions) check() error {
	switch {
	case !(o.P >= 1) || o.Dim < 1 || o.Dim > 1<<16 || o.Rounds < 1 || o.Rounds > 1<<24:
		return noregret.BadInputf("regression",
			"p = %v, d = %d, T = %d: want p ≥ 1, d from 1 to 2^16, T from 1 to 2^24",
			o.P, o.Dim, o.Rounds)
	case o.Runs < 1 || o.Runs > 1<<16 || o.Test < 1 || o.Test > 1<<24 || len(o.Scales) == 0:
		return noregret.BadInputf("regression", "%d runs, %d records for tests, %d scales: none may be zero",
			o.Runs, o.Test, len(o.Scales))
	}
	return nil
}

func (o RegressionOptions) now() float64 {
	if o.Clock == nil {
		return 0
	}
	return o.Clock()
}

// train returns the last point of one run.
func (o RegressionOptions) train(name string, scale float64, s *sample, seed uint64) ([]float64, error) {
	domain, err := private.NewBall(o.Dim, o.P, radius)
	if err != nil {
		return nil, err
	}
	p := private.NewProblem(domain, private.Squared(), 1, 1, int64(o.Rounds))
	p.StepScale, p.Clip = scale, o.TightClip
	budget, err := dp.GDPBudget(o.Epsilon, o.Delta)
	if err != nil {
		return nil, err
	}
	noise := private.Noise{Kind: dp.Tree, Protection: dp.PerRecord(), Budget: budget}
	if !o.Secure {
		noise.Options = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(seed)}
	}
	worst := float64(increment)
	if o.P < 2 { // ‖x‖₂ ≤ d^(1/2−1/q)·‖x‖_q
		worst *= portable.Pow(float64(o.Dim), 1/o.P-0.5)
	}
	var l *private.Learner
	switch name {
	case PrintedLiteral, PrintedTypo:
		return o.trainPrinted(name, p, s, seed), nil
	case GradientDescent:
		return trainSGD(p, noise, s)
	case NonPrivate:
		p.Clip = worst
		l, err = private.NewNonPrivateTOFW(p)
	case Tree:
		p.Clip = worst
		l, err = private.NewTOFW(p, noise)
	case TreeTight:
		l, err = private.NewTOFW(p, noise)
	case SquareRootTight:
		noise.Kind = dp.SquareRoot
		l, err = private.NewTOFW(p, noise)
	default:
		return nil, noregret.Errorf(noregret.Usage, "column", "%q: want one of %v", name, RegressionColumns())
	}
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for i, x := range s.x {
		if err := l.Step(x, s.y[i]); err != nil {
			return nil, err
		}
	}
	return l.Theta(), nil
}

// trainPrinted runs the paper's algorithm with its printed noise. The typo has D = 2, so that βD +
// L = 10.
func (o RegressionOptions) trainPrinted(name string, p private.Problem, s *sample, seed uint64) []float64 {
	c := printed.Calibration{
		Dim: o.Dim, P: o.P, Horizon: int64(o.Rounds), Epsilon: o.Epsilon, Delta: o.Delta, Increment: increment,
	}
	if name == PrintedLiteral {
		return printed.UnsafeRun(p, printed.UnsafeLiteral(c, seed), s.x, s.y)
	}
	c.Increment = 10
	return printed.UnsafeRun(p, printed.UnsafeTypo(c, seed), s.x, s.y)
}

func trainSGD(p private.Problem, noise private.Noise, s *sample) ([]float64, error) {
	l, err := private.NewSGD(p, noise)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for i, x := range s.x {
		if err := l.Step(x, s.y[i]); err != nil {
			return nil, err
		}
	}
	return l.Theta(nil), nil
}

// sample is the data of one run: records for training, and the moments of those for tests.
type sample struct {
	x     [][]float64
	y     []float64
	test  [][]float64
	label []float64
	best  float64 // ℒ(θ*) and ℒ(0) on the test records
	zero  float64
}

func newSample(o RegressionOptions, run int) *sample {
	r := random.New(o.Seed+uint64(run), "private/study/regression")
	norm, err := convex.NewLp(o.P)
	if err != nil {
		norm = convex.L2 // checked before
	}
	truth := make([]float64, o.Dim)
	for j := range truth {
		truth[j] = 1
		if r.Uint64()&1 == 1 {
			truth[j] = -1
		}
	}
	vec.Scale(truth, 1/norm.Of(truth))
	draw := func(n int) (xs [][]float64, ys []float64) {
		for range n {
			x := make([]float64, o.Dim)
			for j := range x {
				x[j] = deviation * stat.Normal(r)
			}
			vec.Scale(x, 1/norm.Dual().Of(x))
			xs = append(xs, x)
			ys = append(ys, vec.Dot(x, truth)+float64(deviation*stat.Normal(r)))
		}
		return xs, ys
	}
	s := &sample{}
	s.x, s.y = draw(o.Rounds)
	s.test, s.label = draw(o.Test)
	s.best, s.zero = s.risk(truth), s.risk(make([]float64, o.Dim))
	return s
}

// risk is the mean loss on the test records.
func (s *sample) risk(theta []float64) float64 {
	sum := 0.0
	for i, x := range s.test {
		e := s.label[i] - vec.Dot(x, theta)
		sum += float64(e * e)
	}
	return sum / float64(len(s.test))
}

func (s *sample) suboptimality(theta []float64) float64 {
	return (s.risk(theta) - s.best) / (s.zero - s.best)
}

// meanSD is the mean and the standard deviation of a sample.
func meanSD(values []float64) (mean, sd float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		sd += float64((v - mean) * (v - mean))
	}
	if n > 1 {
		sd = math.Sqrt(sd / (n - 1))
	}
	return mean, sd
}
