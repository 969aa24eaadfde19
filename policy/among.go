package policy

import (
	"math/bits"
	"strconv"

	"github.com/noregret/noregret"
)

// Choice is a decision among some of the arms.
type Choice struct {
	// Assignment has the arm, which is one of those allowed. The propensity is the probability of
	// the arm given what is allowed: its share divided by the sum of the allowed arms' shares.
	Assignment
	// Redrawn reports that the unit's arm is not allowed, so that the choice was drawn again.
	// Statistics of the policy must leave such units out: the others are then as if nothing had
	// been excluded, except that an arm has no units where it is not allowed.
	Redrawn bool
}

// DecideAmong returns the arm of a unit if only some arms are allowed, in a context given by the
// vector x as in [Policy.DecideIn]; x is nil for a policy without Linear. It is DecideIn's arm if
// that is allowed. Otherwise the arm is drawn again, from the shares of the allowed arms: with
// w_k their shares in 2^-64ths, S their sum and c = draw("among/V") for the version V, it is the
// first allowed arm whose cumulative share exceeds the high 64 bits of c·S. If all allowed arms
// have the share 0, it is the control arm, or without one, any allowed arm with equal
// probabilities. A unit held back whose control arm is not allowed is drawn again too.
//
// Allowed has an element for each arm. If none is true, or x does not fit the policy, DecideAmong
// returns an error of code bad_input. It costs as much as DecideIn, and O(arms).
func (p *Policy) DecideAmong(unit string, x []float64, allowed []bool) (Choice, error) {
	count := 0
	for k, ok := range allowed {
		if ok && k < len(p.Arms) {
			count++
		}
	}
	if count == 0 || len(allowed) != len(p.Arms) {
		return Choice{}, noregret.BadInputf("allowed", "%d of %d arms: at least one is required", count, len(p.Arms))
	}
	split, err := p.splitIn(x)
	if err != nil {
		return Choice{}, err
	}
	c := Choice{Assignment: p.DecideIn(unit, x)}
	sum, excluded := split.allowed(allowed)
	if allowed[c.Arm] {
		if excluded && !c.HeldBack {
			c.Propensity = float64(split.share[c.Arm]) / float64(sum)
		}
		return c, nil
	}
	c.Redrawn = true
	coin := draw(c.Unit, Hash("among/"+strconv.FormatUint(p.Version, 10), p.Salt, ""))
	c.Arm, c.Propensity = p.among(split, allowed, count, sum, coin)
	c.Name, c.Value = p.Arms[c.Arm].Name, p.Arms[c.Arm].Value
	return c, nil
}

// splitIn returns the split in force in a context.
func (p *Policy) splitIn(x []float64) (*Split, error) {
	if p.Linear == nil {
		return p.split(), nil
	}
	shares, err := p.Linear.Distribution(nil, x)
	if err != nil {
		return nil, err
	}
	return NewSplit(shares)
}

// allowed returns the sum of the shares of the allowed arms in 2^-64ths, which is below 2^64 if
// other arms have a share too; excluded reports whether they do.
func (s *Split) allowed(allowed []bool) (sum uint64, excluded bool) {
	for k, share := range s.share {
		if allowed[k] {
			sum += share
		} else if share > 0 {
			excluded = true
		}
	}
	return sum, excluded
}

// among draws an allowed arm by a coin.
func (p *Policy) among(split *Split, allowed []bool, count int, sum, coin uint64) (arm int, propensity float64) {
	if sum == 0 && p.Control >= 0 && allowed[p.Control] {
		return p.Control, 1
	}
	total := sum
	if sum == 0 {
		total = uint64(count)
	}
	at, _ := bits.Mul64(coin, total)
	for k, ok := range allowed {
		if !ok {
			continue
		}
		share := uint64(1)
		if sum > 0 {
			share = split.share[k]
		}
		if share > 0 {
			arm, propensity = k, float64(share)/float64(total)
		}
		if at < share {
			break
		}
		at -= share
	}
	return arm, propensity
}

// Among returns the probability with which [Policy.DecideAmong] chooses each arm for a unit that is
// not held back, 0 for arms that are not allowed. The error is that of DecideAmong.
func (p *Policy) Among(x []float64, allowed []bool) ([]float64, error) {
	split, err := p.splitIn(x)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(p.Arms))
	sum, excluded := split.allowed(allowed)
	count := 0
	for _, ok := range allowed {
		if ok {
			count++
		}
	}
	for k, ok := range allowed {
		switch {
		case !ok:
		case !excluded:
			out[k] = split.Propensity(k)
		case sum > 0:
			out[k] = float64(split.share[k]) / float64(sum)
		case p.Control < 0 || !allowed[p.Control]:
			out[k] = 1 / float64(count)
		case k == p.Control:
			out[k] = 1
		}
	}
	return out, nil
}
