package scenario

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// Five items by hand. Item 1 is in the user's training set; the user likes items 0, 3 and 4 of the
// test set, of which 0 and 3 are documentaries. With p1 = (1, 1, 1/16, 1/81, 1/16) and p2 = (1/16,
// 1, 1, 1/16, 1/16), each times a constant,
//
//	α     s of items 0, 2, 3, 4      list
//	1/4   1/8   1/2   1/24   1/16    2 0 4 3
//	3/4   1/2   1/8   1/54   1/16    0 2 4 3
//	1/2   1/4   1/4   1/36   1/16    0 2 4 3   equal scores: the lower number
func TestRankingByHand(t *testing.T) {
	r := &ratings{
		users: 1, items: 5, train: [][]int{{1}}, test: [][]int{{0, 3, 4}},
		genre: []bool{true, false, true, true, false}, genreTest: []int{2},
	}
	p1 := [][]float64{{3, 3, 3. / 16, 3. / 81, 3. / 16}}
	p2 := [][]float64{{.5 / 16, .5, .5, .5 / 16, .5 / 16}}
	logs1, logs2, score := make([]float64, 5), make([]float64, 5), make([]float64, 5)
	r.logScores(logs1, p1, 0)
	r.logScores(logs2, p2, 0)
	for _, c := range []struct {
		alpha  float64
		scores []float64
		list   []int
	}{
		{.25, []float64{1. / 8, 1, 1. / 2, 1. / 24, 1. / 16}, []int{2, 0, 4, 3}},
		{.75, []float64{1. / 2, 1, 1. / 8, 1. / 54, 1. / 16}, []int{0, 2, 4, 3}},
		{.5, []float64{1. / 4, 1, 1. / 4, 1. / 36, 1. / 16}, []int{0, 2, 4, 3}},
	} {
		blend(score, c.alpha, logs1, logs2)
		for i, want := range c.scores {
			if math.Abs(math.Exp(score[i])-want) > 1e-12 {
				t.Errorf("α = %v: s of item %d is %v, want %v", c.alpha, i, math.Exp(score[i]), want)
			}
		}
		if top := r.best(nil, score, 0); !slices.Equal(top, c.list) {
			t.Errorf("α = %v: %v, want %v", c.alpha, top, c.list)
		}
	}
	for _, c := range []struct {
		list       []int
		all, genre float64
		documents  int
	}{
		{[]int{2, 0, 4, 3}, 1, 1, 2},
		{[]int{2, 0}, 1. / 3, .5, 1},
		{[]int{4, 2}, 1. / 3, 0, 0},
		{[]int{2}, 0, 0, 0},
	} {
		if all, genre := r.hits(c.list, 0); all != c.all || genre != c.genre ||
			r.documentaries(c.list, 0) != c.documents {
			t.Errorf("%v: recall %v and %v, want %v and %v", c.list, all, genre, c.all, c.genre)
		}
	}
	// A score of 0 counts as 1e-4 of the largest, and scores that are all 0 are equal.
	r.logScores(logs1, [][]float64{{0, 2, 1, 0, 0}}, 0)
	r.logScores(logs2, [][]float64{{0, 0, 0, 0, 0}}, 0)
	if math.Abs(math.Exp(logs1[0])-1e-4) > 1e-15 || math.Abs(math.Exp(logs1[2])-.5) > 1e-15 || logs2[0] != logs2[4] {
		t.Errorf("%v and %v", logs1, logs2)
	}
}

// Recall at 20 divides by 20 if there are more items to find, so that 20 hits give 1. A list has 20
// items.
func TestRecallAt20(t *testing.T) {
	r := &ratings{
		users: 1, items: 50, train: [][]int{{49}}, test: [][]int{nil}, genre: make([]bool, 50),
		genreTest: []int{22},
	}
	score := make([]float64, 50)
	for i := range 50 {
		score[i] = float64(i)
		r.genre[i] = i < 22
		if i < 25 {
			r.test[0] = append(r.test[0], i)
		}
	}
	top := r.best(nil, score, 0) // 48 ... 29
	if len(top) != 20 || top[0] != 48 || top[19] != 29 {
		t.Errorf("%v", top)
	}
	for i := range score {
		score[i] = -math.Abs(float64(i) - 9.6) // 0 ... 19
	}
	if all, genre := r.hits(r.best(nil, score, 0), 0); all != 1 || genre != 1 {
		t.Errorf("recall %v and %v, want 1", all, genre)
	}
	for i := range score {
		// 15 ... 34: ten to find, seven of them documentaries.
		score[i] = -math.Abs(float64(i) - 24.6)
	}
	if all, genre := r.hits(r.best(nil, score, 0), 0); all != .5 || genre != 7./20 {
		t.Errorf("recall %v and %v, want 0.5 and 0.35", all, genre)
	}
}

