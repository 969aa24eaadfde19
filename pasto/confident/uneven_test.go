package confident

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// uneven plays rounds of groups whose metrics are the arms' means and noise of their own
// deviations, and calls at after each round.
func uneven(t *testing.T, l *Learner, means, noise [][]float64, groups, rounds int, seed uint64,
	at func(n int, obs []pasto.Observation),
) {
	t.Helper()
	r, arms, obs := random.New(seed, "uneven"), make([]int, groups), make([]pasto.Observation, groups)
	for n := range rounds {
		l.Draw(r, arms)
		for q, k := range arms {
			row := make([]float64, len(means[k]))
			for i, v := range means[k] {
				row[i] = v + noise[k][i]*stat.Normal(r)
			}
			obs[q] = pasto.Observation{Arm: k, Metrics: row}
		}
		if at != nil {
			at(n, obs)
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
}

// An arm that is no good and far noisier than the others, or that had one garbage value, leaves the
// others' errors what they are: the mixture of the two good ones is found nevertheless.
func TestOneNoisyArm(t *testing.T) {
	means := [][]float64{{2, -2}, {0, 2}, {-1, 0}}
	truth := pastotest.Table(t, []float64{2, 0, -1}, []float64{-2, 2, 0})
	for _, c := range []struct {
		groups  int
		sd, bad float64
		rounds  int
	}{
		{1, 1, 0, 1000},
		{1, 30, 0, 3000},
		{10, 30, 0, 1000},
		{10, 100, 0, 3000},
		{1, 1, -1e5, 3000},
		{10, 1, -1e5, 3000},
		{1, 1, -1e8, 3000},
	} {
		t.Run(fmt.Sprintf("%d/%v/%v", c.groups, c.sd, c.bad), func(t *testing.T) {
			runs, value := testsize.Of(10, 2), 0.0
			for seed := range uint64(runs) {
				g := pastotest.Goals(t, 5, false, 0)
				l, err := New(g, 3, DefaultOptions())
				if err != nil {
					t.Fatal(err)
				}
				bad := c.bad
				uneven(t, l, means, [][]float64{{1, 1}, {1, 1}, {1, c.sd}}, c.groups, c.rounds, seed,
					func(n int, obs []pasto.Observation) {
						for _, o := range obs {
							if n > 300 && o.Arm == 2 && bad != 0 {
								o.Metrics[1] += bad
								bad = 0
							}
						}
					})
				theta := make([]float64, 2)
				truth.Mean(theta, l.Deployed())
				value += g.Value(theta) / float64(runs)
			}
			t.Logf("mean F after %d rounds: %.3f", c.rounds, value)
			if value < .98 {
				t.Errorf("mean F after %d rounds: %.3f, want .98 or more; the optimum is 1.0125", c.rounds, value)
			}
		})
	}
}

// An arm of which only a constant has been seen, with what rounding makes of it, has the pooled
// noise: it may have rare events like the others.
func TestConstantIsNotNoiseless(t *testing.T) {
	l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for n := range 100 {
		obs := []pasto.Observation{
			{Arm: 0, Size: 3 + float64(n%7), Metrics: []float64{1.1}},
			{Arm: 1, Size: 3 + float64(n%5), Metrics: []float64{1.1 + 5*float64(n%2)}},
		}
		if err := l.Observe(obs); err != nil {
			t.Fatal(err)
		}
	}
	if se := standardError(l, 0, 0); !(se > .01) {
		t.Errorf("the constant arm has an error of %v", se)
	}
}

// The best arm is noisier than the others, so that its first sample is often bad: it is found
// nevertheless.
func TestNoisyArmIsNotFrozen(t *testing.T) {
	for _, c := range []struct {
		arms, groups   int
		best, sd, rest float64
		most           float64 // share of runs
	}{{3, 1, 1, 3, .1, .05}, {20, 1, 1, 3, .3, .07}, {6, 10, 1, 10, .1, .05}, {6, 1, 1, 3, 0, .1}} {
		runs, wrong := testsize.Of(60, 8), 0
		for seed := range uint64(runs) {
			l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), c.arms, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			means, noise := make([][]float64, c.arms), make([][]float64, c.arms)
			for k := range means {
				means[k], noise[k] = []float64{0}, []float64{c.rest}
			}
			means[1], noise[1] = []float64{c.best}, []float64{c.sd}
			uneven(t, l, means, noise, c.groups, 3000, seed, nil)
			if l.Deployed()[1] < .5 {
				wrong++
			}
		}
		t.Logf("%+v: the wrong arm in %d of %d runs", c, wrong, runs)
		if float64(wrong) > c.most*float64(runs)+1 {
			t.Errorf("%+v: the wrong arm in %d of %d runs", c, wrong, runs)
		}
	}
}

// Noise of ten times what the metrics differ by, one group a round: the mixture is found in 10,000
// rounds.
func TestLargeNoise(t *testing.T) {
	means := [][]float64{{2, -2}, {0, 2}, {-1, 0}}
	truth, value, runs := pastotest.Table(t, []float64{2, 0, -1}, []float64{-2, 2, 0}), 0.0, testsize.Of(10, 4)
	for seed := range uint64(runs) {
		g := pastotest.Goals(t, 5, false, 0)
		l, err := New(g, 3, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		uneven(t, l, means, [][]float64{{1, 20}, {1, 20}, {1, 20}}, 1, 10_000, seed, nil)
		theta := make([]float64, 2)
		truth.Mean(theta, l.Deployed())
		value += g.Value(theta) / float64(runs)
	}
	t.Logf("mean F %.3f", value)
	if value < .8 {
		t.Errorf("mean F %.3f, want .8 or more; the optimum is 1.0125", value)
	}
}

// A jump of x makes the arms anew; the hard guardrail on y, which has not moved, is broken no more
// often than without.
func TestHardGuardrailOutlivesChange(t *testing.T) {
	runs, shares := testsize.Of(30, 6), [2]float64{}
	for i, jump := range []float64{0, 10} {
		changes := 0
		for seed := range uint64(runs) {
			l,
				err := New(pastotest.One(t, pasto.Metric{Name: "x"},
				pasto.Metric{Name: "y", Role: pasto.Guardrail, Hard: true}), 5,
				DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			means := make([][]float64, 5)
			for k := range means {
				y := .2*float64(k) - .4
				means[k] = []float64{-y, y}
			}
			noise := [][]float64{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}
			uneven(t, l, means, noise, 1, 6000, seed, func(n int, obs []pasto.Observation) {
				if n < 5000 {
					return
				}
				obs[0].Metrics[0] += jump
				y := 0.0
				for k, p := range l.Deployed() {
					y += p * means[k][1]
				}
				if y < -1e-9 {
					shares[i] += 1 / float64(1000*runs)
				}
			})
			changes += min(l.Changes(), 1)
		}
		if jump > 0 && changes < runs {
			t.Errorf("the jump was seen in %d of %d runs", changes, runs)
		}
	}
	t.Logf("broken in %.1f %% of the rounds, in %.1f %% after the jump", 100*shares[0], 100*shares[1])
	if shares[1] > shares[0]+1.8/float64(runs) { // two of the runs
		t.Errorf("broken in %.1f %% of the rounds, in %.1f %% after the jump", 100*shares[0], 100*shares[1])
	}
}

// Arms that differ from their guardrail's threshold by nothing leave no room for all caution: what
// was deployed before a change does not stay for good where it has become the worst.
func TestKeptYieldsToSurelyBetter(t *testing.T) {
	runs, worst := testsize.Of(30, 6), 0
	for seed := range uint64(runs) {
		l,
			err := New(pastotest.One(t, pasto.Metric{Name: "x"},
			pasto.Metric{Name: "y", Role: pasto.Guardrail, Hard: true}), 3,
			DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		means, noise := [][]float64{{1, 0}, {0, 0}, {.5, 0}}, [][]float64{{1, 1}, {1, 1}, {1, 1}}
		uneven(t, l, means, noise, 1, 4000, seed, func(n int, _ []pasto.Observation) {
			if n == 2000 {
				means[0][0], means[1][0] = -5, 1
			}
		})
		if l.Changes() == 0 {
			t.Errorf("seed %d: the change was not found", seed)
		}
		if l.Deployed()[0] > .5 {
			worst++
		}
	}
	t.Logf("the worst arm is deployed in %d of %d runs", worst, runs)
	if worst > runs/2 { // their guardrails are all alike: which arm seems to hold it is chance
		t.Errorf("the arm that has become the worst is deployed in %d of %d runs 2,000 rounds later", worst, runs)
	}
}

// A learner restored in any round serves what it served.
func TestRestoredServesTheSame(t *testing.T) {
	rounds := testsize.Of(600, 120)
	for _, c := range [][2]int{{20, 1}, {100, 1}, {100, 3}, {100, 10}} {
		g := pastotest.Goals(t, 5, false, 0)
		fresh := func() *Learner {
			l, err := New(g, c[0], DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		l, means, noise := fresh(), [][]float64{}, [][]float64{}
		for k := range c[0] {
			means, noise = append(means, []float64{float64(k % 7), float64(k%5) - 2}), append(noise, []float64{1, 1})
		}
		differ := 0
		uneven(t, l, means, noise, c[1], rounds, 1, func(int, []pasto.Observation) {
			data, err := l.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			other := fresh()
			if err := other.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(other.Serving(), l.Serving()) {
				differ++
			}
		})
		if differ > 0 {
			t.Errorf("K=%d, Q=%d: restored in %d of %d rounds it serves another mixture", c[0], c[1], differ, rounds)
		}
	}
}

// Values whose squares are next to nothing have standard errors all the same.
func TestTiniestScatter(t *testing.T) {
	l, err := New(pastotest.Goals(t, 5, false, 0), 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for n, y := range []float64{0, 0, 3e-162, 0, 1.5e-162, 0, 0, 0} {
		if err := l.Observe([]pasto.Observation{{Arm: n % 2, Metrics: []float64{0, y}}}); err != nil {
			t.Fatal(err)
		}
		_, errors := l.Estimate()
		for k := range 2 {
			if v := errors.Arm(k)[1]; v != v {
				t.Errorf("round %d: the standard error of arm %d is NaN", n, k)
			}
		}
	}
}

// Outages that all groups of a round have in common are one event for all of them, and no change.
func TestOutagesAreNoChange(t *testing.T) {
	runs := testsize.Of(10, 2)
	for _, groups := range []int{1, 10, 20} {
		found := 0
		for seed := range uint64(runs) {
			l, err := New(pastotest.One(t, pasto.Metric{Name: "x"}), 2, DefaultOptions())
			if err != nil {
				t.Fatal(err)
			}
			r := random.New(seed, "outages")
			uneven(t, l, [][]float64{{0}, {.3}}, [][]float64{{1}, {1}}, groups, 6000, seed,
				func(_ int, obs []pasto.Observation) {
					if r.Float64() < .002 {
						for _, o := range obs {
							o.Metrics[0] -= 20
						}
					}
				})
			found += l.Changes()
		}
		if found > max(1, runs/5) {
			t.Errorf("%d groups: %d changes in %d runs where there is none", groups, found, runs)
		}
	}
}

// Estimates that are moved by their errors stay in the box of a utility, and in the ranges of
// goals: √(x + .01) has a gradient wherever observations are, and no round is refused.
func TestMovedEstimatesStayInRange(t *testing.T) {
	root := &pasto.Utility{
		Name: "root", Metrics: 1, Lower: []float64{0}, Upper: []float64{1000}, Smooth: 250,
		U:  func(x []float64) float64 { return math.Sqrt(x[0] + .01) },
		DU: func(d, x []float64) { d[0] = .5 / math.Sqrt(x[0]+.01) },
	}
	l, err := New(root, 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	r, arms := random.New(1, "root"), make([]int, 1)
	for range 5000 {
		l.Draw(r, arms)
		v := 0.0
		if r.Float64() < .1*float64(1+arms[0]) {
			v = math.Exp(stat.Normal(r))
		}
		if err := l.Observe([]pasto.Observation{{Arm: arms[0], Metrics: []float64{v}}}); err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			if m := l.program.Table.Arm(k)[0]; m < 0 || m > 1000 {
				t.Fatalf("an estimate is moved to %v", m)
			}
		}
	}
	if l.Deployed()[1] < .9 {
		t.Errorf("deployed %v", l.Deployed())
	}
	before, _ := l.MarshalBinary()
	if err := l.Observe([]pasto.Observation{{Arm: 1, Metrics: []float64{-1}}}); err == nil ||
		!strings.Contains(err.Error(), `utility "root" is -1: want a number in its range [0, 1000]`) {
		t.Error(err)
	}
	if after, _ := l.MarshalBinary(); string(after) != string(before) {
		t.Error("a refused round has changed the learner")
	}
	for _, u := range []*pasto.Utility{
		{Metrics: 1, U: root.U, DU: root.DU, Lower: []float64{0, 1}},
		{Metrics: 1, U: root.U, DU: root.DU, Lower: []float64{1}, Upper: []float64{1}},
		{Metrics: 1, U: root.U, DU: root.DU, Upper: []float64{math.NaN()}},
	} {
		if err := u.Validate(); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v %v: %v", u.Lower, u.Upper, err)
		}
	}
	share, err := New(pastotest.One(t, pasto.Metric{Name: "share", Upper: 1}), 2, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	uneven(t, share, [][]float64{{.5}, {.5}}, [][]float64{{0}, {0}}, 1, 50, 1, func(n int, obs []pasto.Observation) {
		obs[0].Metrics[0] = float64(n % 2)
		for k := range 2 {
			if m := share.program.Table.Arm(k)[0]; m < 0 || m > 1 {
				t.Fatalf("an estimate of a share is moved to %v", m)
			}
		}
	})
}
