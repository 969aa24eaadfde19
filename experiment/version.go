package experiment

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/policy"
)

// renew makes a new policy version: the running one's cohort is sealed, and the next begins.
func (x *live) renew(now int64, cause string) error {
	split, err := policy.NewSplit(x.mixture())
	if err != nil {
		return err
	}
	return x.renewWith(now, cause, split)
}

// renewWith is renew for what is to be served.
func (x *live) renewWith(now int64, cause string, split *policy.Split) (err error) {
	if n := len(x.cohorts); n > 0 {
		c := x.cohorts[n-1]
		c.Sealed = now
	}
	x.Version++
	x.restream()
	v := x.describe(now, cause, split)
	x.Versions = append(x.Versions, v)
	if n := x.keepVersions(); len(x.Versions) > n {
		x.Versions = slices.Clone(x.Versions[len(x.Versions)-n:])
	}
	c := newCohort(x.def, x.Version, x.Round, split.Shares())
	c.Begun, c.Learn = now, x.Status != policy.Paused
	x.Ratio.begin(c, x.First)
	x.cohorts = append(x.cohorts, c)
	x.policy, err = x.policyOf(v)
	return err
}

// restream begins a new draw of the units where one is due: in each round, or, with stickiness
// unit, when the stream of links has grown too long; with both, when changes within a round have
// made it too long.
func (x *live) restream() {
	if x.def.Stickiness == "round" && x.StreamRound != x.Round {
		x.StreamRound, x.Epoch = x.Round, 0
	} else if x.Stream != "" && x.Version-x.First >= uint64(x.keepVersions()/2) {
		x.Epoch++
	}
	stream := "arm"
	if x.def.Stickiness == "round" {
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
func (x *live) describe(now int64, cause string, split *policy.Split) *version {
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
func (x *live) policyOf(v *version) (*policy.Policy, error) {
	p := &policy.Policy{
		Experiment: x.def.Name, Version: v.Version, Round: v.Round, State: v.State, Salt: x.def.Salt,
		Exposure: x.def.Exposure, Control: x.Control,
		HoldBack: policy.Fraction(x.def.HoldBack), Stream: v.Stream, Window: x.def.AttributionWindow,
	}
	k := v.Split.Len()
	for i := range k {
		p.Arms = append(p.Arms, x.Arms[i].Arm)
	}
	for i := range x.def.Metrics {
		m := &x.def.Metrics[i]
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
func (x *live) versionOf(n uint64) *version {
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
