package loss

import (
	"math"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
)

// Reward is a reward r(m) of the margin m = y·z. Implementations are values without
// state: they are safe for concurrent use and cost O(1) per call.
type Reward interface {
	// Name is the reward's name as [ParseReward] reads it.
	Name() string
	// Value is r(m) for a finite margin m.
	Value(m float64) float64
	// Derivative is a supergradient r'(m) ≥ 0.
	Derivative(m float64) float64
	// Concave reports whether the reward is concave in m, which every training
	// reward must be.
	Concave() bool
}

// Hinge is the reward r(m) = min(1, m), with r'(m) = 1 for m < 1 and 0 from the kink on. It is
// 1-Lipschitz and a lower bound of 1{m > 0}; it is unbounded below.
type Hinge struct{}

// Name implements [Reward].
func (Hinge) Name() string { return "hinge" }

// Value implements [Reward].
func (Hinge) Value(m float64) float64 { return min(1, m) }

// Derivative implements [Reward].
func (Hinge) Derivative(m float64) float64 {
	if m < 1 {
		return 1
	}
	return 0
}

// Concave implements [Reward].
func (Hinge) Concave() bool { return true }

// Logistic is the reward r(m) = 1 - log₂(1 + exp(-m)), with r'(m) = 1/(ln 2 · (1 + exp(m))). The
// base is 2 so that r(0) = 0, which makes it a lower bound of 1{m > 0}. It is (1/ln 2)-Lipschitz.
type Logistic struct{}

// Name implements [Reward].
func (Logistic) Name() string { return "logistic" }

// Value implements [Reward]. Below 0 the equal form 1 - (-m + log1p(exp(m)))/ln 2 is used, which
// cannot overflow. The bits are the same on every machine.
func (Logistic) Value(m float64) float64 {
	if m < 0 {
		return 1 - (-m+portable.Log1p(portable.Exp(m)))/math.Ln2
	}
	return 1 - portable.Log1p(portable.Exp(-m))/math.Ln2
}

// Derivative implements [Reward].
func (Logistic) Derivative(m float64) float64 {
	if m < 0 {
		return 1 / (math.Ln2 * (1 + portable.Exp(m)))
	}
	e := portable.Exp(-m)
	return e / (math.Ln2 * (1 + e))
}

// Concave implements [Reward].
func (Logistic) Concave() bool { return true }

// SmoothedHinge is the hinge reward with its kink replaced by a parabola of width H in (0, 1]:
// r = 1 for m ≥ 1, 1 - (1-m)²/(2H) for 1-H < m < 1, and m + H/2 below. It is (1/H)-smooth. It
// is not a lower bound of 1{m > 0}.
type SmoothedHinge struct {
	// H is the width of the smoothed part, in (0, 1].
	H float64
}

// NewSmoothedHinge returns a [SmoothedHinge] of width h. It fails unless 0 < h ≤ 1.
func NewSmoothedHinge(h float64) (SmoothedHinge, error) {
	if !(h > 0 && h <= 1) {
		return SmoothedHinge{}, noregret.Errorf(noregret.Usage, "",
			"width of the smoothed hinge is %v, want a number in (0, 1]", h)
	}
	return SmoothedHinge{H: h}, nil
}

// Name implements [Reward].
func (r SmoothedHinge) Name() string {
	return "smoothed-hinge:" + strconv.FormatFloat(r.H, 'g', -1, 64)
}

// Value implements [Reward].
func (r SmoothedHinge) Value(m float64) float64 {
	switch {
	case m >= 1:
		return 1
	case m > 1-r.H:
		return 1 - float64((1-m)*(1-m))/(2*r.H)
	default:
		return m + float64(r.H/2)
	}
}

// Derivative implements [Reward].
func (r SmoothedHinge) Derivative(m float64) float64 {
	switch {
	case m >= 1:
		return 0
	case m > 1-r.H:
		return (1 - m) / r.H
	default:
		return 1
	}
}

// Concave implements [Reward].
func (SmoothedHinge) Concave() bool { return true }

// SquaredHinge is the reward r(m) = 1 - max(0, 1-m)², with r'(m) = 2·max(0, 1-m). It is 2-smooth
// and a lower bound of 1{m > 0}.
type SquaredHinge struct{}

// Name implements [Reward].
func (SquaredHinge) Name() string { return "squared-hinge" }

// Value implements [Reward].
func (SquaredHinge) Value(m float64) float64 {
	d := max(0, 1-m)
	return 1 - float64(d*d)
}

// Derivative implements [Reward].
func (SquaredHinge) Derivative(m float64) float64 { return 2 * max(0, 1-m) }

// Concave implements [Reward].
func (SquaredHinge) Concave() bool { return true }

// ZeroOne is the reward 1{m > 0}, with which measures are evaluated. A margin of exactly 0 counts
// as wrong.
type ZeroOne struct{}

// Name implements [Reward].
func (ZeroOne) Name() string { return "zero-one" }

// Value implements [Reward].
func (ZeroOne) Value(m float64) float64 {
	if m > 0 {
		return 1
	}
	return 0
}

// Derivative implements [Reward]; it is 0 everywhere.
func (ZeroOne) Derivative(float64) float64 { return 0 }

// Concave implements [Reward].
func (ZeroOne) Concave() bool { return false }

// RewardNames lists the names of the concave rewards, for help texts.
func RewardNames() []string {
	return []string{"hinge", "logistic", "smoothed-hinge:H", "squared-hinge"}
}

// ParseReward returns the concave reward of the given name: hinge, logistic, smoothed-hinge (width
// ½), smoothed-hinge:H with 0 < H ≤ 1, or squared-hinge.
func ParseReward(name string) (Reward, error) {
	kind, arg, hasArg := strings.Cut(name, ":")
	if kind == "smoothed-hinge" {
		if !hasArg {
			return NewSmoothedHinge(0.5)
		}
		h, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return nil, noregret.Errorf(noregret.Usage, "",
				"width of the smoothed hinge is %q, want a number in (0, 1]", arg)
		}
		return NewSmoothedHinge(h)
	}
	for _, r := range []Reward{Hinge{}, Logistic{}, SquaredHinge{}} {
		if r.Name() == name {
			return r, nil
		}
	}
	return nil, noregret.Errorf(noregret.Usage, "", "no reward is named %q; %sthere are %s", name,
		named.DidYouMean(name, RewardNames()), strings.Join(RewardNames(), ", "))
}
