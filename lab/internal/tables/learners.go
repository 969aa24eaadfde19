package tables

import (
	"math"
	"slices"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/optimum"
)

// maker is the type of scenario.Options.New.
type maker func(f pasto.Objective, arms, rounds int, start []float64) (pasto.Learner, error)

// algorithm makes Algorithm 1 with changed settings.
func algorithm(change func(o *ascent.Options)) maker {
	return func(f pasto.Objective, arms, _ int, start []float64) (pasto.Learner, error) {
		o := ascent.PaperOptions(arms)
		o.Start = start
		change(&o)
		return ascent.New(f, arms, o)
	}
}

// The changes of more than one row.
func paper(*ascent.Options)        {}
func means(o *ascent.Options)      { o.Estimator, o.Pseudocount = ascent.ArmMeans(), 0 }
func robust(o *ascent.Options)     { o.Estimator, o.Pseudocount = ascent.DoublyRobust(), 0 }
func snips(o *ascent.Options)      { o.Estimator, o.Pseudocount = ascent.SelfNormalized(), 0 }
func exploring(o *ascent.Options)  { o.Exploration = ascent.InverseRoot(1, 10) }
func smallSteps(o *ascent.Options) { o.Step = ascent.Constant(.01) }
func meansMore(o *ascent.Options)  { means(o); exploring(o) }

// estimator changes the form of the estimates.
func estimator(e ascent.Estimator) func(o *ascent.Options) {
	return func(o *ascent.Options) { o.Estimator = e }
}

// discounted is discounted means of arms.
func discounted(rho float64) func(o *ascent.Options) {
	return func(o *ascent.Options) {
		o.Estimator, o.Pseudocount, o.MinExploration, o.StepClip = ascent.DiscountedMeans(rho), 0, .1, .1
	}
}

// scgd makes S-SCGD with a step.
func scgd(step ascent.Schedule) maker {
	return func(f pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
		o := ascent.DefaultSCGDOptions()
		o.Step = step
		return ascent.NewSCGD(f, arms, o)
	}
}

// look begins Algorithm 1 with one noisy look at each arm as U_0, made from the first random
// numbers of the run.
type look struct {
	pasto.Learner
	begin func(r pasto.Rand) (pasto.Learner, error)
}

func (l *look) Draw(r pasto.Rand, arms []int) {
	if l.begin != nil {
		l.Learner, _ = l.begin(r)
		l.begin = nil
	}
	l.Learner.Draw(r, arms)
}

// looked makes a [look] for scenario a with noise of 5.
func looked(f pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
	plain, err := ascent.New(f, arms, ascent.PaperOptions(arms))
	return &look{plain, func(r pasto.Rand) (pasto.Learner, error) {
		z := make([]float64, 4)
		for i := range z {
			for range 12 { // nearly normal, of variance 1
				z[i] += r.Float64() - .5
			}
		}
		u, err := pasto.TableOf([]float64{2 + 5*z[0], 5 * z[1]}, []float64{-2 + 5*z[2], 2 + 5*z[3]})
		if err != nil {
			return nil, err
		}
		o := ascent.PaperOptions(arms)
		o.U0 = u
		return ascent.New(f, arms, o)
	}}, err
}

// plugIn deploys the optimum for the arm means.
type plugIn struct {
	*ascent.Algorithm
	f pasto.Objective
}

// plug makes a [plugIn].
func plug(f pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
	o := ascent.PaperOptions(arms)
	meansMore(&o)
	smallSteps(&o)
	a, err := ascent.New(f, arms, o)
	return &plugIn{a, f}, err
}

func (l *plugIn) Deployed() []float64 { return plugged(l.f, l.Estimate()) }

func plugged(f pasto.Objective, v *pasto.Table) []float64 {
	best, err := optimum.Maximize(f, v, optimum.DefaultOptions())
	if err != nil {
		panic(err) // finite means and soft guardrails
	}
	return best.Mixture
}

// optimist is the same with each metric of an arm raised by a standard error, 1/√n for its n groups
// with noise of 1, both in the gradient of Algorithm 1 and in the deployed mixture. It implements
// Algorithm 1 itself, because package ascent does not change its estimate. The runs use no method
// of the embedded Algorithm.
type optimist struct {
	*ascent.Algorithm
	f           pasto.Objective
	rounds      int
	n, lw, p, d []float64
	mean        *pasto.Table
}

// optimistic makes an [optimist].
func optimistic(f pasto.Objective, arms, _ int, _ []float64) (pasto.Learner, error) {
	a, err := ascent.New(f, arms, ascent.PaperOptions(arms))
	if err != nil {
		return nil, err
	}
	mean, err := pasto.NewTable(arms, 3)
	return &optimist{
		Algorithm: a, f: f, n: make([]float64, arms), lw: make([]float64, arms), p: make([]float64, arms),
		d: make([]float64, 3), mean: mean,
	}, err
}

func (l *optimist) raised() *pasto.Table {
	v := l.mean.Clone()
	for k, n := range l.n {
		for m := range v.Metrics() {
			v.Arm(k)[m] += 1 / math.Sqrt(max(n, 1))
		}
	}
	return v
}

func (l *optimist) Serving() []float64 {
	epsilon, top, sum := 1/math.Sqrt(float64(l.rounds+1)+10), slices.Max(l.lw), 0.0
	for k, w := range l.lw {
		l.p[k] = math.Exp(w - top)
		sum += l.p[k]
	}
	for k := range l.p {
		l.p[k] = (1-epsilon)*l.p[k]/sum + epsilon/float64(len(l.p))
	}
	return l.p
}

func (l *optimist) Draw(r pasto.Rand, arms []int) {
	p := l.Serving()
	for i := range arms {
		u := r.Float64()
		for arms[i] = 0; arms[i] < len(p)-1 && u >= p[arms[i]]; arms[i]++ {
			u -= p[arms[i]]
		}
	}
}

func (l *optimist) Observe(obs []pasto.Observation) error {
	p := l.Serving()
	for _, o := range obs {
		l.n[o.Arm]++
		for m, x := range o.Metrics {
			l.mean.Arm(o.Arm)[m] += (x - l.mean.Arm(o.Arm)[m]) / l.n[o.Arm]
		}
	}
	v, theta := l.raised(), make([]float64, len(l.d))
	v.Mean(theta, p)
	l.f.Gradient(l.d, theta)
	for k := range l.lw {
		for m, x := range v.Arm(k) {
			l.lw[k] += .01 * l.d[m] * x
		}
	}
	l.rounds++
	return nil
}

func (l *optimist) Deployed() []float64 { return plugged(l.f, l.raised()) }
