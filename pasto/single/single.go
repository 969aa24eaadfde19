package single

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Learner is a deterministic baseline: it deploys one arm, the best by f of its estimated means (of
// those not eliminated). It chooses arms by a [Rule], with the linearised standard error √(Σ_m (∂_m
// f)²·s²_m/n_k) of f(V̂_k) and variances pooled over the arms; Thompson's samples are f of draws
// from N(V̂_k, se²) for every metric. Arms never served come first. A round costs O(K·M), for
// Thompson O(16·K·M); memory is O(K·M).
//
// Serving is the propensity for all rules: what Draw draws from. Thompson's normals come from a
// generator in the learner's state, which the observations seed, so that Serving is known before
// the draw and a snapshot continues with the same draws.
type Learner struct {
	objective    pasto.Objective
	rule         Rule
	s            state
	sampler      round.Sampler
	checker      round.Checker
	p, best      []float64         // what is served and deployed
	score, width []float64         // for update
	d, tmp       []float64         // a gradient and a draw of the means
	draws        random.SplitMix64 // Thompson's in this round
	saved        []float64
}

type state struct {
	T       int
	Count   []float64
	Size    []float64
	Mean    []float64
	Pool    []float64
	Freedom float64
	In      []bool            // not eliminated
	Active  []bool            // not retired
	Random  random.SplitMix64 // Thompson's
}

// New makes a deterministic baseline on K arms. It returns an error of code bad_input if the
// objective is invalid or has a hard guardrail, or the rule is unknown.
func New(f pasto.Objective, arms int, rule Rule) (*Learner, error) {
	if err := round.CheckObjective(f, arms); err != nil {
		return nil, err
	}
	if rule < Elimination || rule > Thompson {
		return nil, noregret.BadInputf("rule", "%d: want Elimination, UCB or Thompson", int(rule))
	}
	m := f.Dim()
	l := &Learner{objective: f, rule: rule, d: make([]float64, m), tmp: make([]float64, m)}
	l.s.Pool = make([]float64, m)
	for range arms {
		l.push()
	}
	l.refresh()
	return l, nil
}

// push adds an arm.
func (l *Learner) push() {
	s := &l.s
	s.Count, s.Size, s.Mean = append(s.Count, 0), append(s.Size, 0), append(s.Mean, make([]float64, len(l.d))...)
	s.In, s.Active = append(s.In, true), append(s.Active, true)
	l.resize()
}

// resize makes the fields of the arms that a snapshot omits.
func (l *Learner) resize() {
	n := l.Arms()
	l.p, l.best, l.score, l.width = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
}

// Arms implements [pasto.Learner].
func (l *Learner) Arms() int { return len(l.s.Count) }

// Rounds implements [pasto.Learner].
func (l *Learner) Rounds() int { return l.s.T }

// Serving implements [pasto.Learner].
func (l *Learner) Serving() []float64 { return l.p }

// Deployed implements [pasto.Learner]: all on one arm.
func (l *Learner) Deployed() []float64 { return l.best }

// Draw implements [pasto.Learner].
func (l *Learner) Draw(r pasto.Rand, arms []int) {
	l.sampler.Draw(r, l.Serving(), arms, pasto.Systematic)
}

// refresh computes what is served and deployed, at the end of a round.
func (l *Learner) refresh() {
	l.sampler.Reset()
	l.draws = l.s.Random
	l.update()
}

// mean is V̂_k.
func (l *Learner) mean(k int) []float64 {
	m := len(l.d)
	return l.s.Mean[k*m : (k+1)*m]
}

// standardError is that of the score f(V̂_k), to first order.
func (l *Learner) standardError(k int) float64 {
	l.objective.Gradient(l.d, l.mean(k))
	sum := 0.0
	for i, d := range l.d {
		sum += float64(float64(d*d) * (l.s.Pool[i] / l.s.Freedom))
	}
	return math.Sqrt(sum / l.s.Size[k])
}

// sample is f of a draw of the means of arm k.
func (l *Learner) sample(k int) float64 {
	for i, v := range l.mean(k) {
		se := math.Sqrt(l.s.Pool[i] / l.s.Freedom / l.s.Size[k])
		l.tmp[i] = v + float64(se*stat.Normal(&l.draws))
	}
	return l.objective.Value(l.tmp)
}

// Observe implements [pasto.Learner]. An objective whose value or gradient at an arm's new means is
// not finite is an error too.
func (l *Learner) Observe(obs []pasto.Observation) error {
	m := l.objective.Dim()
	obs, _, err := l.checker.Check(l.objective, obs, l.s.T+1, l.Serving(), l.s.Active)
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
	share, row := w/l.s.Size[o.Arm], l.mean(o.Arm)
	for j, v := range o.Metrics {
		d := v - row[j]
		row[j] += float64(share * d)
		l.s.Pool[j] += float64(w * float64(d*(v-row[j])))
	}
}

// checkArm returns an error if the objective is not finite at the means of arm k.
func (l *Learner) checkArm(k int) error {
	theta := l.mean(k)
	if v := l.objective.Value(theta); !vec.IsFinite(v) {
		return noregret.BadInputf("objective", "%s: it is %v at the means of arm %d, θ = %v: want a finite number",
			check.Name(l.objective), v, k, theta)
	}
	l.objective.Gradient(l.d, theta)
	return check.Gradient(l.objective, theta, l.d)
}

// AddArm implements [pasto.Roster]: the arm is served next. The error is always nil.
func (l *Learner) AddArm() (int, error) {
	l.push()
	l.refresh()
	return l.Arms() - 1, nil
}

// RetireArm implements [pasto.Roster]. If it was the last arm that was not eliminated, all others
// are in again.
func (l *Learner) RetireArm(k int) error {
	if err := round.CheckRetire(k, l.s.Active); err != nil {
		return err
	}
	l.s.In[k], l.s.Active[k] = false, false
	if !slices.Contains(l.s.In, true) {
		copy(l.s.In, l.s.Active)
	}
	l.refresh()
	return nil
}

// String describes the learner and its options in one line.
func (l *Learner) String() string {
	return fmt.Sprintf("single(metrics=%d, rule=%d)", len(l.d), int(l.rule))
}

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, l.String()+round.Identity(l.objective), &l.s)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, l.String()+round.Identity(l.objective), &s); err != nil {
		return err
	}
	n, m := len(s.Count), l.objective.Dim()
	if n == 0 || len(s.Size) != n || len(s.In) != n || len(s.Active) != n || !slices.Contains(s.Active, true) ||
		!slices.Contains(s.In, true) ||
		len(s.Pool) != m || check.Vector("means", s.Mean, n*m) != nil || s.T < 0 {
		return snapshot.Bad("damaged: it does not fit %d arms and %d metrics", n, m)
	}
	l.s = s
	l.resize()
	l.refresh()
	return nil
}
