package single

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// Successive elimination follows the rule of [Learner], recomputed here from all observations. An
// arm is eliminated for good in the first round in which its upper bound f(V̂_k) + w_k falls below
// the largest lower bound f(V̂_j) − w_j of the remaining arms. w_k = √(2·ln(4K·n²/0.05))·√(Σ_m (∂_m
// f)²·s²_m/n) for n groups.
func TestEliminationBound(t *testing.T) {
	const arms, rounds = 4, 300
	f := pastotest.Goals(t, 5, false, 0)
	mu := pastotest.Table(t, []float64{1, .7, .45, .2}, []float64{-.05, .3, -.02, 1})
	l, err := New(f, arms, Elimination)
	if err != nil {
		t.Fatal(err)
	}
	r := random.New(1, "eliminate")
	var seen [arms][][]float64
	in, left := [arms]bool{true, true, true, true}, []int{}
	drawn, obs := make([]int, 4), make([]pasto.Observation, 4)
	for n := range rounds {
		l.Draw(r, drawn)
		for q, k := range drawn {
			u := []float64{mu.Arm(k)[0] + .4*r.NormFloat64(), mu.Arm(k)[1] + .2*r.NormFloat64()}
			obs[q] = pasto.Observation{Arm: k, Metrics: u}
			seen[k] = append(seen[k], u)
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
		lower, upper := eliminationBounds(seen[:])
		best := math.Inf(-1)
		for k, v := range lower {
			if in[k] {
				best = max(best, v)
			}
		}
		rest := 0.0
		for k, v := range upper {
			if in[k] && v < best {
				in[k] = false
				left = append(left, k)
				t.Logf("arm %d leaves in round %d, after %d groups", k, n+1, len(seen[k]))
			}
			if in[k] {
				rest++
			}
		}
		for k, stays := range in {
			want := 0.0
			if stays {
				want = 1 / rest
			}
			if got := l.Serving()[k]; math.Abs(got-want) > 1e-15 {
				t.Fatalf("round %d: arm %d is served %v, want %v", n+1, k, got, want)
			}
		}
	}
	if len(left) != 3 || l.Deployed()[0] != 1 || len(seen[1]) < 50 {
		t.Errorf("arms %v were eliminated, arm 1 after %d groups, and %v is deployed: the test is too weak", left,
			len(seen[1]), l.Deployed())
	}
}

// eliminationBounds returns the bounds of every arm for f = x − 5·(min(0, y))², computed from its
// observations. They are ±Inf while some arm is unobserved or the variance is unknown.
func eliminationBounds(seen [][][]float64) (lower, upper []float64) {
	arms := len(seen)
	mean, pool, freedom, complete := make([][2]float64, arms), [2]float64{}, 0.0, true
	for k, list := range seen {
		for m := range pool {
			for _, u := range list {
				mean[k][m] += u[m] / float64(len(list))
			}
			for _, u := range list {
				pool[m] += (u[m] - mean[k][m]) * (u[m] - mean[k][m])
			}
		}
		freedom += max(float64(len(list)-1), 0)
		complete = complete && len(list) > 0
	}
	for k, list := range seen {
		if !complete || freedom == 0 {
			lower, upper = append(lower, math.Inf(-1)), append(upper, math.Inf(1))
			continue
		}
		short := math.Min(0, mean[k][1])
		f, dy, n := mean[k][0]-5*short*short, -10*short, float64(len(list))
		w := math.Sqrt(2*math.Log(4*float64(arms)*n*n/.05)) * math.Sqrt((pool[0]+dy*dy*pool[1])/freedom/n)
		lower, upper = append(lower, f-w), append(upper, f+w)
	}
	return lower, upper
}

// known returns a baseline after t rounds, with the given counts and means of its arms and a pooled
// variance of 1 for each metric.
func known(t *testing.T, f *pasto.Goals, rule Rule, rounds int, counts []float64, means ...[]float64) *Learner {
	t.Helper()
	l, err := New(f, len(counts), rule)
	if err != nil {
		t.Fatal(err)
	}
	l.s.T, l.s.Freedom = rounds, 50
	for k := range counts {
		copy(l.s.Mean[k*len(means):], pastotest.Table(t, means...).Arm(k))
	}
	for m := range l.s.Pool {
		l.s.Pool[m] = l.s.Freedom
	}
	for k, n := range counts {
		l.s.Count[k], l.s.Size[k] = n, n
	}
	l.refresh()
	return l
}

// UCB serves the arm with the largest f(V̂_k) + z·se_k, z = √(2·ln(K·(t+1)²))/2. By hand, the
// rarely served arm is served while its bound is above that of the other arm, although the arm with
// the largest mean is deployed. The guardrail of arm 0 is violated by 0.1, so that its gradient is
// (1, 1) and its standard error √2 times as large.
func TestUpperBoundChooses(t *testing.T) {
	z := math.Sqrt(2*math.Log(2*100*100)) / 2 // 2.2252 for two arms and t + 1 = 100
	pastotest.Near(t, "z", z, 2.2252, 1e-4)
	for _, c := range []struct {
		name   string
		counts []float64
		y      []float64
		equal  float64 // arm 1's x at which its bound is that of arm 0, whose x is 1
	}{
		{"both hold the guardrail", []float64{95, 4}, []float64{9, 9}, 1 + z/math.Sqrt(95) - z/2},
		{"equal counts", []float64{25, 25}, []float64{9, 9}, 1},
		{"arm 0 breaks it", []float64{95, 4}, []float64{-.1, 9}, 1 - .05 + z*math.Sqrt2/math.Sqrt(95) - z/2},
		{"arm 1 breaks it", []float64{95, 4}, []float64{9, -.1}, 1 + z/math.Sqrt(95) + .05 - z*math.Sqrt2/2},
	} {
		for arm, x := range []float64{c.equal - 1e-6, c.equal + 1e-6} {
			l := known(t, pastotest.Goals(t, 5, false, 0), UCB, 99, c.counts, []float64{1, x}, c.y)
			if l.Serving()[arm] != 1 {
				t.Errorf("%s: with x = %v it serves %v, want arm %d", c.name, x, l.Serving(), arm)
			}
			if best := l.Deployed(); c.equal < .9 && best[0] != 1 {
				t.Errorf("%s: with x = %v it deploys %v, want arm 0", c.name, x, best)
			}
		}
	}
}

// Thompson serves each arm in proportion to the number of 16 draws in which its score is the
// largest. A draw's score is f of V̂_k + se_k·z, where se_{k,m} = s_m/√n_k and z are the normals of
// the state's generator, in order.
func TestThompsonScores(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	x, y, counts := []float64{.5, .3, 0}, []float64{-.1, .2, .4}, []float64{40, 9, 4}
	mixed := 0
	for rounds := range 10 {
		l := known(t, f, Thompson, rounds, counts, x, y)
		l.s.Random = random.SplitMix64(rounds)
		l.refresh()
		draws, want := random.SplitMix64(rounds), make([]float64, 3)
		for range 16 {
			arm, top := -1, math.Inf(-1)
			for k, n := range counts {
				u := x[k] + stat.Normal(&draws)/math.Sqrt(n)
				short := math.Min(0, y[k]+stat.Normal(&draws)/math.Sqrt(n))
				if v := u - 5*short*short; v > top {
					arm, top = k, v
				}
			}
			want[arm] += 1.0 / 16
		}
		for k, v := range want {
			pastotest.Near(t, "share", l.Serving()[k], v, 1e-15)
			if v > 0 {
				mixed++
			}
		}
	}
	if mixed < 20 {
		t.Errorf("%d shares of 30 are above 0: the test is too weak", mixed)
	}
}

// Deterministic baselines find the best single arm.
func TestSingle(t *testing.T) {
	mu := pastotest.Table(t, []float64{1, .4, -.2, .1}, []float64{-.6, .3, .9, -.1}, []float64{.2, -.5, .3, .8})
	for _, rule := range []Rule{Elimination, UCB, Thompson} {
		l, err := New(pastotest.Goals(t, 5, false, .2, .1), 4, rule)
		if err != nil {
			t.Fatal(err)
		}
		pastotest.Play(t, l, mu, 2, 3000, .5, random.New(1, "test"))
		if l.Deployed()[2] != 1 {
			t.Errorf("rule %d deploys %v", rule, l.Deployed())
		}
	}
}

// Thompson draws arms from its Serving distribution.
func TestThompsonServing(t *testing.T) {
	l, _ := New(pastotest.Goals(t, 5, false, 0), 3, Thompson)
	r := random.New(1, "test")
	pastotest.Play(t, l, pastotest.Table(t, []float64{.2, 0, .1}, []float64{1, 1, 1}), 1, 10, 3, r)
	for n := 0; slices.Max(l.Serving()) == 1; n++ {
		if n == 100 {
			t.Fatal("it never serves a mixture: the test checks nothing")
		}
		pastotest.Play(t, l, pastotest.Table(t, []float64{.2, 0, .1}, []float64{1, 1, 1}), 1, 1, 3, r)
	}
	p := append([]float64{}, l.Serving()...)
	count, arms := make([]float64, 3), make([]int, 16)
	for range 100 {
		l.Draw(r, arms)
		for _, k := range arms {
			count[k]++
		}
	}
	for k := range p {
		pastotest.Near(t, "share drawn", count[k]/1600, p[k], 1e-9)
	}
}
