package scenario

import (
	"context"
	"fmt"
	"math"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// The metrics of the e-mail test, in percent of customers and in dollars.
const (
	visits = iota
	conversions
	spend
	emailMetrics
)

// emailArms are those of Hillstrom's test, in this order.
var emailArms = []string{"Mens E-Mail", "Womens E-Mail", "No E-Mail"}

// customer is a row of the test.
type customer struct {
	arm    int
	values [emailMetrics]float64
}

// emails are the customers in the file's order, and by arm.
type emails struct {
	rows  []customer
	byArm [3][]customer
	means *pasto.Table
	data  string
}

// emailGoals maximize visits with at least 0.9 % conversions; spend is watched.
func emailGoals() *pasto.Goals {
	return mustGoals([]pasto.Metric{
		{Name: "visit %"},
		{Name: "conversion %", Role: pasto.Guardrail, Threshold: 0.9, Lambda: 50},
		{Name: "spend $", Role: pasto.Report},
	})
}

// loadEmails reads hillstrom/hillstrom.csv.gz below dir, or makes 64,000 customers at the same rates.
func loadEmails(dir string, seed uint64) (*emails, error) {
	e := &emails{data: "file"}
	found, err := readCSV(dir, "hillstrom/hillstrom.csv.gz", func(line int, f []string) error {
		if line == 1 {
			return nil
		}
		if len(f) != 12 {
			return fmt.Errorf("%d columns: want 12", len(f))
		}
		c := customer{arm: -1}
		for k, name := range emailArms {
			if f[8] == name {
				c.arm = k
			}
		}
		if c.arm < 0 {
			return fmt.Errorf("segment %q: want one of %q", f[8], emailArms)
		}
		for i, s := range f[9:12] {
			v, err := number(s)
			if err != nil {
				return err
			}
			if i < spend {
				v *= 100
			}
			c.values[i] = v
		}
		e.rows = append(e.rows, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !found {
		e.data = "generated"
		r := random.New(seed, "hillstrom")
		for range 64_000 {
			c := customer{arm: r.IntN(3)}
			visit := []float64{0.1828, 0.1514, 0.1062}[c.arm]
			buy := []float64{0.01253, 0.00884, 0.00573}[c.arm] / visit
			if r.Float64() < visit {
				c.values[visits] = 100
				if r.Float64() < buy {
					c.values[conversions] = 100
					c.values[spend] = 30 + float64(170*r.Float64())
				}
			}
			e.rows = append(e.rows, c)
		}
	}
	e.means = mustTable(make([]float64, 3), make([]float64, 3), make([]float64, 3))
	for _, c := range e.rows {
		e.byArm[c.arm] = append(e.byArm[c.arm], c)
		for m, v := range c.values {
			e.means.Arm(c.arm)[m] += v
		}
	}
	for k := range e.byArm {
		if len(e.byArm[k]) == 0 {
			return nil, usage("data", "no customer got %q", emailArms[k])
		}
		for m := range emailMetrics {
			e.means.Arm(k)[m] /= float64(len(e.byArm[k]))
		}
	}
	return e, nil
}

// emailWorld shows each group the mean of 100 of the arm's customers, drawn with replacement.
type emailWorld struct{ e *emails }

const emailGroup = 100

func (w *emailWorld) objective() *pasto.Goals { return emailGoals() }
func (w *emailWorld) groups() int             { return 10 }
func (w *emailWorld) changes() int            { return 0 }
func (w *emailWorld) means(int) *pasto.Table  { return w.e.means }

func (w *emailWorld) observe(_ int, arms []int, dst []float64, r *random.Source) {
	clear(dst)
	for i, k := range arms {
		row := dst[i*emailMetrics : (i+1)*emailMetrics]
		for range emailGroup {
			c := &w.e.byArm[k][r.IntN(len(w.e.byArm[k]))]
			for m, v := range c.values {
				row[m] += v
			}
		}
		for m := range row {
			row[m] /= emailGroup
		}
	}
}

func hillstromSpec() Spec {
	return Spec{
		Name: "hillstrom", Doc: "a real randomized e-mail test of three arms, groups of 100 customers drawn from it: visits with a floor on conversions",
		Rounds: 1000, Runs: 100, common: true, real: true,
		prepare: func(o *Options) (func(int) (world, error), []string, string, error) {
			e, err := loadEmails(o.Data, o.Seed)
			if err != nil {
				return nil, nil, "", err
			}
			return func(int) (world, error) { return &emailWorld{e}, nil }, emailArms, e.data, nil
		},
	}
}

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

// Policy is a mixture with its off-policy value for each metric on the customers kept back.
type Policy struct {
	Name  string    `json:"name"`
	Share []float64 `json:"share"`
	// Means weighs the arms' means, HorvitzThompson the customers by q/p (spec 10.4), for each metric.
	Means           []Interval `json:"means"`
	HorvitzThompson []Interval `json:"horvitz_thompson"`
	// Objective is f of Means' estimates.
	Objective float64 `json:"objective"`
}

// ReplayResult is what [ReplayEmails] found.
type ReplayResult struct {
	Data      string   `json:"data"`
	Algorithm string   `json:"algorithm"`
	Metrics   []string `json:"metrics"`
	Arms      []string `json:"arms"`
	// Logged customers were offered to the learner, of which Accepted had been served the arm that it drew, in
	// Rounds.
	Logged   int `json:"logged"`
	Accepted int `json:"accepted"`
	Rounds   int `json:"rounds"`
	// HeldOut customers value the policies: the learned one, then each single arm.
	HeldOut  int      `json:"held_out"`
	Policies []Policy `json:"policies"`
}

// ReplayEmails replays the randomized e-mail test by rejection (Li, Chu, Langford and Wang 2011): over a
// seeded order of half of the customers, the learner draws an arm for each, and the customer counts if that
// is the arm they had been served; each 200 that count are a round, with one observation for each arm, of
// the size of its group. As the test was uniform, what counts is distributed as if the learner had served
// it. The other half values the learned mixture and each single arm, with intervals. Options used:
// Algorithm, Seed, Data.
func ReplayEmails(ctx context.Context, o Options) (*ReplayResult, error) {
	e, err := loadEmails(o.Data, o.Seed)
	if err != nil {
		return nil, err
	}
	f := emailGoals()
	if o.Algorithm == "" {
		o.Algorithm = "default"
	}
	l, err := pasto.NewByName(o.Algorithm, f, 3, len(e.rows)/1200, nil)
	if err != nil {
		return nil, err
	}
	r := random.New(o.Seed, "hillstrom replay")
	order := r.Perm(len(e.rows))
	half := len(order) / 2
	out := &ReplayResult{Data: e.data, Algorithm: o.Algorithm, Arms: emailArms, Logged: half, HeldOut: len(order) - half}
	for _, m := range f.Metrics() {
		out.Metrics = append(out.Metrics, m.Name)
	}
	const batch = 200
	var sums [3][emailMetrics]float64
	var counts [3]float64
	inBatch := 0
	one := make([]int, 1)
	for i, row := range order[:half] {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
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
			return nil, err
		}
		out.Rounds++
		sums, counts, inBatch = [3][emailMetrics]float64{}, [3]float64{}, 0
	}
	held := order[half:]
	out.Policies = append(out.Policies, e.value(f, held, "learned mixture", append([]float64{}, l.Deployed()...)))
	for k, name := range emailArms {
		q := make([]float64, 3)
		q[k] = 1
		out.Policies = append(out.Policies, e.value(f, held, name, q))
	}
	return out, nil
}

// value is the off-policy value of the mixture q on the given customers, logged uniformly.
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
	p.Objective = f.Value(theta)
	return p
}
