package classify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/private"
)

// privateTestOptions are options for records of two features, with noise from a seed.
func privateTestOptions(horizon int64) PrivateOptions {
	return PrivateOptions{
		Epsilon: 1, Delta: 1e-5, Horizon: horizon, Negative: "-1", Positive: "1",
		Schema: &dataset.Schema{Format: dataset.SVMLight, Base: dataset.BaseOne, Dim: 2},
		Random: []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(1)},
	}
}

// privateRows is svmlight text of n records of two features.
func privateRows(n int) string {
	var b strings.Builder
	for i := range n {
		label := []string{"-1", "1"}[i%2]
		fmt.Fprintf(&b, "%s 1:%g 2:%g\n", label, float64(i%2)-0.5, float64(i%5)/4)
	}
	return b.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// privateStores are the stores of a ledger and a journal, and the models that left.
type privateStores struct {
	ledger, journal dp.Store
	testing         bool
	released        [][]byte
	release         func(model []byte) error
}

func newPrivateStores() *privateStores {
	s := &privateStores{ledger: &dp.MemoryStore{}, journal: &dp.MemoryStore{}, testing: true}
	s.release = func(model []byte) error {
		s.released = append(s.released, bytes.Clone(model))
		return nil
	}
	return s
}

// fit runs PrivateFit on svmlight text.
func (s *privateStores) fit(t *testing.T, text string, o PrivateOptions, change func(*PrivateRun),
) (PrivateOutcome, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.svm")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := dataset.Open(t.Context(), []string{path}, dataset.Options{
		Schema: o.Schema, Unseen: dataset.UnseenIgnore, Format: o.Schema.Format, Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	return s.fitStream(in, o, change)
}

func (s *privateStores) fitStream(in *dataset.Stream, o PrivateOptions, change func(*PrivateRun),
) (PrivateOutcome, error) {
	trainer, err := NewPrivateTrainer(o)
	if err != nil {
		return PrivateOutcome{}, err
	}
	ledger, err := dp.OpenLedger(s.ledger)
	if err != nil {
		return PrivateOutcome{}, err
	}
	budget := must(dp.GDPBudget(1, 1e-5))
	if trainer.Charge().Accounting == dp.ZCDP {
		budget = must(dp.ZCDPBudget(1, 1e-5))
	}
	if err := ledger.Open("data", dp.AccountConfig{
		Protection: dp.PerRecord(), Budget: budget, Testing: s.testing,
	}); err != nil {
		return PrivateOutcome{}, err
	}
	journal, err := dp.OpenJournal(s.journal, "run")
	if err != nil {
		return PrivateOutcome{}, err
	}
	run := PrivateRun{
		Ledger: ledger, Account: "data", Run: "run", Journal: journal,
		Release: func(m []byte) error { return s.release(m) },
	}
	if change != nil {
		change(&run)
	}
	return PrivateFit(context.Background(), in, trainer, run)
}

func (s *privateStores) spent(t *testing.T) float64 {
	t.Helper()
	return must(must(dp.OpenLedger(s.ledger)).Spent("data", 1e-5))
}

// The model is what package private learns from the same records, in the units of the data: ranges
// and the constant feature are applied by hand here.
func TestPrivateTrainerIsTheLearner(t *testing.T) {
	o := privateTestOptions(50)
	o.Ranges = []PrivateRange{{}, {Low: 10, High: 30}}
	o.PositiveWeight, o.Norm, o.Features, o.Clip, o.Noise = 4, 3, 2, 0.75, "honaker"
	trainer := must(NewPrivateTrainer(o))

	loss := weighted{Loss: private.Logistic(), name: "logistic, positive records weigh 4", negative: 0.25, positive: 1}
	p := private.NewProblem(must(private.NewBall(3, 3, 5)), loss, 2, 1, 50)
	p.Clip = 0.75
	l := must(private.NewTOFW(p, private.Noise{
		Kind: dp.Honaker, Protection: dp.PerRecord(), Budget: must(dp.GDPBudget(1, 1e-5)), Options: o.Random,
	}))
	for i := range 50 {
		a, b, y := float32(i%7)/4, float32(5*(i%6)+5), 1-2*float64(i%2) // b is 5 to 30
		if i == 20 {
			y = math.NaN()
		}
		if err := trainer.Add([]uint32{0, 1, 7}, []float32{a, b, 9}, y); err != nil {
			t.Fatal(err)
		}
		inside := math.Max(-1, (float64(b)-20)/10)
		if err := l.Step([]float64{float64(a), inside, 1}, y); err != nil {
			t.Fatal(err)
		}
	}
	m := must(trainer.Model("data", "run"))
	theta, linear := l.Theta(), m.Classifier().Models[0]
	for _, x := range [][2]float32{{0, 20}, {0.5, 11}, {1, 30}} {
		want := theta[0]*float64(x[0]) + theta[1]*(float64(x[1])-20)/10 + theta[2]
		if got := linear.Score([]uint32{0, 1}, x[:]); math.Abs(got-want) > 1e-12 {
			t.Errorf("the score of %v is %v, want %v", x, got, want)
		}
	}
	if got := trainer.Charge(); got != l.Charge() {
		t.Errorf("the charge is %v, want %v", got, l.Charge())
	}
	if err := trainer.Add(nil, nil, 1); !errors.Is(err, dp.ErrHorizon) {
		t.Errorf("a record too many: %v", err)
	}
}

// The weights of the classes scale values and slopes, and the larger is 1, so that the bounds of
// the loss hold.
func TestPrivateWeights(t *testing.T) {
	for _, c := range []struct{ weight, negative, positive float64 }{{1, 1, 1}, {4, 0.25, 1}, {0.5, 1, 0.5}} {
		o := privateTestOptions(10).EnsureDefaults()
		o.PositiveWeight = c.weight
		l, plain := o.loss(), private.Logistic()
		for _, y := range []float64{-1, 1} {
			w := c.negative
			if y > 0 {
				w = c.positive
			}
			if l.Value(0.3, y) != w*plain.Value(0.3, y) || l.Slope(0.3, y) != w*plain.Slope(0.3, y) {
				t.Errorf("weight %v, label %v: %v, %v", c.weight, y, l.Value(0.3, y), l.Slope(0.3, y))
			}
		}
	}
}

// Defaults depend on the loss, the norm and the bound on features only.
func TestPrivateDefaults(t *testing.T) {
	for _, c := range []struct {
		change       func(o *PrivateOptions)
		radius, clip float64
		noise        string
	}{
		{func(*PrivateOptions) {}, 10, 0.5, "square-root"},
		{func(o *PrivateOptions) { o.Loss, o.Features = "squared", 2 }, 1, 4, "square-root"},
		{func(o *PrivateOptions) { o.PositiveWeight = 0.1 }, 10, 0.5, "square-root"},
		// The Euclidean norm of a vector of three numbers of at most 1 is √3.
		{func(o *PrivateOptions) { o.Norm = 1 }, 10, 0.5 * math.Sqrt(3), "square-root"},
		{func(o *PrivateOptions) { o.Norm, o.Noise = 1, "exponential" }, 10, 0.5, "exponential"},
		{func(o *PrivateOptions) { o.Norm, o.Delta = 1, 0 }, 10, 0.5, "exponential"},
		// A declared clip is in the dual norm, and has the same factor.
		{func(o *PrivateOptions) { o.Norm, o.Clip = 1, 2 }, 10, 2 * math.Sqrt(3), "square-root"},
		{func(o *PrivateOptions) { o.Norm, o.Clip = 1.5, 2 }, 10, 2 * math.Pow(3, 1.0/6), "square-root"},
		{func(o *PrivateOptions) { o.Norm, o.Clip = math.Inf(1), 2 }, 10, 2, "square-root"},
		{func(o *PrivateOptions) { o.Norm, o.Clip, o.Noise = 1, 2, "exponential" }, 10, 2, "exponential"},
		{func(o *PrivateOptions) { o.Norm, o.Clip, o.ClipL2 = 1, 2, 1.25 }, 10, 1.25, "square-root"},
		{func(o *PrivateOptions) { o.Horizon = 1 << 30 }, 10, 0.5, "honaker"},
	} {
		o := privateTestOptions(100)
		c.change(&o)
		p := must(must(NewPrivateTrainer(o)).Model("a", "r")).Privacy
		if p.Radius != c.radius || math.Abs(p.Clip-c.clip) > 1e-12 || p.Noise != c.noise {
			t.Errorf("radius %v, clip %v, noise %s, want %+v", p.Radius, p.Clip, p.Noise, c)
		}
	}
}

// With a declared clip the planner takes DP-TOFW for 50 coordinates and DP-POFW for a million, as
// without one: the clip is not taken for a Euclidean one of the same number.
func TestPrivateOracleO11Planner(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []struct {
		dim       int
		clip      float64
		mechanism string
	}{{50, 0, "tofw"}, {50, 1, "tofw"}, {1000000, 0, "pofw"}, {1000000, 1, "pofw"}} {
		o := privateTestOptions(10000)
		o.Delta, o.Norm, o.Clip, o.NoIntercept = 1e-4, 1, c.clip, true
		o.Schema = &dataset.Schema{Format: dataset.SVMLight, Base: dataset.BaseOne, Dim: c.dim}
		trainer := must(NewPrivateTrainer(o))
		if got := trainer.row.Mechanism; got != c.mechanism {
			t.Errorf("%d coordinates, clip %v: %s with %s noise, want %s", c.dim, c.clip, got, trainer.row.Noise,
				c.mechanism)
		}
		trainer.Close()
	}
}

func TestPrivateOptionsRefused(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(o *PrivateOptions)
	}{
		{"epsilon: 0, want", func(o *PrivateOptions) { o.Epsilon = 0 }},
		{"epsilon: NaN, want", func(o *PrivateOptions) { o.Epsilon = math.NaN() }},
		{"delta: 1, want", func(o *PrivateOptions) { o.Delta = 1 }},
		{"horizon: 0, want", func(o *PrivateOptions) { o.Horizon = 0 }},
		{"batch: 11, want", func(o *PrivateOptions) { o.Batch = 11 }},
		{"norm: 0.5, want", func(o *PrivateOptions) { o.Norm = 0.5 }},
		{"feature-bound: -1, want", func(o *PrivateOptions) { o.Features = -1 }},
		{"radius: +Inf, want", func(o *PrivateOptions) { o.Radius = math.Inf(1) }},
		{"clip: -1, want", func(o *PrivateOptions) { o.Clip = -1 }},
		{"clip-l2: +Inf, want", func(o *PrivateOptions) { o.ClipL2 = math.Inf(1) }},
		{"step-scale: NaN, want", func(o *PrivateOptions) { o.StepScale = math.NaN() }},
		{"positive-weight: -2, want", func(o *PrivateOptions) { o.PositiveWeight = -2 }},
		{`loss: "hinge", want logistic or squared`, func(o *PrivateOptions) { o.Loss = "hinge" }},
		{`noise: "doubling", want auto or one of`, func(o *PrivateOptions) { o.Noise = "doubling" }},
		{"noise: exponential is not possible with norm 2", func(o *PrivateOptions) { o.Noise = "exponential" }},
		{"no mechanism is possible", func(o *PrivateOptions) { o.Delta = 0 }},
		{"and GDP accounting", func(o *PrivateOptions) { o.Norm, o.Noise, o.Accounting = 1, "laplace", dp.GDP }},
		{`labels: "1" and "1", want`, func(o *PrivateOptions) { o.Negative = "1" }},
		{"schema: null", func(o *PrivateOptions) { o.Schema = nil }},
		{"dim: the declared space has no features", func(o *PrivateOptions) {
			o.Schema = &dataset.Schema{Format: dataset.SVMLight, Base: dataset.BaseOne}
		}},
		{"columns: 1 ranges for 2 features", func(o *PrivateOptions) { o.Ranges = make([]PrivateRange, 1) }},
		{"columns: the range of feature 1 is 3 to 2", func(o *PrivateOptions) {
			o.Ranges = []PrivateRange{{}, {Low: 3, High: 2}}
		}},
		{"are not too close", func(o *PrivateOptions) { o.Ranges = []PrivateRange{{}, {Low: 0, High: 1e-310}} }},
		{"labels[0]: the label", func(o *PrivateOptions) { o.Positive = "\xff" }},
	} {
		o := privateTestOptions(10)
		c.change(&o)
		if _, err := NewPrivateTrainer(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}
