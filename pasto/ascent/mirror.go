package ascent

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/compensated"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/oco"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/round"
)

// mirror is the common part of Algorithm 1 and S-SCGD: exponentiated gradient on the arms,
// exploration, draws and averages. The rate varies over time, so oco's learner has rate 1 and gets
// −γ_t·g_t.
type mirror struct {
	explore Schedule
	floor   float64
	scheme  pasto.Scheme
	decay   float64 // of the averages; 0 is uniform
	hedge   *oco.ExponentiatedGradient
	s       mirrorState
	p       []float64 // serving
	pi      []float64 // of the round that ends
	scratch []float64
	sampler round.Sampler
}

type mirrorState struct {
	T       int
	Prior   []float64 // of the hedge
	Active  []bool
	Live    int
	Average []float64 // p̄
	Exploit []float64 // π̄
	Hedge   []byte    // in snapshots
}

func newMirror(arms int, start []float64, explore Schedule, floor float64, scheme pasto.Scheme, decay float64) (*mirror,
	error,
) {
	c := &mirror{explore: explore, floor: floor, scheme: scheme, decay: decay}
	if start == nil {
		start = make([]float64, arms)
		for k := range start {
			start[k] = 1 / float64(arms)
		}
	}
	if err := check.Mixture("start", start, arms); err != nil {
		return nil, err
	}
	for k, v := range start {
		if v < leastShare {
			return nil, noregret.BadInputf(fmt.Sprintf("start[%d]", k),
				"%v: want a share of at least %v, as an arm without one would never be found by steps that multiply", v,
				leastShare)
		}
	}
	c.s.Active = make([]bool, arms)
	for k := range c.s.Active {
		c.s.Active[k] = true
	}
	c.s.Live = arms
	c.s.Average, c.s.Exploit = make([]float64, arms), make([]float64, arms)
	if err := c.rebase(start); err != nil {
		return nil, err
	}
	copy(c.s.Average, c.p)
	copy(c.s.Exploit, c.hedge.Predict())
	return c, nil
}

// leastShare is the least share of an active arm in the exponentiated gradient.
const leastShare = 1e-300

// rebase restarts the exponentiated gradient at π. Shares that underflowed become leastShare, so
// that no active arm is lost.
func (c *mirror) rebase(pi []float64) error {
	prior := make([]float64, len(pi))
	for k, v := range pi {
		if c.s.Active[k] {
			prior[k] = max(v, leastShare)
		}
	}
	for range 2 { // the second pass corrects the rounding of the first
		var sum compensated.Sum
		for _, v := range prior {
			sum.Add(v)
		}
		for k := range prior {
			prior[k] /= sum.Value()
		}
	}
	hedge, err := oco.NewExponentiatedGradient(len(prior), prior, 1)
	if err != nil {
		return err
	}
	c.hedge, c.s.Prior = hedge, prior
	c.p, c.pi, c.scratch = make([]float64, len(prior)), make([]float64, len(prior)), make([]float64, len(prior))
	c.mix()
	return nil
}

// epsilon returns ε of the current round.
func (c *mirror) epsilon() float64 {
	return max(c.explore.At(c.s.T+1), c.floor)
}

// rates returns γ of the current round and checks ε of the next one before anything changes,
// because constructors check schedules at a few rounds only.
func (c *mirror) rates(step Schedule) (gamma float64, err error) {
	if gamma, err = step.in("step", c.s.T+1, math.Inf(1)); err == nil {
		_, err = c.explore.in("exploration", c.s.T+2, 1)
	}
	return gamma, err
}

// mix computes p_t = (1−ε_t)·π_t + ε_t/K over the active arms.
func (c *mirror) mix() {
	eps := c.epsilon()
	each := eps / float64(c.s.Live)
	for k, v := range c.hedge.Predict() {
		c.p[k] = 0
		if c.s.Active[k] {
			c.p[k] = float64((1-eps)*v) + each
		}
	}
	c.sampler.Reset()
}

