package confident

import (
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/mixed"
)

// Hold says which mixture the hard guardrails are a promise about.
type Hold int

const (
	// Served promises them for what is served in every round, where there is a control arm; the
	// zero value.
	Served Hold = iota
	// Deployed promises nothing for what is served: hard guardrails are a matter of
	// [Learner.Deployed] only.
	Deployed
)

// Exploration is the budget for learning. It falls with information: w is what the optimistic
// mixture promises beyond the cautious one, as a part of the range of the objective over the arms,
// and 1 at most.
type Exploration struct {
	// Share is the largest share, from 0 to 1, of what explores in what is served. Where hard
	// guardrails are promised the share is half of Share·w², and half of it goes to all arms, the
	// rest to those of the optimistic mixture.
	Share float64
	// Decay scales the share where nothing is promised: for K arms and s = √(K/4), at least 1, it
	// is min(Share, Decay·w^⅔·s), as more arms need more to be told apart. Of that, Decay/2·w^⅔/s,
	// at most half and at most 0.15, goes to all arms. A w that falls like 1/√t lets the share fall
	// like 1/t^⅓.
	Decay float64
	// Optimism z is how many standard errors estimates move up for the optimistic mixture.
	Optimism float64
}

const (
	// spreadShare is the largest share that is spread over all arms where nothing is promised.
	spreadShare = 0.15
	// fewExplored is the number of arms up to which what explores does not depend on the number.
	fewExplored = 4
)

// unpromisedShare is the share of what explores where nothing is promised, for the width w of
// [Exploration] and so many arms, and how much of it is spread over all of them.
func (o *Options) unpromisedShare(w float64, arms int) (share, spread float64) {
	many := 1.0
	if o.has(noNumber) {
		many = math.Sqrt(max(1, float64(arms)/fewExplored))
	}
	scaled := float64(o.Exploration.Decay * portable.Exp(float64(2*portable.Log(w)/3)))
	share = min(o.Exploration.Share, float64(scaled*many))
	if o.has(noSpread) {
		spread = min(float64(0.5*share), spreadShare, 0.5*scaled/many)
	}
	return share, spread
}

// Options are the parameters of [New]. Start from [DefaultOptions]; in each of them 0 means none,
// except that Control 0 is the first arm.
type Options struct {
	// Control is the index of the arm that relative guardrails compare with and that is safe to
	// serve, −1 where there is none. A learner with a control arm takes the raw values of every arm
	// as observations, without [pasto.Observation.Control].
	Control int
	// Share is the least share of the control arm in what is served, from 0 to 1.
	Share float64
	// Alpha is the probability with which what is served may break a hard guardrail in any of the
	// rounds, in (0, 1), where there is a control arm: see [Learner.Promise].
	Alpha float64
	// Hold says whether hard guardrails are promised for what is served, or for Deployed only.
	Hold Hold
	// Exploration is the budget for learning.
	Exploration Exploration
	// Caps are the largest shares of the arms in what is served and deployed, by arm, each from 0
	// to 1; nil for none, and none for arms that are added later. Mixtures are solved for under
	// them: see [optimum.Partial.Maximize]. What a cap then cuts off of what explores goes to the
	// control arm, or to the arms of the best estimates that have room where there is none; the cap
	// of the control arm does not bind.
	Caps []float64
	// Caution c is how many standard errors estimates move down for the cautious mixture, and
	// HardCaution replaces it for hard guardrails.
	Caution, HardCaution float64
	// Floor is a lower bound on the share that is spread over all arms where nothing is promised. A
	// floor finds arms that were bad and became good unobserved, at its cost in what is served;
	// Deployed is without it.
	Floor float64
	// ChangeThreshold is the number of standard errors at which an arm's metrics count as changed;
	// 0 looks for no changes.
	ChangeThreshold float64
	// IID makes Draw sample arms independently instead of systematically.
	IID bool

	without mixed.Rules
}

// Special rules of the learner beside those of its statistics, which an ablation switches off one
// at a time.
const (
	noBisection mixed.Rules = mixed.NextRule << iota
	noSpread
	noBudget
	noCandidates
	noFew
	noAnchor
	noNumber
)

var ruleNames = []string{
	"segments", "skew", "joint", "uneven", "dispersion", "trust", "reconcile", "outlier",
	"proportion", "blocks", "crash", "since", "unknown", "doubled",
	"bisection", "spread", "budget", "candidates", "few", "anchor", "number",
}

// DefaultOptions are the measured defaults (lab/docs/pasto.md), which the name "default" stands
// for.
func DefaultOptions() Options {
	return Options{
		Control: -1, Alpha: 0.05, Exploration: Exploration{Share: 0.5, Decay: 5, Optimism: 2},
		Caution: 0.5, HardCaution: 2, ChangeThreshold: 5,
	}
}

// Rules lists the special rules of the learner by name: see [Options.Without].
func Rules() []string { return append([]string{}, ruleNames...) }

