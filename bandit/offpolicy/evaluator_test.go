package offpolicy

import (
	"math"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

func newEvaluator(t testing.TB, o EvaluatorOptions) *Evaluator {
	t.Helper()
	e, err := NewEvaluator(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func estimate(t testing.TB, e *Evaluator, m Method, alpha float64) Estimate {
	t.Helper()
	out, err := e.Estimate(m, alpha)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("%s is %.12g, want %.12g", what, got, want)
	}
}

// threeRows have the weights 0.5, 3 and 1.
var threeRows = []Row{
	{Arm: 0, Propensity: 0.5, Reward: 1, Target: []float64{0.25, 0.75}},
	{Arm: 1, Propensity: 0.25, Reward: 1, Target: []float64{0.25, 0.75}},
	{Arm: 1, Propensity: 0.5, Reward: 0, Target: []float64{0.5, 0.5}},
}

func threeRowOptions() EvaluatorOptions {
	return EvaluatorOptions{Arms: 2, Low: 0, High: 1, MaxWeight: 4, Clip: 2, Switch: 2}
}

// TestByHand compares with numbers computed by hand from the formulas of the package comment.
func TestByHand(t *testing.T) {
	for _, c := range []struct {
		name              string
		model             []float64
		robust, switching float64
	}{
		// The predictions from earlier rows are (½, ½), (1, 1) and (1, 1).
		{"arm means", nil, (0.75 + 1 + 0) / 3, (0.75 + 1 + 0) / 3},
		{"given", []float64{0.2, 0.6}, (0.9 + 1.7 - 0.2) / 3, (0.9 + 0.5 - 0.2) / 3},
	} {
		e := newEvaluator(t, threeRowOptions())
		for i := range threeRows {
			if err := e.Add(&threeRows[i], threeRows[i].Target, c.model); err != nil {
				t.Fatal(err)
			}
		}
		want := map[Method]float64{
			IPS: 3.5 / 3, SelfNormalized: 3.5 / 4.5, Clipped: 2.5 / 3, DoublyRobust: c.robust, Switch: c.switching,
		}
		// Each arm's mean with one reward of 2/3 more; the shares are 1/3 and 2/3.
		if c.model == nil {
			want[Direct] = (1+2.0/3)/2/3 + (1+2.0/3)/3*2/3
		} else {
			want[Direct] = (0.25*0.2 + 0.75*0.6 + 0.25*0.2 + 0.75*0.6 + 0.5*0.2 + 0.5*0.6) / 3
		}
		want[Shrinkage] = estimate(t, e, Shrinkage, 0.05).Value // see TestShrinkage
		for _, m := range Methods() {
			got := estimate(t, e, m, 0.05)
			near(t, c.name+" "+string(m), got.Value, want[m])
			if got.Rows != 3 {
				t.Errorf("%s %s: %+v", c.name, m, got)
			}
		}
		got := estimate(t, e, IPS, 0.05)
		near(t, "the normal interval", got.Approximate.Low, max(got.Value-1.959963984540054*got.StandardError, 0))
		near(t, "standard error", estimate(t, e, IPS, 0.05).StandardError, math.Sqrt(5.1666666666666667/2/3))
		// The terms of the ratio are ½·2/9, 3·2/9 and −7/9, with the sum of squares 86/81.
		near(t, "standard error of the ratio", estimate(t, e, SelfNormalized, 0.05).StandardError,
			math.Sqrt(86.0/81/2/3)/1.5)
		w := e.Weights()
		near(t, "mean weight", w.Mean, 1.5)
		near(t, "effective rows", w.Effective, 4.5*4.5/10.25)
		near(t, "largest weight", w.Largest, 3)
	}
}

// world has two contexts and three arms with rewards of 0 and 1.
type world struct {
	logging, target, mean [2][3]float64
}

func (w *world) value() (v float64) {
	for x := range w.mean {
		for a, m := range w.mean[x] {
			v += w.target[x][a] * m / 2
		}
	}
	return v
}

var testWorld = world{
	logging: [2][3]float64{{0.6, 0.3, 0.1}, {0.2, 0.3, 0.5}},
	target:  [2][3]float64{{0.1, 0.3, 0.6}, {0.8, 0.1, 0.1}},
	mean:    [2][3]float64{{0.2, 0.5, 0.7}, {0.9, 0.4, 0.1}},
}

// draw draws a row. A logger that learns swaps two of its arms after each success of the second.
func (w *world) draw(src *random.Source, last *Row, learns bool) (r Row, target []float64) {
	x := int(src.Uint64() % 2)
	p := w.logging[x]
	if learns && last.Arm == 1 && last.Reward == 1 {
		p[0], p[1] = p[1], p[0]
	}
	u := src.Float64()
	for r.Arm = 0; r.Arm < 2 && u >= p[r.Arm]; r.Arm++ {
		u -= p[r.Arm]
	}
	r.Propensity = p[r.Arm]
	if src.Float64() < w.mean[x][r.Arm] {
		r.Reward = 1
	}
	return r, w.target[x][:]
}

// TestSimulation checks that unbiased estimators are unbiased, that the standard errors are right,
// and that the intervals hold, the sequences at all looks at once and with a logger that learns.
func TestSimulation(t *testing.T) {
	testsize.NoRace(t)
	const rows, alpha = 600, 0.1
	runs := testsize.Of(400, 100)
	o := DefaultEvaluatorOptions(3)
	o.MaxWeight, o.Clip, o.Switch = 6, 2, 2
	v := testWorld.value()
	for _, learns := range []bool{false, true} {
		sums, squares := map[Method]float64{}, map[Method]float64{}
		normal, oneLook, sequence := map[Method]int{}, map[Method]int{}, map[Method]int{}
		for run := range runs {
			src := random.New(uint64(run), "offpolicy simulation")
			e, last := newEvaluator(t, o), Row{}
			missed := map[Method]bool{}
			for i := range rows {
				r, target := testWorld.draw(src, &last, learns)
				if err := e.Add(&r, target, nil); err != nil {
					t.Fatal(err)
				}
				last = r
				if i%100 != 99 {
					continue
				}
				for _, m := range Methods() {
					got := estimate(t, e, m, alpha)
					missed[m] = missed[m] || !got.Sequence.Contains(v)
					if i < rows-1 {
						continue
					}
					sums[m] += got.Value - v
					squares[m] += (got.Value - v) * (got.Value - v)
					normal[m] += count(math.Abs(got.Value-v) > 1.6449*got.StandardError)
					oneLook[m] += count(!got.OneLook.Contains(v))
				}
			}
			for _, m := range Methods() {
				sequence[m] += count(missed[m])
			}
		}
		n := float64(runs)
		most := int(alpha*n + 3*math.Sqrt(alpha*n))
		for _, m := range Methods() {
			bias, sd := sums[m]/n, math.Sqrt(squares[m]/n)
			if m == IPS || m == DoublyRobust || m == SelfNormalized {
				if math.Abs(bias) > 4*sd/math.Sqrt(n)+0.5/rows*count64(m == SelfNormalized) {
					t.Errorf("learns %v: %s has the bias %v, of the standard deviation %v", learns, m, bias, sd)
				}
				if least := int(alpha*n - 3*math.Sqrt(alpha*n)); normal[m] > most || normal[m] < least {
					t.Errorf("learns %v: %s is %d times of %d beyond the normal interval", learns, m, normal[m], runs)
				}
			}
			if oneLook[m] > most || sequence[m] > most {
				t.Errorf("learns %v: the intervals of %s miss %d and %d times of %d", learns, m, oneLook[m],
					sequence[m], runs)
			}
		}
		if !(sums[Clipped]/n < -0.02) {
			t.Errorf("clipping has the bias %v, want one below 0", sums[Clipped]/n)
		}
		if !(squares[DoublyRobust] < squares[IPS]) {
			t.Errorf("squared errors: doubly robust %v, IPS %v", squares[DoublyRobust], squares[IPS])
		}
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func count64(b bool) float64 { return float64(count(b)) }

// TestWithoutSupport has a logger that never chooses an arm of the target: the intervals without a
// control variate hold even so, and those with one where the logged probabilities show it.
func TestWithoutSupport(t *testing.T) {
	w := testWorld
	w.logging = [2][3]float64{{0.7, 0.3, 0}, {0.5, 0.5, 0}}
	src := random.New(1, "offpolicy support")
	e := newEvaluator(t, DefaultEvaluatorOptions(3))
	for range 5000 {
		r, target := w.draw(src, &Row{}, false)
		r.Propensities = w.logging[count(target[0] == w.target[1][0])][:]
		if err := e.Add(&r, target, nil); err != nil {
			t.Fatal(err)
		}
	}
	v := w.value()
	for _, m := range Methods() {
		got := estimate(t, e, m, 0.05)
		if !got.Sequence.Contains(v) || !got.OneLook.Contains(v) {
			t.Errorf("%s misses %v: %+v", m, v, got)
		}
		if m == IPS && got.Approximate.Contains(v) {
			t.Errorf("the log is too small to show anything: %+v", got)
		}
	}
}

// TestBoundNeverWidens checks that a bound of the weights, stated or by the logged probabilities of
// all arms, makes no interval wider, and those with a control variate narrower.
func TestBoundNeverWidens(t *testing.T) {
	testsize.NoRace(t)
	for seed := range uint64(testsize.Of(40, 10)) {
		src := random.New(seed, "offpolicy bound")
		stated := DefaultEvaluatorOptions(3)
		stated.MaxWeight = 6
		loose := stated
		loose.MaxWeight = 1000
		none, bounded := newEvaluator(t, DefaultEvaluatorOptions(3)), newEvaluator(t, stated)
		far := newEvaluator(t, loose)
		logged := newEvaluator(t, DefaultEvaluatorOptions(3))
		exact := newEvaluator(t, stated)
		for range 500 {
			r, target := testWorld.draw(src, &Row{}, false)
			full := r
			full.Propensities = testWorld.logging[0][:]
			if target[0] == testWorld.target[1][0] {
				full.Propensities = testWorld.logging[1][:]
			}
			for _, err := range []error{
				none.Add(&r, target, nil), bounded.Add(&r, target, nil), far.Add(&r, target, nil),
				logged.Add(&full, target, nil), exact.Add(&full, target, nil),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, m := range Methods() {
			without := estimate(t, none, m, 0.05)
			if a, b := estimate(t, logged, m, 0.05), estimate(t, exact, m, 0.05); a != b {
				t.Errorf("%s: %+v by the logged probabilities, and %+v with their bound stated", m, a, b)
			}
			for _, e := range []*Evaluator{bounded, far, logged} {
				with := estimate(t, e, m, 0.05)
				if with.Value != without.Value || with.Approximate != without.Approximate ||
					!inside(with.OneLook, without.OneLook) || !inside(with.Sequence, without.Sequence) {
					t.Errorf("%s: %+v without a bound and %+v with one", m, without, with)
				}
				control := m != IPS && m != Clipped && m != Switch
				if e != far && control && !(width(with.OneLook) < width(without.OneLook)) {
					t.Errorf("%s: %v without a bound and %v with one: want a narrower one", m, without.OneLook,
						with.OneLook)
				}
			}
		}
	}
}

func width(i Interval) float64 { return i.High - i.Low }

func inside(a, b Interval) bool { return a.Low >= b.Low && a.High <= b.High }

// TestRangeOfRewards checks that moving and stretching the rewards does the same to the value and
// the intervals of the methods that do not depend on the origin.
func TestRangeOfRewards(t *testing.T) {
	src, o := random.New(6, "offpolicy range"), DefaultEvaluatorOptions(3)
	o.MaxWeight = 6
	p := o
	p.Low, p.High = -3, -1
	a, b := newEvaluator(t, o), newEvaluator(t, p)
	for range 2000 {
		r, target := testWorld.draw(src, &Row{}, false)
		moved := r
		moved.Reward = 2*r.Reward - 3
		if a.Add(&r, target, nil) != nil || b.Add(&moved, target, nil) != nil {
			t.Fatal("a good row is refused")
		}
	}
	for _, m := range []Method{SelfNormalized, Clipped, DoublyRobust, Switch, Shrinkage, Direct} {
		x, y := estimate(t, a, m, 0.05), estimate(t, b, m, 0.05)
		if m != Clipped {
			near(t, string(m), y.Value, 2*x.Value-3)
		}
		near(t, string(m)+" low", y.OneLook.Low, 2*x.OneLook.Low-3)
		near(t, string(m)+" high", y.OneLook.High, 2*x.OneLook.High-3)
		near(t, string(m)+" sequence low", y.Sequence.Low, 2*x.Sequence.Low-3)
		near(t, string(m)+" sequence high", y.Sequence.High, 2*x.Sequence.High-3)
	}
}

func TestRefusals(t *testing.T) {
	e := newEvaluator(t, threeRowOptions())
	good := threeRows[0]
	if err := e.Add(&good, good.Target, nil); err != nil {
		t.Fatal(err)
	}
	before := *e
	target := good.Target
	nan := math.NaN()
	for _, c := range []struct {
		name          string
		row           Row
		target, model []float64
	}{
		{"arm below", Row{Arm: -1, Propensity: 0.5}, target, nil},
		{"arm above", Row{Arm: 2, Propensity: 0.5}, target, nil},
		{"no propensity", Row{Propensity: 0}, target, nil},
		{"propensity above 1", Row{Propensity: 1.5}, target, nil},
		{"NaN propensity", Row{Propensity: nan}, target, nil},
		{"reward", Row{Propensity: 0.5, Reward: 1.1}, target, nil},
		{"NaN reward", Row{Propensity: 0.5, Reward: nan}, target, nil},
		{"short target", Row{Propensity: 0.5}, target[:1], nil},
		{"target without the sum 1", Row{Propensity: 0.5}, []float64{0.3, 0.6}, nil},
		{"NaN target", Row{Propensity: 0.5}, []float64{nan, 1}, nil},
		{"weight above the bound", Row{Propensity: 0.01}, target, nil},
		{"short model", Row{Propensity: 0.5}, target, []float64{0.5}},
		{"model out of range", Row{Propensity: 0.5}, target, []float64{0.5, 2}},
	} {
		if err := e.Add(&c.row, c.target, c.model); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: got the error %v", c.name, err)
		}
	}
	if e.weight != before.weight || e.robust != before.robust || e.ratio != before.ratio || e.arms[0].N != 1 {
		t.Error("a refused row has changed the evaluator")
	}
	for _, change := range []func(o *EvaluatorOptions){
		func(o *EvaluatorOptions) { o.Arms = 0 },
		func(o *EvaluatorOptions) { o.High = o.Low },
		func(o *EvaluatorOptions) { o.High = math.Inf(1) },
		func(o *EvaluatorOptions) { o.MaxWeight = 0.5 },
		func(o *EvaluatorOptions) { o.Clip = 0 },
		func(o *EvaluatorOptions) { o.Switch = math.Inf(1) },
	} {
		o := threeRowOptions()
		if change(&o); o.check() == nil {
			t.Errorf("the options %+v are accepted", o)
		}
	}
	if _, err := e.Estimate("median", 0.05); err == nil {
		t.Error("an unknown method is accepted")
	}
	if _, err := e.Estimate(IPS, 1); err == nil {
		t.Error("the level 0 is accepted")
	}
}

// After some rows the bettors have met most of the bets that they will make.
func TestAddAllocatesNothing(t *testing.T) {
	e := newEvaluator(t, threeRowOptions())
	r := threeRows[0]
	for range 5000 {
		if err := e.Add(&r, r.Target, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		if e.Add(&r, r.Target, nil) != nil {
			t.Fail()
		}
	}); n > 0 {
		t.Errorf("%v allocations per row", n)
	}
}

// TestNoRows checks that nothing is claimed without data.
func TestNoRows(t *testing.T) {
	for _, o := range []EvaluatorOptions{threeRowOptions(), DefaultEvaluatorOptions(2)} {
		e := newEvaluator(t, o)
		for _, m := range Methods() {
			got := estimate(t, e, m, 0.05)
			if all := (Interval{0, 1}); !math.IsNaN(got.Value) || got.OneLook != all || got.Sequence != all {
				t.Errorf("%s: %+v", m, got)
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	o := DefaultEvaluatorOptions(20)
	e, target := newEvaluator(b, o), make([]float64, 20)
	for a := range target {
		target[a] = 0.05
	}
	r := Row{Arm: 3, Propensity: 0.1, Reward: 1}
	for b.Loop() {
		if err := e.Add(&r, target, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEstimate(b *testing.B) {
	o := DefaultEvaluatorOptions(3)
	o.MaxWeight = 6
	e, src := newEvaluator(b, o), random.New(1, "offpolicy benchmark")
	for range 3000 {
		r, target := testWorld.draw(src, &Row{}, false)
		if err := e.Add(&r, target, nil); err != nil {
			b.Fatal(err)
		}
	}
	for _, m := range Methods() {
		b.Run(string(m), func(b *testing.B) {
			for b.Loop() {
				estimate(b, e, m, 0.05)
			}
		})
	}
}
