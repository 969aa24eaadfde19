package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/noregret/noregret"
)

// DecideIn returns the arm of a unit in a context, given by the vector x of the encoder of
// p.Linear. A unit that is held back gets the control arm. Any other gets the arm of draw(Stream)
// in the distribution [Linear.Distribution] of x, divided as [NewSplit] divides it; Propensity is
// the arm's exact probability over units given x. A unit draws the same number in each version and
// context of a stream, so that it changes its arm only as far as its distribution changes.
//
// A policy without Linear decides by [Policy.Decide]. DecideIn panics if x is not a vector of the
// encoder: take x from [Encoder.Encode]. It allocates nothing.
func (p *Policy) DecideIn(unit string, x []float64) Assignment {
	return p.DecideHashIn(p.Unit(unit), x)
}

// DecideHashIn is [Policy.DecideIn] for the unit with the given hash.
func (p *Policy) DecideHashIn(unit uint64, x []float64) Assignment {
	if p.Linear == nil {
		return p.DecideHash(unit)
	}
	d := Assignment{Version: p.Version, Unit: unit}
	if p.HeldBack(unit) {
		d.Arm, d.Propensity, d.HeldBack = p.Control, 1, true
	} else {
		s := scratches.Get().(*scratch)
		s.grow(len(p.Arms), 0)
		shares, err := p.Linear.Distribution(s.p, x)
		if err != nil {
			panic("policy.DecideIn: " + err.Error())
		}
		d.Arm, d.Propensity = pick(shares, draw(unit, p.armKey))
		scratches.Put(s)
	}
	d.Name, d.Value = p.Arms[d.Arm].Name, p.Arms[d.Arm].Value
	return d
}

// pick returns the arm of a hash in the split that [NewSplit] makes of the shares, and its
// propensity.
func pick(shares []float64, hash uint64) (arm int, propensity float64) {
	last := -1
	for k, p := range shares {
		if p > 0 {
			last = k
		}
	}
	var begin uint64
	for k, p := range shares[:last] {
		if p == 0 {
			continue
		}
		width := Fraction(p)
		// Leave at least one value for the last arm.
		if left := -begin; begin != 0 && width >= left {
			width = left - 1
		}
		if begin == 0 && width == math.MaxUint64 {
			width--
		}
		if hash-begin < width {
			return k, math.Ldexp(float64(width), -64)
		}
		begin += width
	}
	if begin == 0 {
		return last, 1
	}
	return last, math.Ldexp(float64(-begin), -64)
}

// ArmScore explains the probability of an arm in a context.
type ArmScore struct {
	Arm     string `json:"arm"`
	Retired bool   `json:"retired,omitempty"`
	// Score is the estimated reward, Width the standard error in units of the noise (0 for
	// squarecb), Probability the arm's.
	Score       float64 `json:"score"`
	Width       float64 `json:"width"`
	Probability float64 `json:"probability"`
	// Contributions are the parts of the score, largest first. They sum to it up to rounding.
	Contributions []Contribution `json:"contributions"`
}

// Contribution is a coordinate's part of a score.
type Contribution struct {
	Coordinate string `json:"coordinate"` // see [Encoder.Names]
	// X is the coordinate, Weight the arm's weight of it, Product their product.
	X       float64 `json:"x"`
	Weight  float64 `json:"weight"`
	Product float64 `json:"product"`
}

// ScoresIn returns the score, the width, the probability and the contributions of each arm given x.
// Coordinates that are 0 contribute nothing and are left out. It returns an error of code bad_input
// if the policy is not contextual or x is not a vector of its encoder.
func (p *Policy) ScoresIn(x []float64) ([]ArmScore, error) {
	l := p.Linear
	if l == nil {
		return nil, noregret.BadInputf("policy", "not contextual: its decisions have no scores")
	}
	shares, err := l.Distribution(nil, x)
	if err != nil {
		return nil, err
	}
	scores, widths := make([]float64, len(l.Arms)), make([]float64, len(l.Arms))
	l.score(scores, widths, make([]float64, len(x)), x)
	names := l.encoder.Names()
	out := make([]ArmScore, len(l.Arms))
	for k := range out {
		a := ArmScore{
			Arm: p.Arms[k].Name, Retired: l.Arms[k].Retired, Score: scores[k], Width: widths[k],
			Probability: shares[k], Contributions: []Contribution{},
		}
		for i, v := range x {
			if v != 0 && !a.Retired {
				w := l.Arms[k].Mean[i]
				product := float64(v*w) + 0 // not −0
				a.Contributions = append(a.Contributions, Contribution{names[i], v, w, product})
			}
		}
		slices.SortStableFunc(a.Contributions, func(a, b Contribution) int {
			return cmp.Compare(math.Abs(b.Product), math.Abs(a.Product))
		})
		out[k] = a
	}
	return out, nil
}
