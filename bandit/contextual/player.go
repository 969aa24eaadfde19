package contextual

import (
	"encoding"
	"fmt"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/bandit"
	"github.com/noregret/noregret/internal/memory"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/policy"
)

// Context is what is known in a round before the choice.
type Context struct {
	// X is the vector of the round, for a player with separate weights for each arm.
	X []float64
	// Rows holds a vector for each arm, for a player that shares its weights among the arms. The
	// row of an arm that is not allowed may be nil.
	Rows [][]float64
	// Allowed says which arms can be chosen in this round; nil allows all. Retired arms cannot be
	// chosen in any case.
	Allowed []bool
}

// Choice is the choice of a round.
type Choice struct {
	// ID identifies the choice: 1, 2, 3, ...
	ID  uint64
	Arm int
	// Propensity is the probability with which the arm was drawn, given the context.
	Propensity float64
}

// Player is a contextual bandit algorithm on rewards. Rewards may come late, in any order, or
// never: [Player.Update] takes them by the choice's ID. Players of this package are [LinUCB],
// [LinThompson] and [SquareCB].
type Player interface {
	// Arms is the number of arms, retired ones included.
	Arms() int
	// Distribution returns the exact probability of each arm in a context. It reuses dst if that
	// has room. It returns an error of code bad_input if the context does not fit the player or
	// allows no arm.
	Distribution(dst []float64, c Context) ([]float64, error)
	// Draw draws an arm from Distribution with one number of r, and remembers the choice and the
	// arm's vector until its reward comes or there is no more room for it.
	Draw(r bandit.Rand, c Context) (Choice, error)
	// Update learns the reward of a choice. It returns an error of code bad_input, and changes
	// nothing, if the reward is out of range, or the choice is unknown, has a reward already or was
	// forgotten.
	Update(id uint64, reward float64) error
	// Learn learns the reward of an arm that was chosen elsewhere, with a weight that is usually 1.
	Learn(c Context, arm int, reward, weight float64) error
}

// PlayerOptions are the parameters that all players have. The zero value is refused:
// [DefaultLinearOptions] and [DefaultSquareCBOptions] fill it in.
type PlayerOptions struct {
	// Arms is the number of arms, and Dim that of coordinates.
	Arms, Dim int
	// Shared is whether all arms share one vector of weights. Contexts then have Rows.
	Shared bool
	// Floor is the share that is spread evenly over the allowed arms, in [0, 1].
	Floor float64
	// Pending is the largest number of choices that wait for their rewards, from 1 to 1e7. A
	// further choice makes the player forget the oldest one. Memory is Pending·(Dim + 4) numbers.
	Pending int
}

// defaultPlayerOptions are separate weights, no floor and 10,000 choices that wait.
func defaultPlayerOptions(arms, dim int) PlayerOptions {
	return PlayerOptions{Arms: arms, Dim: dim, Pending: 10_000}
}

// estimator estimates the reward of a vector.
type estimator interface {
	// estimate returns the score, and the width or 0 for squarecb.
	estimate(x []float64) (score, width float64, err error)
	observe(x []float64, reward, weight float64) error
	// state returns the state to save, and restore reads it without changing the estimator if there
	// is an error.
	state() ([]byte, error)
	restore(data []byte) error
}

// core is what the players share.
type core struct {
	o       PlayerOptions
	text    string
	rule    func() policy.Rule
	fresh   func() (estimator, error) // makes the estimator of an arm
	models  []estimator               // one for each arm, or one in all
	retired []bool
	count   uint64 // observations
	wait    waiting
	// The memory of Distribution.
	scores, widths, shares []float64
	allowed                []bool
}

// maxArms is the largest number of arms of a player.
const maxArms = 1 << 20

const playerMagic = "noregret-contextual-player-2\n"