// Without returns the options with one of the special rules of the learner switched off, for
// ablations (lab/docs/pasto.md has the table). The rules are
//
//	bisection   where the hard guardrails leave no room for all of HardCaution, as much as there is
//	segments    changes are looked for in the last round and the last 16 of an arm, beside blocks
//	skew        the test for changes allows for skewed metrics
//	joint       what the arms of a round have in common cancels in their comparison
//	uneven      optimism goes by an arm's own scatter where that is far above the pooled one
//	spread      a part of what explores goes to all arms alike: see [Exploration]
//	budget      exploration under a promise gives an arm less, the more slack a unit of it takes
//	candidates  the rest of what explores goes to the arms of the optimistic mixture, and it is less
//	            under a promise where that is the control arm
//	dispersion  the scatter between rounds raises the known variances of units
//	trust       the pooled variance counts for at most a multiple of an arm's own
//	reconcile   differences from the control are those within rounds where means are at odds with them
//	outlier     an arm that is far off in a round is left out of what the others are compared with
//	proportion  rates that follow a level together do so in proportion
//	blocks      changes are looked for in blocks of 32, 64, ... rounds
//	since       after a change optimism counts what arms have had since, where nothing is promised
//	crash       an arm that got worse beside hardly any units of others is compared with the control
//	unknown     hard guardrails wait until errors include what arms of a round have in common
//	anchor      a tenth of the control's estimate is the least that relative guardrails go by
//	doubled     there is a solution where the size of an arm's groups has doubled, up to 128 arms
//	number      the share that explores where nothing is promised depends on the number of arms
//	few         arms of fewer than three groups get a share of their own where nothing is promised
func (o Options) Without(rule string) (Options, error) {
	for i, name := range ruleNames {
		if name == rule {
			o.without |= 1 << i
			return o, nil
		}
	}
	return o, noregret.BadInputf("rule", "%q is unknown: %swant one of %v", rule,
		named.DidYouMean(rule, ruleNames), ruleNames)
}

// scheme is how arms are drawn.
func (o *Options) scheme() pasto.Scheme {
	if o.IID {
		return pasto.IID
	}
	return pasto.Systematic
}

// has reports whether a rule is switched on.
func (o *Options) has(rule mixed.Rules) bool { return o.without&rule == 0 }

// validate returns an error if an option is out of range for a learner of so many arms.
func (o *Options) validate(arms int) error {
	if reflect.ValueOf(*o).IsZero() {
		return noregret.BadInputf("options", "the zero value neither explores nor is cautious: start from "+
			"DefaultOptions")
	}
	number, share := "%v: want a finite number, at least 0", "%v: want a share from 0 to 1"
	for _, v := range []struct {
		name    string
		v, most float64
		want    string
	}{
		{"exploration decay", o.Exploration.Decay, math.MaxFloat64, number},
		{"exploration optimism", o.Exploration.Optimism, math.MaxFloat64, number},
		{"caution", o.Caution, math.MaxFloat64, number},
		{"hard caution", o.HardCaution, math.MaxFloat64, number},
		{"change threshold", o.ChangeThreshold, math.MaxFloat64, number},
		{"floor", o.Floor, 1, share},
		{"exploration share", o.Exploration.Share, 1, share},
		{"share", o.Share, 1, share},
	} {
		if !(v.v >= 0 && v.v <= v.most) {
			return noregret.BadInputf(v.name, v.want, v.v)
		}
	}
	switch {
	case o.Hold != Served && o.Hold != Deployed:
		return noregret.BadInputf("hold", "%d: want Served or Deployed", int(o.Hold))
	case o.Control < -1 || o.Control >= arms:
		return noregret.BadInputf("control", "%d: want an arm from 0 to %d, or -1 for none", o.Control, arms-1)
	case o.Control < 0 && o.Share > 0:
		return noregret.BadInputf("share", "%v of a control arm, and there is none: name it by Control", o.Share)
	case o.Control >= 0 && !(o.Alpha > 0 && o.Alpha < 1):
		return noregret.BadInputf("alpha", "%v: want a probability above 0 and below 1", o.Alpha)
	}
	return o.validateCaps(arms)
}

// validateCaps returns an error if the caps are not shares that leave room for a mixture.
func (o *Options) validateCaps(arms int) error {
	if o.Caps == nil {
		return nil
	}
	if len(o.Caps) != arms {
		return noregret.BadInputf("caps", "%d for %d arms: want one for each arm, or none", len(o.Caps), arms)
	}
	sum := 0.0
	for k, c := range o.Caps {
		if !(c >= 0 && c <= 1) {
			return noregret.BadInputf(fmt.Sprintf("caps[%d]", k), "%v: want a share from 0 to 1", c)
		}
		if k == o.Control {
			c = 1
		}
		sum += c
	}
	if !(sum >= 1) {
		return noregret.BadInputf("caps", "they sum to %v: want 1 or more", sum)
	}
	return nil
}

// largest returns the largest shares of so many arms, nil for none: those of arms that were added
// and of the control are 1.
func (o *Options) largest(arms int) []float64 {
	if o.Caps == nil {
		return nil
	}
	most := slices.Repeat([]float64{1}, arms)
	copy(most, o.Caps)
	if o.Control >= 0 {
		most[o.Control] = 1
	}
	return most
}
