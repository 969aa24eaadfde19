package experiment

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/policy"
)

// rounds holds the clock of rounds and the policy versions.
type rounds struct {
	policy     *policy.Policy // the one in force
	Version    uint64         `json:"version"`
	Round      uint64         `json:"round"`
	RoundStart int64          `json:"round_start"`
	Versions   []*version     `json:"versions"`
	// Stream names the running draw of the units; First is the version that began it. Epoch counts
	// the streams that began because the previous one was too long, in round StreamRound if
	// stickiness is round.
	Stream      string `json:"stream"`
	First       uint64 `json:"first"`
	Epoch       uint64 `json:"epoch"`
	StreamRound uint64 `json:"stream_round"`
}

// version is the record of a policy version.
type version struct {
	Version uint64 `json:"version"`
	Round   uint64 `json:"round"`
	Time    int64  `json:"time"`
	Cause   string `json:"cause"`
	// State, Stream and First belong to the policy: First is the version that began the stream.
	State  policy.Status `json:"state"`
	Stream string        `json:"stream"`
	First  uint64        `json:"first"`
	Split  *policy.Split `json:"split"`
	// Policy and Revision name the policy that proposed the shares, if one did.
	Policy   string `json:"policy,omitempty"`
	Revision int    `json:"revision,omitempty"`
	// Linear is the contextual policy, of which Split is the mean over recent contexts; nil for
	// other policies, and if it is Forgotten because the versions take too much memory.
	Linear    *policy.Linear `json:"linear,omitempty"`
	Forgotten bool           `json:"forgotten,omitempty"`
	// Hold is the share of units outside the experiment, in 2^-64ths.
	Hold uint64 `json:"hold,string"`
	// Units are the exposed units of each arm when the version began; N and Mean are the
	// observations and means then, at index arm·metrics + metric.
	Units column.Uint64s  `json:"units"`
	N     column.Uint64s  `json:"n"`
	Mean  column.Float64s `json:"mean"`
	// Deployed are the shares that the policy would have deployed; nil if there were none.
	Deployed column.Float64s `json:"deployed,omitempty"`
	// Shown has what reports show of the value and of the lift; nil without an objective.
	Shown *shown `json:"shown,omitempty"`
	// Guards has the guardrails and what was known of them when the version ended.
	Guards guard.Points `json:"guards,omitempty"`
	// Seen counts the units exposed under the version. Observed has the metric means of its
	// traffic, once it has matured.
	Seen     int64      `json:"seen"`
	Observed []*float64 `json:"observed"`
}

// versionCells bounds the number of kept versions times arms. Tests lower it.
var versionCells = 200_000

// keepVersions returns the number of versions that are kept; streams of links are half as long.
func keepVersions(arms int) int { return min(max(versionCells/arms, 64), 2048) }

// renew begins a version that serves what the policy has learned.
func (x *experimentState) renew(now int64, cause string) error {
	return x.begin(now, cause, (*proposer).learned)
}

// renewWith begins a version with given shares. A contextual policy continues as it is.
func (x *experimentState) renewWith(now int64, cause string, split *policy.Split) error {
	return x.begin(now, cause, func(p *proposer, s *Serving) error { return p.hold(s, split) })
}

// restream begins a new draw of the units if one is due: in each round, or, if stickiness is unit,
// when the stream of links is too long. With stickiness round, changes within a round may make it
// too long as well.
func (x *rounds) restream(r *roster) {
	if r.def.Stickiness == "round" && x.StreamRound != x.Round {
		x.StreamRound, x.Epoch = x.Round, 0
	} else if x.Stream != "" && x.Version-x.First >= uint64(keepVersions(len(r.Arms))/2) {
		x.Epoch++
	}
	stream := "arm"
	if r.def.Stickiness == "round" {
		stream += "/" + strconv.FormatUint(x.Round, 10)
	}
	if x.Epoch > 0 {
		stream += "/" + strconv.FormatUint(x.Epoch, 10)
	}
	if stream != x.Stream {
		x.Stream, x.First = stream, x.Version
	}
}

