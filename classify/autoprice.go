package classify

import (
	"slices"

	"github.com/noregret/noregret/classify/measure"
)

// prices are the sizes of data on which the time of trainings depends.
type prices struct {
	rows, columns, nonZeros, outputs float64 // columns and values that are not 0 of a row
	// mapped is the number of columns that logarithms and ranks change, and products that of those
	// of which products are made.
	mapped   float64
	products int
	// stepBase is the price of a step without its numbers.
	stepBase float64
	// trainingSteps is the number of examples that the usual algorithm visits, and training its
	// time.
	trainingSteps int64
	training      float64
}

// Nanoseconds of a core of 2026: for a step of an online learner on one example, and for one
// example in a pass of a batch algorithm; dense is for rows of which at least a quarter is not 0. A
// number that is found in a sparse row is used for all outputs. The bases of a pass are some 25
// more than the pass alone takes: they stand for the features of other rows, their scores and
// thresholds, which have no price of their own.
const (
	stepBase, stepDense, stepSparse = 115, 1.2, 4
	stepGMean                       = 50  // more, for the projection of its dual
	stepOutput                      = 0.7 // for each other output, in the price of the first
	denseBase, denseNumber          = 65, 0.75
	sparseBase, sparseNumber        = 60, 6.5
	sparseOutput                    = 1.5
	outputBase                      = 10
	productNumber                   = 0.5   // for a product of a row, beside what its weights take
	loadNumber, loadProduct         = 12, 2 // to map and to store a number; to scale a product
)

// setPrices measures the data and sets the budget.
func (a *autoFit) setPrices() error {
	info := a.data.Set.Info()
	columns, err := a.columns()
	if err != nil {
		return err
	}
	p := prices{
		rows: float64(a.part.Rows), columns: float64(max(1, min(int64(columns), info.NonZeros))),
		nonZeros: float64(info.NonZeros) / float64(max(1, a.part.Rows)),
		outputs:  float64(a.data.Task.outputs(len(a.part.Labels))),
		stepBase: stepBase,
	}
	if _, ok := a.opt.Measure.(measure.GMean); ok {
		p.stepBase += stepGMean
	}
	steps, err := a.usualSteps()
	if err != nil {
		return err
	}
	p.trainingSteps = int64(steps)
	p.training = float64(steps * p.step(p.columns, p.nonZeros))
	a.budget = max(plannedTrainings*p.training, leastBudget)
	a.price = p
	a.price.products = p.productColumns(max(mostTrainings*p.training, leastBudget))
	return nil
}

// columns is the number of features. If there are more than [mostAutoDense] it is that of those
// that occur, which takes a pass: hashed features number many more than the columns that they stand
// for.
func (a *autoFit) columns() (int, error) {
	n := a.data.Set.Info().Dim
	if n <= mostAutoDense {
		return n, nil
	}
	occurs := make([]bool, n)
	n = 0
	err := a.data.read(a.ctx, func(index []uint32, _ []float32, _ uint16, _ float64) error {
		for _, i := range index {
			if !occurs[i] {
				occurs[i] = true
				n++
			}
		}
		return nil
	})
	return n, err
}

// productColumns is the largest number of columns, from leastProducts to mostProducts, whose
// products the last training can afford with half of what all may cost, and of which there are
// enough rows for each.
func (p *prices) productColumns(most float64) int {
	n := leastProducts
	for n < mostProducts {
		products := float64(float64((n+1)*(n+2)) / 2)
		pass := p.visit(p.columns, p.nonZeros, products)
		if float64(float64(p.rows*plannedLast)*pass) > most/2 || products > p.rows/rowsOfProduct {
			break
		}
		n++
	}
	return n
}

// leastProducts is the number of columns of which products are tried whatever they cost, and
// rowsOfProduct the number of rows for each product of more.
const (
	leastProducts = 24
	rowsOfProduct = 5
)

// step is the price of a step of an online learner.
func (p *prices) step(columns, nonZeros float64) float64 {
	number := float64(stepSparse)
	if isDense(columns, nonZeros) {
		number = stepDense
	}
	return float64((p.stepBase + float64(number*nonZeros)) * (1 + float64(stepOutput*(p.outputs-1))))
}

// visit is the price of an example in a pass of a batch algorithm, with products of columns.
func (p *prices) visit(columns, nonZeros, products float64) float64 {
	made := float64(products * (productNumber + float64(p.outputs*denseNumber)))
	if isDense(columns, nonZeros) {
		return float64((denseBase-outputBase)+float64(p.outputs*outputBase)) +
			float64(p.outputs*denseNumber*columns) + made
	}
	return float64((sparseBase-outputBase)+float64(p.outputs*outputBase)) +
		float64((sparseNumber+float64(p.outputs*sparseOutput))*nonZeros) + made
}

