package experiment

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// rounds are the clock of rounds and the policy versions.
type rounds struct {
	policy     *policy.Policy // the one in force
	Version    uint64         `json:"version"`
	Round      uint64         `json:"round"`
	RoundStart int64          `json:"round_start"`
	Versions   []*version     `json:"versions"`
	// Stream is the units' running draw, First the version that began it. Epoch counts the streams
	// that began because the one before was too long, in round StreamRound with stickiness round.
	Stream      string `json:"stream"`
	First       uint64 `json:"first"`
	Epoch       uint64 `json:"epoch"`
	StreamRound uint64 `json:"stream_round"`
}

// version is what is kept of a policy version.
type version struct {
	Version uint64 `json:"version"`
	Round   uint64 `json:"round"`
	Time    int64  `json:"time"`
	Cause   string `json:"cause"`
	// State, Stream and First are the policy's: First is the version that began the stream.
	State  policy.Status `json:"state"`
	Stream string        `json:"stream"`
	First  uint64        `json:"first"`
	Split  *policy.Split `json:"split"`
	// Units, and by metric N and Mean, are what was known of each arm then (N and Mean: arm·metrics
	// + metric).
	Units u64s `json:"units"`
	N     u64s `json:"n"`
	Mean  f64s `json:"mean"`
	// Value is the objective of the mixture by what was known then, if that was enough.
	Value *float64 `json:"value"`
	// Seen are the units exposed under the version, Observed its traffic's metric means once it has
	// matured.
	Seen     int64      `json:"seen"`
	Observed []*float64 `json:"observed"`
}

// versionCells bounds the versions that are kept times the arms. Tests lower it.
var versionCells = 200_000

// keepVersions is how many versions are kept; streams of links are half as long.
func keepVersions(arms int) int { return min(max(versionCells/arms, 64), 2048) }

// renew makes a new policy version: the running one's cohort is sealed, and the next begins.
func (x *experimentState) renew(now int64, cause string) error {
	split, err := policy.NewSplit(x.mixture())
	if err != nil {
		return err
	}
	return x.renewWith(now, cause, split)
}

// renewWith is renew for what is to be served.
func (x *experimentState) renewWith(now int64, cause string, split *policy.Split) (err error) {
	if n := len(x.cohorts); n > 0 {
		c := x.cohorts[n-1]
		c.Sealed = now
	}
	x.Version++
	x.restream(&x.roster)
	v := x.describe(now, cause, split)
	x.Versions = append(x.Versions, v)
	if n := keepVersions(len(x.Arms)); len(x.Versions) > n {
		x.Versions = slices.Clone(x.Versions[len(x.Versions)-n:])
	}
	c := newCohort(x.def, x.Version, x.Round, split.Shares())
	c.Begun, c.Learn = now, x.Status != policy.Paused
	x.Ratio.begin(c, x.First)
	x.cohorts = append(x.cohorts, c)
	x.policy, err = x.policyOf(&x.roster, v)
	return err
}

// restream begins a new draw of the units where one is due: in each round, or, with stickiness
// unit, when the stream of links has grown too long; with both, when changes within a round have
// made it too long.
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

// describe is the record of the version that begins.
func (x *experimentState) describe(now int64, cause string, split *policy.Split) *version {
	v := &version{
		Version: x.Version, Round: x.Round, Time: now, Cause: cause, State: x.Status, Stream: x.Stream, First: x.First,
		Split:    split,
		Observed: make([]*float64, len(x.def.Metrics)),
	}
	for k := range x.Arms {
		s := &x.Arms[k].Stats
		v.Units = append(v.Units, uint64(s.Units))
		for m := range x.def.Metrics {
			n, mean := s.of(x.def, m)
			v.N, v.Mean = append(v.N, uint64(n)), append(v.Mean, mean)
		}
	}
	if value, ok := x.value(split.Shares()); ok {
		v.Value = &value
	}
	return v
}

// of is the number of observations and the mean of a metric; a ratio's is that of the means. One
// that is not finite, as its denominator is too small for the numerator, is not known: n is 0.
func (a *armStats) of(d *definition.Definition, metric int) (n int64, mean float64) {
	if r := d.RatioIndex(metric); r >= 0 {
		p := &a.Pairs[r]
		if mean, ok := p.Ratio(); ok {
			return p.N, mean
		}
		return 0, 0
	}
	return a.Metrics[metric].N, a.Metrics[metric].Mean
}

// policyOf is the policy of a version that is kept.
func (x *rounds) policyOf(r *roster, v *version) (*policy.Policy, error) {
	p := &policy.Policy{
		Experiment: r.def.Name, Version: v.Version, Round: v.Round, State: v.State, Salt: r.def.Salt,
		Exposure: r.def.Exposure, Control: r.Control,
		HoldBack: policy.Fraction(r.def.HoldBack), Stream: v.Stream, Window: r.def.AttributionWindow,
	}
	k := v.Split.Len()
	for i := range k {
		p.Arms = append(p.Arms, r.Arms[i].Arm)
	}
	for i := range r.def.Metrics {
		m := &r.def.Metrics[i]
		p.Metrics = append(p.Metrics, policy.MetricForm{
			Name: m.Name, Kind: m.Kind, Numerator: m.Numerator,
			Denominator: m.Denominator, Range: m.Range, Default: m.Default,
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

// linkOf is the link that a version brought.
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

// versionOf is the record of a version, or nil when it is not kept.
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

// served is what the running version serves.
func (x *rounds) served(arms int) *policy.Split { return x.Versions[len(x.Versions)-1].Split.Pad(arms) }

// thinned are the versions of a report: at most 256, fewer for many arms. The newer half are all
// that there were, the older half are spread evenly over the rest.
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
