package bandit

import (
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/internal/stat"
)

// Rand is a source of uniform numbers on [0, 1), such as the generators of math/rand/v2.
type Rand = interface{ Float64() float64 }

// Reward is the result of a pull, or the mean of a group of pulls of one arm.
type Reward struct {
	// Arm is the index of an arm of positive propensity in the current round.
	Arm int
	// Value is the reward, of size at most 1e100.
	Value float64
	// Size is the number of pulls whose mean Value is, from 1e-9 to 1e15: 1 for a single pull.
	Size float64
}

// Bandit learns the best of K arms. Make one with [New].
//
// An arm's mean is the mean of its rewards, weighted by size. The variance of a pull is pooled over
// the arms: the sum of squared deviations over the number of rewards beyond each arm's first. All
// arms get equal shares until that number is ten. A round costs O(K + Q) for Q rewards, and
// O(K·ThompsonDraws) for [Thompson].
type Bandit struct {
	chooser *Chooser
	s       state
	scores  scores
}

type state struct {
	Rounds  int
	Count   []float64 // of rewards
	Size    []float64
	Mean    []float64
	Pool    float64 // Σ size·(reward − mean)²
	Freedom float64 // of Pool
	In      []bool  // in snapshots
	Active  []bool  // in snapshots
	Random  random.SplitMix64
}

// scores are the [Scores] of a bandit.
type scores struct {
	s     *state
	draws random.SplitMix64
}

func (s *scores) Count(k int) float64 { return s.s.Count[k] }

func (s *scores) Score(k int) float64 { return s.s.Mean[k] }

func (s *scores) StandardError(k int) float64 {
	return math.Sqrt(s.s.Pool / s.s.Freedom / s.s.Size[k])
}

func (s *scores) Sample(k int) float64 {
	return s.s.Mean[k] + float64(s.StandardError(k)*stat.Normal(&s.draws))
}

func (s *scores) Noise() bool { return s.s.Freedom >= minFreedom }

// minFreedom is the number of degrees of freedom from which the pooled variance is used: with
// fewer, intervals would often be too narrow.
const minFreedom = 10

// New returns a bandit on K ≥ 1 arms. It returns an error of code bad_input if the rule is unknown
// or there is no arm.
func New(arms int, rule Rule) (*Bandit, error) {
	c, err := NewChooser(arms, rule)
	if err != nil {
		return nil, err
	}
	b := &Bandit{chooser: c}
	b.s = state{Count: make([]float64, arms), Size: make([]float64, arms), Mean: make([]float64, arms)}
	b.scores.s = &b.s
	b.update()
	return b, nil
}

func (b *Bandit) update() {
	b.scores.draws = b.s.Random
	b.chooser.Update(b.s.Rounds+1, &b.scores)
}

// Arms is K, retired arms included.
func (b *Bandit) Arms() int { return b.chooser.Arms() }

// Rounds is the number of finished rounds.
func (b *Bandit) Rounds() int { return b.s.Rounds }

// Serving returns the distribution to draw the pulls of the current round from: the propensities to
// log. The caller must not change it.
func (b *Bandit) Serving() []float64 { return b.chooser.Serving() }

// Draw draws an arm from Serving.
func (b *Bandit) Draw(r Rand) int {
	x, last := r.Float64(), 0
	for k, p := range b.Serving() {
		if p == 0 {
			continue
		}
		if last = k; x < p {
			return k
		}
		x -= p
	}
	return last
}

// Best returns the arm with the largest mean among those not eliminated, −1 before the first
// reward.
func (b *Bandit) Best() int {
	if !slices.Contains(b.chooser.best, 1) {
		return -1
	}
	return slices.Index(b.chooser.best, 1)
}

// Estimate returns the mean of arm k and its standard error: 0 and +Inf before its first reward.
// The standard error is +Inf while no arm has two rewards.
func (b *Bandit) Estimate(k int) (mean, standardError float64) {
	if b.s.Count[k] == 0 || b.s.Freedom == 0 {
		return b.s.Mean[k], math.Inf(1)
	}
	return b.s.Mean[k], b.scores.StandardError(k)
}

