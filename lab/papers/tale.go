package papers

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dataset/synth"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
)

// tale is one synthetic problem in the setting of "A Tale of Two Classes" (Narasimhan, Kar and Jain
// 2015): training, validation and test set.
type tale struct {
	name               string
	train, valid, test classify.Data
	rows               []classify.Example // of the training set
	p, meanSquare      float64
}

func newTale(name string) (*tale, error) {
	base, sizes := map[string]uint64{"g1": 1000, "g3": 3000, "g4": 4000}[name], [3]int{20_000, 20_000, 100_000}
	if base == 0 {
		return nil, noregret.Errorf(noregret.Usage, "", "no problem is named %q; there are g1, g3, g4", name)
	}
	spec, err := synth.ByName(name)
	if err != nil {
		return nil, err
	}
	if name == "g4" {
		sizes = [3]int{40_000, 40_000, 200_000}
	}
	t := &tale{name: name}
	for i, d := range []*classify.Data{&t.train, &t.valid, &t.test} {
		g, err := synth.New(spec, base+1+uint64(i))
		if err != nil {
			return nil, err
		}
		rows, set, err := draw(g, sizes[i])
		if err != nil {
			return nil, err
		}
		*d = classify.Data{Set: set, Positive: 1}
		if i == 0 {
			t.rows = rows
		}
	}
	for _, x := range t.rows {
		if x.Positive {
			t.p++
		}
		t.meanSquare++
		for _, v := range x.Value {
			t.meanSquare += float64(float64(v) * float64(v))
		}
	}
	t.p /= float64(len(t.rows))
	t.meanSquare /= float64(len(t.rows))
	return t, nil
}

func draw(g *synth.Generator, n int) ([]classify.Example, *dataset.Set, error) {
	b, err := dataset.NewBuilder(g.Dim(), "-1", "1")
	if err != nil {
		return nil, nil, err
	}
	x := make([]float64, g.Dim())
	index := make([]uint32, g.Dim())
	for i := range index {
		index[i] = uint32(i)
	}
	var rows []classify.Example
	for range n {
		positive := g.Next(x)
		value := make([]float32, len(x))
		for i := range x {
			value[i] = float32(x[i])
		}
		class := 0
		if positive {
			class = 1
		}
		if err := b.Add(index, value, class, 1); err != nil {
			return nil, nil, err
		}
		rows = append(rows, classify.Example{Index: index, Value: value, Positive: positive, Weight: 1})
	}
	set, err := b.Set()
	return rows, set, err
}

// config returns the options of the reference: hinge reward by default, known p, raw features,
// constant feature 1.
func (t *tale) config(reward loss.Reward) classify.Config {
	return classify.Config{
		Dim: 10, Reward: reward, Positives: t.p, Scaling: classify.Identity(10), MeanSquare: t.meanSquare,
		MeanWeight: 1,
	}
}

// order calls f for all training rows in fresh random permutations: identity, then for i = n-1..1
// swap i with ⌊U·(i+1)⌋.
func (t *tale) order(seed uint64, passes int, f func(x classify.Example) error, after func(pass int) error) error {
	src := random.SplitMix64(seed)
	perm := make([]int, len(t.rows))
	for pass := 1; pass <= passes; pass++ {
		for i := range perm {
			perm[i] = i
		}
		for i := len(perm) - 1; i >= 1; i-- {
			j := int(src.Float64() * float64(i+1))
			perm[i], perm[j] = perm[j], perm[i]
		}
		for _, i := range perm {
			if err := f(t.rows[i]); err != nil {
				return err
			}
		}
		if err := after(pass); err != nil {
			return err
		}
	}
	return nil
}

func (t *tale) value(ctx context.Context, m classify.Linear, of measure.Measure) (float64, error) {
	c, err := classify.Evaluate(ctx, t.test, m.Classifier())
	if err != nil {
		return 0, err
	}
	return c.Value(of), nil
}

// Tale holds the tables of [RunTale].
type Tale struct {
	// SPADE has the rows of the SPADE table, columns "G1 qmean", ...; STAMP those of the STAMP
	// table.
	SPADE, STAMP Table
}

var taleMeasures = []measure.Concave{measure.QMean{}, measure.Min{}, measure.HMean{}, measure.GMean{}}

