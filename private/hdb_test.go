package private

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/vec"
)

// banditOptions are K arms on the l1 ball in dimension d with tree noise from seeds.
func banditOptions(d, arms int, rounds, warmUp int64, seed uint64) HDBOptions {
	p := NewProblem(must(NewBall(d, 1, 1)), HalfSquared(), 1, 1, 1)
	p.Clip = 2
	return HDBOptions{
		Problem: p, Arms: arms, Horizon: rounds, WarmUp: warmUp, Gap: 0.5, RewardLow: -1, RewardHigh: 1,
		Noise: testNoise(0), ArmOptions: seeds(seed),
	}
}

// seeds gives every arm a seed of its own.
func seeds(seed uint64) func(arm int) []dp.Option {
	return func(arm int) []dp.Option {
		return []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(seed<<8 + uint64(arm))}
	}
}

// uniform draws a context from [−1, 1]^d.
func uniform(r *random.Source, d int) []float64 {
	x := make([]float64, d)
	for j := range x {
		x[j] = 2*r.Float64() - 1
	}
	return x
}

// TestIdentityT5: the bandit with one arm and no noise is the learner alone.
func TestIdentityT5(t *testing.T) {
	r := random.New(20, "test")
	for _, choices := range []bool{false, true} {
		o := banditOptions(4, 1, 600, 50, 1)
		o.NonPrivate, o.Choices = true, choices
		b := must(NewHDB(o))
		p := o.Problem
		p.Horizon, p.Labels = 600, 1
		l := must(NewNonPrivateTOFW(p))
		if choices {
			l = must(NewNonPrivatePOFW(p))
		}
		for range 600 {
			x := uniform(r, 4)
			arm, err := b.Choose(x)
			if err := errors.Join(err, b.Reward(x[0]), l.Step(x, x[0])); err != nil || arm != 0 {
				t.Fatal(arm, err)
			}
			if !slices.Equal(b.Theta(0), l.Theta()) {
				t.Fatalf("choices %v: %v, alone %v", choices, b.Theta(0), l.Theta())
			}
		}
	}
}

// TestHDBCounts: after the warm-up all arms have the same number of steps in every round, whatever
// is pulled and whether a reward comes; each warm-up pull steps its arm only.
func TestHDBCounts(t *testing.T) {
	r := random.New(21, "test")
	for _, choices := range []bool{false, true} {
		o := banditOptions(3, 3, 100, 5, 1)
		if o.Choices = choices; choices {
			o.Noise = selection(0)
		}
		b := must(NewHDB(o))
		for i := range int64(100) {
			arm := must(b.Choose(uniform(r, 3)))
			if i < 15 && arm != int(i/5) {
				t.Fatalf("round %d of the warm-up pulls arm %d", i, arm)
			}
			reward := r.Float64()
			if i%7 == 0 {
				reward = math.NaN()
			}
			if err := b.Reward(reward); err != nil {
				t.Fatal(err)
			}
			for a := range 3 {
				want := 5 + (i + 1 - 15) // t₀ + (t − K·t₀)
				if i < 15 {
					want = min(5, max(0, i+1-5*int64(a)))
				}
				if b.Steps(a) != want {
					t.Fatalf("after round %d arm %d has %d steps, want %d", i+1, a, b.Steps(a), want)
				}
			}
		}
		if _, err := b.Choose(make([]float64, 3)); !errors.Is(err, dp.ErrHorizon) {
			t.Errorf("after all rounds: %v", err)
		}
	}
}