// isDense reports whether rows with so many values that are not 0 have all columns in a design.
func isDense(columns, nonZeros float64) bool { return nonZeros >= float64(leastDense*columns) }

// width returns the columns, the values that are not 0 and the products of a row with the given
// features.
func (p *prices) width(f features) (columns, nonZeros, products float64) {
	columns, nonZeros = p.columns, p.nonZeros
	if f.columns == "rank" { // the zeros of these columns, less than half, become other numbers
		nonZeros = min(columns, nonZeros+float64(p.mapped/2))
	}
	if f.products {
		n := p.factors()
		products = float64(n * (n + 1) / 2)
	}
	return columns, nonZeros, products
}

// factors is the number of columns of which products are made.
func (p *prices) factors() float64 { return min(float64(p.products), p.columns) }

// numbers is the number of them that a [design] keeps of a row with the given features.
func (p *prices) numbers(f features) float64 {
	columns, nonZeros, products := p.width(f)
	n := 2 * nonZeros
	if isDense(columns, nonZeros) {
		n = columns
	}
	if products > 0 {
		n += p.factors()
	}
	return n
}

// loading is the price of the numbers of a row in a design.
func (p *prices) loading(f features) float64 {
	_, nonZeros, products := p.width(f)
	return float64(loadNumber*nonZeros) + float64(loadProduct*products)
}

// stepping is the price of a step of an online learner on an example with the given features.
func (p *prices) stepping(f features) float64 {
	columns, nonZeros, products := p.width(f)
	return p.step(columns+products, nonZeros+products)
}

// usualSteps is the number of examples that a training with the usual algorithm visits.
func (a *autoFit) usualSteps() (float64, error) {
	r, err := Options{Algorithm: a.usual(), Measure: a.opt.Measure, AllowDegenerate: a.opt.AllowDegenerate}.
		resolveKept(a.data.Task)
	if err != nil {
		return 0, err
	}
	folds, err := r.foldsFor(a.data)
	if err != nil {
		return 0, err
	}
	t := startTraining(a.ctx, a.data, r)
	if err := t.count(); err != nil {
		return 0, err
	}
	n, scales := a.part.Rows, 1.0
	if r.alg.adaptive.scales != nil && t.config.Steps == StepsAdaptive {
		scales = float64(len(r.alg.adaptive.scales))
	}
	if folds > 1 {
		rest := n * int64(folds-1) / int64(folds)
		return float64(int64(folds)*rest*int64(t.passesFor(max(1, rest), 2))) * scales, nil
	}
	return float64(n*int64(t.passesFor(n, 1))) * scales, nil
}

// searchPasses is the number of passes of online learners over rows on which they are compared.
func searchPasses(rows int64) int { return int(min(50, max(10, 100_000/rows))) }

// cost is the price of comparing recipes on rows.
func (a *autoFit) cost(recipes []recipe, by division, iterations, rows int) float64 {
	p := &a.price
	total := 0.0
	var seen []features
	train := float64(rows * (by.folds - 1) * by.repeats)
	ofFold := int64(rows * (by.folds - 1) / by.folds)
	for _, r := range recipes {
		if !slices.Contains(seen, r.features) {
			seen = append(seen, r.features)
			total += float64(float64(rows) * float64(by.folds*by.repeats) * p.loading(r.features))
		}
		if isBatch(r.algorithm) {
			total += p.solving(r, rows*(by.folds-1)*by.repeats, float64(iterations))
			continue
		}
		passes := a.onlinePasses(r.algorithm, searchPasses(max(1, ofFold)))
		total += float64(train * passes * p.stepping(r.features))
	}
	return total
}

// solving is the price of passes of a batch algorithm over rows.
func (p *prices) solving(r recipe, rows int, passes float64) float64 {
	return float64(float64(rows) * passes * p.visit(p.width(r.features)))
}

// onlinePasses is the number of passes over the rows that an online algorithm makes of the given
// number.
func (a *autoFit) onlinePasses(name string, passes int) float64 {
	alg := algorithmOf(a.data.Task, name)
	switch {
	case name == costSearch:
		return 19 * float64(max(1, passes/5))
	case alg.adaptive.scales != nil:
		return float64(passes * len(alg.adaptive.scales))
	}
	return float64(passes)
}

// costSearch is the name of the class-weighted search.
const costSearch = "cost-search"

// rowsFor is the largest number of rows, in steps of a quarter from least to most, on which
// recipes can be compared at the given price.
func (a *autoFit) rowsFor(price float64, recipes []recipe, by division, iterations, least, most int) int {
	rows := least
	for rows < most && a.cost(recipes, by, iterations, rows+rows/4) <= price {
		rows += rows / 4
	}
	return min(rows, most)
}
