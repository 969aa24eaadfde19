package regret_test

import (
	"context"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/loss"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/regret"
)

// dense hides everything of a learner but the three methods and the bound.
type dense struct{ oco.Learner }

func (p dense) Bound(u []float64) (float64, error) { return p.Learner.(oco.Bounder).Bound(u) }

// counting counts the subgradients of each form that a learner is given.
type counting struct {
	oco.SparseLearner
	dense, sparse, nonZeros int
}

func (p *counting) Update(g []float64) error {
	p.dense++
	return p.SparseLearner.Update(g)
}

func (p *counting) UpdateSparse(g loss.Sparse) error {
	p.sparse++
	p.nonZeros += len(g.Index)
	return p.SparseLearner.UpdateSparse(g)
}

func (p *counting) Bound(u []float64) (float64, error) { return p.SparseLearner.(oco.Bounder).Bound(u) }

// TestSparseSubgradients: learners that take sparse subgradients are given those of a sparse game,
// and the certificate is that of dense ones, bit for bit.
func TestSparseSubgradients(t *testing.T) {
	const d, rounds, density = 40, 300, 0.1
	box, space := must(convex.NewCube(d, -1, 1)), must(convex.NewSpace(d))
	for name, c := range map[string]struct {
		set  convex.Set
		make func() oco.Learner
	}{
		"adagrad": {box, func() oco.Learner { return must(oco.NewAdaGrad(box, nil)) }},
		"descent": {box, func() oco.Learner { return descent(box, oco.InverseSqrt(1, 1)) }},
		"ftrl-proximal": {space, func() oco.Learner {
			return must(oco.NewFTRLProximal(d, oco.FTRLProximalOptions{A: 1, Beta: 1}))
		}},
	} {
		game := must(regret.NewNoisy(c.set, regret.NoisyOptions{Bias: .1, Density: density}, 3))
		sparse := &counting{SparseLearner: c.make().(oco.SparseLearner)}
		a := play(t, sparse, game, rounds)
		b := play(t, dense{c.make()}, game, rounds)
		if a.LearnerLoss != b.LearnerLoss || a.Regret != b.Regret || a.Bound != b.Bound {
			t.Errorf("%s: sparse %+v, dense %+v", name, a, b)
		}
		if sparse.dense != 0 || sparse.sparse != rounds || sparse.nonZeros > 2*density*d*rounds {
			t.Errorf("%s: %d dense and %d sparse subgradients with %d non-zeros", name, sparse.dense, sparse.sparse,
				sparse.nonZeros)
		}
		full := must(regret.NewNoisy(c.set, regret.NoisyOptions{Bias: .1}, 3))
		if play(t, sparse, full, rounds); sparse.dense != rounds {
			t.Errorf("%s: %d dense subgradients in a dense game", name, sparse.dense)
		}
	}
}

// TestSparseExamples: rows of a data set with few non-zeros reach the learner as sparse
// subgradients, others as dense ones, and the certificate is that of dense ones, bit for bit.
func TestSparseExamples(t *testing.T) {
	const d, rounds = 24, 90
	r := random.New(6, "sparse examples")
	rows := make([]regret.Example, 30)
	for k := range rows {
		rows[k] = regret.Example{Z: make([]float64, d), Y: 2*r.Float64() - 1}
		few := 3
		if k%3 == 0 {
			few = 12
		}
		for range few {
			rows[k].Z[r.IntN(d)] = 2*r.Float64() - 1
		}
	}
	game := must(regret.NewRegression(rows, 0))
	options := oco.FTRLProximalOptions{A: 1, Beta: 1}
	sparse := &counting{SparseLearner: must(oco.NewFTRLProximal(d, options))}
	a := play(t, sparse, game, rounds)
	b := play(t, dense{must(oco.NewFTRLProximal(d, options))}, game, rounds)
	if a.LearnerLoss != b.LearnerLoss || a.Regret != b.Regret || a.Bound != b.Bound {
		t.Errorf("sparse %+v, dense %+v", a, b)
	}
	if sparse.sparse < rounds*2/3 || sparse.dense < rounds/4 || sparse.nonZeros > 4*sparse.sparse {
		t.Errorf("%d dense and %d sparse subgradients with %d non-zeros", sparse.dense, sparse.sparse, sparse.nonZeros)
	}
}

// TestSparseSquares: a summary of sparse squared losses is that of the same losses written out, bit
// for bit.
func TestSparseSquares(t *testing.T) {
	const d = 12
	for name, make := range map[string]func(int) (*regret.SquareSummary, error){
		"dense": regret.NewSquareSummary, "spanned": regret.NewSpannedSquareSummary,
	} {
		a, b := must(make(d)), must(make(d))
		for k := range uint32(20) {
			z := loss.Sparse{Index: []uint32{k % 5, 5 + k%7}, Value: []float64{1 / float64(k+1), float64(k) - 3}}
			f := must(loss.NewSparseExample(d, z, float64(k%3), loss.Squared{}))
			must(0, a.Add(f))
			must(0, b.Add(f.Dense()))
		}
		u, v := [d]float64{}, [d]float64{}
		ball := must(convex.NewCenteredBall(d, .1))
		la, ga, err := a.Best(u[:], ball)
		lb, gb, err2 := b.Best(v[:], ball)
		if err != nil || err2 != nil || la != lb || ga != gb || u != v {
			t.Errorf("%s: sparse %v, %v, %v; dense %v, %v, %v", name, la, ga, err, lb, gb, err2)
		}
		wrong := must(loss.NewSparseExample(d+1, loss.Sparse{}, 1, loss.Squared{}))
		hinge := must(loss.NewSparseExample(d, loss.Sparse{}, 1, loss.HingeLoss{}))
		if a.Add(wrong) == nil || a.Add(hinge) == nil || a.Add(must(loss.NewSquaredDistance(u[:]))) == nil {
			t.Errorf("%s: takes other losses", name)
		}
	}
}

// TestSparseRoundsDoNotAllocate plays a sparse game in two lengths: rounds allocate nothing.
func TestSparseRoundsDoNotAllocate(t *testing.T) {
	box := must(convex.NewCube(30, -1, 1))
	game := must(regret.NewNoisy(box, regret.NoisyOptions{Density: .2}, 3))
	count := func(rounds int) float64 {
		return testing.AllocsPerRun(3, func() {
			_, err := regret.Play(context.Background(), must(oco.NewAdaGrad(box, nil)), game, rounds, regret.Options{})
			must(0, err)
		})
	}
	if short, long := count(10), count(2000); long-short > 50 { // the runtime allocates now and then
		t.Errorf("%v allocations in 10 rounds, %v in 2,000", short, long)
	}
}
