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

// DecideAmong returns the arm of a unit if only some arms are allowed. It is [Policy.Decide]'s arm
// if that is allowed. Otherwise the arm is drawn again, from the shares of the allowed arms: with
// w_k their shares in 2^-64ths, S their sum and c = draw("among/V") for the version V, it is the
// first allowed arm whose cumulative share exceeds the high 64 bits of c·S. If all allowed arms
// have the share 0, it is the control arm, or without one, any allowed arm with equal
// probabilities. A unit held back whose control arm is not allowed is drawn again too.
//
// Allowed has an element for each arm. If none is true, DecideAmong returns an error of code
// bad_input. O(arms).
func (p *Policy) DecideAmong(unit string, allowed []bool) (Choice, error) {
	count := 0
	for k, ok := range allowed {
		if ok && k < len(p.Arms) {
			count++
		}
	}
	if count == 0 || len(allowed) != len(p.Arms) {
		return Choice{}, noregret.BadInputf("allowed", "%d of %d arms: at least one is required", count, len(p.Arms))
	}
	c := Choice{Assignment: p.Decide(unit)}
	sum, excluded := p.allowedShare(allowed)
	if allowed[c.Arm] {
		if excluded && !c.HeldBack {
			c.Propensity = float64(p.split().share[c.Arm]) / float64(sum)
		}
		return c, nil
	}
	c.Redrawn = true
	coin := draw(c.Unit, Hash("among/"+strconv.FormatUint(p.Version, 10), p.Salt, ""))
	c.Arm, c.Propensity = p.among(allowed, count, sum, coin)
	c.Name, c.Value = p.Arms[c.Arm].Name, p.Arms[c.Arm].Value
	return c, nil
}

// allowedShare returns the sum of the shares of the allowed arms in 2^-64ths, which is below 2^64
// if other arms have a share too; excluded reports whether they do.
func (p *Policy) allowedShare(allowed []bool) (sum uint64, excluded bool) {
	for k, share := range p.split().share {
		if allowed[k] {
			sum += share
		} else if share > 0 {
			excluded = true
		}
	}
	return sum, excluded
}

// among draws an allowed arm by a coin.
func (p *Policy) among(allowed []bool, count int, sum, coin uint64) (arm int, propensity float64) {
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
			share = p.split().share[k]
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
// not held back, 0 for arms that are not allowed.
func (p *Policy) Among(allowed []bool) []float64 {
	out := make([]float64, len(p.Arms))
	sum, excluded := p.allowedShare(allowed)
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
			out[k] = p.split().Propensity(k)
		case sum > 0:
			out[k] = float64(p.split().share[k]) / float64(sum)
		case p.Control < 0 || !allowed[p.Control]:
			out[k] = 1 / float64(count)
		case k == p.Control:
			out[k] = 1
		}
	}
	return out
}