// With α = 1 the lists are those of p1, the neighbourhood, and with α = 0 those of p2, the
// factorisation.
func TestEndsOfBlend(t *testing.T) {
	events, genres := generateRatings(120, 200, 3)
	r := index(core(events), genres, 3)
	p := [][][]float64{r.factorize(16, 8), r.itemToItem()}
	differ := 0
	r.measure([]float64{0, 1}, func(u, a, _, _ int, all, genre float64) {
		logs := make([]float64, r.items)
		r.logScores(logs, p[a], u)
		if x, y := r.hits(r.best(nil, logs, u), u); x != all || y != genre {
			t.Errorf("user %d, α = %d: recall %v and %v, want %v and %v", u, a, all, genre, x, y)
		}
		r.logScores(logs, p[1-a], u)
		if x, _ := r.hits(r.best(nil, logs, u), u); x != all {
			differ++
		}
	})
	if differ < 20 {
		t.Errorf("the two scores differ for %d users only", differ)
	}
}

// In each round the users are split at random into ten new parts. Here user u's recall is 2^u, so
// that the sum of a group identifies its users. Each user is in one part, and two given users share
// a part with probability 1/19.
func TestTenthsAreReshuffled(t *testing.T) {
	const users, rounds = 20, 3000
	x := &ranked{users: users, values: make([]float64, users*alphas*2)}
	for u := range users {
		for a := range alphas {
			x.values[(u*alphas+a)*2] = float64(int(1) << u)
			x.values[(u*alphas+a)*2+1] = float64(a)
		}
	}
	build := x.build(&Options{})
	w, err := build(0)
	if err != nil {
		t.Fatal(err)
	}
	r, arms, dst := random.New(1, "tenths"), []int{0, 11, 22, 33, 44, 55, 66, 77, 88, 99}, make([]float64, 20)
	together, first := 0.0, 0.0
	for round := range rounds {
		w.Observe(round+1, arms, dst, r)
		all := uint(0)
		for g, k := range arms {
			part := uint(2 * dst[2*g])
			if bits.OnesCount(part) != 2 || dst[2*g+1] != float64(k) {
				t.Fatalf("round %d: part %d has %b of arm %v, want two users of arm %d", round, g, part, dst[2*g+1], k)
			}
			all |= part
			if part == 3 {
				together++
			}
			if g == 0 && part&1 == 1 {
				first++
			}
		}
		if all != 1<<users-1 {
			t.Fatalf("round %d: users %b, want each once", round, all)
		}
	}
	for _, c := range []struct{ got, want float64 }{{together / rounds, 1. / 19}, {first / rounds, .1}} {
		if se := math.Sqrt(c.want * (1 - c.want) / rounds); math.Abs(c.got-c.want) > 5*se {
			t.Errorf("share %v, want %v ± %v", c.got, c.want, se)
		}
	}
}

// TestRankingTable checks our form of the paper's Table 2. The mixture learned under the hard
// guardrail satisfies it strictly, and the order of the paper's rows holds: single best ≤ exact
// mixture ≤ single goal. Over five seeds the learned mixture is within one percent of the exact one
// on average; if no more than that can be gained, it may be below the single best. (On larger
// ratings it is above: noregret-lab floors.)
func TestRankingTable(t *testing.T) {
	testsize.NoRace(t)
	for _, c := range []Options{{Data: dataDir}, {}} {
		const seeds = uint64(5)
		part := 0.0
		for seed := range seeds {
			c.Seed, c.Rounds, c.Runs = seed+1, 10_000, 1
			_, tab, err := Ranking(t.Context(), own(t, c))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s, seed %d: %d users, %d items, threshold %.4f, gain in percent %+.2f, learned %.2f", tab.Data,
				c.Seed, tab.Users, tab.Items, tab.Threshold, tab.Gain, tab.Learned)
			for _, r := range tab.Rows {
				t.Logf("%-40s %.4f %.4f %v %v", r.Name, r.Recall, r.Genre, r.Holds, r.Arms)
			}
			learned, hard, single, alone := tab.Rows[0], tab.Rows[3], tab.Rows[4], tab.Rows[5]
			for _, r := range []TableRow{learned, hard, single} {
				if !r.Holds || r.Genre < tab.Threshold-1e-9 {
					t.Errorf("the guardrail %v is broken: %+v", tab.Threshold, r)
				}
			}
			if hard.Recall < single.Recall-1e-12 || alone.Recall < hard.Recall-1e-12 ||
				learned.Recall > hard.Recall+1e-9 {
				t.Errorf("%+v", tab.Rows)
			}
			part += learned.Recall / hard.Recall / float64(seeds)
			if tab.Data == "file" && (tab.Users != 705 || tab.Items != 2834) {
				t.Errorf("%d users and %d items", tab.Users, tab.Items)
			}
		}
		t.Logf("learned is %.4f of the exact", part)
		if part < .99 {
			t.Errorf("learned is %v of the exact, want .99", part)
		}
	}
}
