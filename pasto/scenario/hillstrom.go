package scenario

import (
	"fmt"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// The metrics of the e-mail test, in percent of customers and in dollars.
const (
	visits = iota
	conversions
	spend
	mailed
	emailMetrics
)

// mailedCap is the share of customers, in percent, that may get an e-mail.
const mailedCap = 60

// emailArms are the arms of Hillstrom's test.
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
	seed  uint64
}

// goals maximizes visits under two guardrails: conversions of at least nine tenths of those in the
// training half, whose customers were split equally among the arms, and e-mails to at most 60 % of
// the customers. Spend is reported. In this test the Mens E-Mail is best in every metric, so a
// guardrail on conversions alone would never bind; with the cap no single arm holds both, and the
// solution is a mixture. Thresholds depend on the training half only.
func (e *emails) goals(hard bool) *pasto.Goals {
	train, _ := e.halves()
	floor := 0.0
	for _, i := range train {
		floor += e.rows[i].values[conversions] / float64(len(train))
	}
	return mustGoals([]pasto.Metric{
		{Name: "visit %"},
		{Name: "conversion %", Role: pasto.Guardrail, Threshold: float64(0.9 * floor), Lambda: 50, Hard: hard},
		{Name: "spend $", Role: pasto.Report},
		{Name: "mailed %", Role: pasto.Guardrail, Direction: pasto.Down, Threshold: mailedCap, Lambda: 1, Hard: hard},
	})
}

// halves returns the customers to learn from, in their order, and the held-out ones.
func (e *emails) halves() (train, held []int) {
	order := random.New(e.seed, "hillstrom halves").Perm(len(e.rows))
	return order[:len(order)/2], order[len(order)/2:]
}

// loadEmails reads hillstrom/hillstrom.csv.gz below dir. Without the file it generates 64,000
// customers at the same rates.
func loadEmails(dir string, seed uint64) (*emails, error) {
	e := &emails{data: "file", seed: seed}
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
	e.means = mustTable(make([]float64, 3), make([]float64, 3), make([]float64, 3), make([]float64, 3))
	for i := range e.rows {
		if e.rows[i].arm < 2 {
			e.rows[i].values[mailed] = 100
		}
		c := e.rows[i]
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

// emailWorld gives each group the mean of 100 customers of its arm, drawn with replacement.
type emailWorld struct {
	e *emails
	f *pasto.Goals
}

const emailGroup = 100

func (w *emailWorld) Objective() *pasto.Goals { return w.f }
func (w *emailWorld) Groups() int             { return 10 }
func (w *emailWorld) Changes() int            { return 0 }
func (w *emailWorld) Means(int) *pasto.Table  { return w.e.means }

func (w *emailWorld) Observe(_ int, arms []int, dst []float64, r *random.Source) {
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
		Name:   "hillstrom",
		Doc:    "a real test of three e-mails: visits, with a floor on conversions and a cap on e-mails",
		Rounds: 1000, Runs: 100, Common: true, Real: true,
		Prepare: func(o *Options) (func(int) (World, error), []string, string, error) {
			e, err := loadEmails(o.Data, o.Seed)
			if err != nil {
				return nil, nil, "", err
			}
			f := e.goals(o.Hard)
			return func(int) (World, error) { return &emailWorld{e, f}, nil }, emailArms, e.data, nil
		},
	}
}