// TestHDBEdges holds the refusals of the bandit.
func TestHDBEdges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(o *HDBOptions)
		want   error
	}{
		{"no arms", func(o *HDBOptions) { o.Arms = 0 }, dp.ErrDimension},
		{"a warm-up longer than the game", func(o *HDBOptions) { o.WarmUp = 6 }, ErrWarmUp},
		{"a negative warm-up", func(o *HDBOptions) { o.WarmUp = -1 }, ErrWarmUp},
		{"gap 0", func(o *HDBOptions) { o.Gap = 0 }, dp.ErrBound},
		{"gap NaN", func(o *HDBOptions) { o.Gap = math.NaN() }, dp.ErrBound},
		{"rewards out of order", func(o *HDBOptions) { o.RewardLow = 2 }, dp.ErrBound},
		{"rewards without end", func(o *HDBOptions) { o.RewardHigh = math.Inf(1) }, dp.ErrBound},
		{"horizon 0", func(o *HDBOptions) { o.Horizon = 0 }, dp.ErrHorizon},
		{"no budget", func(o *HDBOptions) { o.Noise.Budget = dp.Budget{} }, dp.ErrEpsilon},
	} {
		o := banditOptions(2, 2, 10, 2, 1)
		c.change(&o)
		if _, err := NewHDB(o); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	b := must(NewHDB(banditOptions(2, 2, 10, 5, 1)))
	if _, err := b.Choose([]float64{1}); !errors.Is(err, dp.ErrDimension) {
		t.Errorf("a short context: %v", err)
	}
	if err := b.Reward(1); !errors.Is(err, ErrRound) {
		t.Errorf("a reward without a choice: %v", err)
	}
	must(b.Choose([]float64{1, math.NaN()}))
	if _, err := b.Choose([]float64{1, 1}); !errors.Is(err, ErrRound) {
		t.Errorf("a choice before the reward: %v", err)
	}
	b.busy.Lock()
	if _, err := b.Choose([]float64{1, 1}); !errors.Is(err, ErrBusy) {
		t.Errorf("a concurrent choice: %v", err)
	}
	if err := b.Reward(1); !errors.Is(err, ErrBusy) {
		t.Errorf("a concurrent reward: %v", err)
	}
	b.busy.Unlock()
	b.Close()
	if _, err := b.Choose([]float64{1, 1}); !errors.Is(err, dp.ErrClosed) {
		t.Errorf("a choice after Close: %v", err)
	}
	if err := b.Reward(1); !errors.Is(err, dp.ErrClosed) {
		t.Errorf("a reward after Close: %v", err)
	}
	// t₀ = 0 is allowed: the frozen estimates are the start, and no arm is left out.
	b = must(NewHDB(banditOptions(2, 3, 4, 0, 1)))
	if arm := must(b.Choose([]float64{1, 1})); arm != 0 {
		t.Errorf("a tie goes to arm %d", arm)
	}
	// A link that panics leaves the lowest arm.
	o := banditOptions(2, 3, 4, 0, 1)
	o.Mean = func(float64) float64 { panic("link") }
	if arm := must(must(NewHDB(o)).Choose([]float64{1, 1})); arm != 0 {
		t.Errorf("a link that panics chooses arm %d", arm)
	}
}

// TestHDBLearns: without privacy and with a large budget the bandit finds the better arm for each
// sign of the context, and rewards outside the range are clamped.
func TestHDBLearns(t *testing.T) {
	for _, private := range []bool{false, true} {
		r := random.New(22, "test")
		o := banditOptions(2, 2, 4000, 100, 3)
		o.Gap = 2
		o.NonPrivate = !private
		o.Noise.Budget = must(dp.ZCDPBudget(20, 1e-5))
		b := must(NewHDB(o))
		right := 0
		for i := range 4000 {
			x := uniform(r, 2)
			arm := must(b.Choose(x))
			reward := 0.7 * x[0]
			if arm == 1 {
				reward = -0.7 * x[0]
			}
			if i >= 2000 && reward >= 0 {
				right++
			}
			if i%100 == 0 {
				reward *= 1e6
			}
			if err := b.Reward(reward); err != nil {
				t.Fatal(err)
			}
		}
		if right < 1800 {
			t.Errorf("private %v: the better arm in %d of 2000 rounds", private, right)
		}
	}
}

