package oco

import "github.com/noregret/noregret"

// Averaging is online-to-batch conversion (Cesa-Bianchi, Conconi and Gentile 2004; Orabona 2019,
// Theorem 3.1): it hands α_t·g_t to a learner and averages the points played,
//
//	x̄_T = Σ α_t·x_t/Σ α_t,   E[F(x̄_T)] − F(u) ≤ E[Regret_T(u)]/Σ α_t,
//
// for independent samples of a convex F. The average is over the points before each update, without
// the one after the last. The regret and Bound are those of the weighted losses. A round costs O(d)
// more than the learner's.
type Averaging struct{ *weighted }

// NewAveraging wraps a learner at its start.
func NewAveraging(learner Learner, alpha Alpha) (*Averaging, error) {
	w, err := newWeighted("averaging", learner, alpha)
	if err != nil {
		return nil, err
	}
	return &Averaging{w}, nil
}

// Predict implements [Learner]. It returns the learner's own point x_t, at which to compute the
// sample's gradient.
func (l *Averaging) Predict() []float64 { return l.learner.Predict() }

// Update implements [Learner], with a subgradient of the sample's loss, not yet weighted.
func (l *Averaging) Update(g []float64) error { return l.update(g, -1) }

func (l *Averaging) update(g []float64, mu float64) error {
	alpha, total := l.next()
	if err := l.feed(g, alpha, mu); err != nil {
		return err
	}
	l.average(alpha, total)
	return nil
}

// average ends the round in which played was played.
func (l *Averaging) average(alpha float64, total sum) {
	share := alpha / total.value()
	for i, x := range l.played {
		l.state.Mean[i] += float64(share * (x - l.state.Mean[i]))
	}
	l.state.Total = total
	l.state.T++
}

// UpdateSparse implements [SparseLearner]. The average makes it O(d).
func (l *Averaging) UpdateSparse(g Sparse) error {
	alpha, total := l.next()
	if err := l.feedSparse(g, alpha); err != nil {
		return err
	}
	l.average(alpha, total)
	return nil
}

// At implements [SparseLearner].
func (l *Averaging) At(i int) float64 { return at(l.learner, i) }

// UpdateCurved implements [Curved] for a sample's loss that is mu-strongly convex: the weighted
// loss is α_t·mu-strongly convex, which is handed to a learner that is [Curved].
func (l *Averaging) UpdateCurved(g []float64, mu float64) error {
	if err := checkMu(mu); err != nil {
		return err
	}
	return l.update(g, mu)
}

// Average is x̄ of the finished rounds. It returns an error if no round has ended yet. The slice
// belongs to the learner.
func (l *Averaging) Average() ([]float64, error) {
	if l.state.T == 0 {
		return nil, noregret.BadInputf("average", "no round has ended yet: at least one is required")
	}
	return l.state.Mean, nil
}