// stated holds the reference values of the SPADE table, by row, G1 then G3 then G4, each Q, Min, H,
// G.
var stated = map[string][12]float64{
	"logistic, threshold 0": {
		.5243, .3272, .4922, .5699, .4256, .1877, .3160, .4330, .3561, .0893, .1640,
		.2989,
	},
	"plug-in logistic": {
		.8383, .8329, .8383, .8383, .7516, .7358, .7521, .7525, .7415, .7171, .7449,
		.7484,
	},
	"balanced logistic, threshold 0": {
		.8372, .8298, .8373, .8373, .7768, .7641, .7770, .7771, .7730, .7647, .7731,
		.7731,
	},
	"SPADE default, 1 pass": {
		.8373, .8340, .8374, .8373, .7715, .7651, .7736, .7751, .7641, .7470, .7605,
		.7696,
	},
	"SPADE default, 25 passes": {
		.8374, .8299, .8375, .8376, .7767, .7708, .7767, .7769, .7716, .7613, .7705,
		.7722,
	},
	"SPADE 1/√t, 1 pass": {
		.8352, .8260, .8362, .8363, .7663, .7522, .7656, .7670, .7347, .5644, .6705,
		.7556,
	},
	"SPADE 1/√t, 25 passes": {
		.8375, .8309, .8372, .8372, .7760, .7729, .7759, .7729, .7683, .7222, .7614,
		.7726,
	},
	"fixed dual (½, ½), 25 passes": {
		.8375, .8293, .8377, .8377, .7790, .7403, .7808, .7820, .7733, .7360, .7748,
		.7759,
	},
}

// statedSD holds the known standard deviations of the reference values. Others are 0.
var statedSD = map[string][12]float64{
	"SPADE default, 1 pass":    {9: .015},
	"SPADE default, 25 passes": {.0002, .0003, .0001, .0002, .0003, .0008, .0002, .0002, .0006, .0028, .0008, .0004},
	"SPADE 1/√t, 1 pass":       {9: .08},
	"SPADE 1/√t, 25 passes":    {9: .03},
}

// spadeTable measures the SPADE table.
func spadeTable(ctx context.Context, tales []*tale, runs int, step func()) (Table, error) {
	out := Table{Title: "SPADE on G1, G3, G4: test measure, mean ± sd over seeds [reference]"}
	cells := map[string][]Cell{}
	put := func(row string, x []float64, col int) {
		mean, sd := summarize(x)
		cells[row] = append(cells[row], Cell{
			Mean: mean, SD: sd, Runs: len(x), Stated: stated[row][col],
			StatedSD: statedSD[row][col],
		})
	}
	for _, t := range tales {
		for mi, m := range taleMeasures {
			col := statedColumn(t.name, mi)
			out.Columns = append(out.Columns, fmt.Sprintf("%s %s", t.name, m.Name()))
			for _, row := range []struct{ name, algorithm string }{
				{"logistic, threshold 0", "logistic"},
				{"plug-in logistic", "plugin"},
				{"balanced logistic, threshold 0", "logistic-balanced"},
			} {
				r, err := classify.Fit(ctx, t.train,
					classify.Options{Algorithm: row.algorithm, Measure: m, Valid: &t.valid, Unscaled: true})
				if err != nil {
					return out, err
				}
				v, err := t.value(ctx, r.Models[0], m)
				if err != nil {
					return out, err
				}
				put(row.name, []float64{v}, col)
				step()
			}
			for _, row := range []struct {
				name  string
				fixed bool
				step  float64
			}{{"SPADE default", false, 0}, {"SPADE 1/√t", false, 1}, {"fixed dual (½, ½)", true, 0}} {
				byPass, err := t.spade(ctx, m, row.fixed, row.step, runs, step)
				if err != nil {
					return out, err
				}
				for i, pass := range []string{", 1 pass", ", 25 passes"} {
					if name := row.name + pass; stated[name] != [12]float64{} {
						put(name, byPass[i], col)
					}
				}
			}
		}
	}
	for _, name := range []string{
		"logistic, threshold 0", "plug-in logistic", "balanced logistic, threshold 0", "SPADE default, 1 pass",
		"SPADE default, 25 passes",
		"SPADE 1/√t, 1 pass", "SPADE 1/√t, 25 passes", "fixed dual (½, ½), 25 passes",
	} {
		out.Rows = append(out.Rows, Row{Name: name, Cells: cells[name]})
	}
	return out, nil
}

func statedColumn(name string, mi int) int {
	return map[string]int{"g1": 0, "g3": 4, "g4": 8}[name] + mi
}