// Observe ends the round. It returns an error of code bad_input, and changes nothing, if there is
// no reward, or a reward breaks the rules of [Reward].
func (b *Bandit) Observe(rewards []Reward) error {
	if len(rewards) == 0 {
		return noregret.BadInputf("rewards", "none: at least one is required")
	}
	for i := range rewards {
		if err := b.check(i, &rewards[i]); err != nil {
			return err
		}
	}
	s := &b.s
	for _, r := range rewards {
		w := r.Size
		if s.Count[r.Arm] > 0 {
			s.Freedom++
		}
		s.Count[r.Arm]++
		s.Size[r.Arm] += w
		d := r.Value - s.Mean[r.Arm]
		s.Mean[r.Arm] += float64(w / s.Size[r.Arm] * d)
		s.Pool += float64(w * float64(d*(r.Value-s.Mean[r.Arm])))
		s.Random = random.SplitMix64(random.Mix(uint64(s.Random) ^ math.Float64bits(r.Value)))
	}
	s.Rounds++
	b.update()
	return nil
}

// check returns an error if reward i of the current round breaks a rule.
func (b *Bandit) check(i int, r *Reward) error {
	bad := func(format string, args ...any) error {
		return noregret.BadInputf(fmt.Sprintf("rewards[%d]", i), format, args...)
	}
	switch {
	case r.Arm < 0 || r.Arm >= b.Arms():
		return bad("arm %d is unknown: want one of 0 to %d", r.Arm, b.Arms()-1)
	case !(b.Serving()[r.Arm] > 0):
		return bad("arm %d has propensity 0 in this round: the arm cannot have been drawn", r.Arm)
	case !(math.Abs(r.Value) <= 1e100):
		return bad("the value %v: want a finite number, of size at most 1e100", r.Value)
	case !(r.Size >= 1e-9 && r.Size <= 1e15):
		return bad("size %v: want a number from 1e-9 to 1e15", r.Size)
	}
	return nil
}

// AddArm adds an arm, which is served in the next round, and returns its index.
func (b *Bandit) AddArm() int {
	s := &b.s
	s.Count, s.Size, s.Mean = append(s.Count, 0), append(s.Size, 0), append(s.Mean, 0)
	b.chooser.Add()
	b.update()
	return b.Arms() - 1
}

// RetireArm removes arm k for good. It returns an error of code bad_input if the arm does not
// exist, is already retired or is the last active one.
func (b *Bandit) RetireArm(k int) error {
	if err := b.chooser.Retire(k); err != nil {
		return err
	}
	b.update()
	return nil
}

// String describes the bandit in one line.
func (b *Bandit) String() string { return fmt.Sprintf("bandit(%v)", b.chooser.rule) }

const snapshotMagic = "noregret-bandit-2\n"

// MarshalBinary returns a snapshot: a bandit of the same rule that restores it continues bit for
// bit.
func (b *Bandit) MarshalBinary() ([]byte, error) {
	s := b.s
	s.In, s.Active = b.chooser.State()
	return snapshot.Seal(snapshotMagic, b.String(), &s)
}

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or has another rule.
func (b *Bandit) UnmarshalBinary(data []byte) error {
	var s state
	if err := snapshot.Open(data, snapshotMagic, b.String(), &s); err != nil {
		return err
	}
	n := len(s.Count)
	ok := n > 0 && len(s.Size) == n && len(s.Mean) == n && len(s.In) == n && s.Rounds >= 0 && s.Pool >= 0 &&
		s.Freedom >= 0 && s.Pool-s.Pool == 0 && s.Freedom-s.Freedom == 0
	for k := range min(n, len(s.Size), len(s.Mean)) {
		ok = ok && s.Count[k] >= 0 && (s.Count[k] > 0) == (s.Size[k] > 0) && s.Mean[k]-s.Mean[k] == 0
	}
	if !ok {
		return snapshot.Bad("damaged: the parts do not fit %d arms", n)
	}
	c := &Chooser{rule: b.chooser.rule}
	if err := c.Restore(s.In, s.Active); err != nil {
		return snapshot.Bad("damaged: %w", err)
	}
	s.In, s.Active = nil, nil
	b.chooser, b.s = c, s
	b.update()
	return nil
}
