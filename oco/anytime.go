package oco

// Anytime is anytime online-to-batch conversion (Cutkosky 2019; named in Orabona 2019, section
// 3.4): it plays the running average itself,
//
//	w_t = Σ_{i≤t} α_i·x_i/Σ_{i≤t} α_i,
//
// takes the sample's subgradient at w_t, and hands it, times α_t, to a learner of linear losses
// whose points are x_t. The last point then has the guarantee E[F(w_T)] − F(u) ≤ E[Σ ⟨α_t·g_t, x_t
// − u⟩]/Σ α_t at every T. Bound is that of the inner learner.
//
// The inner learner's guarantee must hold for linear losses. The losses are evaluated at w_t, and
// their curvature there says nothing about x_t. So Anytime is not [Curved], and the guarantees of
// [VovkAzouryWarmuth] and of other learners and rates that assume curved losses do not carry over.
// Hints are multiplied by α_t like subgradients; features are passed on unchanged.
type Anytime struct {
	*weighted
	point []float64
	fresh bool
}

// NewAnytime wraps a learner at its start.
func NewAnytime(learner Learner, alpha Alpha) (*Anytime, error) {
	w, err := newWeighted("anytime", learner, alpha)
	if err != nil {
		return nil, err
	}
	return &Anytime{weighted: w, point: make([]float64, learner.Dim())}, nil
}

// Predict implements [Learner]: w_t.
func (l *Anytime) Predict() []float64 {
	if !l.fresh {
		alpha, total := l.next()
		share := alpha / total.value()
		for i, x := range l.learner.Predict() {
			l.point[i] = l.state.Mean[i] + float64(share*(x-l.state.Mean[i]))
		}
		l.fresh = true
	}
	return l.point
}

// Hint implements [Hinted], with a guess of the sample's subgradient, not yet weighted.
func (l *Anytime) Hint(g []float64) error {
	l.fresh = false
	return l.weighted.Hint(g)
}

// Features implements [FeatureLearner].
func (l *Anytime) Features(z []float64) error {
	l.fresh = false
	return forwardFeatures(l.learner, z)
}

func (l *Anytime) checkFeatures(z []float64) error { return checkFeatures(l.learner, z) }

// UpdateSparse implements [SparseLearner]. The average makes it O(d).
func (l *Anytime) UpdateSparse(g Sparse) error {
	alpha, total := l.next()
	w := l.Predict()
	if err := l.feedSparse(g, alpha); err != nil {
		return err
	}
	l.end(w, total)
	return nil
}

// At implements [SparseLearner].
func (l *Anytime) At(i int) float64 { return l.Predict()[i] }

// Update implements [Learner], with a subgradient at Predict().
func (l *Anytime) Update(g []float64) error {
	alpha, total := l.next()
	w := l.Predict()
	if err := l.feed(g, alpha, -1); err != nil {
		return err
	}
	l.end(w, total)
	return nil
}

// end ends the round in which w was played.
func (l *Anytime) end(w []float64, total sum) {
	copy(l.state.Mean, w)
	l.state.Total = total
	l.state.T++
	l.fresh = false
}

// UnmarshalBinary implements [Snapshotter].
func (l *Anytime) UnmarshalBinary(data []byte) error {
	l.fresh = false
	return l.weighted.UnmarshalBinary(data)
}