// setUp checks the options and makes the estimators.
func (p *core) setUp(o PlayerOptions, text string, rule func() policy.Rule, fresh func() (estimator, error)) error {
	switch {
	case o.Dim < 1 || o.Dim > policy.MaxDim:
		return noregret.BadInputf("dim", "%d: want 1 to %d", o.Dim, policy.MaxDim)
	case o.Pending < 1 || o.Pending > 1e7:
		return noregret.BadInputf("pending", "%d: want 1 to 10000000", o.Pending)
	case !(o.Floor >= 0 && o.Floor <= 1):
		return noregret.BadInputf("floor", "%v: want a share in [0, 1]", o.Floor)
	}
	if err := o.checkSize(o.Arms); err != nil {
		return err
	}
	*p = core{o: o, rule: rule, fresh: fresh, wait: waiting{limit: o.Pending}}
	p.text = fmt.Sprintf("%s(dim=%d, shared=%v, floor=%v, pending=%d)", text, o.Dim, o.Shared, o.Floor, o.Pending)
	for range o.Arms {
		if _, err := p.AddArm(); err != nil {
			return err
		}
	}
	return nil
}

// checkSize returns an error unless there is an arm and the memory for the models and for the
// choices that wait is not too large.
func (o *PlayerOptions) checkSize(arms int) error {
	if arms < 1 || arms > maxArms {
		return noregret.BadInputf("arms", "%d: want 1 to %d", arms, maxArms)
	}
	models := arms
	if o.Shared {
		models = 1
	}
	numbers := float64(float64(models)*float64(policy.Triangle(o.Dim))) + float64(float64(o.Pending)*float64(o.Dim+4))
	return memory.Check("arms", fmt.Sprintf("%d with %d coordinates", arms, o.Dim), numbers)
}

// Arms is the number of arms, retired ones included.
func (p *core) Arms() int { return len(p.retired) }

// Count is the number of rewards learned.
func (p *core) Count() uint64 { return p.count }

// Waiting is the number of choices that wait for their rewards.
func (p *core) Waiting() int { return p.wait.size() }

// AddArm adds an arm and returns its index. It returns an error of code bad_input if the arms take
// too much memory.
func (p *core) AddArm() (int, error) {
	if err := p.o.checkSize(len(p.retired) + 1); err != nil {
		return 0, err
	}
	if !p.o.Shared || len(p.models) == 0 {
		m, err := p.fresh()
		if err != nil {
			return 0, err
		}
		p.models = append(p.models, m)
	}
	p.retired = append(p.retired, false)
	p.setArms(len(p.retired))
	return len(p.retired) - 1, nil
}

// setArms makes the memory of Distribution.
func (p *core) setArms(n int) {
	p.scores, p.widths, p.shares = make([]float64, n), make([]float64, n), make([]float64, n)
	p.allowed = make([]bool, n)
}

// RetireArm removes arm k for good: it is not drawn any more, but its choices can still have
// rewards. It returns an error of code bad_input if the arm does not exist, is already retired or
// is the last active one.
func (p *core) RetireArm(k int) error {
	if err := p.checkArm(k); err != nil {
		return err
	}
	if p.retired[k] {
		return noregret.BadInputf("arm", "%d is already retired", k)
	}
	p.retired[k] = true
	if !slices.Contains(p.retired, false) {
		p.retired[k] = false
		return noregret.BadInputf("arm", "%d is the last active one: at least one must stay", k)
	}
	return nil
}

func (p *core) checkArm(k int) error {
	if k < 0 || k >= len(p.retired) {
		return noregret.BadInputf("arm", "%d is unknown: want one of 0 to %d", k, len(p.retired)-1)
	}
	return nil
}

// vector returns the vector of arm k and its estimator.
func (p *core) vector(c Context, k int) ([]float64, estimator, error) {
	if !p.o.Shared {
		return c.X, p.models[k], checkVector(c.X, p.o.Dim)
	}
	if len(c.Rows) != len(p.retired) {
		return nil, nil, noregret.BadInputf("rows", "%d vectors: want one for each of the %d arms", len(c.Rows),
			len(p.retired))
	}
	if err := checkVector(c.Rows[k], p.o.Dim); err != nil {
		return nil, nil, noregret.BadInputf("rows", "arm %d: %w", k, err)
	}
	return c.Rows[k], p.models[0], nil
}

