package scenario

import (
	"context"
	"math"
	"slices"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/catalogue"
)

// Interval is an estimate with a 95 % interval by the normal approximation.
type Interval struct {
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

func interval(mean, variance float64) Interval {
	h := float64(1.959963984540054 * math.Sqrt(max(variance, 0)))
	return Interval{mean, mean - h, mean + h}
}

// Policy is a mixture with its off-policy value on the held-out customers.
type Policy struct {
	Name  string    `json:"name"`
	Share []float64 `json:"share"`
	// Means weights the means of the arms, HorvitzThompson each customer by q/p; both have an entry
	// for each metric.
	Means           []Interval `json:"means"`
	HorvitzThompson []Interval `json:"horvitz_thompson"`
	// Objective is f without hard guardrails at the estimates in Means, and Lead the objective of
	// the learned mixture less this one. Their intervals are the 2.5 % and 97.5 % points of 400
	// bootstrap resamples of each arm's held-out customers. Holds reports whether the estimates
	// satisfy all guardrails.
	Objective Interval `json:"objective"`
	Lead      Interval `json:"lead"`
	Holds     bool     `json:"holds"`
}

// ReplayResult is the result of [ReplayEmails].
type ReplayResult struct {
	Data      string   `json:"data"`
	Algorithm string   `json:"algorithm"`
	Metrics   []string `json:"metrics"`
	Arms      []string `json:"arms"`
	// Logged is the number of customers offered to the learner, Accepted the number of those who
	// had been served the arm that it drew, and Rounds the number of rounds that these made.
	Logged   int `json:"logged"`
	Accepted int `json:"accepted"`
	Rounds   int `json:"rounds"`
	// Thresholds are the thresholds of the metrics, set from the logged customers; 0 for metrics
	// that are not guardrails.
	Thresholds []float64 `json:"thresholds"`
	// HeldOut is the number of customers on which Policies were valued: the learned mixture, then
	// each single arm.
	HeldOut  int      `json:"held_out"`
	Policies []Policy `json:"policies"`
}

// ReplayEmails replays the randomized e-mail test by rejection (Li, Chu, Langford and Wang 2011):
// the learner draws an arm for each customer of one half, in a random order, and the customer
// counts if that is the arm they had been served. Every 200 customers that count are a round, with
// one observation for each arm. As the test was uniform, these customers are distributed as if the
// learner had served them. The other half values the learned mixture and each single arm. It uses
// the options Algorithm, Seed, Hard and Data.
func ReplayEmails(ctx context.Context, o Options) (*ReplayResult, error) {
	return replayEmails(ctx, o, 400)
}

// replayEmails is ReplayEmails with this number of bootstrap resamples.
func replayEmails(ctx context.Context, o Options, resamples int) (*ReplayResult, error) {
	e, err := loadEmails(o.Data, o.Seed)
	if err != nil {
		return nil, err
	}
	f := e.goals(o.Hard)
	train, held := e.halves()
	l, err := catalogue.New(o.Algorithm, f, 3, max(len(e.rows)/1200, 1), nil)
	if err != nil {
		return nil, err
	}
	out := &ReplayResult{Data: e.data, Algorithm: o.Algorithm, Arms: emailArms, Logged: len(train), HeldOut: len(held)}
	for _, m := range f.Metrics() {
		out.Metrics = append(out.Metrics, m.Name)
		out.Thresholds = append(out.Thresholds, m.Threshold)
	}
	if err := e.replay(ctx, l, train, out, random.New(o.Seed, "hillstrom replay")); err != nil {
		return nil, err
	}
	out.Policies = append(out.Policies, e.value(f, held, "learned mixture", append([]float64{}, l.Deployed()...)))
	for k, name := range emailArms {
		q := make([]float64, 3)
		q[k] = 1
		out.Policies = append(out.Policies, e.value(f, held, name, q))
	}
	e.bootstrap(f, held, out.Policies, resamples, random.New(o.Seed, "hillstrom bootstrap"))
	return out, nil
}

// replay plays the learner on the logged customers.
func (e *emails) replay(ctx context.Context, l pasto.Learner, train []int, out *ReplayResult, r *random.Source) error {
	const batch = 200
	var sums [3][emailMetrics]float64
	var counts [3]float64
	inBatch := 0
	one := make([]int, 1)
	for i, row := range train {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c := &e.rows[row]
		if l.Draw(r, one); one[0] != c.arm {
			continue
		}
		out.Accepted++
		counts[c.arm]++
		for m, v := range c.values {
			sums[c.arm][m] += v
		}
		if inBatch++; inBatch < batch {
			continue
		}
		var obs []pasto.Observation
		for k, n := range counts {
			if n > 0 {
				values := make([]float64, emailMetrics)
				for m := range values {
					values[m] = sums[k][m] / n
				}
				obs = append(obs, pasto.Observation{Arm: k, Metrics: values, Size: n})
			}
		}
		if err := l.Observe(obs); err != nil {
			return err
		}
		out.Rounds++
		sums, counts, inBatch = [3][emailMetrics]float64{}, [3]float64{}, 0
	}
	return nil
}

// value estimates the off-policy value of the mixture q on customers that were served uniformly.
func (e *emails) value(f *pasto.Goals, rows []int, name string, q []float64) Policy {
	p := Policy{Name: name, Share: q}
	theta := make([]float64, emailMetrics)
	n := float64(len(rows))
	for m := range emailMetrics {
		var count, sum, square [3]float64
		var ht, ht2 float64
		for _, i := range rows {
			c := &e.rows[i]
			v := c.values[m]
			count[c.arm]++
			sum[c.arm] += v
			square[c.arm] += float64(v * v)
			w := float64(float64(3*q[c.arm]) * v)
			ht += w
			ht2 += float64(w * w)
		}
		mean, variance := 0.0, 0.0
		for k := range q {
			if q[k] == 0 || count[k] == 0 {
				continue
			}
			mu := sum[k] / count[k]
			mean += float64(q[k] * mu)
			variance += float64(float64(q[k]*q[k])*(square[k]/count[k]-float64(mu*mu))) / count[k]
		}
		p.Means = append(p.Means, interval(mean, variance))
		ht /= n
		p.HorvitzThompson = append(p.HorvitzThompson, interval(ht, (ht2/n-float64(ht*ht))/n))
		theta[m] = mean
	}
	p.Objective.Estimate = f.Reward(theta)
	p.Holds = f.Holds(theta)
	return p
}

// bootstrap fills in the intervals of the policies' objectives and leads. The first policy is the
// learned mixture.
func (e *emails) bootstrap(f *pasto.Goals, rows []int, policies []Policy, resamples int, r *random.Source) {
	var byArm [3][]int
	for _, i := range rows {
		byArm[e.rows[i].arm] = append(byArm[e.rows[i].arm], i)
	}
	means := mustTable(make([]float64, 3), make([]float64, 3), make([]float64, 3), make([]float64, 3))
	theta := make([]float64, emailMetrics)
	values, leads := make([][]float64, len(policies)), make([][]float64, len(policies))
	for range resamples {
		for k, list := range byArm {
			row := means.Arm(k)
			clear(row)
			for range list {
				for m, v := range e.rows[list[r.IntN(len(list))]].values {
					row[m] += v
				}
			}
			for m := range row {
				row[m] /= float64(max(len(list), 1))
			}
		}
		first := 0.0
		for i := range policies {
			means.Mean(theta, policies[i].Share)
			v := f.Reward(theta)
			if i == 0 {
				first = v
			}
			values[i], leads[i] = append(values[i], v), append(leads[i], first-v)
		}
	}
	for i := range policies {
		slices.Sort(values[i])
		slices.Sort(leads[i])
		p := &policies[i]
		p.Objective.Low, p.Objective.High = stat.Quantile(values[i], 0.025), stat.Quantile(values[i], 0.975)
		p.Lead = Interval{
			policies[0].Objective.Estimate - p.Objective.Estimate, stat.Quantile(leads[i], 0.025),
			stat.Quantile(leads[i], 0.975),
		}
	}
}
