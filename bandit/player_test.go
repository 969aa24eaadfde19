package bandit

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
)

// made returns the result of NewPlayer, which must not fail.
func made(p *Player, err error) *Player {
	if err != nil {
		panic(err)
	}
	return p
}

// players are players of all rules on d arms. All accept losses of 0 and 1.
func players(d int) []*Player {
	exploring := ExploringWeights{Rate: .1, Explore: .3, Limit: 1}
	signed := exploring
	signed.Signed = true
	return of(
		d, exploring, signed, Exp3{Rate: .1, Limit: 1}, AnytimeExp3{Limit: 1}, Exp3IX{Rate: .1, Limit: 1},
		INF{Rate: .1, Q: .5, Limit: 1}, INF{Rate: .1, Q: .75, Limit: 1}, TsallisINF{Limit: 1},
		TsallisINF{Estimator: ReducedVariance, Limit: 1}, ExploreThenCommit{Turns: 3}, AlphaUCB{Alpha: 3, Sigma: .5},
		AlphaUCB{Alpha: .5, Sigma: .5}, MOSS{Rounds: 4000, Sigma: .5}, KLUCB{Limit: 1}, KLUCB{C: 3, Limit: 1},
		BernoulliThompson{}, flat(.5), GaussianThompson{Sigma: .5, Prior: GaussianPrior{Mean: .5, Deviation: 1}},
		Elimination{},
	)
}

// of returns players of rules on d arms.
func of(d int, rules ...Rule) (out []*Player) {
	for _, r := range rules {
		out = append(out, made(NewPlayer(d, r)))
	}
	return out
}

// flat is Thompson sampling for normal losses with the flat prior.
func flat(sigma float64) GaussianThompson {
	return GaussianThompson{Sigma: sigma, Prior: GaussianPrior{Deviation: math.Inf(1)}}
}

// sampled reports whether the probabilities of a player take a quadrature.
func sampled(p *Player) bool {
	_, ok := p.plan.method.(*thompson)
	return ok
}

// forced is the source with which the draw from p gives an arm.
type forced float64

func (f forced) Float64() float64 { return float64(f) }

func force(p []float64, arm int) forced {
	u := p[arm] / 2
	for _, x := range p[:arm] {
		u += x
	}
	return forced(u)
}

// pull plays a round with a forced arm.
func pull(t testing.TB, p *Player, arm int, loss float64) {
	t.Helper()
	if got := p.Draw(force(p.Probabilities(), arm)); got != arm {
		t.Fatalf("arm %d drawn, want %d", got, arm)
	}
	if err := p.Update(arm, loss); err != nil {
		t.Fatal(err)
	}
}

// near fails unless got and want agree to 1e-9, relative above 1 in size.
func near(t testing.TB, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: got %.12g, want %.12g", what, got, want)
	}
}

func nearAll(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
	for i := range want {
		near(t, fmt.Sprintf("%s[%d]", what, i), got[i], want[i])
	}
}

// bernoulli plays rounds with losses of 0 or 1 of these means, and returns the arms.
func bernoulli(t testing.TB, p Algorithm, means []float64, rounds int, r *random.Source) (arms []int) {
	t.Helper()
	for range rounds {
		k, loss := p.Draw(r), 0.0
		if r.Float64() < means[k] {
			loss = 1
		}
		arms = append(arms, k)
		if err := p.Update(k, loss); err != nil {
			t.Fatal(err)
		}
	}
	return arms
}

func snapshotOf(t testing.TB, p Algorithm) []byte {
	t.Helper()
	data, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Every player keeps to its distribution, and finds the best arm.
func TestPlayersFindTheBest(t *testing.T) {
	for i, p := range players(3) {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			r, counts := random.New(uint64(i), "player"), make([]int, 3)
			for range 4000 {
				var share []float64
				if !sampled(p) {
					share = p.Probabilities()
					sum := 0.0
					for _, x := range share {
						sum += x
						if !(x >= 0 && x <= 1+1e-12) {
							t.Fatalf("probabilities %v", share)
						}
					}
					if math.Abs(sum-1) > 1e-12 {
						t.Fatalf("probabilities %v with the sum %v", share, sum)
					}
				}
				k := p.Draw(r)
				if share != nil && !(share[k] > 0) {
					t.Fatalf("arm %d drawn from %v", k, share)
				}
				loss := 0.0
				if r.Float64() < []float64{.9, .1, .8}[k] {
					loss = 1
				}
				counts[k]++
				if err := p.Update(k, loss); err != nil {
					t.Fatal(err)
				}
			}
			if counts[1] < 3000 {
				t.Errorf("pulls %v", counts)
			}
		})
	}
}

// A snapshot taken at any point, before and after the draw, continues bit for bit, and a snapshot
// of the restored player has the same bytes.
func TestPlayersContinueFromSnapshots(t *testing.T) {
	means := []float64{.7, .2, .6, .4}
	fresh := players(4)
	for i, p := range players(4) {
		for at := range 30 {
			bernoulli(t, p, means, at, random.New(uint64(at), "before"))
			if at%2 == 1 {
				p.Draw(random.New(9, "pending"))
			}
			data, q := snapshotOf(t, p), fresh[i]
			if err := q.UnmarshalBinary(data); err != nil {
				t.Fatalf("%v: %v", p, err)
			}
			if !bytes.Equal(snapshotOf(t, q), data) {
				t.Fatalf("%v: the snapshot changed by a restore", p)
			}
			a := bernoulli(t, p, means, 10, random.New(3, "after"))
			b := bernoulli(t, q, means, 10, random.New(3, "after"))
			if !slices.Equal(a, b) || !bytes.Equal(snapshotOf(t, p), snapshotOf(t, q)) {
				t.Fatalf("%v: after a restore %v, want %v", p, b, a)
			}
		}
	}
}

