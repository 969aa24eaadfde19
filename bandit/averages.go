package bandit

import (
	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/snapshot"
)

// averages is what the algorithms on the arms' mean losses share.
type averages struct {
	policy  policy
	text    string
	lowest  float64 // the losses are in [lowest, highest]
	highest float64
	s       averagesState
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
	// choose returns the arm of round t.
	choose(t int, r Rand) int
}

// maxLoss is the largest size of a loss without a declared range, so that no sum overflows.
const maxLoss = 1e100

func (a *averages) setUp(p policy, arms int, lowest, highest float64, text string) {
	*a = averages{policy: p, text: text, lowest: lowest, highest: highest, p: make([]float64, arms)}
	a.s = averagesState{
		Pending: none, Committed: none, Pulls: make([]int, arms), Means: make([]float64, arms),
	}
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
		a.s.Pending = a.policy.choose(a.s.Rounds+1, r)
	}
	return a.s.Pending
}

// Update ends the round, see [Player].
func (a *averages) Update(arm int, loss float64) error {
	if err := checkTurn(arm, a.s.Pending); err != nil {
		return err
	}
	g, err := checkLoss(loss, a.lowest, a.highest, arm, a.s.Rounds+1)
	if err != nil {
		return err
	}
	s := &a.s
	s.Pulls[arm]++
	s.Means[arm] += (g - s.Means[arm]) / float64(s.Pulls[arm])
	s.Rounds++
	s.Pending = none
	return nil
}

// certain is the distribution of a choice without randomness.
func (a *averages) certain() []float64 {
	arm := a.s.Pending
	if arm == none {
		arm = a.policy.choose(a.s.Rounds+1, nil)
	}
	clear(a.p)
	a.p[arm] = 1
	return a.p
}

// String describes the player and its options in one line.
func (a *averages) String() string { return a.text }

// MarshalBinary returns a snapshot, see [Player].
func (a *averages) MarshalBinary() ([]byte, error) { return snapshot.Seal(playerMagic, a.text, &a.s) }

// UnmarshalBinary restores a snapshot. It returns an error of code bad_input, and changes nothing,
// if the snapshot is damaged or was taken from a player with other options.
func (a *averages) UnmarshalBinary(data []byte) error {
	var s averagesState
	if err := snapshot.Open(data, playerMagic, a.text, &s); err != nil {
		return err
	}
	d, total := len(a.p), 0
	ok := len(s.Pulls) == d && len(s.Means) == d && finite(s.Means) && s.Pending >= none && s.Pending < d &&
		s.Committed >= none && s.Committed < d
	for _, n := range s.Pulls {
		ok = ok && n >= 0 && n <= s.Rounds-total
		total += n
	}
	if !ok || total != s.Rounds {
		return snapshot.Bad("damaged: the parts do not fit %d arms", d)
	}
	a.s = s
	return nil
}

// lowestArm returns the arm of the lowest mean, the first of several.
func (a *averages) lowestArm() int {
	arm := 0
	for k, m := range a.s.Means {
		if m < a.s.Means[arm] {
			arm = k
		}
	}
	return arm
}

// fresh returns the first arm without a loss, none if all have one.
func (a *averages) fresh() int {
	if a.s.Rounds < len(a.p) {
		for k, n := range a.s.Pulls {
			if n == 0 {
				return k
			}
		}
	}
	return none
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
