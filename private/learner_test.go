package private

import (
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/loss"
)

// kinds makes each kind of learner for a problem on the l1 ball, from a seed.
func kinds(p Problem, seed uint64) map[string]*Learner {
	n := testNoise(seed)
	out := map[string]*Learner{
		"none": must(NewNonPrivateTOFW(p)), "choice": must(NewPOFW(p, selection(seed))),
		"best": must(NewNonPrivatePOFW(p)),
	}
	for k := dp.Tree; k <= dp.SquareRoot; k++ {
		n.Kind = k
		out[k.String()] = must(NewTOFW(p, n))
	}
	return out
}

// TestBatches: a batch of b records is one step, the last batch may be shorter, a null record fills
// its place, and the increments of a batch add up.
func TestBatches(t *testing.T) {
	p := NewProblem(must(NewBall(2, 2, 1)), Squared(), 1, 1, 7)
	p.Batch = 3
	l := must(NewNonPrivateTOFW(p))
	for i, want := range []int64{0, 0, 1, 1, 1, 2, 3} {
		var err error
		if i == 1 {
			err = l.StepNull()
		} else {
			err = l.Step([]float64{0.5, 0}, 0.5)
		}
		if err != nil || l.Steps() != want || l.Records() != int64(i+1) {
			t.Fatalf("record %d: %d steps, want %d: %v", i+1, l.Steps(), want, err)
		}
		if i == 2 && math.Abs(l.Sum()[0]+1) > 1e-6 { // two gradients 2·(0 − ½)·½
			t.Errorf("the first batch has the sum %v, want −1", l.Sum())
		}
	}
	if err := l.Step([]float64{1, 1}, 0); !errors.Is(err, dp.ErrHorizon) {
		t.Errorf("record 8: %v", err)
	}
}

