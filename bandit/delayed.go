package bandit

import (
	"math"
	"slices"

	"github.com/noregret/noregret"
)

// Choice is an arm to pull, with an id by which its loss is learned.
type Choice struct {
	// ID is 1 for the first choice and rises by 1.
	ID  uint64
	Arm int
	// Propensity is the probability with which the arm was drawn, given what was learned before and
	// the arms that were allowed: the number to log. It is NaN without
	// [DelayedOptions.Propensities] for Thompson sampling.
	Propensity float64
	// Error bounds the error of Propensity: 0, or that of the quadrature for Thompson sampling.
	Error float64
}

// DelayedOptions are the options of [NewDelayed].
type DelayedOptions struct {
	// Window is the number of later choices after which a choice without a loss expires, from 1 to
	// 2^24. It bounds the memory: some 80 bytes for each choice that waits for its loss, and d/8
	// more for [TsallisINF] with reduced variance, and where a player on estimates chose among some
	// of the arms.
	Window int
	// Propensities computes the propensities of Thompson sampling by quadrature, some tenths of a
	// millisecond for ten arms. A distribution serves all choices until the next loss. The other
	// players know their propensities anyway.
	Propensities bool
}

// DefaultDelayedOptions have a window of 65,536 choices and all propensities.
func DefaultDelayedOptions() DelayedOptions {
	return DelayedOptions{Window: 1 << 16, Propensities: true}
}

// Delayed plays a [Player] where losses come late, in batches, in any order or never, and where the
// arms that may be pulled change. Choose draws an arm and gives the choice an id; Learn brings its
// loss, Forget says that it will not come. The player is a [Player], or a [DelayedPlayer] of the
// caller's own. A choice that neither has reached is forgotten once
// [DelayedOptions.Window] later ones have been made: lost feedback never blocks.
//
// An estimate that divides by a propensity divides by that of the draw, however late the loss. The
// player's round t is one more than the number of losses learned or replaced. So the player's state
// depends only on these losses, and on their order only by rounding. If each loss follows its
// choice, all is as with Draw and Update, bit for bit.
//
// # Arms that are not allowed
//
// Arms that are not allowed in a round have propensity 0. Players on means and Thompson sampling
// choose among the others. Players on estimates draw from their distribution given that the arm is
// allowed, and when the loss g of the choice comes, each arm that was not allowed gets g, whose
// mean over the draw is what the player lost (the sleeping experts of Freund, Schapire, Singer and
// Warmuth 1997 in the form of Chernov and Vovk 2009, see experts.Specialists). So with p_t ∝ x_t
// over the allowed arms A_t the estimates satisfy ⟨x_t, g̃_t⟩ = Σ p_{t,i}·g̃_{t,i}, and for each
// arm k
//
//	E Σ_{t: k ∈ A_t} (g_{t,A} − g_{t,k})
//
// the regret over the rounds in which the arm was allowed, is within the bound of the player for
// all rounds, whoever was allowed when: the bounds of [Exp3], [INF] and [TsallisINF] for losses of
// any kind, and those of the others up to the share that they explore.
//
// For [Exp3], [INF] and the importance-weighted [TsallisINF], whose estimates satisfy ⟨p_t, g̃_t⟩ =
// g_{t,A}, this is experts.Specialists on the estimates. In general it is another rule. An arm that
// sleeps gets the loss that was seen, not ⟨p_t, g̃_t⟩: this is smaller for [Exp3IX] and has another
// base for [ReducedVariance]. The loss may come after other rounds have been played. A retired arm
// is gone: the distribution is that of the algorithm without it.
//
// # Losses that do not come
//
// Players on means and Thompson sampling go by the losses that came. To players on estimates a loss
// that is lost would be 0, the best of all. They learn the mean loss of all choices learned so far
// in its place, the middle of the range before the first; [Delayed.Lost] and [Delayed.Replaced] say
// how often. An arm that has no loss yet comes first in UCB, MOSS, KL-UCB and Thompson sampling
// with the flat prior, but once it has been drawn without one as often as log₂ of all draws, arms
// with losses come before it.
//
// A choice costs what a round of the player costs, and O(d) while some arms are not allowed, are
// retired or have no loss. Nothing
// is allocated once the memory for pending choices has grown. Not safe for concurrent use.
type Delayed struct {
	player  core
	options DelayedOptions
	s       delayedState
	ring    []pending // choice id is at id modulo the length; an ID of 0 is a free place
	total   int       // Σ Chosen
	retired int       // the number of retired arms
	mask    []bool    // the allowed arms that are not retired
	live    []bool    // those that are not retired
	p       []float64 // of the last distribution
	bound   float64   // its error
	cache   cache
	v       view  // of the current call
	drawn   drawn // likewise
}

// cache is what the distribution of Thompson sampling in Delayed.p was computed for.
type cache struct {
	filled   bool
	all      bool   // all arms were allowed
	allowed  []bool // otherwise these
	patience int
}

