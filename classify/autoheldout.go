package classify

// warmStart is what a batch algorithm has found.
type warmStart struct {
	design *design
	solved lbfgsResult
}

// The rows that are held out where a recipe is too expensive to be cross-fitted on all rows.
const (
	// heldOutPart is the divisor of the number of rows, and leastHeldOut the number of held-out
	// rows that the rarest label needs.
	heldOutPart  = 10
	leastHeldOut = 20
	// The iterations without the held-out rows, and those with which it goes on with all of them.
	heldOutIterations, warmIterations = 14, 8
)

// heldOut trains the chosen recipe on all rows but a tenth and decides these, whose divisions are
// for the threshold only. It returns nil if the comparison on had all rows, or there are too few.
// The last training begins with what it has found.
func (a *autoFit) heldOut(r recipe, on *comparedOn) (*comparedOn, error) {
	n := a.part.Rows
	if int64(on.rows) >= n/2 || n > mostBatchRows || !isBatch(r.algorithm) || !a.fits(r) ||
		a.rarest() < heldOutPart*leastHeldOut {
		return nil, nil
	}
	views, err := a.data.Set.Folds(a.opt.Seed, "auto/held-out", heldOutPart)
	if err != nil {
		return nil, err
	}
	f := &fold{train: a.data.withSet(views[0].Rest), test: a.data.withSet(views[0].Part)}
	held, err := a.comparison(f.test, division{5, 1}, heldOutIterations)
	if err != nil {
		return nil, err
	}
	held.last, held.models = true, 1
	m := &mappedFold{fold: f}
	if err := m.make(a.ctx, r.features, a.price.products); err != nil {
		return nil, err
	}
	s := new(scaledFold)
	if err := s.make(a.ctx, m, r.scale); err != nil {
		return nil, err
	}
	inOrder := new(crossFitted)
	solved, err := a.crossFitBatch(a.ctx, inOrder, r, s, heldOutIterations)
	if err != nil {
		return nil, err
	}
	out := &crossFitted{scores: make([][]float64, len(held.row))}
	for i, row := range held.row {
		out.scores[i] = inOrder.scores[row]
	}
	a.decide(out, r, held)
	held.results[r] = out
	a.work += a.lastPrice(r, heldOutIterations)
	a.out.Cost.Steps += inOrder.steps
	a.warm = &warmStart{s.train, solved}
	return held, nil
}
