package experiment

import (
	"encoding/json"
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
	// Hash is the draw among arms, in 2^-64ths, and Fraction the same in [0, 1): in Distribution, in its
	// order, it falls on the arm that Steps begin with.
	Hash         string      `json:"hash"`
	Fraction     float64     `json:"fraction"`
	Distribution []Share     `json:"distribution"`
	Steps        []Step      `json:"steps"`
	Policy       PolicyFacts `json:"policy"`
}

// Share is an arm's probability.
type Share struct {
	Arm  string  `json:"arm"`
	P    float64 `json:"p"`
	From float64 `json:"from"` // the part [From, From+P) of the unit interval
}

// Step is what a version of the policy made of a unit.
type Step struct {
	Version uint64 `json:"version"`
	Arm     string `json:"arm"`
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

// PolicyAt is the policy of an earlier version, as far back as they are kept: 64 to 2048 versions by the
// number of arms.
func (s *State) PolicyAt(name string, n uint64) (*Policy, error) {
	x := s.live[name]
	if x == nil {
		return nil, notThere(name)
	}
	v := x.versionOf(n)
	if v == nil || v.State != RolledBack && v.First < x.Versions[0].Version {
		return nil, notKept(name, n, x)
	}
	return x.policyOf(v)
}

func notKept(name string, n uint64, x *live) error {
	e := bad("version", "version %d of %q is not kept: those from %d to %d are; an older one is in the log", n, name, x.Versions[0].Version, x.Version)
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
		Experiment: t.Experiment, Version: t.Version, Round: p.Round, Time: t.Time, Arm: d.Name, Value: d.Value, Propensity: d.Propensity,
		Consistent: d.Arm == t.Arm && d.Propensity == t.Propensity, HeldBack: d.HeldBack, Unit: unitText(t.Unit),
		Hash: strconv.FormatUint(hash, 10), Fraction: float64(hash>>11) / (1 << 53), Distribution: []Share{}, Steps: []Step{},
		Policy: PolicyFacts{Made: stamp(v.Time), Cause: v.Cause, Value: v.Value, Units: map[string]uint64{}, Known: map[string]map[string]KnownMetric{}},
	}
	from := 0.0
	for k, q := range p.Mixture() {
		if q > 0 {
			e.Distribution = append(e.Distribution, Share{p.Arms[k].Name, q, from})
		}
		from += q
	}
	if !d.HeldBack {
		part := *p
		for i := range p.Links {
			part.Links = p.Links[:i+1]
			e.Steps = append(e.Steps, Step{p.Links[i].Version, part.DecideHash(t.Unit).Name})
		}
	}
	m := len(x.def.Metrics)
	for k := range v.Units {
		name := x.Arms[k].Name
		e.Policy.Units[name], e.Policy.Known[name] = v.Units[k], map[string]KnownMetric{}
		for i := range m {
			q := KnownMetric{N: v.N[k*m+i]}
			if q.N > 0 {
				q.Mean = &v.Mean[k*m+i]
			}
			e.Policy.Known[name][x.def.Metrics[i].Name] = q
		}
	}
	return e, nil
}
