package single

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Learner is a deterministic baseline: it deploys one arm, the best by f of its estimated means (of
// those not eliminated). It chooses arms by a rule of package bandit, with the linearised standard
// error √(Σ_m (∂_m f)²·s²_m/n_k) of f(V̂_k) and variances pooled over the arms; Thompson's samples
// are f of draws from N(V̂_k, se²) for every metric. Arms never served come first. A round costs
// O(K·M), for Thompson O(16·K·M); memory is O(K·M).
//
// Serving is the propensity for all rules: what Draw draws from. Thompson's normals come from a
// generator in the learner's state, which the observations seed, so that Serving is known before
// the draw and a snapshot continues with the same draws.
type Learner struct {
	chooser *bandit.Chooser
	s       state
	sampler round.Sampler
	text    string
	checker round.Checker
	saved   []float64
	scores  scores
}

// scores are the [bandit.Scores] of a learner.
type scores struct {
	objective pasto.Objective
	s         *state
	d, tmp    []float64
	draws     random.SplitMix64
}

type state struct {
	T       int
	Count   []float64
	Size    []float64
	Mean    []float64
	Pool    []float64
	Freedom float64
	In      []bool            // not eliminated; in snapshots
	Active  []bool            // not retired; in snapshots
	Random  random.SplitMix64 // Thompson's
}

// New makes a deterministic baseline on K arms. It returns an error of code bad_input if the
// objective is invalid or has a hard guardrail, or the rule is unknown.
func New(f pasto.Objective, arms int, rule bandit.Rule) (*Learner, error) {
	if err := round.CheckObjective(f, arms); err != nil {
		return nil, err
	}
	c, err := bandit.NewChooser(arms, rule)
	if err != nil {
		return nil, err
	}
	m := f.Dim()
	l := &Learner{chooser: c, text: fmt.Sprintf("single(metrics=%d, rule=%d)", m, int(rule))}
	l.s = state{
		Count: make([]float64, arms), Size: make([]float64, arms), Mean: make([]float64, arms*m),
		Pool: make([]float64, m),
	}
	l.scores = scores{objective: f, s: &l.s, d: make([]float64, m), tmp: make([]float64, m)}
	l.refresh()
	return l, nil
}

// Arms implements [pasto.Learner].
func (l *Learner) Arms() int { return l.chooser.Arms() }

// Rounds implements [pasto.Learner].
func (l *Learner) Rounds() int { return l.s.T }

// Serving implements [pasto.Learner].
func (l *Learner) Serving() []float64 { return l.chooser.Serving() }

// Deployed implements [pasto.Learner]: all on one arm.
func (l *Learner) Deployed() []float64 { return l.chooser.Best() }

// Draw implements [pasto.Learner].
func (l *Learner) Draw(r pasto.Rand, arms []int) {
	l.sampler.Draw(r, l.Serving(), arms, pasto.Systematic)
}

// refresh computes what is served and deployed, at the end of a round.
func (l *Learner) refresh() {
	l.sampler.Reset()
	l.scores.draws = l.s.Random
	l.chooser.Update(l.s.T+1, &l.scores)
}

// Count implements [bandit.Scores].
func (s *scores) Count(k int) float64 { return s.s.Count[k] }

// Noise implements [bandit.Scores].
func (s *scores) Noise() bool { return s.s.Freedom > 0 }

// mean is V̂_k.
func (s *scores) mean(k int) []float64 {
	m := len(s.d)
	return s.s.Mean[k*m : (k+1)*m]
}

// Score implements [bandit.Scores]: f(V̂_k).
func (s *scores) Score(k int) float64 { return s.objective.Value(s.mean(k)) }

// StandardError implements [bandit.Scores]: that of the score, to first order.
func (s *scores) StandardError(k int) float64 {
	s.objective.Gradient(s.d, s.mean(k))
	sum := 0.0
	for i, d := range s.d {
		sum += float64(float64(d*d) * (s.s.Pool[i] / s.s.Freedom))
	}
	return math.Sqrt(sum / s.s.Size[k])
}

// Sample implements [bandit.Scores]: f of a draw of the means.
func (s *scores) Sample(k int) float64 {
	for i, v := range s.mean(k) {
		se := math.Sqrt(s.s.Pool[i] / s.s.Freedom / s.s.Size[k])
		s.tmp[i] = v + float64(se*stat.Normal(&s.draws))
	}
	return s.objective.Value(s.tmp)
}

// Observe implements [pasto.Learner]. An objective whose value or gradient at an arm's new means is
// not finite is an error too.
func (l *Learner) Observe(obs []pasto.Observation) error {
	m := l.scores.objective.Dim()
	_, active := l.chooser.State()
	obs, _, err := l.checker.Check(l.scores.objective, obs, l.s.T+1, l.Serving(), active)
	if err != nil {
		return err
	}
	freedom := l.s.Freedom
	l.saved = append(l.saved[:0], l.s.Pool...)
	for i := range obs {
		k := obs[i].Arm
		l.saved = append(append(l.saved, l.s.Count[k], l.s.Size[k]), l.s.Mean[k*m:(k+1)*m]...)
	}
	for i := range obs {
		l.add(&obs[i])
	}
	for i := range obs {
		if err = l.checkArm(obs[i].Arm); err != nil {
			break
		}
	}
	if err != nil {
		l.s.Freedom = freedom
		copy(l.s.Pool, l.saved)
		for i := range obs {
			k, row := obs[i].Arm, l.saved[m+i*(m+2):]
			l.s.Count[k], l.s.Size[k] = row[0], row[1]
			copy(l.s.Mean[k*m:(k+1)*m], row[2:])
		}
		return err
	}
	for i := range obs {
		l.s.Random = random.SplitMix64(random.Mix(uint64(l.s.Random) ^ math.Float64bits(obs[i].Metrics[0])))
	}
	l.s.T++
	l.refresh()
	return nil
}

// add adds an observation to the statistics of its arm.
func (l *Learner) add(o *pasto.Observation) {
	w := o.Size
	if w == 0 {
		w = 1
	}
	if l.s.Count[o.Arm] > 0 {
		l.s.Freedom++
	}
	l.s.Count[o.Arm]++
	l.s.Size[o.Arm] += w
	share, row := w/l.s.Size[o.Arm], l.scores.mean(o.Arm)
	for j, v := range o.Metrics {
		d := v - row[j]
		row[j] += float64(share * d)
		l.s.Pool[j] += float64(w * float64(d*(v-row[j])))
	}
}

// checkArm returns an error if the objective is not finite at the means of arm k.
func (l *Learner) checkArm(k int) error {
	theta := l.scores.mean(k)
	if v := l.scores.objective.Value(theta); !vec.IsFinite(v) {
		return noregret.BadInputf("objective", "%s: it is %v at the means of arm %d, θ = %v: want a finite number",
			check.Name(l.scores.objective), v, k, theta)
	}
	l.scores.objective.Gradient(l.scores.d, theta)
	return check.Gradient(l.scores.objective, theta, l.scores.d)
}

// AddArm implements [pasto.Roster]: the arm is served next. The error is always nil.
func (l *Learner) AddArm() (int, error) {
	s, m := &l.s, l.scores.objective.Dim()
	s.Count, s.Size, s.Mean = append(s.Count, 0), append(s.Size, 0), append(s.Mean, make([]float64, m)...)
	l.chooser.Add()
	l.refresh()
	return l.Arms() - 1, nil
}

// RetireArm implements [pasto.Roster]. If it was the last arm that was not eliminated, all others
// are in again.
func (l *Learner) RetireArm(k int) error {
	_, active := l.chooser.State()
	if err := round.CheckRetire(k, active); err != nil {
		return err
	}
	if err := l.chooser.Retire(k); err != nil {
		return err
	}
	l.refresh()
	return nil
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	s := l.s
	s.In, s.Active = l.chooser.State()
	return snapshot.Seal(round.SnapshotMagic, l.text+round.Identity(l.scores.objective), &s)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+round.Identity(l.scores.objective), &s); err != nil {
		return err
	}
	n, m := len(s.Count), l.scores.objective.Dim()
	if n == 0 || len(s.Size) != n || len(s.In) != n || len(s.Active) != n || !slices.Contains(s.Active, true) ||
		len(s.Pool) != m || check.Vector("means", s.Mean, n*m) != nil || s.T < 0 {
		return snapshot.Bad("damaged: it does not fit %d arms and %d metrics", n, m)
	}
	if err := l.chooser.Restore(s.In, s.Active); err != nil {
		return snapshot.Bad("damaged: %w", err)
	}
	s.In, s.Active = nil, nil
	l.s = s
	l.refresh()
	return nil
}
