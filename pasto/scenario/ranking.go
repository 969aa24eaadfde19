package scenario

import (
	"fmt"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// The ranking scenario is the paper's section 6.2 on a small set of ratings: two scores p1 and p2
// of (user, item), blended by s = p1^α·p2^(1−α); arm k is α = k/99; metric 1 is recall at 20 and
// metric 2 recall at 20 on documentaries, which must not fall below its value at α = 0.5 (the grid
// does not contain that point). In each round the users are split at random into ten parts, and
// each of ten arms is measured on one of them.
const (
	alphas     = 100
	topItems   = 20
	foldCount  = 10
	guardPrice = 500
)

// ranked holds the metrics of each user at each α.
type ranked struct {
	users   int
	items   int
	values  []float64 // user by α by 2
	means   *pasto.Table
	middle  float64 // metric 2 at α = 0.5, middles that of each user
	middles []float64
	data    string
}

// rank trains the two scores and measures every user at every α.
func rank(r *ratings) (*ranked, error) {
	out := &ranked{users: r.users, items: r.items, values: make([]float64, r.users*alphas*2), data: r.data}
	withGenre := 0
	for u := range r.users {
		if r.genreTest[u] > 0 {
			withGenre++
		}
	}
	if withGenre == 0 {
		return nil, usage("data", "no user has a documentary in the test part")
	}
	// Metric 2 averages the users who have documentaries in their test part. A constant factor
	// makes it a mean over all users.
	factor := float64(r.users) / float64(withGenre)
	settings := make([]float64, alphas+1)
	for a := range alphas {
		settings[a] = float64(a) / (alphas - 1)
	}
	settings[alphas] = 0.5
	r.measure(settings, func(u, a, _, _ int, all, genre float64) {
		genre *= factor
		if a == alphas {
			out.middle += genre / float64(r.users)
			out.middles = append(out.middles, genre)
			return
		}
		out.values[(u*alphas+a)*2] = all
		out.values[(u*alphas+a)*2+1] = genre
	})
	out.means = mustTable(make([]float64, alphas), make([]float64, alphas))
	for u := range r.users {
		for a := range alphas {
			for m := range 2 {
				out.means.Arm(a)[m] += out.values[(u*alphas+a)*2+m] / float64(r.users)
			}
		}
	}
	return out, nil
}

// goals maximizes recall with a floor on the recall of documentaries.
func (x *ranked) goals(hard bool) *pasto.Goals {
	return mustGoals([]pasto.Metric{
		{Name: "recall@20", Lower: 0, Upper: 1},
		{Name: "documentary recall@20", Role: pasto.Guardrail, Threshold: x.middle, Lambda: guardPrice, Hard: hard},
	})
}

// rankingWorld is one run, with the users in a new random order in each round.
type rankingWorld struct {
	*ranked
	f     *pasto.Goals
	order []int
}

func (w *rankingWorld) Objective() *pasto.Goals  { return w.f }
func (w *rankingWorld) Groups() int              { return foldCount }
func (w *rankingWorld) Changes() int             { return 0 }
func (w *rankingWorld) Means(t int) *pasto.Table { return w.ranked.means }

func (w *rankingWorld) Observe(_ int, arms []int, dst []float64, r *random.Source) {
	r.Shuffle(len(w.order), func(i, j int) { w.order[i], w.order[j] = w.order[j], w.order[i] })
	clear(dst)
	n := len(w.order)
	for g, k := range arms {
		from, to := g*n/len(arms), (g+1)*n/len(arms)
		for _, u := range w.order[from:to] {
			v := w.values[(u*alphas+k)*2:]
			dst[2*g] += v[0]
			dst[2*g+1] += v[1]
		}
		dst[2*g] /= float64(to - from)
		dst[2*g+1] /= float64(to - from)
	}
}

func alphaNames() []string {
	names := make([]string, alphas)
	for k := range names {
		names[k] = fmt.Sprintf("α=%d/%d", k, alphas-1)
	}
	return names
}

// build makes the worlds of runs.
func (x *ranked) build(o *Options) func(int) (World, error) {
	f := x.goals(o.Hard)
	return func(int) (World, error) {
		order := make([]int, x.users)
		for u := range order {
			order[u] = u
		}
		return &rankingWorld{x, f, order}, nil
	}
}

func rankingSpec() Spec {
	return Spec{
		Name: "ranking", Doc: "two scores blended on real ratings, 100 weights: recall, with a floor for documentaries",
		Rounds: 10_000, Runs: 20, Common: true, Real: true,
		Prepare: func(o *Options) (func(int) (World, error), []string, string, error) {
			r, err := loadRatings(o.Data, o.Seed, o.Users, o.Items)
			if err != nil {
				return nil, nil, "", err
			}
			x, err := rank(r)
			if err != nil {
				return nil, nil, "", err
			}
			return x.build(o), alphaNames(), x.data, nil
		},
	}
}