// describe returns the record of the version that begins.
func (x *experimentState) describe(now int64, s *Serving) *version {
	v := &version{
		Version: x.rounds.Version, Round: x.rounds.Round, Time: now, Cause: s.Reason, State: x.Status,
		Stream: x.rounds.Stream, First: x.rounds.First, Policy: s.Policy, Revision: s.Revision,
		Split: s.Shares, Hold: x.outside(),
		Observed: make([]*float64, len(x.roster.def.Metrics)), Guards: guard.PointsOf(x.roster.def),
	}
	for k := range x.roster.Arms {
		a := &x.joiner.Arms[k]
		v.Units = append(v.Units, uint64(a.Units))
		for m := range x.roster.def.Metrics {
			n, mean := a.Mean(x.roster.def, m)
			v.N, v.Mean = append(v.N, uint64(n)), append(v.Mean, mean)
		}
	}
	v.Deployed = s.Deployed
	v.Shown = x.course(s)
	return v
}

// policyOf returns the policy of a version that is kept.
func (x *rounds) policyOf(r *roster, v *version) (*policy.Policy, error) {
	shortest, longest := r.def.Windows()
	p := &policy.Policy{
		Experiment: r.def.Name, Version: v.Version, Round: v.Round, State: v.State, Salt: r.def.Salt,
		Exposure: r.def.Exposure, Control: r.Control,
		HoldBack: v.Hold, Stream: v.Stream, Window: policy.Duration(longest), Linear: v.Linear,
	}
	if shortest < longest {
		p.Shortest = policy.Duration(shortest)
	}
	k := v.Split.Len()
	for i := range k {
		p.Arms = append(p.Arms, r.Arms[i].Arm)
	}
	for i := range r.def.Metrics {
		m := &r.def.Metrics[i]
		p.Metrics = append(p.Metrics, policy.MetricForm{
			Name: m.Name, Kind: m.Kind, Numerator: m.Numerator,
			Denominator: m.Denominator, Range: m.Range, Cap: (*float64)(m.Cap), Default: m.Default,
		})
	}
	if v.State == policy.RolledBack {
		p.Links = []policy.Link{{Version: v.Version, Split: v.Split}}
	} else {
		for _, w := range x.Versions {
			if w.First != v.First || w.State == policy.RolledBack || w.Version > v.Version {
				continue
			}
			s := w.Split
			if s.Len() < k { // arms have come since: as the policy in force has it, if it does
				if at, ok := linkOf(x.policy, w.Version); ok && at.Split.Len() == k {
					s = at.Split
				} else {
					s = s.Pad(k)
				}
			}
			if n := len(p.Links); n == 0 || !p.Links[n-1].Split.Equal(s) {
				p.Links = append(p.Links, policy.Link{Version: w.Version, Split: s})
			}
		}
	}
	return p, p.Prepare(x.policy)
}

// linkOf returns the link that a version added.
func linkOf(p *policy.Policy, version uint64) (policy.Link, bool) {
	if p == nil {
		return policy.Link{}, false
	}
	i, ok := slices.BinarySearchFunc(p.Links, version, func(l policy.Link, v uint64) int {
		return cmp.Compare(l.Version, v)
	})
	if !ok {
		return policy.Link{}, false
	}
	return p.Links[i], true
}

// versionOf returns the record of a version, or nil if it is not kept.
func (x *rounds) versionOf(n uint64) *version {
	i, ok := slices.BinarySearchFunc(x.Versions, n, func(v *version, n uint64) int {
		switch {
		case v.Version < n:
			return -1
		case v.Version > n:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return x.Versions[i]
}

// current returns the record of the running version.
func (x *rounds) current() *version { return x.Versions[len(x.Versions)-1] }

// served returns the split of the running version.
func (x *rounds) served(arms int) *policy.Split { return x.current().Split.Pad(arms) }

// thinned returns the versions of a report: at most 256, fewer for many arms. The newer half are
// consecutive, the older half are spread evenly over the rest.
func (x *rounds) thinned(arms int) []*version {
	most := min(max(20_000/arms, 32), 256)
	n := len(x.Versions)
	if n <= most {
		return x.Versions
	}
	half := most / 2
	var out []*version
	for i := range half {
		out = append(out, x.Versions[i*(n-half)/half])
	}
	return append(out, x.Versions[n-half:]...)
}

// shown is what reports show of a version's mixture by the estimates of the time when it began.
// Nothing depends on it, so a digest leaves it out.
type shown struct {
	// Value is the objective of the mixture by comparisons within versions, nil if unknown.
	Value *float64 `json:"value"`
	// Lift is the lift of the objective, within the metrics' ranges; nil without a control arm.
	Lift *api.LiftPoint `json:"lift,omitempty"`
}
