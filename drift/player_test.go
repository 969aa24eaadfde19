package drift

import (
	"math"
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot/snapshottest"
	"github.com/noregret/noregret/internal/testsize"
)

// players are the bandit algorithms with 3 arms.
func players() map[string]func() (bandit.Algorithm, error) {
	type p = bandit.Algorithm
	return map[string]func() (p, error){
		"exp3":         func() (p, error) { return bandit.NewPlayer(3, bandit.Exp3{Rate: .1, Limit: 1}) },
		"exp3-anytime": func() (p, error) { return bandit.NewPlayer(3, bandit.AnytimeExp3{Limit: 1}) },
		"exp3-ix":      func() (p, error) { return bandit.NewPlayer(3, bandit.Exp3IX{Rate: .1, Limit: 1}) },
		"inf":          func() (p, error) { return bandit.NewPlayer(3, bandit.INF{Rate: .1, Q: .5, Limit: 1}) },
		"tsallis-inf":  func() (p, error) { return bandit.NewPlayer(3, bandit.TsallisINF{Limit: 1}) },
		"exploring": func() (p, error) {
			return bandit.NewPlayer(3, bandit.ExploringWeights{Rate: .1, Explore: .1, Limit: 1})
		},
		"ucb":       func() (p, error) { return bandit.NewPlayer(3, bandit.AlphaUCB{Alpha: 3, Sigma: .5}) },
		"kl-ucb":    func() (p, error) { return bandit.NewPlayer(3, bandit.KLUCB{C: 3, Limit: 1}) },
		"bernoulli": func() (p, error) { return bandit.NewPlayer(3, bandit.BernoulliThompson{}) },
		"gaussian": func() (p, error) {
			return bandit.NewPlayer(3, bandit.GaussianThompson{Sigma: .5, Prior: bandit.GaussianPrior{Deviation: 1}})
		},
		"explore-commit": func() (p, error) { return bandit.NewPlayer(3, bandit.ExploreThenCommit{Turns: 2}) },
	}
}

// TestRestartedPlayerEqualsFresh: in every batch every bandit algorithm draws what a fresh one
// draws from the same random numbers.
func TestRestartedPlayerEqualsFresh(t *testing.T) {
	const size, rounds = 11, 60
	for name, make := range players() {
		p := must(NewPlayer(must(forget.Every(size)), make))
		var fresh bandit.Algorithm
		a, b, losses := random.New(1, name), random.New(1, name), random.New(2, name)
		for round := range rounds {
			if round%size == 0 {
				fresh = must(make())
			}
			arm := p.Draw(a)
			if other := fresh.Draw(b); arm != other {
				t.Fatalf("%s: arm %d in round %d, fresh %d", name, arm, round+1, other)
			}
			x := float64(losses.IntN(2))
			if err := p.Update(arm, x); err != nil {
				t.Fatal(err)
			}
			if err := fresh.Update(arm, x); err != nil {
				t.Fatal(err)
			}
		}
		if p.Batch() != rounds/size || p.Rounds() != rounds || p.Arms() != 3 {
			t.Errorf("%s: %d restarts after %d rounds", name, p.Batch(), p.Rounds())
		}
		again := must(NewPlayer(must(forget.Every(size)), make))
		snapshottest.Restore(t, p, again)
		for range 20 {
			arm := p.Draw(a)
			if other := again.Draw(b); arm != other {
				t.Fatalf("%s: arm %d, restored %d", name, arm, other)
			}
			if p.Update(arm, 1) != nil || again.Update(arm, 1) != nil {
				t.Fatal("refused")
			}
		}
	}
}

func TestRestartedPlayerRefuses(t *testing.T) {
	exp3 := players()["exp3"]
	_, err := NewPlayer(forget.Never(), nil)
	refused(t, "make", err)
	_, err = NewPlayer(forget.Never(), func() (bandit.Algorithm, error) { return nil, nil })
	refused(t, "player", err)
	p := must(NewPlayer(must(forget.Every(5)), exp3))
	r := random.New(3, "refuses")
	refused(t, "no draw", p.Update(0, 1))
	arm := p.Draw(r)
	before := must(p.MarshalBinary())
	refused(t, "arm", p.Update(arm+1, 1))
	refused(t, "NaN", p.Update(arm, math.NaN()))
	refused(t, "loss", p.Update(arm, 2))
	if string(before) != string(must(p.MarshalBinary())) {
		t.Error("a refused loss changed the player")
	}
	if n := testing.AllocsPerRun(3, func() { _ = p.Update(p.Draw(r), 1) }); n != 0 {
		t.Errorf("%v allocations a round", n)
	}
}

// TestOracleO10MetaPrincipleOfPlayers: on a sequence of losses that moves slowly, the regret of
// every restarted player against the best arm of every round is at most the regret of its batches
// against their best arms and 2Δ times the variation. Where a theorem bounds the expected regret
// against any sequence, the mean regret of the batches is within the bound.
func TestOracleO10MetaPrincipleOfPlayers(t *testing.T) {
	const size, rounds = 30, 300
	runs := testsize.Of(1000, 150)
	bounds := map[string]float64{
		"exp3":         bandit.Exp3Bound(3, size, 1, .1),
		"exp3-anytime": bandit.AnytimeExp3Bound(3, size, 1),
		"inf":          bandit.INFBound(3, size, .5, 1, .1),
		"tsallis-inf":  bandit.TsallisINFBound(3, size, 1),
		"exploring":    bandit.ExploringBound(3, size, bandit.ExploringWeights{Rate: .1, Explore: .1, Limit: 1}),
	}
	for name, make := range players() {
		losses, variation := slowLosses(rounds, name == "bernoulli")
		total, squares := 0.0, 0.0
		for run := range runs {
			p := must(NewPlayer(must(forget.Every(size)), make))
			r := random.New(uint64(run), name)
			dynamic, static := 0.0, 0.0
			var batch [3]float64
			for round, x := range losses {
				arm := p.Draw(r)
				if err := p.Update(arm, x[arm]); err != nil {
					t.Fatal(err)
				}
				dynamic += x[arm] - min(x[0], x[1], x[2])
				static += x[arm]
				for k, v := range x {
					batch[k] += v
				}
				if (round+1)%size == 0 {
					static -= min(batch[0], batch[1], batch[2])
					batch = [3]float64{}
				}
			}
			if dynamic > static+2*size*variation+1e-9 {
				t.Fatalf("%s: regret %v above %v of the batches and 2ΔV = %v", name, dynamic, static, 2*size*variation)
			}
			total += static
			squares += static * static
		}
		n := float64(runs)
		mean := total / n
		spread := math.Sqrt((squares/n - mean*mean) / n)
		if bound, ok := bounds[name]; ok && mean > rounds/size*bound+4*spread {
			t.Errorf("%s: regret %v ± %v of the batches, the bound is %v", name, mean, spread, rounds/size*bound)
		}
	}
}

// slowLosses are losses of 3 arms that take turns to be the best, with the sum of the largest
// changes from round to round.
func slowLosses(rounds int, binary bool) (losses [][3]float64, variation float64) {
	for round := range rounds {
		var x [3]float64
		for k := range x {
			x[k] = .5 + .4*math.Sin(2*math.Pi*(float64(round)/1500+float64(k)/3))
			if binary {
				x[k] = math.Round(x[k])
			}
		}
		if round > 0 {
			largest := 0.0
			for k, v := range losses[round-1] {
				largest = max(largest, math.Abs(x[k]-v))
			}
			variation += largest
		}
		losses = append(losses, x)
	}
	return losses, variation
}
