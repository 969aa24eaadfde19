package classify

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/random"
	"golang.org/x/sync/errgroup"
)

// comparedOn is a part of the rows with its folds, and the results of the candidates on it.
//
// The rows are divided into folds once or several times. Every division has an entry for each row:
// its scores by the model of its fold. The weights of a row's entries add up to that of the row.
type comparedOn struct {
	rows       int
	division   division
	iterations int
	folds      []fold // those of the first division, of the second, and so on
	truth      []int  // the label of each entry: with Binary 0 for the positive one, else 1
	weight     []float64
	row        []int32 // of each entry
	ends       []int   // the end of each fold's entries
	results    map[recipe]*crossFitted
	last       bool // whether thresholds of several classes are tuned jointly
}

// fold is a division of the rows with what the candidates share.
type fold struct {
	train, test Data
	held        *dataset.Bits // the rows of test
	mapped      map[features]*mappedFold
}

// mappedFold holds what follows from the features that one map makes of a fold's rows to train on.
type mappedFold struct {
	fold      *fold
	transform *Transform
	moments   *mappedMoments
	scales    map[string]*scaledFold
}

// scaledFold holds the rows of a fold on one scale.
type scaledFold struct{ train, test *design }

// baseRows is the number of rows that candidates are compared on at most.
func (a *autoFit) baseRows() int64 {
	byNumbers := int64(mostSearchNumbers / max(1, a.price.nonZeros))
	return min(a.part.Rows, mostSearchRows, max(leastFirst, byNumbers))
}

// draw draws a part of the rows, in memory: half of them in equal parts for the labels, as far as
// these have so many, the others by the labels' shares. Weights keep the labels' sums of weights.
func (a *autoFit) draw(d Data, name string, rows int64) (Data, error) {
	part, err := d.sizes()
	if err != nil {
		return d, err
	}
	info := d.Set.Info()
	if rows >= part.Rows {
		return d, nil
	}
	left, want := make([]int64, len(part.Labels)), make([]int64, len(part.Labels))
	equal, others, free := rows/int64(2*len(part.Labels)), int64(0), rows
	for k, l := range part.Labels {
		left[k], want[k] = l.Rows, min(l.Rows, equal)
		free -= want[k]
		others += l.Rows - want[k]
	}
	factor := make([]float64, len(part.Labels))
	for k, l := range part.Labels {
		want[k] += int64(float64(free) * float64(l.Rows-want[k]) / float64(max(1, others)))
		factor[k] = float64(l.Rows) / float64(max(1, want[k])) * float64(rows) / float64(part.Rows)
	}
	names := make([]string, len(info.Labels))
	for i, l := range info.Labels {
		names[i] = l.Name
	}
	b, err := dataset.NewBuilder(info.Dim, names...)
	if err != nil {
		return d, err
	}
	rng := random.New(a.opt.Seed, "auto/"+name)
	err = d.read(a.ctx, func(index []uint32, value []float32, class uint16, weight float64) error {
		k := d.labelIndex(class)
		take := left[k] > 0 && rng.Int64N(left[k]) < want[k]
		left[k]--
		if !take {
			return nil
		}
		want[k]--
		// A weight stays one of float32, and above 0.
		w := min(float64(weight*factor[k]), math.MaxFloat32)
		return b.Add(index, value, int(class), max(w, math.SmallestNonzeroFloat32))
	})
	if err != nil {
		return d, err
	}
	set, err := b.Set()
	if err != nil {
		return d, err
	}
	return d.withSet(set), nil
}

// division says how rows are divided into folds.
type division struct{ folds, repeats int }

// rung is a comparison of recipes on as many rows as the price allows. Large ones have three folds
// for five. With few rows of a label there are five folds, repeatedly.
func (a *autoFit) rung(base Data, name string, folds, iterations int, recipes []recipe, price float64,
	least, most int,
) (*comparedOn, error) {
	most = min(most, int(base.Set.Info().Rows), max(leastFirst, a.rowsInMemory(recipes)))
	least = min(least, most)
	by := division{folds, 1}
	if rare := a.rarest(); rare < fewRowsOfLabel {
		by = division{5, int(min(3, fewRowsOfLabel/rare))}
	}
	planned := iterations
	if a.price.columns <= mostPreconditioned {
		planned = min(planned, plannedIterations)
	}
	rows := a.rowsFor(price, recipes, by, planned, least, most)
	if by.folds > 3 && by.repeats == 1 && (rows < most || rows > mostFiveFolds) {
		by.folds = 3
		rows = a.rowsFor(price, recipes, by, planned, least, most)
	}
	d, err := a.draw(base, name, int64(rows))
	if err != nil {
		return nil, err
	}
	return a.comparison(d, by, iterations)
}