// spade returns the test measures after 1 and after 25 passes, by run.
func (t *tale) spade(ctx context.Context, m measure.Concave, fixed bool, eta float64, runs int,
	step func(),
) (byPass [2][]float64, err error) {
	for k := range runs {
		opt := classify.SPADEConfig{
			Config: t.config(nil), Measure: m, FixedDual: fixed,
			DualReward: classify.DualSurrogate,
		}
		opt.Step, opt.DualStep = eta, eta
		l, err := classify.NewSPADE(opt)
		if err != nil {
			return byPass, err
		}
		err = t.order(100+uint64(k), 25, l.Observe, func(pass int) error {
			if pass == 1 || pass == 25 {
				v, err := t.value(ctx, l.Model(), m)
				if err != nil {
					return err
				}
				i := 0
				if pass == 25 {
					i = 1
				}
				byPass[i] = append(byPass[i], v)
			}
			l.NextPass()
			return ctx.Err()
		})
		if err != nil {
			return byPass, err
		}
		step()
	}
	return byPass, nil
}

// The rows of the STAMP table for other algorithms.
const (
	gridLogistic = "cost grid, logistic, threshold 0"
	gridHinge    = "cost grid, hinge, threshold 0"
	gridTuned    = "cost grid, hinge, model & threshold"
	printedLines = "printed lines 7 and 18, as averages"
)

// statedSTAMP holds the reference values of the STAMP table for F1: mean and standard deviation on
// G1, G3, G4.
var statedSTAMP = map[string][3][2]float64{
	"logistic, threshold 0":           {{.4452, 0}, {.3092, 0}, {.1640, 0}},
	"plug-in logistic":                {{.5131, 0}, {.4429, 0}, {.3556, 0}},
	gridLogistic:                      {{.5114, 0}, {.3735, 0}, {.2763, 0}},
	gridHinge:                         {{.5152, 0}, {.4793, 0}, {.3705, 0}},
	gridTuned:                         {{.5126, 0}, {.5214, 0}, {.3996, 0}},
	"STAMP, last epoch, threshold 0":  {{.5149, .0005}, {.4466, .0021}, {.1001, .1478}},
	"STAMP, last epoch, tuned":        {{.5148, .0010}, {.4988, .0016}, {.2980, .1530}},
	"STAMP, best epoch, threshold 0":  {{.5153, .0007}, {.4704, .0024}, {.3689, .0167}},
	"STAMP, best epoch and threshold": {{.5148, .0016}, {.4986, .0019}, {.4056, .0051}},
	"STAMP, s₀=10/p, growth 1.5, epoch & threshold": {{.5135, .0016}, {.5046, .0065}, {.4102, .0083}},
	printedLines: {{.3130, .0133}, {.2066, .0048}, {.0314, .0042}},
	"STAMP, logistic reward, s₀=10/p, last epoch": {{.5151, .0003}, {.3672, .0017}, {.2795, .0096}},
}

type stampVariant struct {
	name          string
	measure       measure.Ratio // of the training; the evaluation is always of F1
	reward        loss.Reward
	first         int // 0: 10/p
	growth        float64
	best, tunedTh bool
}

var stampVariants = []stampVariant{
	{"STAMP, last epoch, threshold 0", f1, nil, 100, 2, false, false},
	{"STAMP, last epoch, tuned", f1, nil, 100, 2, false, true},
	{"STAMP, best epoch, threshold 0", f1, nil, 100, 2, true, false},
	{"STAMP, best epoch and threshold", f1, nil, 100, 2, true, true},
	{"STAMP, s₀=10/p, growth 1.5, epoch & threshold", f1, nil, 0, 1.5, true, true},
	{printedLines, printedF1{f1}, nil, 100, 2, false, false},
	{"STAMP, logistic reward, s₀=10/p, last epoch", f1, loss.Logistic{}, 0, 2, false, false},
}

