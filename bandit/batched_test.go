package bandit_test

import (
	"math"
	"slices"
	"testing"

	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

var batchRules = []bandit.BatchRule{
	bandit.BatchThompson, bandit.BatchUCB, bandit.BatchKLUCB, bandit.BatchTsallisINF,
}

func newBatched(t *testing.T, arms int, rule bandit.BatchRule) *bandit.Batched {
	t.Helper()
	b, err := bandit.NewBatched(arms, rule, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// coins draws n pulls from the served distribution and returns the batch of their rewards.
func coins(r *random.Source, b *bandit.Batched, means []float64, n int) []bandit.Batch {
	counts, hits := make([]float64, len(means)), make([]float64, len(means))
	for range n {
		u, k := r.Float64(), -1
		for i, p := range b.Serving() {
			if p > 0 {
				k = i
			}
			if u -= p; u < 0 {
				break
			}
		}
		counts[k]++
		if r.Float64() < means[k] {
			hits[k]++
		}
	}
	var out []bandit.Batch
	for k, c := range counts {
		if c > 0 {
			m := hits[k] / c
			out = append(out, bandit.Batch{Arm: k, Size: c, Mean: m, Variance: m * (1 - m)})
		}
	}
	return out
}

// TestBatchedFindsTheBest: every rule serves the best of three coins most in the end, with all
// batches known at once and with a delay of five batches.
func TestBatchedFindsTheBest(t *testing.T) {
	t.Parallel()
	means := []float64{0.2, 0.6, 0.5}
	for _, rule := range batchRules {
		for _, delay := range []int{0, 5} {
			b, r := newBatched(t, 3, rule), random.New(1, "batched")
			type late struct {
				batch  []bandit.Batch
				shares []float64
			}
			var queue []late
			for range 100 {
				queue = append(queue, late{coins(r, b, means, 200), slices.Clone(b.Serving())})
				if len(queue) > delay {
					if err := b.Observe(queue[0].batch, queue[0].shares); err != nil {
						t.Fatal(err)
					}
					queue = queue[1:]
				}
			}
			if p := b.Serving()[1]; p < 0.75 {
				t.Errorf("%v with delay %d serves the best arm %v", rule, delay, p)
			}
			if p := b.Best()[1]; p != 1 {
				t.Errorf("%v with delay %d would deploy %v", rule, delay, b.Best())
			}
			if m, se := b.Estimate(1); math.Abs(m-0.6) > 5*se || se > 0.01 {
				t.Errorf("%v estimates %v ± %v", rule, m, se)
			}
		}
	}
}

// TestBatchedThompsonIsTheProbability compares the shares with the closed form for two arms, of any
// ratio of the standard errors, and with draws for six.
func TestBatchedThompsonIsTheProbability(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][2]float64{{100, 100}, {1e3, 1e9}, {1e15, 20}} {
		for _, gap := range []float64{0, 0.01, 0.1, -0.2, 3} {
			b, err := bandit.NewBatched(2, bandit.BatchThompson, math.Inf(-1), math.Inf(1))
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Observe([]bandit.Batch{
				{Arm: 0, Size: sizes[0], Mean: 1, Variance: 1}, {Arm: 1, Size: sizes[1], Mean: 1 + gap, Variance: 1},
			}, []float64{0.5, 0.5}); err != nil {
				t.Fatal(err)
			}
			_, s0 := b.Estimate(0)
			_, s1 := b.Estimate(1)
			want := stat.NormalBelow(gap / math.Sqrt(s0*s0+s1*s1))
			if got := b.Serving()[1]; math.Abs(got-want) > 1e-3 {
				t.Errorf("sizes %v, gap %v: %v, want %v", sizes, gap, got, want)
			}
		}
	}
	b := newBatched(t, 6, bandit.BatchThompson)
	var batch []bandit.Batch
	for k := range 6 {
		batch = append(batch, bandit.Batch{
			Arm: k, Size: float64(int(10) << (3 * k)), Mean: 0.5 - 0.03*float64(k),
			Variance: 0.25,
		})
	}
	if err := b.Observe(batch, []float64{0.1, 0.1, 0.2, 0.2, 0.2, 0.2}); err != nil {
		t.Fatal(err)
	}
	const draws = 400_000
	counts, r := make([]float64, 6), random.New(2, "thompson")
	for range draws {
		arm, top := 0, math.Inf(-1)
		for k := range 6 {
			m, se := b.Estimate(k)
			if v := m + se*stat.Normal(r); v > top {
				arm, top = k, v
			}
		}
		counts[arm]++
	}
	for k, p := range b.Serving() {
		if got := counts[k] / draws; math.Abs(p-got) > 1e-3+4*math.Sqrt(p*(1-p)/draws) {
			t.Errorf("arm %d: %v, in draws %v", k, p, got)
		}
	}
}

// TestBatchedIsThePlayer: with one pull a batch, Tsallis-INF and KL-UCB are the players, whose
// losses are 1 less the rewards.
func TestBatchedIsThePlayer(t *testing.T) {
	t.Parallel()
	means := []float64{0.3, 0.5, 0.4, 0.2}
	player, err := bandit.NewPlayer(4, bandit.TsallisINF{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	b, r := newBatched(t, 4, bandit.BatchTsallisINF), random.New(3, "player")
	for round := range 500 {
		if got, want := b.Serving(), player.Probabilities(); !slices.Equal(got, want) {
			t.Fatalf("round %d: %v, the player has %v", round, got, want)
		}
		k, reward := player.Draw(r), 0.0
		if r.Float64() < means[k] {
			reward = 1
		}
		if err := b.Observe([]bandit.Batch{{Arm: k, Size: 1, Mean: reward}}, b.Serving()); err != nil {
			t.Fatal(err)
		}
		if err := player.Update(k, 1-reward); err != nil {
			t.Fatal(err)
		}
	}
	kl, err := bandit.NewPlayer(4, bandit.KLUCB{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	b = newBatched(t, 4, bandit.BatchKLUCB)
	uniform := []float64{0.25, 0.25, 0.25, 0.25}
	for round := range 500 {
		k, reward := kl.Draw(r), 0.0
		if r.Float64() < means[k] {
			reward = 1
		}
		if round >= 4 && !(b.Serving()[k] > 0) {
			// The player's budget is that of the round to come, one pull ahead: the arms may differ
			// where indices nearly tie.
			top := slices.Index(b.Serving(), slices.Max(b.Serving()))
			if d := kl.Index(k) - kl.Index(top); math.Abs(d) > 0.05 {
				t.Fatalf("round %d: arm %d, the player draws %d with an index of %v less", round, top, k, -d)
			}
		}
		if err := b.Observe([]bandit.Batch{{Arm: k, Size: 1, Mean: reward}}, uniform); err != nil {
			t.Fatal(err)
		}
		if err := kl.Update(k, 1-reward); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBatchedArms: a new arm gets its share while the others keep theirs in proportion, a retired
// one gets nothing, and the last one stays.
func TestBatchedArms(t *testing.T) {
	t.Parallel()
	for _, rule := range batchRules {
		b, r := newBatched(t, 2, rule), random.New(4, "arms")
		for range 20 {
			if err := b.Observe(coins(r, b, []float64{0.2, 0.8}, 100), b.Serving()); err != nil {
				t.Fatal(err)
			}
		}
		if k := b.AddArm(); k != 2 {
			t.Fatalf("%v: the new arm is %d", rule, k)
		}
		p := b.Serving()
		if rule == bandit.BatchTsallisINF && !(p[2] > p[0] && p[2] < 0.5) ||
			rule != bandit.BatchTsallisINF && p[2] != 1.0/3 {
			t.Errorf("%v: the shares with a new arm are %v", rule, p)
		}
		if err := b.Observe(coins(r, b, []float64{0.2, 0.8, 0.9}, 100), b.Serving()); err != nil {
			t.Fatal(err)
		}
		if err := b.RetireArm(1); err != nil {
			t.Fatal(err)
		}
		if p := b.Serving(); p[1] != 0 || math.Abs(p[0]+p[2]-1) > 1e-12 || b.Best()[1] != 0 {
			t.Errorf("%v: the shares after retiring are %v, best %v", rule, p, b.Best())
		}
		if b.RetireArm(1) == nil || b.RetireArm(3) == nil || b.RetireArm(-1) == nil || b.RetireArm(0) != nil ||
			b.RetireArm(2) == nil {
			t.Errorf("%v: the wrong arms can be retired", rule)
		}
		if p := b.Serving(); p[2] != 1 {
			t.Errorf("%v: the last arm has %v", rule, p)
		}
	}
}

// TestBatchedSnapshot: a snapshot continues with the same bits, and damaged ones are refused.
func TestBatchedSnapshot(t *testing.T) {
	t.Parallel()
	for _, rule := range batchRules {
		b, r := newBatched(t, 3, rule), random.New(5, "snapshot")
		for range 5 {
			if err := b.Observe(coins(r, b, []float64{0.2, 0.5, 0.8}, 50), b.Serving()); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.RetireArm(0); err != nil {
			t.Fatal(err)
		}
		data, err := b.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		c := newBatched(t, 1, rule)
		if err := c.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		again, err := c.MarshalBinary()
		if err != nil || !slices.Equal(data, again) || !slices.Equal(b.Serving(), c.Serving()) ||
			!slices.Equal(b.Best(), c.Best()) {
			t.Errorf("%v: the snapshot differs, %v", rule, err)
		}
		for _, other := range batchRules {
			if o := newBatched(t, 3, other); other != rule && o.UnmarshalBinary(data) == nil {
				t.Errorf("%v takes the snapshot of %v", other, rule)
			}
		}
		data[len(data)/2] ^= 1
		if c.UnmarshalBinary(data) == nil || !slices.Equal(b.Serving(), c.Serving()) {
			t.Errorf("%v: a damaged snapshot is taken", rule)
		}
	}
}

// TestBatchedRefuses: bad batches are errors and change nothing.
func TestBatchedRefuses(t *testing.T) {
	t.Parallel()
	good := bandit.Batch{Arm: 0, Size: 10, Mean: 0.5, Variance: 0.25}
	half := []float64{0.5, 0.5}
	for _, rule := range batchRules {
		b := newBatched(t, 2, rule)
		before, _ := b.MarshalBinary()
		with := func(f func(q *bandit.Batch)) []bandit.Batch {
			q := good
			f(&q)
			return []bandit.Batch{good, q}
		}
		for name, bad := range map[string][]bandit.Batch{
			"empty":    {},
			"unknown":  with(func(q *bandit.Batch) { q.Arm = 2 }),
			"negative": with(func(q *bandit.Batch) { q.Arm = -1 }),
			"twice":    {good, good},
			"size":     with(func(q *bandit.Batch) { q.Arm, q.Size = 1, 0.5 }),
			"mean":     with(func(q *bandit.Batch) { q.Arm, q.Mean = 1, math.NaN() }),
			"variance": with(func(q *bandit.Batch) { q.Arm, q.Variance = 1, -1 }),
		} {
			if b.Observe(bad, half) == nil {
				t.Errorf("%v takes the batch %s", rule, name)
			}
		}
		if b.Observe([]bandit.Batch{good}, []float64{0, 1}) == nil || b.Observe([]bandit.Batch{good}, nil) == nil {
			t.Errorf("%v takes a batch of an arm without a share", rule)
		}
		if outside := []bandit.Batch{{Arm: 0, Size: 1, Mean: 2}}; rule >= bandit.BatchKLUCB &&
			b.Observe(outside, half) == nil {
			t.Errorf("%v takes a mean outside the range", rule)
		}
		if after, _ := b.MarshalBinary(); !slices.Equal(before, after) {
			t.Errorf("%v: a refused batch changed the state", rule)
		}
		if _, err := bandit.NewBatched(0, rule, 0, 1); err == nil {
			t.Errorf("%v without arms", rule)
		}
		if _, err := bandit.NewBatched(2, rule, 1, 1); err == nil {
			t.Errorf("%v with an empty range", rule)
		}
		if _, err := bandit.NewBatched(2, rule, math.Inf(-1), math.Inf(1)); (err == nil) != (rule < bandit.BatchKLUCB) {
			t.Errorf("%v without a range: %v", rule, err)
		}
	}
	if _, err := bandit.NewBatched(2, bandit.BatchRule(9), 0, 1); err == nil {
		t.Error("an unknown rule")
	}
}

// TestBatchedLateArm: an arm that comes while rewards are late is no better off for the batches in
// which it could not be drawn.
func TestBatchedLateArm(t *testing.T) {
	t.Parallel()
	b, r := newBatched(t, 2, bandit.BatchTsallisINF), random.New(6, "late")
	shares := slices.Clone(b.Serving())
	var late [][]bandit.Batch
	for range 10 {
		late = append(late, coins(r, b, []float64{0.4, 0.6}, 300))
	}
	b.AddArm()
	for i, batch := range late {
		if i%2 == 0 { // the arm is known, without a share, or not known yet
			batch = slices.Clone(batch)
			shares = append(shares[:2:2], 0)
		} else {
			shares = shares[:2]
		}
		if err := b.Observe(batch, shares); err != nil {
			t.Fatal(err)
		}
	}
	if p := b.Serving(); !(p[1] > p[2] && p[2] > p[0]) {
		t.Errorf("the shares are %v: want the new arm between the others", p)
	}
}

// TestBatchedMasksAndLost computes by hand what Tsallis-INF learns from a batch in which some pulls
// did not allow an arm, and from pulls whose rewards are lost.
func TestBatchedMasksAndLost(t *testing.T) {
	t.Parallel()
	check := func(what string, b *bandit.Batched, want ...float64) {
		t.Helper()
		for k, g := range b.EstimatedLosses() {
			if math.Abs(g-want[k]) > 1e-12 {
				t.Errorf("%s: the estimates are %v, want %v", what, b.EstimatedLosses(), want)
				break
			}
		}
	}
	b := newBatched(t, 3, bandit.BatchTsallisINF)
	// Arm 0 lost 2 of 4 pulls by the share ½. The 10 pulls that did not allow arm 1 lost 3.
	if err := b.ObserveMasked([]bandit.Batch{{Arm: 0, Size: 4, Mean: .5}, {Arm: 1, Size: 2, Mean: 1}},
		[]float64{.5, .25, 0}, []bandit.Batch{{Arm: 1, Size: 10, Mean: .7}}); err != nil {
		t.Fatal(err)
	}
	check("masked", b, 4, 3, 2)
	b = newBatched(t, 3, bandit.BatchTsallisINF)
	if err := b.Observe([]bandit.Batch{{Arm: 0, Lost: 4}}, []float64{.5, .25, .25}); err != nil {
		t.Fatal(err)
	}
	check("lost before the first reward", b, 4, 0, 0)
	if err := b.Observe([]bandit.Batch{
		{Arm: 0, Lost: 4}, {Arm: 1, Size: 2, Mean: .75}, {Arm: 2, Size: 2, Mean: .25, Lost: 2},
	}, []float64{.5, .25, .25}); err != nil {
		t.Fatal(err)
	}
	check("lost", b, 4+4, 2, 6+4)
	if b.Pulls() != 14 {
		t.Errorf("%v pulls", b.Pulls())
	}
	for _, bad := range [][]bandit.Batch{{{Arm: 3, Size: 1}}, {{Arm: 0, Size: 0}}, {{Arm: 0, Size: 1, Mean: 2}}} {
		if b.ObserveMasked([]bandit.Batch{{Arm: 0, Size: 1}}, []float64{1, 0, 0}, bad) == nil {
			t.Errorf("%+v asleep is taken", bad)
		}
	}
	if b.Observe([]bandit.Batch{{Arm: 0, Lost: .5}}, []float64{1, 0, 0}) == nil {
		t.Error("half a lost pull is taken")
	}
}