// A refused call leaves the state unchanged, and so does asking for the distribution.
func TestPlayersRefuseBadCalls(t *testing.T) {
	others := players(5)
	for i, p := range players(3) {
		bernoulli(t, p, []float64{.5, .5, .5}, 40, random.New(1, "refuse"))
		refuse := func(what string, err error) {
			t.Helper()
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%v: %s: %v", p, what, err)
			}
		}
		asked := snapshotOf(t, p)
		p.Probabilities()
		if !bytes.Equal(asked, snapshotOf(t, p)) {
			t.Errorf("%v: Probabilities changed the state", p)
		}
		refuse("no draw", p.Update(0, 1))
		arm := p.Draw(random.New(1, "draw"))
		if again := p.Draw(nil); again != arm {
			t.Errorf("%v: drew %d, then %d", p, arm, again)
		}
		before := snapshotOf(t, p)
		refuse("another arm", p.Update((arm+1)%3, 1))
		refuse("no arm", p.Update(-1, 1))
		for _, loss := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e101, -1e101} {
			refuse(fmt.Sprint(loss), p.Update(arm, loss))
		}
		refuse("other options", p.UnmarshalBinary(snapshotOf(t, others[i])))
		refuse("truncated", p.UnmarshalBinary(before[:len(before)-1]))
		if !bytes.Equal(before, snapshotOf(t, p)) {
			t.Errorf("%v: a refused call changed the state", p)
		}
		if err := p.Update(arm, 1); err != nil {
			t.Error(err)
		}
		refuse("twice", p.Update(arm, 1))
	}
}

// The declared range is that of the losses, up to 1e-12 of it.
func TestRangeOfLosses(t *testing.T) {
	for _, p := range of(
		2, Exp3{Rate: .1, Limit: 2}, Exp3IX{Rate: .1, Limit: 2}, INF{Rate: .1, Q: .5, Limit: 2},
		TsallisINF{Estimator: ReducedVariance, Limit: 2}, KLUCB{Limit: 2},
		ExploringWeights{Rate: .1, Explore: .1, Limit: 2},
	) {
		arm := p.Draw(forced(.2))
		for _, loss := range []float64{-1e-6, 2 + 1e-6, math.NaN()} {
			if err := p.Update(arm, loss); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%v: loss %v: %v", p, loss, err)
			}
		}
		if err := p.Update(arm, 2+1e-12); err != nil {
			t.Errorf("%v: %v", p, err)
		}
		if err := p.Update(p.Draw(forced(.2)), -1e-12); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	signed := made(NewPlayer(2, ExploringWeights{Rate: .1, Explore: .1, Limit: 2, Signed: true}))
	if err := signed.Update(signed.Draw(forced(.2)), -2); err != nil {
		t.Error(err)
	}
}

// A single arm is pulled always.
func TestPlayersWithOneArm(t *testing.T) {
	for _, p := range players(1) {
		for _, k := range bernoulli(t, p, []float64{.5}, 20, random.New(1, "one")) {
			if k != 0 {
				t.Fatalf("%v: arm %d", p, k)
			}
		}
		if math.Abs(p.Probabilities()[0]-1) > 1e-15 {
			t.Errorf("%v: %v", p, p.Probabilities())
		}
	}
}

func TestPlayersDoNotAllocate(t *testing.T) {
	for _, p := range append(players(10), players(300)...) {
		r := random.New(1, "allocations")
		for range p.Arms() { // the first rounds of some algorithms are others
			if err := p.Update(p.Draw(r), 0); err != nil {
				t.Fatal(err)
			}
		}
		n := testing.AllocsPerRun(200, func() {
			k := p.Draw(r)
			if err := p.Update(k, float64(k&1)); err != nil {
				t.Fatal(err)
			}
			if !sampled(p) {
				p.Probabilities()
			}
		})
		if n != 0 {
			t.Errorf("%v: %v allocations a round", p, n)
		}
	}
}

func TestPlayersRefuseBadOptions(t *testing.T) {
	for _, r := range []Rule{
		nil,
		Exp3{Limit: 1},
		Exp3{Rate: 1, Limit: math.Inf(1)},
		AnytimeExp3{Limit: -1},
		AnytimeExp3{},
		Exp3IX{Rate: math.NaN(), Limit: 1},
		Exp3IX{Rate: 1},
		INF{Rate: 1, Limit: 1},
		INF{Rate: 1, Q: 1, Limit: 1},
		TsallisINF{Estimator: 7, Limit: 1},
		TsallisINF{},
		ExploringWeights{Rate: 1, Limit: 1},
		ExploringWeights{Rate: 1, Limit: 1, Explore: 1.1},
		ExploreThenCommit{},
		AlphaUCB{Sigma: 1},
		AlphaUCB{Alpha: 3},
		MOSS{Sigma: 1},
		MOSS{Rounds: 9},
		KLUCB{C: -1, Limit: 1},
		KLUCB{},
		GaussianThompson{Sigma: 1},
		GaussianThompson{Sigma: 1, Prior: GaussianPrior{Mean: math.NaN(), Deviation: 1}},
		GaussianThompson{Prior: GaussianPrior{Deviation: 1}},
	} {
		if _, err := NewPlayer(2, r); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%#v: %v", r, err)
		}
	}
	for _, arms := range []int{0, -1, maxArms + 1} {
		if _, err := NewPlayer(arms, BernoulliThompson{}); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%d arms: %v", arms, err)
		}
	}
}