// rowsInMemory is the number of rows of a fold that fit in memory in the features and scales of all
// recipes.
func (a *autoFit) rowsInMemory(recipes []recipe) int {
	type columns struct {
		features features
		scale    string
	}
	var seen []columns
	numbers := 0.0 // of a row
	for _, r := range recipes {
		if c := (columns{r.features, r.scale}); isBatch(r.algorithm) && !slices.Contains(seen, c) {
			seen = append(seen, c)
			numbers += a.price.numbers(r.features)
		}
	}
	return int(mostFoldNumbers / max(1, numbers))
}

// mostFoldNumbers bounds the numbers of all designs of a fold: 48 MiB.
const mostFoldNumbers = 12 << 20

// mostFiveFolds is the number of rows up to which there are five folds.
const mostFiveFolds = 6_000

// comparison divides rows into folds.
func (a *autoFit) comparison(d Data, by division, iterations int) (*comparedOn, error) {
	c := &comparedOn{
		rows: int(d.Set.Info().Rows), division: by, iterations: iterations, results: map[recipe]*crossFitted{},
	}
	for k := range by.repeats {
		stream := "auto"
		if k > 0 {
			stream = fmt.Sprintf("auto/%d", k)
		}
		views, err := d.Set.Folds(a.opt.Seed, stream, by.folds)
		if err != nil {
			return nil, err
		}
		for _, v := range views {
			if err := c.add(a, d, v); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// add adds a fold with the entries of its rows.
func (c *comparedOn) add(a *autoFit, d Data, v dataset.Fold) error {
	f := fold{
		train: d.withSet(v.Rest), test: d.withSet(v.Part), held: v.Rows, mapped: map[features]*mappedFold{},
	}
	for row := range v.Rows.Len() {
		if v.Rows.Get(row) {
			c.row = append(c.row, int32(row))
		}
	}
	err := f.test.read(a.ctx, func(_ []uint32, _ []float32, class uint16, weight float64) error {
		c.truth = append(c.truth, d.labelIndex(class))
		c.weight = append(c.weight, weight/float64(c.division.repeats))
		return nil
	})
	c.folds, c.ends = append(c.folds, f), append(c.ends, len(c.truth))
	return err
}

// outside reports whether an entry is of a row outside a fold; -1 is a fold of no rows.
func (c *comparedOn) outside(fold, entry int) bool {
	return fold < 0 || !c.folds[fold].held.Get(int64(c.row[entry]))
}

// prepare makes what the recipes share: their features, and these on each scale.
func (f *fold) prepare(a *autoFit, recipes []recipe) error {
	group, ctx := errgroup.WithContext(a.ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range recipes {
		if f.mapped[r.features] == nil {
			m := &mappedFold{fold: f, scales: map[string]*scaledFold{}}
			f.mapped[r.features] = m
			group.Go(func() error { return m.make(ctx, r.features, a.price.products) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	group, ctx = errgroup.WithContext(a.ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, r := range recipes {
		m := f.mapped[r.features]
		if isBatch(r.algorithm) && m.scales[r.scale] == nil {
			s := new(scaledFold)
			m.scales[r.scale] = s
			group.Go(func() error { return s.make(ctx, m, r.scale) })
		}
	}
	return group.Wait()
}

// make makes the features of a fold from its rows to train on.
func (m *mappedFold) make(ctx context.Context, by features, products int) (err error) {
	if m.transform, err = newTransform(ctx, m.fold.train, by, products); err != nil {
		return err
	}
	m.moments, err = newMappedMoments(ctx, m.fold.train, m.transform)
	return err
}

// dim is the number of features after the map.
func (m *mappedFold) dim() int {
	if m.transform != nil {
		return m.transform.Features()
	}
	return max(1, m.fold.train.Set.Info().Dim)
}

// make puts the rows of a fold on a scale.
func (s *scaledFold) make(ctx context.Context, m *mappedFold, scale string) (err error) {
	scaling := m.moments.scaled(scale, m.dim())
	if s.train, err = newDesign(ctx, m.fold.train, m.transform, m.moments, scaling); err != nil {
		return err
	}
	s.test, err = s.train.like(ctx, m.fold.test, m.transform)
	return err
}