// TestNullRecords: a NaN anywhere, a label that is not finite and StepNull are the same step; what
// a record is cannot be seen from errors or from counts.
func TestNullRecords(t *testing.T) {
	p := NewProblem(must(NewBall(2, 1, 1)), Squared(), 1, 1, 10)
	for name, reference := range kinds(p, 7) {
		if err := errors.Join(reference.Step([]float64{1, 0}, 1), reference.StepNull(),
			reference.Step([]float64{0, 1}, -1)); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []struct {
			x []float64
			y float64
		}{
			{[]float64{math.NaN(), 0}, 1},
			{[]float64{0, math.Inf(-1)}, 1},
			{[]float64{1, 1}, math.NaN()},
			{[]float64{1, 1}, math.Inf(1)},
			{[]float64{0, 0}, 1},
		} {
			l := kinds(p, 7)[name]
			if err := errors.Join(l.Step([]float64{1, 0}, 1), l.Step(bad.x, bad.y),
				l.Step([]float64{0, 1}, -1)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(l.Theta(), reference.Theta()) || l.Steps() != 3 {
				t.Errorf("%s: the record %v leads to %v, a null record to %v", name, bad, l.Theta(), reference.Theta())
			}
		}
	}
	// A loss that panics makes a null record; the step is counted.
	p.Loss, p.Clip = lateFault{}, 1
	l := must(NewTOFW(p, testNoise(1)))
	for range 10 {
		if err := l.Step([]float64{1, 1}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if l.Steps() != 10 {
		t.Errorf("%d steps", l.Steps())
	}
}

// lateFault is a loss with constants whose slope panics.
type lateFault struct{ broken }

func (lateFault) Bounds(_, _ float64) (slope, curvature float64) { return 1, 1 }

// TestStepEdges: the refusals of steps, which change nothing.
func TestStepEdges(t *testing.T) {
	p := NewProblem(must(NewBall(2, 1, 1)), Squared(), 1, 1, 3)
	for name, l := range kinds(p, 1) {
		theta := func() []float64 { return slices.Clone(l.Theta()) }
		for _, x := range [][]float64{nil, {1}, {1, 2, 3}} {
			before := theta()
			if err := l.Step(x, 1); !errors.Is(err, dp.ErrDimension) || !slices.Equal(before, l.Theta()) ||
				l.Records() != 0 {
				t.Errorf("%s: %d features: %v", name, len(x), err)
			}
		}
		l.busy.Lock()
		if err := errors.Join(l.Step([]float64{1, 1}, 1), nil); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: a concurrent step: %v", name, err)
		}
		if err := l.StepNull(); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: a concurrent null step: %v", name, err)
		}
		l.busy.Unlock()
		for range 3 {
			if err := l.Step([]float64{1, 1}, 1); err != nil {
				t.Fatal(err)
			}
		}
		before := theta()
		for _, err := range []error{l.Step([]float64{1, 1}, 1), l.StepNull()} {
			if !errors.Is(err, dp.ErrHorizon) || !slices.Equal(before, l.Theta()) || l.Steps() != 3 {
				t.Errorf("%s: after the horizon: %v", name, err)
			}
		}
		l.Close()
		l.Close()
		for _, err := range []error{l.Step([]float64{1, 1}, 1), l.StepNull(), l.UnmarshalBinary(nil)} {
			if !errors.Is(err, dp.ErrClosed) {
				t.Errorf("%s: after Close: %v", name, err)
			}
		}
		if _, err := l.MarshalBinary(); !errors.Is(err, dp.ErrClosed) {
			t.Errorf("%s: a snapshot after Close: %v", name, err)
		}
		if !slices.Equal(before, l.Theta()) {
			t.Errorf("%s: Close changes the public point", name)
		}
	}
}

// TestMakeEdges: the refusals of constructors that concern noise.
func TestMakeEdges(t *testing.T) {
	p := NewProblem(must(NewBall(2, 1, 1)), Squared(), 1, 1, 3)
	if _, err := NewTOFW(p, Noise{Kind: dp.Tree, Protection: dp.PerRecord()}); !errors.Is(err, dp.ErrEpsilon) {
		t.Errorf("no budget: %v", err)
	}
	if _, err := NewTOFW(p, Noise{Kind: dp.Tree, Budget: testNoise(1).Budget}); !errors.Is(err, dp.ErrUnitMismatch) {
		t.Errorf("no protection: %v", err)
	}
	n := testNoise(1)
	n.Kind = 0
	if _, err := NewTOFW(p, n); err == nil {
		t.Error("the zero kind of stream is accepted")
	}
	n = testNoise(1)
	n.Budget = must(dp.PureBudget(1))
	if _, err := NewTOFW(p, n); !errors.Is(err, dp.ErrUnitMismatch) {
		t.Errorf("a pure budget for Gaussian noise: %v", err)
	}
	q := p
	q.Loss = must(FromScalar(absolute()))
	if _, err := NewTOFW(q, testNoise(1)); !errors.Is(err, ErrLoss) {
		t.Errorf("a loss with a kink: %v", err)
	}
	if _, err := NewPOFW(q, selection(1)); !errors.Is(err, ErrLoss) {
		t.Errorf("a loss with a kink: %v", err)
	}
	q.Clip = 1
	if _, err := NewTOFW(q, testNoise(1)); err != nil {
		t.Errorf("a loss with a kink and a clip: %v", err)
	}
	q = p
	q.Clip, q.Spacing = 1, 0x1p-10
	if _, err := NewTOFW(q, testNoise(1)); !errors.Is(err, dp.ErrLattice) {
		t.Errorf("a coarse lattice: %v", err)
	}
	q.Spacing = 0x1p-62
	if _, err := NewPOFW(q, selection(1)); !errors.Is(err, dp.ErrLattice) {
		t.Errorf("a fine lattice: %v", err)
	}
	// A horizon of one record has noise.
	q = p
	q.Horizon = 1
	l := must(NewTOFW(q, testNoise(1)))
	if err := l.Step([]float64{0, 0}, 0); err != nil || l.Sum()[0] == 0 && l.Sum()[1] == 0 {
		t.Errorf("n = 1: the sum of a null record is %v: %v", l.Sum(), err)
	}
}

// TestSnapshots: a learner restored from a snapshot at any record has the same public state and, as
// its seeded noise is the same for both copies, goes on like another copy; other learners and
// damaged bytes are refused without a change.
func TestSnapshots(t *testing.T) {
	r := random.New(16, "test")
	p := NewProblem(must(NewBall(3, 1, 1)), Squared(), 1, 1, 40)
	p.Batch = 2
	for name, l := range kinds(p, 5) {
		for i := range 40 {
			data := must(l.MarshalBinary())
			a, b := kinds(p, 99)[name], kinds(p, 99)[name]
			if err := errors.Join(a.UnmarshalBinary(data), b.UnmarshalBinary(data)); err != nil {
				t.Fatalf("%s after %d records: %v", name, i, err)
			}
			if !slices.Equal(a.Theta(), l.Theta()) || a.Steps() != l.Steps() || a.Records() != l.Records() {
				t.Fatalf("%s: restored %v, want %v", name, a.Theta(), l.Theta())
			}
			x, y := record(r, 3)
			if err := errors.Join(l.Step(x, y), a.Step(x, y), b.Step(x, y)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(a.Theta(), b.Theta()) {
				t.Fatalf("%s: two restored copies differ", name)
			}
			if l.String() == "" || !strings.Contains(l.String(), "n=40") {
				t.Fatalf("text %q", l)
			}
			if (name == "none" || name == "best") && !slices.Equal(a.Theta(), l.Theta()) {
				t.Fatalf("%s: the restored copy goes on differently", name)
			}
		}
		data := must(l.MarshalBinary())
		q := p
		q.Clip = 3
		other := kinds(q, 5)[name]
		if other.UnmarshalBinary(data) == nil {
			t.Errorf("%s: a snapshot of another problem is accepted", name)
		}
		data[len(data)/2] ^= 1
		fresh := kinds(p, 5)[name]
		if fresh.UnmarshalBinary(data) == nil || fresh.Records() != 0 {
			t.Errorf("%s: a damaged snapshot is accepted", name)
		}
	}
}

// TestSlotsSurviveSnapshots: noise that a prefix shares with the one before a snapshot is not drawn
// again, which would let an observer average it away.
func TestSlotsSurviveSnapshots(t *testing.T) {
	p := NewProblem(must(NewBall(1, 2, 1)), Squared(), 1, 1, 64)
	l := must(NewTOFW(p, testNoise(3)))
	for range 32 {
		if err := l.StepNull(); err != nil {
			t.Fatal(err)
		}
	}
	node := l.Sum()[0] // the noise of the node [1, 32]
	data := must(l.MarshalBinary())
	mean := 0.0
	for seed := range uint64(400) {
		c := must(NewTOFW(p, testNoise(seed+1000)))
		if err := errors.Join(c.UnmarshalBinary(data), c.StepNull()); err != nil {
			t.Fatal(err)
		}
		mean += c.Sum()[0] / 400
	}
	if math.Abs(mean-node) > 5*l.Deviation(1)/20 {
		t.Errorf("the mean of prefixes 33 is %v, the node they share has %v", mean, node)
	}
}

// TestOracleO9: two runs from one seed are the same bit by bit, and say that they are insecure;
// runs with secure noise differ.
func TestOracleO9(t *testing.T) {
	r := random.New(17, "test")
	p := NewProblem(must(NewBall(3, 1, 1)), Squared(), 1, 1, 30)
	secure := testNoise(0)
	secure.Options = nil
	a, b := kinds(p, 5), kinds(p, 5)
	c, d := must(NewTOFW(p, secure)), must(NewTOFW(p, secure))
	for range 30 {
		x, y := record(r, 3)
		for name, l := range a {
			if err := errors.Join(l.Step(x, y), b[name].Step(x, y)); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(l.Theta(), b[name].Theta()) || !slices.Equal(l.Sum(), b[name].Sum()) {
				t.Fatalf("%s: runs from one seed differ", name)
			}
			if !l.Insecure() {
				t.Fatalf("%s does not say that it is insecure", name)
			}
		}
		if err := errors.Join(c.Step(x, y), d.Step(x, y)); err != nil {
			t.Fatal(err)
		}
	}
	if slices.Equal(c.Sum(), d.Sum()) || c.Insecure() {
		t.Error("secure runs are the same")
	}
}

// TestStepAllocatesNothing holds for all learners whose memory does not grow.
func TestStepAllocatesNothing(t *testing.T) {
	p := NewProblem(must(NewBall(10, 1, 1)), Squared(), 1, 1, 10000)
	for name, l := range kinds(p, 5) {
		if name == "square-root" || name == "doubling" {
			continue
		}
		x := make([]float64, 10)
		x[3] = 1
		for range 4096 { // all slots exist
			_ = l.Step(x, 1)
		}
		if n := testing.AllocsPerRun(200, func() { _ = l.Step(x, 1) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// TestOracleO4Memory: after 10^6 steps in dimension 100 the heap is below d·(bitlen+6)·8 bytes and
// a constant of 24 KiB, which holds the buffer of random bytes and the points. The noise is of the
// fast kind, which has the same memory.
func TestOracleO4Memory(t *testing.T) {
	testsize.NoRace(t)
	const d = 100
	n := int64(testsize.Of(1000000, 20000))
	p := NewProblem(must(NewBall(d, 2, 1)), Squared(), 1, 1, n)
	noise := testNoise(1)
	noise.Options = []dp.Option{dp.WithInsecureFastNoiseForTesting(1)}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what the first collection only marks or finalizes
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	l := must(NewTOFW(p, noise))
	x := make([]float64, d)
	x[1] = 0.5
	for range n {
		if err := l.Step(x, 0.3); err != nil {
			t.Fatal(err)
		}
	}
	used := int64(heap()) - int64(before)
	t.Logf("%d bytes after %d steps", used, n)
	if limit := int64(d*(bits.Len64(uint64(n))+6)*8 + 24<<10); used > limit {
		t.Errorf("%d bytes after %d steps, want at most %d", used, n, limit)
	}
	runtime.KeepAlive(l)
}

// TestStatements: a statement names the constants, and does not call seeded noise private.
func TestStatements(t *testing.T) {
	p := NewProblem(must(NewBall(2, 1, 1)), Logistic(), 3, 1, 100)
	for name, l := range kinds(p, 1) {
		s := l.Statement()
		if s.Private || !strings.Contains(s.String(), "logistic") || !strings.Contains(s.String(), "norm 3") ||
			!strings.Contains(s.Mechanism, "DP-") {
			t.Errorf("%s: %v", name, s)
		}
	}
	n := testNoise(1)
	n.Options = nil
	s := must(NewTOFW(p, n)).Statement()
	if !s.Private || s.Epsilon != 1 || s.Delta != 1e-4 || s.Protection != dp.PerRecord() || len(s.Exposes) == 0 {
		t.Errorf("%v", s)
	}
	o := banditOptions(2, 2, 10, 1, 1)
	o.ArmOptions = nil
	o.Noise.Options = nil
	s = must(NewHDB(o)).Statement()
	if !s.Private || !strings.Contains(s.String(), "own action") || !strings.Contains(s.Mechanism, "joint") {
		t.Errorf("%v", s)
	}
	if s := must(NewSGD(p, n)).Statement(); !s.Private || !strings.Contains(s.Mechanism, "gradient") {
		t.Errorf("%v", s)
	}
}

// TestWarningOfManyDimensions: sums on the l1 ball warn above n·ln(2d)/10 dimensions, 112 at 130
// and 106 at 100 for 200 records, and choices and other balls do not.
func TestWarningOfManyDimensions(t *testing.T) {
	n := testNoise(1)
	n.Options = nil
	for _, c := range []struct {
		p    float64
		dim  int
		sums bool
		want bool
	}{{1, 130, true, true}, {1, 100, true, false}, {2, 130, true, false}, {1, 130, false, false}} {
		problem := NewProblem(must(NewBall(c.dim, c.p, 1)), Squared(), 1, 1, 200)
		var l *Learner
		if c.sums {
			l = must(NewTOFW(problem, n))
		} else {
			choices := selection(1)
			choices.Options = nil
			l = must(NewPOFW(problem, choices))
		}
		warnings := strings.Join(l.Statement().Warnings, "\n")
		if got := strings.Contains(warnings, "accuracy: "); got != c.want {
			t.Errorf("%+v: the warnings are %q", c, warnings)
		}
	}
}

func absolute() loss.Scalar { return loss.Absolute{} }

// TestConcurrentSteps: of steps in several goroutines each is done or gets ErrBusy, and the counts
// agree.
func TestConcurrentSteps(t *testing.T) {
	p := NewProblem(must(NewBall(4, 1, 1)), Squared(), 1, 1, 4000)
	for name, l := range kinds(p, 1) {
		if name == "square-root" {
			continue // its steps take long
		}
		var done atomic.Int64
		var wait sync.WaitGroup
		for range 4 {
			wait.Go(func() {
				for range 500 {
					switch err := l.Step([]float64{1, 0, 0, 0}, 1); {
					case err == nil:
						done.Add(1)
					case !errors.Is(err, ErrBusy):
						t.Errorf("%s: %v", name, err)
					}
				}
			})
		}
		wait.Wait()
		if l.Records() != done.Load() || done.Load() < 1 {
			t.Errorf("%s: %d records, %d steps done", name, l.Records(), done.Load())
		}
	}
}