type delayedState struct {
	Next    uint64 // the id of the next choice
	Chosen  []int
	Retired []bool
	// Learned, Lost and Replaced count losses: those learned, with their mean, those that did not
	// come, and those of them in whose place the player learned the mean.
	Learned, Lost, Replaced uint64
	Mean                    float64
	Pending                 []pending // in snapshots, by id
	Player                  []byte    // in snapshots
}

// pending is a choice without a loss.
type pending struct {
	ID uint64
	Of drawn
}

// maxWindow limits the memory for pending choices.
const maxWindow = 1 << 24

// NewDelayed returns the player with choices that have ids. It owns the player from now on: do not
// call Draw, Update or UnmarshalBinary of the player. It returns an error of code bad_input if the
// player is neither a [Player] nor a [DelayedPlayer] or is within a round, or an option is out of
// range.
func NewDelayed(p Algorithm, o DelayedOptions) (*Delayed, error) {
	c, err := newCore(p)
	if err != nil {
		return nil, err
	}
	if arm := c.pending(); arm != none {
		return nil, noregret.BadInputf("player", "arm %d has been drawn: finish the round by Update first", arm)
	}
	if o.Window < 1 || o.Window > maxWindow {
		return nil, noregret.BadInputf("window", "%d: want 1 to %d", o.Window, maxWindow)
	}
	d := c.Arms()
	return &Delayed{
		player: c, options: o, s: delayedState{Next: 1, Chosen: make([]int, d), Retired: make([]bool, d)},
		p: make([]float64, d),
	}, nil
}

// Arms is the number of arms, retired ones included.
func (d *Delayed) Arms() int { return len(d.s.Chosen) }

// Player is the player, for reading. UnmarshalBinary may replace it.
func (d *Delayed) Player() Algorithm {
	if o, ok := d.player.(*outside); ok {
		return o.DelayedPlayer
	}
	return d.player
}

// Chosen is the number of choices of arm k.
func (d *Delayed) Chosen(k int) int { return d.s.Chosen[k] }

// Pending is the number of choices whose loss may still come. O(Window).
func (d *Delayed) Pending() int {
	n := 0
	for i := range d.ring {
		if d.ring[i].ID != 0 {
			n++
		}
	}
	return n
}

// view returns what a draw among the allowed arms depends on.
func (d *Delayed) view(allowed []bool) (*view, error) {
	v := &d.v
	*v = view{chosen: d.s.Chosen, total: d.total}
	if allowed != nil && len(allowed) != d.Arms() {
		return nil, noregret.BadInputf("allowed", "%d arms: want %d, or nil for all", len(allowed), d.Arms())
	}
	if allowed == nil && d.retired == 0 {
		return v, nil
	}
	d.mask, d.live = d.mask[:0], d.live[:0]
	some, all := false, true
	for k, retired := range d.s.Retired {
		ok := !retired && (allowed == nil || allowed[k])
		d.mask, d.live = append(d.mask, ok), append(d.live, !retired)
		some, all = some || ok, all && ok
		v.asleep = v.asleep || !ok && !retired
	}
	if d.retired > 0 {
		v.live = d.live
	}
	if !some {
		return nil, noregret.BadInputf("allowed", "none of the %d arms is both allowed and not retired", d.Arms())
	}
	if !all {
		v.allowed = d.mask
	}
	return v, nil
}

// Distribution returns the propensities of the next choice among the allowed arms, nil for all, and
// a bound on their error, which is 0 unless the player is Thompson sampling. The slice is valid
// until the next call of any method, and the caller must not change it. It returns an error of code
// bad_input if the number of arms is wrong or no arm is left.
func (d *Delayed) Distribution(allowed []bool) (p []float64, bound float64, err error) {
	v, err := d.view(allowed)
	if err != nil {
		return nil, 0, err
	}
	d.distribution(v)
	return d.p, d.bound, nil
}

// distribution computes p. Only quadrature is worth a cache: its result holds until the next loss,
// or until the patience for arms without a loss changes.
func (d *Delayed) distribution(v *view) {
	c := &d.cache
	if c.filled && c.all == (v.allowed == nil) && c.patience == v.patience() &&
		(c.all || slices.Equal(v.allowed, c.allowed)) {
		return
	}
	d.bound = d.player.distribution(d.p, v)
	c.filled, c.all, c.patience = d.bound > 0, v.allowed == nil, v.patience()
	c.allowed = append(c.allowed[:0], v.allowed...)
}

