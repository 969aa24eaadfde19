package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// TestPickIsTheSplit compares pick with NewSplit, for shares that occur and hostile ones.
func TestPickIsTheSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 1e-30, 1e-16, 0.1, 0.3, 1, 5}), 1, 8).Draw(t, "shares")
		sum := 0.0
		for _, v := range raw {
			sum += v
		}
		if sum == 0 {
			raw[0], sum = 1, 1
		}
		for k := range raw {
			raw[k] /= sum
		}
		s, err := NewSplit(raw)
		if err != nil {
			t.Fatal(err)
		}
		hash := rapid.Uint64().Draw(t, "hash")
		for _, h := range []uint64{hash, 0, math.MaxUint64} {
			arm, p := pick(raw, h)
			if arm != s.Arm(h) || p != s.Propensity(arm) {
				t.Fatalf("hash %d in %v: arm %d with %v, want %d with %v", h, raw, arm, p, s.Arm(h),
					s.Propensity(s.Arm(h)))
			}
		}
	})
}

// contextual is a policy of three arms whose model is random.
func contextual(t testing.TB, kind string, hold float64) *Policy {
	l, _ := randomLinear(t, random.New(7, kind), kind, 3, 4)
	l.Floor = 0.1
	split, err := NewSplit([]float64{.4, .3, .3})
	if err != nil {
		t.Fatal(err)
	}
	p := &Policy{
		Experiment: "x", Version: 3, Salt: "salt", Control: 1, Stream: "arm", HoldBack: Fraction(hold),
		Arms:  []Arm{{"a", json.RawMessage("1")}, {"b", json.RawMessage("2")}, {"c", json.RawMessage("3")}},
		Links: []Link{{3, split}}, Linear: l,
	}
	if err := p.Prepare(nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDecideInShares counts decisions: each arm's share must be its propensity, the one that is
// reported, and held-back units must be as many as they should.
func TestDecideInShares(t *testing.T) {
	testsize.NoRace(t)
	const n = 100_000
	for _, kind := range LinearKinds() {
		p := contextual(t, kind, 0.1)
		x := []float64{1, 0.2, -0.3, 0.5}
		want, err := p.Linear.Distribution(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		count, held := make([]float64, 3), 0.0
		for i := range n {
			d := p.DecideIn(fmt.Sprint("unit", i), x)
			if d.HeldBack {
				held++
				if d.Arm != 1 || d.Propensity != 1 {
					t.Fatalf("%+v", d)
				}
				continue
			}
			count[d.Arm]++
			if math.Abs(d.Propensity-want[d.Arm]) > 1e-12 || d.Name != p.Arms[d.Arm].Name || d.Version != 3 {
				t.Fatalf("%+v, want propensity %v", d, want[d.Arm])
			}
		}
		if math.Abs(held/n-0.1) > 0.005 {
			t.Errorf("%s: held back %v", kind, held/n)
		}
		for k, c := range count {
			if e := math.Sqrt(want[k] * (1 - want[k]) / (n - held)); math.Abs(c/(n-held)-want[k]) > 4.5*e {
				t.Errorf("%s: arm %d has %v, want %v", kind, k, c/(n-held), want[k])
			}
		}
	}
}

func TestDecideInWithoutModel(t *testing.T) {
	p := policyOf(t, 0, mustSplit(t, .5, .5))
	if p.DecideIn("ann", nil).Arm != p.Decide("ann").Arm {
		t.Error("a policy without a model decides otherwise")
	}
	if _, err := p.ScoresIn(nil); err == nil {
		t.Error("scores without a model")
	}
	q := contextual(t, LinUCB, 0)
	defer func() {
		if recover() == nil {
			t.Error("a vector of the wrong length decides")
		}
	}()
	q.DecideIn("ann", []float64{1})
}

func TestScoresIn(t *testing.T) {
	p := contextual(t, LinThompson, 0)
	x := []float64{1, 0, -0.3, 0.5}
	scores, err := p.ScoresIn(x)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := p.Linear.Distribution(nil, x)
	for k, s := range scores {
		sum := 0.0
		for i, c := range s.Contributions {
			sum += c.Product
			if i > 0 && math.Abs(c.Product) > math.Abs(s.Contributions[i-1].Product) {
				t.Errorf("%+v is not sorted", s.Contributions)
			}
		}
		if len(s.Contributions) != 3 || math.Abs(sum-s.Score) > 1e-12 || s.Probability != want[k] ||
			s.Arm != p.Arms[k].Name {
			t.Errorf("%+v: sum %v, want probability %v", s, sum, want[k])
		}
	}
	if _, err := p.ScoresIn(x[:2]); err == nil {
		t.Error("a vector of the wrong length has scores")
	}
}

func TestDecideInAllocations(t *testing.T) {
	most := float64(testsize.Of(0, 5)) // the race detector throws away some of the pool's memory
	for _, kind := range LinearKinds() {
		p := contextual(t, kind, 0)
		x := []float64{1, 0.2, -0.3, 0.5}
		if n := testing.AllocsPerRun(200, func() { p.DecideIn("ann", x) }); n > most {
			t.Errorf("%s: %v allocations", kind, n)
		}
	}
}

// BenchmarkDecideIn has 20 arms and 100 features, dense and with 10 coordinates other than 0.
func BenchmarkDecideIn(b *testing.B) {
	for _, kind := range LinearKinds() {
		for _, filled := range []int{101, 10} {
			b.Run(fmt.Sprintf("%s/filled=%d", kind, filled), func(b *testing.B) {
				r := random.New(8, kind)
				l, _ := randomLinear(b, r, kind, 20, 101)
				split, err := NewSplit([]float64{1})
				if err != nil {
					b.Fatal(err)
				}
				p := &Policy{Salt: "salt", Control: -1, Stream: "arm", Linear: l, Links: []Link{{1, split.Pad(20)}}}
				for k := range 20 {
					p.Arms = append(p.Arms, Arm{Name: fmt.Sprint(k)})
				}
				if err := p.Prepare(nil); err != nil {
					b.Fatal(err)
				}
				x := normals(r, 101)
				clear(x[filled:])
				b.ReportAllocs()
				for b.Loop() {
					p.DecideIn("ann", x)
				}
			})
		}
	}
}

// TestLinearContract pins decisions to the last bit, so that a change of the arithmetic shows: a
// client of another version must decide as the server does (docs/formats/policy.md).
func TestLinearContract(t *testing.T) {
	for _, c := range []struct {
		kind  string
		arms  string
		third float64 // the probability of the third arm
	}{
		{LinUCB, "accaaaaaaaaaaaaaaaaaaaaa", 0.03333333333333333},
		{LinThompson, "bcccababaabccacccbaabcac", 0.3146967523002798},
		{SquareCB, "bcccababbabccacccbaabcac", 0.3111111111111111},
	} {
		split, err := NewSplit([]float64{.4, .3, .3})
		if err != nil {
			t.Fatal(err)
		}
		l := &Linear{
			Kind: c.kind, Alpha: 0.75, Gamma: 12, Floor: 0.1,
			Features: []Feature{
				{Name: "age", Kind: Number, Range: Range{0, 120}},
				{Name: "country", Kind: Category, Values: []string{"DE", "FR"}},
			},
			Arms: []LinearArm{
				{Mean: []float64{.3, -.2, .1, 0}},
				{Mean: []float64{.25, .1, -.05, .2}},
				{Mean: []float64{.3, 0, .1, .1}},
			},
		}
		for k := range l.Arms {
			if c.kind != SquareCB {
				s := 1 / float64(3+k)
				l.Arms[k].Factor = Packed{s, -.1, .05, .02, s, .01, -.03, s, .04, s}
			}
		}
		p := &Policy{
			Experiment: "x", Version: 3, Salt: "salt", Control: -1, Stream: "arm", Links: []Link{{3, split}}, Linear: l,
			Arms: []Arm{{"a", json.RawMessage("1")}, {"b", json.RawMessage("2")}, {"c", json.RawMessage("3")}},
		}
		if err := p.Prepare(nil); err != nil {
			t.Fatal(err)
		}
		x, err := l.Encoder().Encode(nil, json.RawMessage(`{"age": 42, "country": "FR"}`))
		if err != nil {
			t.Fatal(err)
		}
		shares, err := l.Distribution(nil, x)
		if err != nil {
			t.Fatal(err)
		}
		arms := ""
		for i := range 24 {
			arms += p.DecideIn(fmt.Sprint("unit", i), x).Name
		}
		if arms != c.arms || shares[2] != c.third {
			t.Errorf("%s: %q and %v, want %q and %v", c.kind, arms, shares[2], c.arms, c.third)
		}
	}
}

// TestDecideInConcurrently decides in many goroutines: the memory of one must not reach another.
func TestDecideInConcurrently(t *testing.T) {
	var wait sync.WaitGroup
	for _, kind := range LinearKinds() {
		p := contextual(t, kind, 0.1)
		for i := range 4 {
			x := []float64{1, 0.2 * float64(i), -0.3, 0.5}
			var want []Assignment
			for u := range 200 {
				want = append(want, p.DecideIn(fmt.Sprint("unit", u), x))
			}
			wait.Go(func() {
				for u := range 200 {
					if got := p.DecideIn(fmt.Sprint("unit", u), x); got.Arm != want[u].Arm ||
						got.Propensity != want[u].Propensity {
						t.Errorf("%s: %+v, want %+v", kind, got, want[u])
					}
				}
			})
		}
	}
	wait.Wait()
}
