package contextual

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/policy"
)

// numbers declares n−1 numbers in [−1, 1], so that the encoder has n coordinates.
func numbers(n int) []policy.Feature {
	var out []policy.Feature
	for i := range n - 1 {
		out = append(out, policy.Feature{Name: fmt.Sprint("f", i), Kind: policy.Number, Range: policy.Range{-1, 1}})
	}
	return out
}

func mustLearner(t testing.TB, o LearnerOptions) *Learner {
	l, err := NewLearner(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustSeal(t testing.TB, l *Learner) *policy.Linear {
	p, err := l.Seal()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustObserve(t testing.TB, l *Learner, arm int, x []float64, reward, weight float64) {
	if err := l.Observe(arm, x, reward, weight); err != nil {
		t.Fatal(err)
	}
}

// contextOf draws a vector of an encoder of numbers.
func contextOf(r *random.Source, dim int) []float64 {
	x := make([]float64, dim)
	x[0] = 1
	for i := range x[1:] {
		x[i+1] = 2*r.Float64() - 1
	}
	return x
}

func TestUniformBeforeObservations(t *testing.T) {
	for _, kind := range policy.LinearKinds() {
		p := mustSeal(t, mustLearner(t, DefaultLearnerOptions(kind, numbers(3), 4)))
		shares, err := p.Distribution(nil, []float64{1, 0.5, -1})
		if diff := cmp.Diff([]float64{.25, .25, .25, .25}, shares, cmpopts.EquateApprox(0, 1e-12)); err != nil ||
			diff != "" {
			t.Errorf("%s: %v %s", kind, err, diff)
		}
	}
}

// TestSealedModel compares the sealed policy with ridge regression of the centred rewards, solved
// directly.
func TestSealedModel(t *testing.T) {
	r := random.New(3, "seal")
	for _, kind := range policy.LinearKinds() {
		const dim, arms, lambda = 4, 3, 0.5
		l := mustLearner(t, LearnerOptions{
			Kind: kind, Features: numbers(dim), Arms: arms, Ridge: lambda, Alpha: 2, Gamma: 3,
			Floor: .1,
		})
		type row struct {
			arm  int
			x    []float64
			y, w float64
		}
		var rows []row
		sum, weight := 0.0, 0.0
		for range 50 {
			v := row{r.IntN(arms), contextOf(r, dim), 7 + stat.Normal(r), 0.5 + r.Float64()}
			rows = append(rows, v)
			mustObserve(t, l, v.arm, v.x, v.y, v.w)
			sum += v.w * v.y
			weight += v.w
		}
		c, squares := sum/weight, 0.0
		p := mustSeal(t, l)
		for k := range arms {
			want := newDirect(dim, lambda)
			for _, v := range rows {
				if v.arm == k {
					want.observe(v.x, v.y-c, v.w)
				}
			}
			theta := want.solve(want.b)
			squares += want.yy - inner(want.b, theta)
			theta[0] += c
			if diff := cmp.Diff(theta, p.Arms[k].Mean, cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
				t.Errorf("%s: %s", kind, diff)
			}
		}
		sigma := math.Sqrt(squares / float64(len(rows)))
		alpha, gamma := 2*sigma, 0.0
		if kind == policy.SquareCB {
			alpha, gamma = 0, 3*math.Sqrt(50)/sigma
		}
		if !near(p.Alpha, alpha, 1e-9) || !near(p.Gamma, gamma, 1e-9) || p.Floor != .1 {
			t.Errorf("%s: alpha %v and gamma %v, want %v and %v", kind, p.Alpha, p.Gamma, alpha, gamma)
		}
	}
}

// TestUnits multiplies all rewards by a number and adds another: shares stay the same.
func TestUnits(t *testing.T) {
	for _, kind := range policy.LinearKinds() {
		r := random.New(4, kind)
		a := mustLearner(t, DefaultLearnerOptions(kind, numbers(4), 3))
		b := mustLearner(t, DefaultLearnerOptions(kind, numbers(4), 3))
		for range 100 {
			k, x, y := r.IntN(2), contextOf(r, 4), stat.Normal(r) // the last arm has no observation
			mustObserve(t, a, k, x, y, 1)
			mustObserve(t, b, k, x, 1000*y-5000, 1)
		}
		p, q := mustSeal(t, a), mustSeal(t, b)
		for range 50 {
			x := contextOf(r, 4)
			u, err := p.Distribution(nil, x)
			if err != nil {
				t.Fatal(err)
			}
			v, err := q.Distribution(nil, x)
			if diff := cmp.Diff(u, v, cmpopts.EquateApprox(0, 1e-6)); err != nil || diff != "" {
				t.Fatalf("%s: %v %s", kind, err, diff)
			}
		}
	}
}

// TestEqualRewards has one reward only: rounding must not decide, and each arm stays in play.
func TestEqualRewards(t *testing.T) {
	for _, kind := range policy.LinearKinds() {
		l := mustLearner(t, DefaultLearnerOptions(kind, numbers(3), 2))
		for i := range 30 {
			mustObserve(t, l, i%2, []float64{1, float64(i%3) - 1, 0.1}, 0.7, 1)
		}
		p, err := mustSeal(t, l).Distribution(nil, []float64{1, 0, 0.1})
		if err != nil || kind != policy.LinUCB && (p[0] < 0.4 || p[0] > 0.6) {
			t.Errorf("%s: %v, %v", kind, p, err)
		}
	}
}

// TestLearnsByContext plays rounds of 100 units in a world where the best arm depends on the
// context. The policy must come close to the best arm in each context.
func TestLearnsByContext(t *testing.T) {
	const dim, arms = 4, 3
	for _, kind := range policy.LinearKinds() {
		r := random.New(5, kind)
		theta := [][]float64{{.5, .3, 0, 0}, {.5, -.3, 0, 0}, {.45, 0, 0, .2}}
		l := mustLearner(t, DefaultLearnerOptions(kind, numbers(dim), arms))
		var regret [2]float64 // of the first and the last rounds
		p := mustSeal(t, l)
		for round := range 60 {
			for range 100 {
				x := contextOf(r, dim)
				shares, err := p.Distribution(nil, x)
				if err != nil {
					t.Fatal(err)
				}
				k, best := drawFrom(shares, r.Float64()), 0.0
				for j := range theta {
					best = max(best, inner(x, theta[j]))
				}
				if round < 10 {
					regret[0] += best - inner(x, theta[k])
				} else if round >= 50 {
					regret[1] += best - inner(x, theta[k])
				}
				mustObserve(t, l, k, x, inner(x, theta[k])+0.3*stat.Normal(r), 1)
			}
			p = mustSeal(t, l)
		}
		t.Logf("%s: regret of 1000 units: first %.1f, last %.1f", kind, regret[0], regret[1])
		if regret[1] > 0.25*regret[0] || regret[1] > 20 {
			t.Errorf("%s: regret %v at first, %v at last", kind, regret[0], regret[1])
		}
	}
}

func drawFrom(p []float64, u float64) int {
	for k, v := range p {
		if u -= v; u < 0 {
			return k
		}
	}
	return len(p) - 1
}

func TestArmsComeAndGo(t *testing.T) {
	r := random.New(6, "arms")
	l := mustLearner(t, DefaultLearnerOptions(policy.LinThompson, numbers(3), 2))
	for range 50 {
		mustObserve(t, l, r.IntN(2), contextOf(r, 3), stat.Normal(r), 1)
	}
	k, err := l.AddArm()
	if err != nil || k != 2 || l.Arms() != 3 {
		t.Fatal(k, err)
	}
	if err := l.RetireArm(0); err != nil || !l.Retired(0) {
		t.Fatal(err)
	}
	p, err := mustSeal(t, l).Distribution(nil, contextOf(r, 3))
	if err != nil || p[0] != 0 || p[2] < 0.2 {
		t.Errorf("%v, %v", p, err)
	}
	mustObserve(t, l, 0, contextOf(r, 3), 1, 1)
	for _, bad := range []int{-1, 0, 3} {
		if l.RetireArm(bad) == nil {
			t.Errorf("arm %d is retired", bad)
		}
	}
	if err := l.RetireArm(1); err != nil {
		t.Fatal(err)
	}
	if err := l.RetireArm(2); err == nil || !strings.Contains(err.Error(), "last active") {
		t.Error(err)
	}
}

func TestLearnerSnapshot(t *testing.T) {
	for _, kind := range policy.LinearKinds() {
		r := random.New(7, kind)
		o := DefaultLearnerOptions(kind, numbers(3), 2)
		a, b := mustLearner(t, o), mustLearner(t, o)
		for i := range 40 {
			if i == 10 {
				if _, err := a.AddArm(); err != nil {
					t.Fatal(err)
				}
			}
			mustObserve(t, a, r.IntN(a.Arms()), contextOf(r, 3), stat.Normal(r), 1)
		}
		data, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		x := contextOf(r, 3)
		mustObserve(t, a, 2, x, 0.3, 2)
		mustObserve(t, b, 2, x, 0.3, 2)
		one, err := a.MarshalBinary()
		two, err2 := b.MarshalBinary()
		if err != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("%s: a restored learner continues otherwise", kind)
		}
		o.Alpha, o.Gamma = 3, 3
		other := mustLearner(t, o)
		if other.UnmarshalBinary(data) == nil || b.UnmarshalBinary(data[:len(data)-1]) == nil {
			t.Errorf("%s: a wrong snapshot is restored", kind)
		}
	}
}

func TestLearnerErrors(t *testing.T) {
	good := DefaultLearnerOptions(policy.LinUCB, numbers(3), 2)
	for _, c := range []struct {
		change func(o *LearnerOptions)
		text   string
	}{
		{func(o *LearnerOptions) { o.Kind = "ucb" }, "lin-ucb"},
		{func(o *LearnerOptions) { o.Arms = 0 }, "arms"},
		{func(o *LearnerOptions) { o.Arms = 1 << 20 }, "want 1 to 699050"},
		{func(o *LearnerOptions) { o.Ridge = -1 }, "ridge"},
		{func(o *LearnerOptions) { *o = LearnerOptions{Kind: o.Kind, Features: o.Features, Arms: 2} }, "ridge"},
		{func(o *LearnerOptions) { o.Alpha = math.NaN() }, "alpha"},
		{func(o *LearnerOptions) { o.Gamma = 1e7 }, "gamma"},
		{func(o *LearnerOptions) { o.Floor = 2 }, "floor"},
		{func(o *LearnerOptions) { o.Noise = math.Inf(1) }, "noise"},
		{func(o *LearnerOptions) { o.Features = []policy.Feature{{Name: "a", Kind: "b"}} }, "context[0].kind"},
	} {
		o := good
		c.change(&o)
		if _, err := NewLearner(o); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%v, want %q", err, c.text)
		}
	}
	l := mustLearner(t, good)
	before, _ := l.MarshalBinary()
	for _, c := range []struct {
		arm            int
		x              []float64
		reward, weight float64
	}{
		{-1, []float64{1, 0, 0}, 1, 1},
		{2, []float64{1, 0, 0}, 1, 1},
		{0, []float64{1, 0}, 1, 1},
		{0, []float64{1, 0, math.NaN()}, 1, 1},
		{0, []float64{1, 0, 1e16}, 1, 1},
		{0, []float64{1, 0, 0}, math.Inf(1), 1},
		{0, []float64{1, 0, 0}, 1e31, 1},
		{0, []float64{1, 0, 0}, 1, 0},
		{0, []float64{1, 0, 0}, 1, math.NaN()},
	} {
		if l.Observe(c.arm, c.x, c.reward, c.weight) == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if after, _ := l.MarshalBinary(); !bytes.Equal(before, after) {
		t.Error("a refused observation changed the state")
	}
}

func TestObserveAllocations(t *testing.T) {
	l := mustLearner(t, DefaultLearnerOptions(policy.LinUCB, numbers(20), 3))
	x := contextOf(random.New(8, "allocations"), 20)
	if n := testing.AllocsPerRun(100, func() { mustObserve(t, l, 1, x, 0.5, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestNewArm measures the share of an arm that comes late, in the mean over contexts. Optimism
// gives it all but the floor until its first rewards arrive, a draw less than a half, and inverse
// gaps about as much as the others have.
func TestNewArm(t *testing.T) {
	const dim, arms, floor = 3, 4, 0.1
	for kind, want := range map[string][2]float64{
		policy.LinUCB: {1 - floor + floor/5, 1 - floor + floor/5}, policy.LinThompson: {.3, .5},
		policy.SquareCB: {.05, .25},
	} {
		r := random.New(9, kind)
		o := DefaultLearnerOptions(kind, numbers(dim), arms)
		o.Floor = floor
		l := mustLearner(t, o)
		for i := range 4000 {
			x := contextOf(r, dim)
			mustObserve(t, l, i%arms, x, .5+.05*float64(i%arms)+.1*x[1]+.3*stat.Normal(r), 1)
		}
		k, err := l.AddArm()
		if err != nil {
			t.Fatal(err)
		}
		p, share := mustSeal(t, l), 0.0
		for range 200 {
			shares, err := p.Distribution(nil, contextOf(r, dim))
			if err != nil {
				t.Fatal(err)
			}
			share += shares[k] / 200
		}
		t.Logf("%s: the new arm has the share %.3f", kind, share)
		if share < want[0]-1e-9 || share > want[1]+1e-9 {
			t.Errorf("%s: the new arm has the share %v, want %v to %v", kind, share, want[0], want[1])
		}
	}
}