func stampTable(ctx context.Context, tales []*tale, runs int, step func()) (Table, error) {
	out := Table{Title: "STAMP for F1 on G1, G3, G4: test F1, mean ± sd over seeds [reference]"}
	cells := map[string][]Cell{}
	put := func(row string, x []float64, name string) {
		mean, sd := summarize(x)
		s := statedSTAMP[row][map[string]int{"g1": 0, "g3": 1, "g4": 2}[name]]
		cells[row] = append(cells[row], Cell{
			Mean: mean, SD: sd, Runs: len(x), Stated: s[0], StatedSD: s[1],
			Loose: name == "g4" && (s[1] > 0.1 || row == gridTuned),
		})
	}
	for _, t := range tales {
		out.Columns = append(out.Columns, t.name)
		for _, row := range []struct{ name, algorithm string }{
			{"logistic, threshold 0", "logistic"},
			{"plug-in logistic", "plugin"},
		} {
			r, err := classify.Fit(ctx, t.train,
				classify.Options{Algorithm: row.algorithm, Measure: f1, Valid: &t.valid, Unscaled: true})
			if err != nil {
				return out, err
			}
			v, err := t.value(ctx, r.Models[0], f1)
			if err != nil {
				return out, err
			}
			put(row.name, []float64{v}, t.name)
			step()
		}
		grids, err := t.costGrids(ctx, runs, step)
		if err != nil {
			return out, err
		}
		for row, x := range grids {
			put(row, x, t.name)
		}
		for _, variant := range stampVariants {
			var x []float64
			for k := range runs {
				v, err := t.stamp(ctx, variant, 200+uint64(k))
				if err != nil {
					return out, err
				}
				x = append(x, v)
				step()
			}
			put(variant.name, x, t.name)
		}
	}
	names := []string{"logistic, threshold 0", "plug-in logistic", gridLogistic, gridHinge, gridTuned}
	for _, v := range stampVariants {
		names = append(names, v.name)
	}
	for _, name := range names {
		out.Rows = append(out.Rows, Row{Name: name, Cells: cells[name]})
	}
	return out, nil
}

// stamp returns the test F1 of one STAMP run of 25 passes.
func (t *tale) stamp(ctx context.Context, v stampVariant, seed uint64) (float64, error) {
	first := v.first
	if first == 0 {
		first = int(math.Ceil(10 / t.p))
	}
	l, err := classify.NewSTAMP(classify.STAMPConfig{
		Config: t.config(v.reward), Measure: v.measure, FirstEpoch: first, Growth: v.growth, MinPositives: 1,
	})
	if err != nil {
		return 0, err
	}
	err = t.order(seed, 25, l.Observe, func(int) error {
		l.NextPass()
		return ctx.Err()
	})
	if err != nil {
		return 0, err
	}
	// As in the reference, a truncated last model stage is kept.
	points := append(l.Checkpoints(), classify.Checkpoint{Model: l.Current()})
	if !v.best {
		points = points[len(points)-1:]
	}
	models := make([]classify.Linear, len(points))
	for i, c := range points {
		models[i] = c.Model
	}
	model, err := t.choose(ctx, f1, models, v.tunedTh)
	if err != nil {
		return 0, err
	}
	return t.value(ctx, model, f1)
}

// Progress is called with the number of finished runs of a reproduction and may be nil.
type Progress func(done, total int)

// step returns a function that counts one run as done.
func (p Progress) step(total int) func() {
	done := 0
	return func() {
		done++
		if p != nil {
			p(done, total)
		}
	}
}

// RunTale re-runs the synthetic check of SPADE and STAMP on the named problems (g1, g3, g4) with
// the given number of runs each (5 for the reference). It takes about five seconds a run and
// problem on one core. A problem that is unknown or named twice and fewer runs than one are errors
// of code usage.
func RunTale(ctx context.Context, problems []string, runs int, progress Progress) (Tale, error) {
	if len(problems) == 0 {
		return Tale{}, noregret.Errorf(noregret.Usage, "", "no problem is named; there are g1, g3, g4")
	}
	for i, name := range problems {
		if slices.Contains(problems[:i], name) {
			return Tale{}, noregret.Errorf(noregret.Usage, "", "problem %s is named twice", name)
		}
	}
	if runs < 1 {
		return Tale{}, noregret.Errorf(noregret.Usage, "", "number of runs is %d, want at least 1", runs)
	}
	step := progress.step(len(problems) * (len(taleMeasures)*(3+3*runs) + 3 + min(runs, costGridRuns) +
		len(stampVariants)*runs))
	var tales []*tale
	for _, name := range problems {
		t, err := newTale(name)
		if err != nil {
			return Tale{}, err
		}
		tales = append(tales, t)
	}
	sp, err := spadeTable(ctx, tales, runs, step)
	if err != nil {
		return Tale{}, err
	}
	st, err := stampTable(ctx, tales, runs, step)
	return Tale{SPADE: sp, STAMP: st}, err
}