// Choose draws an arm among the allowed ones, nil for all. It takes its randomness from r, which
// may be nil if the algorithm is deterministic. It returns an error of code bad_input, and changes
// nothing, if the number of arms is wrong or no arm is left.
func (d *Delayed) Choose(r Rand, allowed []bool) (Choice, error) {
	v, err := d.view(allowed)
	if err != nil {
		return Choice{}, err
	}
	c := &d.drawn
	d.player.choose(c, v, r)
	if o, ok := d.player.(*outside); ok {
		if err := o.check(c, v); err != nil {
			return Choice{}, err
		}
	}
	choice := Choice{ID: d.s.Next, Arm: c.Arm, Propensity: c.Propensity}
	if math.IsNaN(c.Propensity) {
		c.Propensity = 0 // Thompson sampling does not learn from it
		if d.options.Propensities {
			d.distribution(v)
			choice.Propensity, choice.Error = d.p[c.Arm], d.bound
		}
	}
	p := d.place()
	if p.ID != 0 {
		d.lose(p)
	}
	*p = pending{d.s.Next, drawn{
		c.Arm, c.Propensity, append(p.Of.Base[:0], c.Base...), append(p.Of.Allowed[:0], c.Allowed...),
	}}
	d.s.Next++
	d.s.Chosen[c.Arm]++
	d.total++
	return choice, nil
}

// place returns the place of the next choice. The ring grows until no pending choice is there, or
// until it has the length of the window: then a choice may be there, which expires.
func (d *Delayed) place() *pending {
	if len(d.ring) == 0 {
		d.ring = make([]pending, min(64, d.options.Window))
	}
	for {
		n := uint64(len(d.ring))
		p := &d.ring[d.s.Next%n]
		if p.ID == 0 || n == uint64(d.options.Window) {
			return p
		}
		ring := make([]pending, min(2*n, uint64(d.options.Window)))
		for _, q := range d.ring {
			if q.ID != 0 {
				ring[q.ID%uint64(len(ring))] = q
			}
		}
		d.ring = ring
	}
}

// find returns the pending choice of an id.
func (d *Delayed) find(id uint64) (*pending, error) {
	switch {
	case id == 0 || id >= d.s.Next:
		return nil, noregret.BadInputf("choice", "%d was never made: the last one is %d", id, d.s.Next-1)
	case d.s.Next-id > uint64(d.options.Window):
		return nil, noregret.BadInputf("choice", "%d has expired: %d later ones were made, the window is %d", id,
			d.s.Next-1-id, d.options.Window)
	}
	p := &d.ring[id%uint64(len(d.ring))]
	if p.ID != id {
		return nil, noregret.BadInputf("choice", "%d has already been learned or forgotten", id)
	}
	return p, nil
}

// Learn brings the loss of a choice. It returns an error of code bad_input, and changes nothing, if
// the choice was never made, has expired, or has been learned or forgotten, or if the loss is
// outside the range of the algorithm. The loss of an arm that has been retired since is learned
// too.
func (d *Delayed) Learn(id uint64, loss float64) error {
	p, err := d.find(id)
	if err != nil {
		return err
	}
	if err := d.player.learn(&p.Of, loss); err != nil {
		return err
	}
	p.ID = 0
	d.s.Learned++
	d.s.Mean += (loss - d.s.Mean) / float64(d.s.Learned)
	d.cache.filled = false
	return nil
}

// Forget says that the loss of a choice will not come. It returns an error of code bad_input, and
// changes nothing, if the choice is not pending.
func (d *Delayed) Forget(id uint64) error {
	p, err := d.find(id)
	if err != nil {
		return err
	}
	d.lose(p)
	return nil
}

// lose ends a choice whose loss is lost.
func (d *Delayed) lose(p *pending) {
	mean := math.NaN()
	if d.s.Learned > 0 {
		mean = d.s.Mean
	}
	p.ID = 0
	d.s.Lost++
	if d.player.lose(&p.Of, mean) {
		d.s.Replaced++
		d.cache.filled = false
	}
}

// Lost is the number of choices whose loss did not come: those forgotten and those that expired.
func (d *Delayed) Lost() uint64 { return d.s.Lost }

// Replaced is the number of lost losses in whose place the player learned the mean loss of the
// choices before: all of them for players on estimates, none for the others.
func (d *Delayed) Replaced() uint64 { return d.s.Replaced }

// AddArm adds an arm and returns its index. It returns an error of code bad_input that says why if
// the algorithm cannot: UCB, KL-UCB, elimination and Thompson sampling can.
func (d *Delayed) AddArm() (int, error) {
	if d.Arms() == maxArms {
		return 0, noregret.BadInputf("arms", "%d already: no more are possible", maxArms)
	}
	if err := d.player.add(); err != nil {
		return 0, err
	}
	d.s.Chosen, d.s.Retired, d.p = append(d.s.Chosen, 0), append(d.s.Retired, false), append(d.p, 0)
	d.cache.filled = false
	return d.Arms() - 1, nil
}

// RetireArm removes arm k for good: it keeps its index and its losses and is not drawn again. A
// bound for the player then holds against the arms that are left, from that round on. It returns an
// error of code bad_input if the arm does not exist, is already retired or is the last one.
func (d *Delayed) RetireArm(k int) error {
	switch {
	case k < 0 || k >= d.Arms():
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, d.Arms()-1)
	case d.s.Retired[k]:
		return noregret.BadInputf("arm", "%d is already retired", k)
	case d.retired == d.Arms()-1:
		return noregret.BadInputf("arm", "%d is the last active one: at least one must stay", k)
	}
	d.s.Retired[k] = true
	d.retired++
	return nil
}
