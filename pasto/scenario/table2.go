package scenario

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/optimum"
)

// TableRow is a row of [Table2].
type TableRow struct {
	Name   string  `json:"name"`
	Recall float64 `json:"recall"`
	Genre  float64 `json:"genre_recall"`
	// Holds reports whether the guardrail is held, within rounding.
	Holds bool `json:"holds"`
	// Arms are the arms of positive share; for a learned mixture, those above 1 %.
	Arms []int `json:"arms"`
	// Distance is the recall of the exact mixture under the hard guardrail less that of this row.
	Distance float64 `json:"distance"`
}

// Table2 is the paper's Table 2 for our data: the best mixture (learned under a hard guardrail,
// learned under a soft one, and exact), the best single arm that holds the guardrail, and the best
// arm without the guardrail.
type Table2 struct {
	Data      string     `json:"data"`
	Users     int        `json:"users"`
	Items     int        `json:"items"`
	Threshold float64    `json:"threshold"`
	Rows      []TableRow `json:"rows"`
	// Gain is the recall of the exact mixture above that of the best single arm, in percent of it.
	// Its interval is by the bootstrap over users, with arms and guardrail chosen anew in each of
	// 200 resamples. Learned is the gain of the learned mixture under the hard guardrail, null if
	// the algorithm does not support hard guardrails.
	Gain    Interval `json:"gain_percent"`
	Learned Number   `json:"learned_gain_percent"`
}

// Ranking is [Run] for the scenario "ranking", with a [Table2] from one more run of the algorithm
// for each kind of guardrail. The row of the hard guardrail is left out if the algorithm does not
// support it.
func Ranking(ctx context.Context, o Options) (*Result, *Table2, error) {
	r, err := loadRatings(o.Data, o.Seed, o.Users, o.Items)
	if err != nil {
		return nil, nil, err
	}
	x, err := rank(r)
	if err != nil {
		return nil, nil, err
	}
	res, err := runOn(ctx, o, x)
	if err != nil {
		return nil, nil, err
	}
	t, err := rankingTable(ctx, o, x)
	return res, t, err
}

func rankingTable(ctx context.Context, o Options, x *ranked) (*Table2, error) {
	t := &Table2{Data: x.data, Users: x.users, Items: x.items, Threshold: x.middle, Learned: Number(math.NaN())}
	o.Scenario, o.Runs, o.Checkpoints, o.Progress = "ranking", 1, nil, nil
	learned := math.NaN()
	for _, hard := range []bool{true, false} {
		o.Hard = hard
		if _, err := o.learner(x.goals(hard), alphas); hard && err != nil {
			// The algorithm refuses hard guardrails; any other error returns with the soft one.
			continue
		}
		res, err := runOn(ctx, o, x)
		if err != nil {
			return nil, err
		}
		name := "probabilistic, learned, soft guardrail"
		if hard {
			name = "probabilistic, learned, hard guardrail"
		}
		t.add(x, name, res.Mixture.Share[len(res.Mixture.Share)-1], 0.01)
		if hard {
			learned = t.Rows[0].Recall
		}
	}
	soft, err := NewTruth(ctx, x.goals(false), x.means)
	if err != nil {
		return nil, err
	}
	t.add(x, "probabilistic, exact, soft guardrail", soft.Best.Mixture, 0)
	hard, err := x.solve(ctx, x.means, x.middle)
	if err != nil {
		return nil, err
	}
	t.add(x, "probabilistic, exact, hard guardrail", hard.Best.Mixture, 0)
	t.add(x, "single best", oneArm(hard.Arm), 0)
	alone := mustGoals([]pasto.Metric{{Name: "recall@20"}, {Name: "documentary recall@20", Role: pasto.Report}})
	free, _, err := optimum.BestSingle(alone, x.means)
	if err != nil {
		return nil, err
	}
	t.add(x, "single goal", oneArm(free), 0)
	n := len(t.Rows)
	best, one := t.Rows[n-3].Recall, t.Rows[n-2].Recall
	for i := range t.Rows {
		t.Rows[i].Distance = best - t.Rows[i].Recall
	}
	t.Learned = Number(100 * (learned/one - 1))
	t.Gain = x.gain(ctx, random.New(o.Seed, "ranking bootstrap"))
	t.Gain.Estimate = float64(100 * (best/one - 1))
	return t, ctx.Err()
}

func (t *Table2) add(x *ranked, name string, p []float64, share float64) {
	theta := make([]float64, 2)
	x.means.Mean(theta, p)
	row := TableRow{Name: name, Recall: theta[0], Genre: theta[1], Holds: x.goals(true).Holds(theta)}
	for k, v := range p {
		if v > share {
			row.Arms = append(row.Arms, k)
		}
	}
	t.Rows = append(t.Rows, row)
}

// oneArm is the mixture of one arm.
func oneArm(k int) []float64 {
	p := make([]float64, alphas)
	p[k] = 1
	return p
}

// solve returns the truth of the means under a hard guardrail at the threshold. It returns an error
// if no arm holds it.
func (x *ranked) solve(ctx context.Context, means *pasto.Table, threshold float64) (*Truth, error) {
	y := *x
	y.middle = threshold
	t, err := NewTruth(ctx, y.goals(true), means)
	if err == nil && t.Arm < 0 {
		err = noregret.BadInputf("means", "infeasible: none of the %d arms holds the guardrail", means.Arms())
	}
	return t, err
}

// gain returns the bootstrap interval over users of the exact mixture's gain over the best single
// arm, in percent.
func (x *ranked) gain(ctx context.Context, r *random.Source) Interval {
	var gains []float64
	for range 200 {
		means := mustTable(make([]float64, alphas), make([]float64, alphas))
		middle := 0.0
		for range x.users {
			u := r.IntN(x.users)
			middle += x.middles[u] / float64(x.users)
			for a := range alphas {
				for m := range 2 {
					means.Arm(a)[m] += x.values[(u*alphas+a)*2+m] / float64(x.users)
				}
			}
		}
		truth, err := x.solve(ctx, means, middle)
		if err != nil {
			continue // no arm holds the guardrail of this resample
		}
		gains = append(gains, float64(100*(truth.Optimum()/truth.Single-1)))
	}
	slices.Sort(gains)
	return Interval{Low: stat.Quantile(gains, 0.025), High: stat.Quantile(gains, 0.975)}
}
