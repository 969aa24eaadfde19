package policy

import (
	"encoding/json"
	"strconv"
	"time"
)

// Derivation says why a unit got its arm: the draws, the versions that moved it and the shares that
// they were compared with.
type Derivation struct {
	Experiment string          `json:"experiment"`
	Version    uint64          `json:"version"`
	Round      uint64          `json:"round"`
	Time       time.Time       `json:"time"` // of the decision
	Arm        string          `json:"arm"`
	Value      json.RawMessage `json:"value"`
	Propensity float64         `json:"propensity"`
	// Consistent reports whether the decision, computed anew, is the token's.
	Consistent bool   `json:"consistent"`
	HeldBack   bool   `json:"held_back"`
	Unit       string `json:"unit"` // the unit's hash, in hexadecimal
	// Hash is the draw among arms, in 2^-64ths, and Fraction the same in [0, 1). Distribution is
	// that of the version that began the draw, the first of Steps: in its order the fraction falls
	// on the first step's arm.
	Hash         string  `json:"hash"`
	Fraction     float64 `json:"fraction"`
	Distribution []Share `json:"distribution"`
	// Steps lists the effect of each version since on the unit; it is empty for a unit that is held
	// back. The last step has the decision's arm and share.
	Steps []Step `json:"steps"`
	// Served is the version's own distribution, of which Propensity is the arm's share. That of a
	// contextual policy is for the unit's context.
	Served []Share `json:"served"`
	// Scores are the arms' scores in the unit's context, only of a contextual policy.
	Scores []ArmScore `json:"scores,omitempty"`
}

// Share is an arm's probability.
type Share struct {
	Arm  string  `json:"arm"`
	P    float64 `json:"p"`
	From float64 `json:"from"` // the part [From, From+P) of the unit interval
}

// Step is the effect of a version of the policy on a unit. The first version draws an arm; each
// further one moves the unit if its arm's share has shrunk and the coin says so.
type Step struct {
	Version uint64 `json:"version"`
	// Arm is the arm after the step, P its share in the version.
	Arm string  `json:"arm"`
	P   float64 `json:"p"`
	// Before and After are the shares of the unit's arm in the version before and in this one. The
	// unit keeps the arm if Coin·Before is below After. They are null in the first step.
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	Coin   *float64 `json:"coin"`
	// Draw is the position, in [0, 1), of a unit that moved among the growths of the arms that
	// grew; null for a unit that kept its arm.
	Draw *float64 `json:"draw"`
}

// Explain explains the decision of a verified token. It costs O(arms + links).
func (p *Policy) Explain(t Token) *Derivation {
	d := p.DecideHash(t.Unit)
	hash := draw(t.Unit, p.armKey)
	return &Derivation{
		Experiment: t.Experiment, Version: t.Version, Round: p.Round, Time: t.Time, Arm: d.Name, Value: d.Value,
		Propensity: d.Propensity,
		Consistent: d.Arm == t.Arm && d.Propensity == t.Propensity, HeldBack: d.HeldBack, Unit: FormatUnit(t.Unit),
		Hash: strconv.FormatUint(hash, 10), Fraction: unitFraction(hash), Distribution: p.listed(p.Links[0].Split),
		Steps: p.steps(d), Served: p.listed(p.split()),
	}
}

// ExplainIn is [Policy.Explain] for a contextual policy that decided for the vector x. Distribution
// and Served are the distribution given x, and there is one step.
func (p *Policy) ExplainIn(t Token, x []float64) (*Derivation, error) {
	scores, err := p.ScoresIn(x)
	if err != nil {
		return nil, err
	}
	d, e, from := p.DecideHashIn(t.Unit, x), p.Explain(t), 0.0
	e.Arm, e.Value, e.Propensity, e.Scores = d.Name, d.Value, d.Propensity, scores
	e.Consistent = d.Arm == t.Arm && d.Propensity == t.Propensity
	e.Served, e.Distribution, e.Steps = []Share{}, nil, []Step{}
	for _, s := range scores {
		if s.Probability > 0 {
			e.Served = append(e.Served, Share{s.Arm, s.Probability, from})
		}
		from += s.Probability
	}
	e.Distribution = e.Served
	if !d.HeldBack {
		e.Steps = append(e.Steps, Step{Version: p.Version, Arm: d.Name, P: d.Propensity})
	}
	return e, nil
}

// unitFraction is a draw as a number in [0, 1).
func unitFraction(draw uint64) float64 { return float64(draw>>11) / (1 << 53) }

// listed returns the arms of a split that have a share.
func (p *Policy) listed(s *Split) []Share {
	out, from := []Share{}, 0.0
	for k, q := range s.Shares() {
		if q > 0 {
			out = append(out, Share{p.Arms[k].Name, q, from})
		}
		from += q
	}
	return out
}

// steps returns the effect of each link on a unit, with the draws that decided it.
func (p *Policy) steps(d Assignment) []Step {
	out := []Step{}
	if d.HeldBack {
		return out
	}
	first := p.Links[0].Split
	arm := first.Arm(draw(d.Unit, p.armKey))
	out = append(out, Step{Version: p.Links[0].Version, Arm: p.Arms[arm].Name, P: first.Propensity(arm)})
	for i := 1; i < len(p.Links); i++ {
		have, next := p.Links[i-1].Split, p.Links[i].Split
		m := p.moves[i-1]
		coin := draw(d.Unit, m.coinKey)
		before, after, c := have.Propensity(arm), next.Propensity(arm), unitFraction(coin)
		s := Step{Version: p.Links[i].Version, Before: &before, After: &after, Coin: &c}
		if !m.keeps(arm, coin) {
			move := draw(d.Unit, m.moveKey)
			at := unitFraction(move)
			s.Draw, arm = &at, m.to(move)
		}
		s.Arm, s.P = p.Arms[arm].Name, next.Propensity(arm)
		out = append(out, s)
	}
	return out
}
