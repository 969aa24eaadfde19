package single

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/stat"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// Rule is a deterministic baseline: a way to find the best single arm by f(V̂_k), the penalised
// score.
type Rule int

const (
	// Eliminate is successive elimination (Even-Dar, Mannor and Mansour 2006): the remaining arms
	// are served alike, and one leaves when its upper confidence bound is below the best lower one.
	Eliminate Rule = iota
	// UCB serves the arm of the largest upper confidence bound.
	UCB
	// Thompson serves alike the arms that are best in 16 draws from N(V̂_k, se²) for every metric,
	// drawn anew at the end of each round.
	Thompson
)

// Learner is a deterministic baseline: it deploys one arm, the best by f of its means (Eliminate:
// among those left). Score bounds are by the linearised standard error, f(V̂_k) ± z·√(Σ_m (∂_m
// f)²·s²_m/n_k), z = √(2·ln(K·(t+1)²))/2 for UCB and √(2·ln(4K·n²/0.05)) for Eliminate, with pooled
// variances. Arms never served come first. A round costs O(K·M), for Thompson O(16·K·M); memory is
// O(K·M).
//
// Serving is the propensity for all three rules: what Draw draws from. Thompson's normals come from
// a generator in its state, which the observations seed, so that Serving is known before the draw
// and a snapshot goes on with the same draws.
type Learner struct {
	objective pasto.Objective
	rule      Rule
	s         state
	p, best   []float64
	d, tmp    []float64
	sampler   round.Sampler
	text      string
	intake    round.Checker
	saved     []float64
	draws     random.SplitMix64
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

// thompsonDraws is the number of draws from the posterior that a round of Thompson's serves.
const thompsonDraws = 16

// New makes a deterministic baseline on K arms.
func New(f pasto.Objective, arms int, rule Rule) (*Learner, error) {
	if err := round.CheckObjective(f, arms); err != nil {
		return nil, err
	}
	if rule < Eliminate || rule > Thompson {
		return nil, noregret.BadInputf("rule", "%d: want Eliminate, UCB or Thompson", int(rule))
	}
	m := f.Dim()
	l := &Learner{
		objective: f, rule: rule, p: make([]float64, arms), best: make([]float64, arms), d: make([]float64, m),
		tmp:  make([]float64, m),
		text: fmt.Sprintf("single(metrics=%d, rule=%d)", m, int(rule)),
	}
	l.s = state{
		Count: make([]float64, arms), Size: make([]float64, arms), Mean: make([]float64, arms*m),
		Pool: make([]float64, m), In: make([]bool, arms), Active: make([]bool, arms),
	}
	for k := range l.s.In {
		l.s.In[k], l.s.Active[k] = true, true
	}
	l.refresh()
	return l, nil
}

// Arms implements [pasto.Learner].
func (l *Learner) Arms() int { return len(l.p) }

// Rounds implements [pasto.Learner].
func (l *Learner) Rounds() int { return l.s.T }

// Serving implements [pasto.Learner].
func (l *Learner) Serving() []float64 { return l.p }

// Deployed implements [pasto.Learner]: all on one arm.
func (l *Learner) Deployed() []float64 { return l.best }

// Draw implements [pasto.Learner].
func (l *Learner) Draw(r pasto.Rand, arms []int) {
	l.sampler.Draw(r, l.p, arms, pasto.Systematic)
}

// thompson writes the shares of the best arms of the draws from the arms' normals. All arms have
// been served.
func (l *Learner) thompson() {
	m := l.objective.Dim()
	clear(l.p)
	l.draws = l.s.Random
	for range thompsonDraws {
		arm, top := slices.Index(l.s.Active, true), math.Inf(-1)
		for k, n := range l.s.Size {
			if !l.s.Active[k] {
				continue
			}
			for i := range m {
				se := math.Sqrt(l.s.Pool[i] / l.s.Freedom / n)
				l.tmp[i] = l.s.Mean[k*m+i] + float64(se*stat.Normal(&l.draws))
			}
			if v := l.objective.Value(l.tmp); v > top {
				arm, top = k, v
			}
		}
		l.p[arm] += 1.0 / thompsonDraws
	}
}

// Observe implements [pasto.Learner]. An objective whose value or gradient at an arm's new means is
// not finite is an error too.
func (l *Learner) Observe(obs []pasto.Observation) error {
	m := l.objective.Dim()
	obs, _, err := l.intake.Check(l.objective, obs, l.s.T+1, l.p, l.s.Active)
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
		o := &obs[i]
		w := o.Size
		if w == 0 {
			w = 1
		}
		if l.s.Count[o.Arm] > 0 {
			l.s.Freedom++
		}
		l.s.Count[o.Arm]++
		l.s.Size[o.Arm] += w
		share := w / l.s.Size[o.Arm]
		row := l.s.Mean[o.Arm*m : (o.Arm+1)*m]
		for j, v := range o.Metrics {
			d := v - row[j]
			row[j] += float64(share * d)
			l.s.Pool[j] += float64(w * float64(d*(v-row[j])))
		}
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

// checkArm refuses an objective that is not finite at the means of arm k.
func (l *Learner) checkArm(k int) error {
	m := l.objective.Dim()
	theta := l.s.Mean[k*m : (k+1)*m]
	if v := l.objective.Value(theta); !check.Finite(v) {
		return noregret.BadInputf("objective", "%s: it is %v at the means of arm %d, θ = %v: want a finite number",
			check.Name(l.objective), v, k, theta)
	}
	l.objective.Gradient(l.d, theta)
	return check.Gradient(l.objective, theta, l.d)
}

// radius is the standard error of arm k's score.
func (l *Learner) radius(k int) float64 {
	m := l.objective.Dim()
	l.objective.Gradient(l.d, l.s.Mean[k*m:(k+1)*m])
	sum := 0.0
	for i, d := range l.d {
		sum += float64(float64(d*d) * (l.s.Pool[i] / l.s.Freedom))
	}
	return math.Sqrt(sum / l.s.Size[k])
}

// refresh computes what is served and deployed, at the end of a round.
func (l *Learner) refresh() {
	m := l.objective.Dim()
	l.sampler.Reset()
	fresh, live, arm, top := 0, 0, -1, math.Inf(-1)
	for k, c := range l.s.Count {
		if !l.s.Active[k] {
			continue
		}
		live++
		if c == 0 {
			fresh++
		} else if v := l.objective.Value(l.s.Mean[k*m : (k+1)*m]); l.s.In[k] && v > top {
			arm, top = k, v
		}
	}
	clear(l.best)
	if arm >= 0 {
		l.best[arm] = 1
	} else {
		l.uniform(l.best, live)
	}
	if fresh > 0 || l.s.Freedom == 0 {
		if fresh == 0 {
			l.uniform(l.p, live)
			return
		}
		for k, c := range l.s.Count {
			l.p[k] = 0
			if c == 0 && l.s.Active[k] {
				l.p[k] = 1 / float64(fresh)
			}
		}
		return
	}
	switch l.rule {
	case Eliminate:
		l.eliminate()
	case UCB:
		l.upper()
	default:
		l.thompson()
	}
}

// uniform serves the active arms alike.
func (l *Learner) uniform(p []float64, live int) {
	for k, a := range l.s.Active {
		p[k] = 0
		if a {
			p[k] = 1 / float64(live)
		}
	}
}

// AddArm implements [pasto.Roster]: the arm is served next. There is no error.
func (l *Learner) AddArm() (int, error) {
	s, m := &l.s, l.objective.Dim()
	s.Count, s.Size, s.Mean = append(s.Count, 0), append(s.Size, 0), append(s.Mean, make([]float64, m)...)
	s.In, s.Active = append(s.In, true), append(s.Active, true)
	l.p, l.best = make([]float64, len(s.Count)), make([]float64, len(s.Count))
	l.refresh()
	return len(l.p) - 1, nil
}

// RetireArm implements [pasto.Roster]. Where it was the last arm that was not eliminated, all
// others are in again.
func (l *Learner) RetireArm(k int) error {
	s := &l.s
	if err := round.CheckRetire(k, s.Active); err != nil {
		return err
	}
	s.In[k], s.Active[k] = false, false
	if !slices.Contains(s.In, true) {
		copy(s.In, s.Active)
	}
	l.refresh()
	return nil
}

func (l *Learner) eliminate() {
	m := l.objective.Dim()
	width := func(k int) float64 {
		n := l.s.Count[k]
		return float64(math.Sqrt(float64(2*portable.Log(80*float64(len(l.p))*float64(n*n)))) * l.radius(k))
	}
	lower, left := math.Inf(-1), 0
	for k, in := range l.s.In {
		if in {
			lower = max(lower, l.objective.Value(l.s.Mean[k*m:(k+1)*m])-width(k))
		}
	}
	for k, in := range l.s.In {
		if in && l.objective.Value(l.s.Mean[k*m:(k+1)*m])+width(k) < lower {
			l.s.In[k] = false
		}
		if l.s.In[k] {
			left++
		}
	}
	for k, in := range l.s.In {
		l.p[k] = 0
		if in {
			l.p[k] = 1 / float64(left)
		}
	}
}

func (l *Learner) upper() {
	m := l.objective.Dim()
	t := float64(l.s.T + 1)
	z := math.Sqrt(float64(2*portable.Log(float64(len(l.p))*float64(t*t)))) / 2
	arm, top := slices.Index(l.s.Active, true), math.Inf(-1)
	for k := range l.p {
		if !l.s.Active[k] {
			continue
		}
		if v := l.objective.Value(l.s.Mean[k*m:(k+1)*m]) + float64(z*l.radius(k)); v > top {
			arm, top = k, v
		}
	}
	clear(l.p)
	l.p[arm] = 1
}

// String describes the learner and its options in one line.
func (l *Learner) String() string { return l.text }

// MarshalBinary implements [pasto.Learner].
func (l *Learner) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(round.SnapshotMagic, l.text+round.Identity(l.objective), &l.s)
}

// UnmarshalBinary implements [pasto.Learner].
func (l *Learner) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, round.SnapshotMagic, l.text+round.Identity(l.objective), &s); err != nil {
		return err
	}
	n, m := len(s.Count), l.objective.Dim()
	if n == 0 || len(s.Size) != n || len(s.In) != n || len(s.Active) != n || !slices.Contains(s.Active, true) ||
		len(s.Pool) != m || check.Vector("means", s.Mean, n*m) != nil || s.T < 0 {
		return snapshot.Bad("it is damaged: it does not fit %d arms and %d metrics", n, m)
	}
	l.s = s
	l.p, l.best = make([]float64, n), make([]float64, n)
	l.refresh()
	return nil
}