// step ends the round with w ← w·exp(γ·g) and adds p_t and π_t to the averages. If clip > 0 it
// reduces γ so that max_k |γ·g_k| ≤ clip over the active arms. If share > 0 it first spreads that
// share of the weights over the active arms. On an error nothing has changed.
func (c *mirror) step(g []float64, gamma, clip, share float64) error {
	low, high := math.Inf(1), math.Inf(-1)
	for k, v := range g {
		if c.s.Active[k] {
			low, high = min(low, v), max(high, v)
		}
	}
	if !vec.IsFinite(low) || !vec.IsFinite(high) {
		return noregret.BadInputf("gradient", "values %v to %v: the observations are too large for the "+
			"objective",
			low,
			high)
	}
	if most := max(math.Abs(low), math.Abs(high)); clip > 0 && float64(gamma*most) > clip {
		gamma = clip / most
	}
	for k, v := range g {
		c.scratch[k] = 0
		if c.s.Active[k] {
			c.scratch[k] = -float64(gamma * v)
		}
	}
	copy(c.pi, c.hedge.Predict())
	if share > 0 {
		for k, v := range c.pi {
			if c.s.Active[k] {
				c.scratch[k] -= portable.Log(1 - share + share/(float64(c.s.Live)*max(v, leastShare)))
			}
		}
	}
	if err := c.hedge.Update(c.scratch); err != nil {
		return err
	}
	weight := max(1/float64(c.s.T+1), c.decay)
	for k, v := range c.p {
		c.s.Average[k] += float64(weight * (v - c.s.Average[k]))
		c.s.Exploit[k] += float64(weight * (c.pi[k] - c.s.Exploit[k]))
	}
	c.s.T++
	c.mix()
	return nil
}

// Arms implements [pasto.Learner].
func (c *mirror) Arms() int { return len(c.p) }

// Rounds implements [pasto.Learner].
func (c *mirror) Rounds() int { return c.s.T }

// Serving implements [pasto.Learner]: p_t = (1−ε_t)·π_t + ε_t/K.
func (c *mirror) Serving() []float64 { return c.p }

// Exploit is π_t = w/‖w‖₁, the serving distribution without exploration.
func (c *mirror) Exploit() []float64 { return c.hedge.Predict() }

// Average is p̄, the mean of p_1 ... p_t or over a window: the averaged iterate of the theorem.
func (c *mirror) Average() []float64 { return c.s.Average }

// AverageExploit is π̄, the mean of π_1 ... π_t: the mixture to deploy if ε is not small.
func (c *mirror) AverageExploit() []float64 { return c.s.Exploit }

// deployed is the iterate to deploy.
func (c *mirror) deployed(d Deploy) []float64 {
	switch d {
	case DeployAverageExploit:
		return c.AverageExploit()
	case DeployServing:
		return c.p
	case DeployExploit:
		return c.Exploit()
	}
	return c.Average()
}

// Draw implements [pasto.Learner].
func (c *mirror) Draw(r pasto.Rand, arms []int) { c.sampler.Draw(r, c.p, arms, c.scheme) }

// retire removes an arm.
func (c *mirror) retire(k int) error {
	if err := round.CheckRetire(k, c.s.Active); err != nil {
		return err
	}
	c.s.Active[k] = false
	c.s.Live--
	round.Drop(c.s.Average, k, c.s.Active)
	round.Drop(c.s.Exploit, k, c.s.Active)
	return c.rebase(c.hedge.Predict())
}

// add adds an arm with the share π = 1/(K+1), for K active arms before: the log-weight ln(Σ_j
// w_j/K).
func (c *mirror) add() error {
	k := float64(c.s.Live)
	pi := append([]float64{}, c.hedge.Predict()...)
	for j := range pi {
		pi[j] *= k / (k + 1)
	}
	c.s.Active = append(c.s.Active, true)
	c.s.Live++
	c.s.Average, c.s.Exploit = append(c.s.Average, 0), append(c.s.Exploit, 0)
	return c.rebase(append(pi, 1/(k+1)))
}

// save returns the mirror's part of a snapshot.
func (c *mirror) save() (mirrorState, error) {
	s := c.s
	var err error
	s.Hedge, err = c.hedge.MarshalBinary()
	return s, err
}

// load replaces the state with that of a snapshot.
func (c *mirror) load(s mirrorState) error {
	n := len(s.Prior)
	if n == 0 || len(s.Active) != n || len(s.Average) != n || len(s.Exploit) != n || s.T < 0 {
		return snapshot.Bad("damaged: its vectors differ in length")
	}
	live := 0
	for _, a := range s.Active {
		if a {
			live++
		}
	}
	if live != s.Live || live == 0 || check.Vector("average", s.Average, n) != nil ||
		check.Vector("average", s.Exploit, n) != nil {
		return snapshot.Bad("damaged: %d of %d arms are active, not %d, or an average is not finite", live, n,
			s.Live)
	}
	if _, err := c.explore.in("exploration", s.T+1, 1); err != nil {
		return err
	}
	hedge, err := oco.NewExponentiatedGradient(n, s.Prior, 1)
	if err != nil {
		return snapshot.Bad("damaged: %w", err)
	}
	if err := hedge.UnmarshalBinary(s.Hedge); err != nil {
		return err
	}
	s.Hedge = nil
	c.s, c.hedge = s, hedge
	c.p, c.pi, c.scratch = make([]float64, n), make([]float64, n), make([]float64, n)
	c.mix()
	return nil
}

func (c *mirror) String() string {
	return fmt.Sprintf("exploration=%v, floor=%v, scheme=%d, decay=%v", c.explore, c.floor, c.scheme, c.decay)
}