// TestHDBSnapshots: a bandit restored between choice and reward has the same estimates and choices.
func TestHDBSnapshots(t *testing.T) {
	r := random.New(23, "test")
	o := banditOptions(2, 2, 60, 10, 4)
	o.NonPrivate = true
	b := must(NewHDB(o))
	for i := range 60 {
		x := uniform(r, 2)
		arm := must(b.Choose(x))
		c := must(NewHDB(o))
		data := must(b.MarshalBinary())
		if err := c.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(b.Reward(x[0]), c.Reward(x[0])); err != nil {
			t.Fatal(err)
		}
		for a := range 2 {
			if !slices.Equal(b.Theta(a), c.Theta(a)) || c.Rounds() != int64(i+1) {
				t.Fatalf("round %d, arm %d of %d: %v, restored %v", i, a, arm, b.Theta(a), c.Theta(a))
			}
		}
		data[len(data)/2]++
		if c.UnmarshalBinary(data) == nil {
			t.Fatal("damaged bytes are accepted")
		}
	}
	o.Gap = 1
	if must(NewHDB(o)).UnmarshalBinary(must(b.MarshalBinary())) == nil {
		t.Error("a snapshot of another bandit is accepted")
	}
}

// TestUCB: the baseline finds the better arm without privacy and with a very large budget; its
// costs are those of its budget; its refusals.
func TestUCB(t *testing.T) {
	options := func(private bool) UCBOptions {
		o := UCBOptions{
			Dim: 2, Arms: 2, Horizon: 3000, Features: 1, Rewards: 1, Norm: 1, Deviation: 0.1, Alpha: 0.05, Width: 0.1,
			Noise: testNoise(0), NonPrivate: !private, ArmOptions: seeds(9),
		}
		o.Noise.Budget = must(dp.ZCDPBudget(200, 1e-5))
		return o
	}
	for _, private := range []bool{false, true} {
		r := random.New(24, "test")
		b := must(NewUCB(options(private)))
		right := 0
		for i := range 3000 {
			x := uniform(r, 2)
			arm := must(b.Choose(x))
			reward := 0.7 * x[0]
			if arm == 1 {
				reward = -0.7 * x[0]
			}
			if i >= 1500 && reward >= 0 {
				right++
			}
			if i%50 == 0 {
				reward = math.NaN()
			}
			if err := b.Reward(reward); err != nil {
				t.Fatal(err)
			}
		}
		if right < 1300 {
			t.Errorf("private %v: the better arm in %d of 1500 rounds", private, right)
		}
		if s := b.Statement(); private && math.Abs(s.Rho/b.o.Noise.Budget.Rho()-1) > 1e-9 || s.Private {
			t.Errorf("%v", s)
		}
		if private && math.Abs(b.Charge().Rho/b.o.Noise.Budget.Rho()-1) > 1e-9 {
			t.Errorf("charge %v, budget %v", b.Charge(), b.o.Noise.Budget)
		}
	}
	for _, c := range []struct {
		name   string
		change func(o *UCBOptions)
		want   error
	}{
		{"dimension 0", func(o *UCBOptions) { o.Dim = 0 }, dp.ErrDimension},
		{"no arms", func(o *UCBOptions) { o.Arms = 0 }, dp.ErrDimension},
		{"horizon 0", func(o *UCBOptions) { o.Horizon = 0 }, dp.ErrHorizon},
		{"features NaN", func(o *UCBOptions) { o.Features = math.NaN() }, dp.ErrBound},
		{"alpha 1", func(o *UCBOptions) { o.Alpha = 1 }, dp.ErrBound},
		{"a Gaussian budget", func(o *UCBOptions) { o.Noise.Budget = must(dp.GDPBudget(1, 1e-5)) }, dp.ErrUnitMismatch},
		{"no budget", func(o *UCBOptions) { o.Noise.Budget = dp.Budget{} }, dp.ErrEpsilon},
	} {
		o := options(true)
		c.change(&o)
		if _, err := NewUCB(o); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}

// TestUCBSensitivity: two records move the lattice vectors of the stream by at most √2·ℓ and the
// rounding that the calibration allows for, and opposite rewards attain it nearly.
func TestUCBSensitivity(t *testing.T) {
	r := random.New(25, "test")
	o := UCBOptions{
		Dim: 3, Arms: 1, Horizon: 100, Features: 1, Rewards: 2, Norm: 1, Deviation: 1, Alpha: 0.1, Width: 1,
		Noise: testNoise(0),
	}
	o.Noise.Budget = must(dp.ZCDPBudget(1, 1e-5))
	b := must(NewUCB(o))
	lattice := b.streams[0].Lattice()
	vector := func(x []float64, y float64) []int64 {
		copy(b.context, x)
		b.outer(y)
		k := make([]int64, lattice.Dim())
		lattice.Quantize(b.matrix, k)
		return k
	}
	largest := 0.0
	for range 20000 {
		var k [2][]int64
		for i := range k {
			x := normals(r, 3)
			if r.IntN(2) == 0 {
				x[1], x[2] = 0, 0
			}
			vec.Scale(x, 1/vec.Norm2(x))
			k[i] = vector(x, 2*float64(1-2*r.IntN(2)))
		}
		sum := 0.0
		for j := range k[0] {
			d := float64(k[0][j] - k[1][j])
			sum += d * d
		}
		largest = max(largest, math.Sqrt(sum)/float64(lattice.Limit()))
	}
	if largest > math.Sqrt2*(1+4e-6) {
		t.Errorf("two records are %v·ℓ apart, the calibration allows √2·(1 + 4e-6)", largest)
	}
}

// TestUCBSnapshot: a restored bandit without noise goes on like the original.
func TestUCBSnapshot(t *testing.T) {
	r := random.New(26, "test")
	o := UCBOptions{
		Dim: 2, Arms: 2, Horizon: 60, Features: 1, Rewards: 1, Norm: 1, Deviation: 0.1, Alpha: 0.05, Width: 1,
		NonPrivate: true,
	}
	b := must(NewUCB(o))
	for range 60 {
		x := uniform(r, 2)
		arm := must(b.Choose(x))
		data := must(b.MarshalBinary())
		c := must(NewUCB(o))
		if err := errors.Join(c.UnmarshalBinary(data), b.Reward(x[arm]), c.Reward(x[arm])); err != nil {
			t.Fatal(err)
		}
		for a := range 2 {
			if !slices.Equal(b.sums[a], c.sums[a]) {
				t.Fatalf("arm %d: %v, restored %v", a, b.sums[a], c.sums[a])
			}
		}
		data[len(data)/2]++
		if must(NewUCB(o)).UnmarshalBinary(data) == nil {
			t.Fatal("damaged bytes are accepted")
		}
	}
	o.Width = 2
	if must(NewUCB(o)).UnmarshalBinary(must(b.MarshalBinary())) == nil {
		t.Error("a snapshot of another bandit is accepted")
	}
}

// TestHDBCharge: in Gaussian differential privacy the cost of all arms, with the distance of their
// noise from continuous noise counted twice, stays within the budget.
func TestHDBCharge(t *testing.T) {
	o := banditOptions(3, 4, 1000, 10, 1)
	c := must(NewHDB(o)).Charge()
	epsilon := o.Noise.Budget.Epsilon()
	delta := must(dp.GaussianDelta(math.Sqrt(c.MuSq), epsilon)) + c.Slack*(1+math.Exp(epsilon)) + c.ApproxDelta
	if delta > o.Noise.Budget.Delta() || delta < 0.9*o.Noise.Budget.Delta() {
		t.Errorf("δ = %v, the budget has %v", delta, o.Noise.Budget.Delta())
	}
	if s := must(NewHDB(o)).Statement(); s.Delta != o.Noise.Budget.Delta() || s.Epsilon != epsilon {
		t.Errorf("the statement has ε = %v, δ = %v; all arms together have δ = %v", s.Epsilon, s.Delta, delta)
	}
	one := must(NewTOFW(must(NewHDB(o)).o.Problem, must(NewHDB(o)).o.Noise)).Charge()
	if c.MuSq != one.MuSq || c.Slack != 2*one.Slack || c.Slack == 0 {
		t.Errorf("all arms cost %+v, one learner %+v", c, one)
	}
}
