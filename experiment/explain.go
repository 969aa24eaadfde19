package experiment

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/noregret/noregret"
)

// Explanation says why a unit got its arm, and what was known when the policy was made.
type Explanation struct {
	Experiment string          `json:"experiment"`
	Version    uint64          `json:"version"`
	Round      uint64          `json:"round"`
	Time       time.Time       `json:"time"` // of the decision
	Arm        string          `json:"arm"`
	Value      json.RawMessage `json:"value"`
	Propensity float64         `json:"propensity"`
	// Consistent is whether the decision, computed anew, is the token's.
	Consistent bool   `json:"consistent"`
	HeldBack   bool   `json:"held_back"`
	Unit       string `json:"unit"` // the unit's hash, in hexadecimal
	// Hash is the draw among arms, in 2^-64ths, and Fraction the same in [0, 1). Distribution is
	// that of the version that began the draw, the first of Steps: in its order the fraction falls
	// on the first step's arm.
	Hash         string  `json:"hash"`
	Fraction     float64 `json:"fraction"`
	Distribution []Share `json:"distribution"`
	// Steps are what each version since has made of the unit; none for one that is held back. The
	// last one's arm and share are the decision's.
	Steps []Step `json:"steps"`
	// Served is the version's own distribution, of which Propensity is the arm's share.
	Served []Share     `json:"served"`
	Policy PolicyFacts `json:"policy"`
}

// Share is an arm's probability.
type Share struct {
	Arm  string  `json:"arm"`
	P    float64 `json:"p"`
	From float64 `json:"from"` // the part [From, From+P) of the unit interval
}

// Step is what a version of the policy made of a unit: the first by the draw, each further one by
// whether the share of the arm that the unit had has shrunk.
type Step struct {
	Version uint64 `json:"version"`
	// Arm is the arm after the step, P its share in the version.
	Arm string  `json:"arm"`
	P   float64 `json:"p"`
	// Before and After are the shares of the arm that the unit had, in the version before and in
	// this one; Coin decides: the unit keeps the arm when Coin·Before is below After. Null in the
	// first step.
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`
	Coin   *float64 `json:"coin"`
	// Draw is where among the growths of the arms that grew a unit fell that did not keep its arm,
	// in [0, 1); null for one that did.
	Draw *float64 `json:"draw"`
}

// PolicyFacts are what was known when a version was made.
type PolicyFacts struct {
	Made  time.Time                         `json:"made"`
	Cause string                            `json:"cause"`
	Value *float64                          `json:"value"`
	Units map[string]uint64                 `json:"units"`
	Known map[string]map[string]KnownMetric `json:"known"`
}

// KnownMetric is what was known of a metric of an arm.
type KnownMetric struct {
	N    uint64   `json:"n"`
	Mean *float64 `json:"mean"`
}

// PolicyAt is the policy of an earlier version, as far back as they are kept: 64 to 2048 versions
// by the number of arms, less those whose stream of links began before. Versions from before an
// experiment of the same name was deleted are not kept.
func (s *State) PolicyAt(name string, n uint64) (*Policy, error) {
	x := s.live[name]
	if x == nil {
		return nil, notThere(name)
	}
	if n == x.Version {
		return x.policy, nil
	}
	v := x.versionOf(n)
	if v == nil || v.State != RolledBack && v.First < x.Versions[0].Version {
		return nil, notKept(name, n, x)
	}
	return x.policyOf(v)
}

func notKept(name string, n uint64, x *live) error {
	first := x.Versions[0]
	if first.State != RolledBack && first.First < first.Version { // its stream began before
		if i := slices.IndexFunc(x.Versions, func(v *version) bool {
			return v.State == RolledBack || v.First == v.Version
		}); i >= 0 {
			first = x.Versions[i]
		}
	}
	e := noregret.BadInputf("version", "version %d of %q cannot be explained: those from %d to %d of the experiment "+
		"as it is now "+
		"can; noregret log replay makes older decisions anew, as far back as the log reaches", n, name, first.Version,
		x.Version)
	e.Code = noregret.NotFound
	return e
}

// Explain says why the decision of a verified token was what it was.
func (s *State) Explain(t Token) (*Explanation, error) {
	p, err := s.PolicyAt(t.Experiment, t.Version)
	if err != nil {
		return nil, err
	}
	x := s.live[t.Experiment]
	v := x.versionOf(t.Version)
	d := p.DecideHash(t.Unit)
	hash := draw(t.Unit, p.armKey)
	e := &Explanation{
		Experiment: t.Experiment, Version: t.Version, Round: p.Round, Time: t.Time, Arm: d.Name, Value: d.Value,
		Propensity: d.Propensity,
		Consistent: d.Arm == t.Arm && d.Propensity == t.Propensity, HeldBack: d.HeldBack, Unit: unitText(t.Unit),
		Hash: strconv.FormatUint(hash, 10), Fraction: unitFraction(hash), Distribution: p.listed(p.Links[0].Split),
		Steps: p.steps(d), Served: p.listed(p.split()),
		Policy: PolicyFacts{
			Made: stamp(v.Time), Cause: v.Cause, Value: v.Value, Units: map[string]uint64{},
			Known: map[string]map[string]KnownMetric{},
		},
	}
	m := len(x.def.Metrics)
	for k := range v.Units {
		name := x.Arms[k].Name
		e.Policy.Units[name], e.Policy.Known[name] = v.Units[k], map[string]KnownMetric{}
		for i := range m {
			q := KnownMetric{N: v.N[k*m+i]}
			if q.N > 0 {
				q.Mean = known(v.Mean[k*m+i])
			}
			e.Policy.Known[name][x.def.Metrics[i].Name] = q
		}
	}
	return e, nil
}

// unitFraction is a draw as a number in [0, 1).
func unitFraction(draw uint64) float64 { return float64(draw>>11) / (1 << 53) }

// listed are the arms of a split that have a share.
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

// steps are what the links have made of a unit, by the draws that decided.
func (p *Policy) steps(d Decision) []Step {
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
