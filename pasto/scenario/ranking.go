package scenario

import (
	"context"
	"fmt"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// The ranking scenario is the paper's section 6.2 on a small set of ratings: two scores p1 and p2 of (user,
// item), blended by s = p1^α·p2^(1−α); arm k is α = k/99; metric 1 is recall at 20 and metric 2
// recall at 20 on documentaries, which must not fall below its value at α = 0.5 (evaluated for itself: the
// grid does not contain it). In each round the users are cut at random into ten parts, and each of ten arms
// is measured on one.
const (
	alphas     = 100
	topItems   = 20
	foldCount  = 10
	guardPrice = 500
)

// ranked holds what each user gives at each α.
type ranked struct {
	users  int
	values []float64 // user by α by 2
	means  *pasto.Table
	middle float64 // metric 2 at α = 0.5
	goals  *pasto.Goals
	data   string
}

// rank trains the two scores and measures every user at every α.
func rank(r *ratings) (*ranked, error) {
	p1 := r.itemToItem()
	p2 := r.factorize(16, 8)
	out := &ranked{users: r.users, values: make([]float64, r.users*alphas*2), data: r.data}
	withGenre := 0
	for u := range r.users {
		if r.genreTest[u] > 0 {
			withGenre++
		}
	}
	if withGenre == 0 {
		return nil, usage("data", "no user has a documentary to be tested on")
	}
	// The mean of metric 2 is over the users who have documentaries in their test part: a constant factor
	// keeps it a mean over all users.
	factor := float64(r.users) / float64(withGenre)
	logs1, logs2, score := make([]float64, r.items), make([]float64, r.items), make([]float64, r.items)
	top := make([]int, 0, topItems)
	for u := range r.users {
		r.logScores(logs1, p1, u)
		r.logScores(logs2, p2, u)
		for a := range alphas + 1 {
			alpha := float64(a) / (alphas - 1)
			if a == alphas {
				alpha = 0.5
			}
			for i := range score {
				score[i] = float64(alpha*logs1[i]) + float64((1-alpha)*logs2[i])
			}
			top = r.best(top, score, u)
			all, genre := r.hits(top, u)
			genre *= factor
			if a == alphas {
				out.middle += genre / float64(r.users)
				continue
			}
			out.values[(u*alphas+a)*2] = all
			out.values[(u*alphas+a)*2+1] = genre
		}
	}
	out.means = mustTable(make([]float64, alphas), make([]float64, alphas))
	for u := range r.users {
		for a := range alphas {
			for m := range 2 {
				out.means.Arm(a)[m] += out.values[(u*alphas+a)*2+m] / float64(r.users)
			}
		}
	}
	out.goals = mustGoals([]pasto.Metric{
		{Name: "recall@20"},
		{Name: "documentary recall@20", Role: pasto.Guardrail, Threshold: out.middle, Lambda: guardPrice},
	})
	return out, nil
}

// rankingWorld is a run: users in a random order in each round.
type rankingWorld struct {
	*ranked
	order []int
}

func (w *rankingWorld) objective() *pasto.Goals  { return w.goals }
func (w *rankingWorld) groups() int              { return foldCount }
func (w *rankingWorld) changes() int             { return 0 }
func (w *rankingWorld) means(t int) *pasto.Table { return w.ranked.means }

func (w *rankingWorld) observe(_ int, arms []int, dst []float64, r *random.Source) {
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

func rankingSpec() Spec {
	return Spec{
		Name: "ranking", Doc: "two scores blended by s = p1^α·p2^(1−α) on real ratings, 100 values of α: recall at 20 with a floor on recall of documentaries",
		Rounds: 10_000, Runs: 20, common: true, real: true,
		prepare: func(o *Options) (func(int) (world, error), []string, string, error) {
			r, err := loadRatings(o.Data, o.Seed)
			if err != nil {
				return nil, nil, "", err
			}
			x, err := rank(r)
			if err != nil {
				return nil, nil, "", err
			}
			return func(int) (world, error) {
				order := make([]int, x.users)
				for u := range order {
					order[u] = u
				}
				return &rankingWorld{x, order}, nil
			}, alphaNames(), x.data, nil
		},
	}
}

// TableRow is a line of our Table 2.
type TableRow struct {
	Name     string  `json:"name"`
	Recall   float64 `json:"recall"`
	Genre    float64 `json:"genre_recall"`
	Holds    bool    `json:"holds"` // the guardrail, within 1 % of its threshold
	Arms     []int   `json:"arms"`  // of positive share
	Distance float64 `json:"distance"`
}

// Table2 is the paper's Table 2 on our data: the probabilistic solution (learned, and the exact one with
// soft and hard guardrail), the best single arm that holds the guardrail, and the first goal alone.
type Table2 struct {
	Data      string     `json:"data"`
	Users     int        `json:"users"`
	Items     int        `json:"items"`
	Threshold float64    `json:"threshold"`
	Rows      []TableRow `json:"rows"`
}

// RankingTable makes [Table2] with one run of the algorithm. Options used: Algorithm, Rounds, Seed, Data.
func RankingTable(ctx context.Context, o Options) (*Table2, error) {
	r, err := loadRatings(o.Data, o.Seed)
	if err != nil {
		return nil, err
	}
	x, err := rank(r)
	if err != nil {
		return nil, err
	}
	t := &Table2{Data: x.data, Users: r.users, Items: r.items, Threshold: x.middle}
	add := func(name string, p []float64, share float64) {
		theta := make([]float64, 2)
		x.means.Mean(theta, p)
		row := TableRow{Name: name, Recall: theta[0], Genre: theta[1], Holds: theta[1] >= 0.99*x.middle}
		for k, v := range p {
			if v > share {
				row.Arms = append(row.Arms, k)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	o.Scenario, o.Runs, o.Checkpoints = "ranking", 1, nil
	res, err := Run(ctx, o)
	if err != nil {
		return nil, err
	}
	add("probabilistic, learned", res.Mixture.Share[len(res.Mixture.Share)-1], 0.01)
	soft, err := pasto.Maximize(x.goals, x.means, pasto.SolverOptions{})
	if err != nil {
		return nil, err
	}
	add("probabilistic, exact, soft guardrail", soft.Mixture, 0)
	hard := mustGoals([]pasto.Metric{{Name: "recall@20"}, {Name: "documentary recall@20", Role: pasto.Guardrail, Threshold: x.middle, Hard: true}})
	exact, err := pasto.MaximizeHard(hard, x.means)
	if err != nil {
		return nil, err
	}
	add("probabilistic, exact, hard guardrail", exact.Mixture, 0)
	one := func(f pasto.Objective) ([]float64, error) {
		k, _, err := pasto.BestSingle(f, x.means)
		p := make([]float64, alphas)
		p[k] = 1
		return p, err
	}
	p, err := one(hard)
	if err != nil {
		return nil, err
	}
	add("single best", p, 0)
	p, err = one(mustGoals([]pasto.Metric{{Name: "recall@20"}, {Name: "documentary recall@20", Role: pasto.Report}}))
	if err != nil {
		return nil, err
	}
	add("first goal alone", p, 0)
	for i := range t.Rows {
		t.Rows[i].Distance = exact.Value - t.Rows[i].Recall
	}
	return t, nil
}