// Distribution returns the exact probability of each arm, see [Player].
func (p *core) Distribution(dst []float64, c Context) ([]float64, error) {
	if c.Allowed != nil && len(c.Allowed) != len(p.retired) {
		return nil, noregret.BadInputf("allowed", "%d entries: want one for each of the %d arms", len(c.Allowed),
			len(p.retired))
	}
	for k := range p.retired {
		p.allowed[k] = !p.retired[k] && (c.Allowed == nil || c.Allowed[k])
		if !p.allowed[k] {
			continue
		}
		x, model, err := p.vector(c, k)
		if err != nil {
			return nil, err
		}
		if p.scores[k], p.widths[k], err = model.estimate(x); err != nil {
			return nil, err
		}
	}
	return p.rule().Shares(dst, p.scores, p.widths, p.allowed)
}

// Draw draws an arm, see [Player].
func (p *core) Draw(r bandit.Rand, c Context) (Choice, error) {
	shares, err := p.Distribution(p.shares, c)
	if err != nil {
		return Choice{}, err
	}
	arm := random.Index(shares, r.Float64())
	x, _, err := p.vector(c, arm)
	if err != nil {
		return Choice{}, err
	}
	return Choice{p.wait.add(arm, x), arm, shares[arm]}, nil
}

// Update learns the reward of a choice, see [Player].
func (p *core) Update(id uint64, reward float64) error {
	w, err := p.wait.find(id)
	if err != nil {
		return err
	}
	if err := p.learn(w.X, w.Arm, reward, 1); err != nil {
		return err
	}
	p.wait.remove(id)
	return nil
}

// Learn learns the reward of an arm that was chosen elsewhere, see [Player].
func (p *core) Learn(c Context, arm int, reward, weight float64) error {
	if err := p.checkArm(arm); err != nil {
		return err
	}
	x, _, err := p.vector(c, arm)
	if err != nil {
		return err
	}
	return p.learn(x, arm, reward, weight)
}

func (p *core) learn(x []float64, arm int, reward, weight float64) error {
	if err := checkObservation(reward, weight); err != nil {
		return err
	}
	k := arm
	if p.o.Shared {
		k = 0
	}
	if err := p.models[k].observe(x, reward, weight); err != nil {
		return err
	}
	p.count++
	return nil
}

// String describes the player and its options in one line.
func (p *core) String() string { return p.text }

// playerState is what a snapshot holds.
type playerState struct {
	Models  [][]byte
	Retired []bool
	Count   uint64
	Next    uint64
	Waiting []waitingChoice
}

// MarshalBinary returns a snapshot: it restores into a player with the same options, whatever its
// arms, which then continues bit for bit. It returns an error if a regressor cannot be saved.
func (p *core) MarshalBinary() ([]byte, error) {
	s := playerState{Retired: p.retired, Count: p.count, Next: p.wait.next, Waiting: p.wait.list()}
	for _, m := range p.models {
		data, err := m.state()
		if err != nil {
			return nil, err
		}
		s.Models = append(s.Models, data)
	}
	return snapshot.Seal(playerMagic, p.text, &s)
}

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from a player with other options.
func (p *core) UnmarshalBinary(data []byte) error {
	var s playerState
	if err := snapshot.Open(data, playerMagic, p.text, &s); err != nil {
		return err
	}
	want := len(s.Retired)
	if p.o.Shared {
		want = 1
	}
	if p.o.checkSize(len(s.Retired)) != nil || len(s.Models) != want || !slices.Contains(s.Retired, false) {
		return snapshot.Bad("damaged: %d models of %d arms", len(s.Models), len(s.Retired))
	}
	wait := waiting{limit: p.o.Pending}
	if !wait.fill(s.Next, s.Waiting, len(s.Retired), p.o.Dim) {
		return snapshot.Bad("damaged: the choices that wait do not fit")
	}
	var models []estimator
	for _, d := range s.Models {
		m, err := p.fresh()
		if err == nil {
			err = m.restore(d)
		}
		if err != nil {
			return err
		}
		models = append(models, m)
	}
	p.models, p.retired, p.count, p.wait = models, s.Retired, s.Count, wait
	p.setArms(len(s.Retired))
	return nil
}

// snapshotter is a regressor that can be saved.
type snapshotter interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}
