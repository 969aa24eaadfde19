package bandit

import (
	"fmt"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// averages is what the algorithms on the arms' mean losses share.
type averages struct {
	policy  policy
	name    string
	options string
	lowest  float64 // the losses are in [lowest, highest]
	highest float64
	s       averagesState
	unseen  int       // arms without a loss
	first   int       // the first of them, at the earliest
	p       []float64 // for Probabilities
}

type averagesState struct {
	Rounds    int
	Pending   int
	Committed int // the arm that [ExploreThenCommit] stays with, none before
	Pulls     []int
	Means     []float64
}

// policy is the part in which the algorithms differ.
type policy interface {
	// pick returns the arm of round t.
	pick(v *view, t int, r Rand) int
	// renew computes what the player keeps beside the state and depends on it; renewArm does so for
	// arm k after a loss.
	renew()
	renewArm(k int)
}

// maxLoss is the largest size of a loss without a declared range, so that no sum overflows.
const maxLoss = 1e100

func (a *averages) setUp(p policy, arms int, lowest, highest float64, name, options string) {
	*a = averages{policy: p, name: name, options: options, lowest: lowest, highest: highest, unseen: arms}
	a.p = make([]float64, arms)
	a.s = averagesState{
		Pending: none, Committed: none, Pulls: make([]int, arms), Means: make([]float64, arms),
	}
	p.renew()
}

// Arms is the number of arms.
func (a *averages) Arms() int { return len(a.p) }

// Rounds is the number of finished rounds.
func (a *averages) Rounds() int { return a.s.Rounds }

// Pulls is the number of losses of arm k.
func (a *averages) Pulls(k int) int { return a.s.Pulls[k] }

// Mean is the mean loss of arm k, 0 before the first.
func (a *averages) Mean(k int) float64 { return a.s.Means[k] }

// Draw chooses the arm of the round, see [Player].
func (a *averages) Draw(r Rand) int {
	if a.s.Pending == none {
		a.s.Pending = a.policy.pick(lockstep, a.s.Rounds+1, r)
	}
	return a.s.Pending
}

// Update ends the round, see [Player].
func (a *averages) Update(arm int, loss float64) error {
	if err := checkTurn(arm, a.s.Pending); err != nil {
		return err
	}
	return a.credit(arm, loss)
}

func (a *averages) pendingArm() int { return a.s.Pending }

// credit adds a loss of an arm and ends the round.
func (a *averages) credit(arm int, loss float64) error {
	g, err := checkLoss(loss, a.lowest, a.highest, arm, a.s.Rounds+1)
	if err != nil {
		return err
	}
	s := &a.s
	if s.Pulls[arm] == 0 {
		a.unseen--
	}
	s.Pulls[arm]++
	s.Means[arm] += (g - s.Means[arm]) / float64(s.Pulls[arm])
	s.Rounds++
	s.Pending = none
	a.policy.renewArm(arm)
	return nil
}

func (a *averages) renew()         {}
func (a *averages) renewArm(_ int) {}

func (a *averages) learn(c *drawn, loss float64) error { return a.credit(c.Arm, loss) }

// lose changes nothing: a mean is one of the losses that came.
func (a *averages) lose(*drawn, float64) bool { return false }

func (a *averages) choose(c *drawn, v *view, r Rand) {
	*c = drawn{Arm: a.policy.pick(v, a.s.Rounds+1, r), Propensity: 1}
}

// distribution is that of a choice without randomness.
func (a *averages) distribution(p []float64, v *view) float64 {
	clear(p)
	p[a.policy.pick(v, a.s.Rounds+1, nil)] = 1
	return 0
}

func (a *averages) add() error {
	a.s.Pulls, a.s.Means = append(a.s.Pulls, 0), append(a.s.Means, 0)
	a.p = append(a.p, 0)
	a.unseen++
	a.policy.renew()
	return nil
}

// certain is the distribution of a choice without randomness, in the current round.
func (a *averages) certain() []float64 {
	if a.s.Pending == none {
		a.distribution(a.p, lockstep)
		return a.p
	}
	clear(a.p)
	a.p[a.s.Pending] = 1
	return a.p
}

// String describes the player and its options in one line.
func (a *averages) String() string { return fmt.Sprintf("%s(arms=%d%s)", a.name, len(a.p), a.options) }

// MarshalBinary returns a snapshot, see [Player].
func (a *averages) MarshalBinary() ([]byte, error) {
	return snapshot.Seal(playerMagic, a.String(), &a.s)
}

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from a player with other options.
func (a *averages) UnmarshalBinary(data []byte) error {
	var s averagesState
	if err := snapshot.Open(data, playerMagic, a.String(), &s); err != nil {
		return err
	}
	d, total := len(a.p), 0
	unseen := 0
	ok := len(s.Pulls) == d && len(s.Means) == d && finite(s.Means) && s.Pending >= none && s.Pending < d &&
		s.Committed >= none && s.Committed < d
	for _, n := range s.Pulls {
		if n == 0 {
			unseen++
		}
		ok = ok && n >= 0 && n <= s.Rounds-total
		total += n
	}
	if !ok || total != s.Rounds {
		return snapshot.Bad("damaged: the parts do not fit %d arms", d)
	}
	a.s, a.unseen, a.first = s, unseen, 0
	a.policy.renew()
	return nil
}

// lowestArm returns the allowed arm of the lowest mean, the first of several, and the one with the
// fewest draws if none has a loss.
func (a *averages) lowestArm(v *view) int {
	arm := none
	for k, m := range a.s.Means {
		if a.s.Pulls[k] > 0 && v.allows(k) && (arm == none || m < a.s.Means[arm]) {
			arm = k
		}
	}
	if arm == none {
		return v.first(len(a.p), func(int) bool { return true })
	}
	return arm
}

// fresh returns the arm without a loss to draw next, none if one with a loss is to be drawn. An arm
// comes first until it has been drawn without a loss as often as the patience of the view allows.
func (a *averages) fresh(v *view) int {
	if a.unseen == 0 {
		return none
	}
	if v == lockstep {
		for a.s.Pulls[a.first] > 0 {
			a.first++
		}
		return a.first
	}
	arm := v.first(len(a.p), func(k int) bool { return a.s.Pulls[k] == 0 })
	if arm == none || v.draws(arm) < v.patience() {
		return arm
	}
	for k, n := range a.s.Pulls {
		if n > 0 && v.allows(k) {
			return none
		}
	}
	return arm
}

// checkNoise returns an error unless sigma is in [1e-100, 1e100].
func checkNoise(sigma float64) error {
	if !(sigma >= 1e-100 && sigma <= 1e100) {
		return noregret.BadInputf("sigma", "%v: want a number from 1e-100 to 1e100", sigma)
	}
	return nil
}

// gapSums returns Σ Δ_i and Σ 1/Δ_i over the positive gaps.
func gapSums(gaps []float64) (sum, inverse float64) {
	for _, g := range gaps {
		if g > 0 {
			sum += g
			inverse += 1 / g
		}
	}
	return sum, inverse
}

// square is x² without a fused operation.
func square(x float64) float64 { return float64(x * x) }
