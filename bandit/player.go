package bandit

import (
	"encoding"
	"fmt"
	"math"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// Rand is a source of uniform numbers on [0, 1), such as the generators of math/rand/v2.
type Rand = interface{ Float64() float64 }

// Algorithm is a bandit algorithm on losses, played in rounds. [Player] is one, with a rule of this
// package; drift.Player is another. A round has two steps: Draw chooses an arm, Update takes the
// loss of that arm. A reward r in [0, L] is the loss L − r.
type Algorithm interface {
	// Arms is the number of arms, d.
	Arms() int
	// Draw chooses the arm of the round. It takes its randomness from r, which may be nil if the
	// algorithm is deterministic. A second call in a round returns the same arm and takes nothing
	// from r.
	Draw(r Rand) int
	// Update ends the round with the loss of the arm drawn. It returns an error of code bad_input,
	// and changes nothing, if no arm has been drawn, another one has, or the loss is outside the
	// range of the algorithm. An excess of 1e-12 of the range is cut off.
	Update(arm int, loss float64) error
	// A snapshot restores into an algorithm with the same options, which then continues bit for
	// bit.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Rule is an algorithm without its state: a value that holds the options. It computes indices, a
// posterior or a distribution from the statistics of the arms; a [Player] keeps them. The rules are
// [AlphaUCB], [MOSS], [KLUCB], [Elimination], [ExploreThenCommit], [BernoulliThompson],
// [GaussianThompson], [Exp3], [AnytimeExp3], [Exp3IX], [ExploringWeights], [INF] and [TsallisINF].
type Rule interface {
	// plan returns how the rule plays so many arms. It returns an error of code bad_input for an
	// option out of range.
	plan(arms int) (*plan, error)
}

// plan is what a player needs to know of its rule.
type plan struct {
	name, options string  // for String
	low, high     float64 // the losses are in [low, high]
	binary        bool    // the losses are low or high
	fixed         string  // why the rule cannot take another arm, empty if it can
	// replaces is whether a loss that does not come is replaced by the mean: rules on estimates
	// would take it for 0.
	replaces bool
	method   method
}

// method draws by a rule. The statistics belong to the player and are handed in; a method keeps
// what it has computed from them, so that a round need not compute it again.
type method interface {
	// renew computes everything from the state: at the start, for a new arm, after a restore. It
	// makes the fields of the state that the method needs for arms that have none.
	renew(s *state)
	// choose draws an arm and writes to c what learn needs to know of the draw. Propensity is NaN
	// if it takes distribution to compute it.
	choose(s *state, c *drawn, v *view, r Rand)
	// distribution writes the distribution of choose to p and returns a bound on its error.
	distribution(s *state, p []float64, v *view) (bound float64)
	// learn takes note of a loss that the state has counted. A Propensity of 0 is that of a draw in
	// the current round.
	learn(s *state, c *drawn, loss float64)
	// valid reports whether a state that was read fits the method.
	valid(s *state) bool
}

// Player plays a [Rule] in rounds, one pull a round: Draw chooses the arm, Update takes its loss.
// [Delayed] plays it where losses come late. Make one with [NewPlayer]. Not safe for concurrent
// use.
type Player struct {
	rule Rule
	plan *plan
	s    state
	now  drawn     // for Draw and Update
	p    []float64 // for Probabilities
}

// NewPlayer returns the player of a rule on arms 0 to arms − 1, from 1 to 2^24 of them. It returns
// an error of code bad_input if the number is out of range or an option of the rule is.
func NewPlayer(arms int, rule Rule) (*Player, error) {
	if arms < 1 || arms > maxArms {
		return nil, noregret.BadInputf("arms", "%d: want 1 to %d", arms, maxArms)
	}
	if rule == nil {
		return nil, noregret.BadInputf("rule", "nil: want a rule, such as bandit.KLUCB{Limit: 1}")
	}
	plan, err := rule.plan(arms)
	if err != nil {
		return nil, err
	}
	p := &Player{rule: rule, plan: plan, p: make([]float64, arms)}
	p.s = state{Pending: none, Committed: none, Pulls: make([]int, arms), Means: make([]float64, arms), unseen: arms}
	plan.method.renew(&p.s)
	return p, nil
}

// Rule is the rule of the player.
func (p *Player) Rule() Rule { return p.rule }

// Arms is the number of arms.
func (p *Player) Arms() int { return len(p.s.Pulls) }

// Rounds is the number of finished rounds.
func (p *Player) Rounds() int { return p.s.Rounds }

// Pulls is the number of losses of arm k.
func (p *Player) Pulls(k int) int { return p.s.Pulls[k] }

// Mean is the mean loss of arm k, 0 before the first.
func (p *Player) Mean(k int) float64 { return p.s.Means[k] }

// Estimates are the sums of the estimated losses, G̃, of rules that have them; nil for the others.
// The caller must not change the slice.
func (p *Player) Estimates() []float64 {
	if _, ok := p.plan.method.(*weights); ok {
		return p.s.Sums
	}
	return nil
}

// Index is the lower confidence bound of the loss of arm k in the current round, −∞ before its
// first loss. It is NaN for a rule without indices.
func (p *Player) Index(k int) float64 {
	x, ok := p.plan.method.(*indices)
	switch {
	case !ok:
		return math.NaN()
	case p.s.Pulls[k] == 0:
		return math.Inf(-1)
	}
	i := indexer{x.rule, &p.s}
	return i.index(k, i.bonus(p.s.Rounds+1), math.Inf(1))
}

// Posterior returns the mean and the standard deviation of the posterior of the mean loss of arm k,
// for Thompson sampling; NaN for other rules. The deviation is +Inf for the flat prior of
// [GaussianThompson] before the first loss.
func (p *Player) Posterior(k int) (mean, deviation float64) {
	if t, ok := p.plan.method.(*thompson); ok {
		return t.family.posterior(&p.s, k)
	}
	return math.NaN(), math.NaN()
}

// Probabilities is the distribution that Draw draws the arm of the round from: the propensities to
// log. Those of Thompson sampling take a quadrature, see [Delayed.Distribution]. The slice is valid
// until the next call, and the caller must not change it.
func (p *Player) Probabilities() []float64 {
	p.plan.method.distribution(&p.s, p.p, lockstep)
	return p.p
}

// Draw chooses the arm of the round, see [Algorithm].
func (p *Player) Draw(r Rand) int {
	if p.s.Pending == none {
		p.plan.method.choose(&p.s, &p.now, lockstep, r)
		p.s.Pending = p.now.Arm
	}
	return p.s.Pending
}

// Update ends the round, see [Algorithm].
func (p *Player) Update(arm int, loss float64) error {
	switch pending := p.s.Pending; {
	case pending == none:
		return noregret.BadInputf("arm", "%d has a loss, but no arm has been drawn in this round", arm)
	case arm != pending:
		return noregret.BadInputf("arm", "%d has a loss, but arm %d was drawn", arm, pending)
	}
	p.now = drawn{Arm: arm}
	return p.learn(&p.now, loss)
}

// pending is the arm of a round that Draw has begun, none outside of a round.
func (p *Player) pending() int { return p.s.Pending }

// learn ends a round with the loss of a draw.
func (p *Player) learn(c *drawn, loss float64) error {
	plan, slack := p.plan, float64(1e-12*p.plan.high)
	bad := func(want string, args ...any) error {
		return noregret.BadInputf("loss", "%v of arm %d in round %d: want %s", loss, c.Arm, p.s.Rounds+1,
			fmt.Sprintf(want, args...))
	}
	switch {
	case plan.binary && loss != plan.low && loss != plan.high:
		return bad("%v or %v", plan.low, plan.high)
	case !(loss >= plan.low-slack && loss <= plan.high+slack):
		return bad("a number from %v to %v", plan.low, plan.high)
	}
	loss = min(max(loss, plan.low), plan.high)
	p.s.count(c.Arm, loss)
	plan.method.learn(&p.s, c, loss)
	return nil
}

// lose ends a round whose loss is lost, given the mean loss of the rounds learned, NaN if there is
// none. Rules on estimates learn the mean, or the middle of the range before the first loss: else
// the arm would seem to have lost nothing. It reports whether the player has learned from it.
func (p *Player) lose(c *drawn, mean float64) bool {
	if !p.plan.replaces {
		return false
	}
	if math.IsNaN(mean) {
		mean = p.plan.low + float64(0.5*(p.plan.high-p.plan.low))
	}
	return p.learn(c, mean) == nil
}

func (p *Player) choose(c *drawn, v *view, r Rand) { p.plan.method.choose(&p.s, c, v, r) }

func (p *Player) distribution(dst []float64, v *view) float64 {
	return p.plan.method.distribution(&p.s, dst, v)
}

// add adds an arm, or returns why the rule cannot.
func (p *Player) add() error {
	if p.plan.fixed != "" {
		return noregret.BadInputf("arm", "%s", p.plan.fixed)
	}
	plan, err := p.rule.plan(p.Arms() + 1)
	if err != nil {
		return err
	}
	p.plan = plan
	p.s.Pulls, p.s.Means, p.p = append(p.s.Pulls, 0), append(p.s.Means, 0), append(p.p, 0)
	p.s.unseen++
	plan.method.renew(&p.s)
	return nil
}

// renewed returns a new player of the rule on so many arms, nil if the rule cannot add arms.
func (p *Player) renewed(arms int) core {
	if p.plan.fixed != "" {
		return nil
	}
	q, err := NewPlayer(arms, p.rule)
	if err != nil {
		return nil
	}
	return q
}

// String describes the player and its options in one line.
func (p *Player) String() string {
	return fmt.Sprintf("%s(arms=%d%s)", p.plan.name, p.Arms(), p.plan.options)
}

const playerMagic = "noregret-bandit-player-2\n"

// MarshalBinary returns a snapshot, see [Algorithm].
func (p *Player) MarshalBinary() ([]byte, error) { return snapshot.Seal(playerMagic, p.String(), &p.s) }

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from a player with other options.
func (p *Player) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, playerMagic, p.String(), &s); err != nil {
		return err
	}
	if !s.settle(p.Arms()) || !p.plan.method.valid(&s) {
		p.plan.method.renew(&p.s) // valid may have computed something
		return snapshot.Bad("damaged: the parts do not fit %d arms", p.Arms())
	}
	p.s = s
	p.plan.method.renew(&p.s)
	return nil
}

// maxArms limits the memory that a constructor may take.
const maxArms = 1 << 24

// maxLoss is the largest size of a loss without a declared range, so that no sum overflows.
const maxLoss = 1e100

// checkPositive returns an error unless value is in [1e-100, 1e100].
func checkPositive(place string, value float64) error {
	if !(value >= 1e-100 && value <= 1e100) {
		return noregret.BadInputf(place, "%v: want a number from 1e-100 to 1e100", value)
	}
	return nil
}

// one writes the distribution that draws an arm with certainty.
func one(p []float64, arm int) float64 {
	clear(p)
	p[arm] = 1
	return 0
}

// finite reports whether all numbers are finite.
func finite(x []float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// square is x² without a fused operation.
func square(x float64) float64 { return float64(x * x) }
