package experiment

import (
	"maps"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/internal/column"
	"github.com/noregret/noregret/internal/vec"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/private/aggregate"
)

// privateSums is the state of a private experiment (docs/privacy.md). Raw feedback is in the rows
// of the open versions and in Pending, and nowhere else: the statistics of the arms, from which
// reports, mixtures and everything else is computed, hold released values only.
type privateSums struct {
	// Secret is 32 random bytes in hexadecimal, which keep the digest of the state from being
	// compared with the digests of guessed feedback; "" before the host has opened the run.
	Secret string `json:"secret,omitempty"`
	// Statement says what the releases protect, nil before the host has opened the run.
	Statement *dp.Statement `json:"statement,omitempty"`
	// Step is the number of releases, and Prefix the last one: noisy sums of the values about the
	// midpoints of their ranges, at arm·metrics + metric.
	Step   int64           `json:"step"`
	Prefix column.Float64s `json:"prefix"`
	// Counts are the decisions behind Prefix, by arm.
	Counts []int64 `json:"counts"`
	// Pending are the versions whose sums wait for their release, the oldest first.
	Pending []privateRound `json:"pending"`
	// Ended is the reason why nothing more is released, "" while there are releases.
	Ended string `json:"ended,omitempty"`

	sums *aggregate.Sums
}

// privateRound has the exact sums of a version whose window has closed. They are secret.
type privateRound struct {
	Version uint64  `json:"version"`
	Counts  []int64 `json:"counts"` // decisions by arm
	Sums    []int64 `json:"sums"`   // of their quantised values, at arm·metrics + metric
}

// newPrivate returns the state of a private experiment without releases, nil for another one.
func newPrivate(d *definition.Definition, arms int) (*privateSums, error) {
	if d.Privacy == nil {
		return nil, nil
	}
	m := len(d.Metrics)
	x := &privateSums{Prefix: make(column.Float64s, arms*m), Counts: make([]int64, arms)}
	return x, x.prepare(d)
}

// prepare makes what is not persisted.
func (x *privateSums) prepare(d *definition.Definition) (err error) {
	x.sums, err = aggregate.New(definition.ReleasedSums(d, len(x.Counts)))
	return err
}

// restore checks a restored state against its definition.
func (x *privateSums) restore(d *definition.Definition, arms int) error {
	if (x == nil) != (d.Privacy == nil) {
		return noregret.BadInputf("snapshot", "experiment %q is private, or its state is, but not both", d.Name)
	}
	if x == nil {
		return nil
	}
	m := len(d.Metrics)
	fits := len(x.Counts) == arms && len(x.Prefix) == arms*m && x.Step >= 0 &&
		x.Step+int64(len(x.Pending)) <= d.Privacy.Rounds
	for i := range x.Pending {
		fits = fits && len(x.Pending[i].Counts) == arms && len(x.Pending[i].Sums) == arms*m
	}
	if !fits {
		return noregret.BadInputf("snapshot", "the private sums of experiment %q do not fit", d.Name)
	}
	return x.prepare(d)
}

func (x *privateSums) copy() *privateSums {
	if x == nil {
		return nil
	}
	y := *x
	y.Prefix, y.Counts = slices.Clone(x.Prefix), slices.Clone(x.Counts)
	y.Pending = slices.Clone(x.Pending)
	return &y
}

// mature adds up the decisions of a version whose window has closed. The sums wait for their
// release, unless nothing counts.
func (x *privateSums) mature(d *definition.Definition, c *join.Version) {
	m := len(d.Metrics)
	sums := privateRound{Version: c.Version, Counts: make([]int64, len(x.Counts)), Sums: make([]int64, len(x.Prefix))}
	values, out := make([]float64, m), make([]int64, m)
	for _, r := range c.Rows() {
		if !r.Counted() {
			continue
		}
		for i := range d.Metrics {
			if values[i] = *d.Metrics[i].Default; r.Has(i) {
				values[i] = r.Values[i]
			}
		}
		x.sums.Quantize(values, out)
		k := r.Slot()
		sums.Counts[k]++
		for i, v := range out {
			sums.Sums[k*m+i] += v
		}
	}
	if c.Counted > 0 && x.Ended == "" && x.Step+int64(len(x.Pending)) < d.Privacy.Rounds {
		x.Pending = append(x.Pending, sums)
	}
}

// endReleases ends the releases for good.
func (x releaser) endReleases(reason string, now int64) {
	p := x.Private
	p.Ended, p.Pending = reason, nil
	x.joiner.Bounded.Ended = true
	x.note(now, "privacy: nothing more is released or learned: %s", reason)
}

// releaser has the methods of a private experiment.
type releaser struct{ *experimentState }

// openPrivate records that the host has opened the run.
func (x releaser) openPrivate(e *PrivacyEvent, now int64) error {
	switch {
	case x.Private == nil:
		return noregret.BadInputf("privacy", "the experiment is not private")
	case x.Private.Statement != nil:
		return noregret.BadInputf("privacy", "the run is open already")
	case e.Statement == nil:
		return noregret.BadInputf("privacy", "no statement")
	}
	x.Private.Secret, x.Private.Statement = e.Secret, e.Statement
	x.note(now, "privacy: the budget is reserved")
	return nil
}

// release takes a release of the pending sums: the learner observes it.
func (x releaser) release(e *ReleaseEvent, now int64) error {
	p := x.Private
	switch {
	case p == nil:
		return noregret.BadInputf("release", "the experiment is not private")
	case e.Ended != "":
		if p.Ended != "" {
			return noregret.BadInputf("release", "the releases have ended already: %s", p.Ended)
		}
		x.endReleases(e.Ended, now)
		return nil
	case p.Statement == nil || len(p.Pending) == 0:
		return noregret.BadInputf("release", "nothing waits for a release")
	case e.Step != p.Step+1 || e.Version != p.Pending[0].Version:
		return noregret.BadInputf("release", "step %d of version %d: want step %d of version %d", e.Step, e.Version,
			p.Step+1, p.Pending[0].Version)
	case len(e.Sums) != len(p.Prefix) || slices.ContainsFunc(e.Sums, func(v float64) bool { return !vec.IsFinite(v) }):
		return noregret.BadInputf("release", "%d sums: want %d finite numbers", len(e.Sums), len(p.Prefix))
	}
	r := p.Pending[0]
	before := p.Prefix
	p.Pending, p.Step, p.Prefix = p.Pending[1:], e.Step, slices.Clone(e.Sums)
	for k, n := range r.Counts {
		p.Counts[k] += n
	}
	x.publish()
	x.learning.Untold = x.Status != policy.RolledBack && x.Status != policy.Concluded
	x.addReleased()
	if v := x.rounds.versionOf(r.Version); v != nil {
		x.observedPrivate(v, &r, before)
	}
	if n := x.learnReleased(r.Counts); n > 0 {
		x.learning.Unlearned += n
	}
	if p.Step == x.roster.def.Privacy.Rounds {
		x.endReleases("all "+itoa(int(p.Step))+" releases of the definition's privacy.rounds are made", now)
	}
	return nil
}

// observedPrivate records the means of a version's traffic by its release.
func (x releaser) observedPrivate(v *version, r *privateRound, before []float64) {
	m := len(x.roster.def.Metrics)
	n := int64(0)
	for _, c := range r.Counts {
		n += c
	}
	for i := range v.Observed {
		sum := 0.0
		for k := range r.Counts {
			if r.Counts[k] > 0 {
				sum += x.Private.Prefix[k*m+i] - before[k*m+i]
			}
		}
		if n > 0 {
			mean := x.Private.clamp(i, x.Private.sums.Midpoint(i)+sum/float64(n))
			v.Observed[i] = &mean
		}
	}
}

// clamp moves a noisy mean into the range of its metric.
func (x *privateSums) clamp(metric int, mean float64) float64 {
	r := x.sums.Config().Metrics[metric]
	return min(max(mean, r.Low), r.High)
}

// publish sets the arms' statistics to those of the last release. Their sums of squares are bounds
// by the range, with the variance of the noise.
func (x releaser) publish() {
	p, m := x.Private, len(x.roster.def.Metrics)
	for k := range x.roster.Arms {
		n := p.Counts[k]
		for i := range m {
			if n == 0 {
				continue
			}
			noise := p.sums.Deviation(p.Step, i)
			mean := p.sums.Midpoint(i) + p.Prefix[k*m+i]/float64(n)
			v := x.spread(i, mean, noise/float64(n)) + float64(noise*noise)/float64(n)
			s := &x.joiner.Arms[k].Metrics[i]
			s.N, s.Mean, s.M2 = n, p.clamp(i, mean), float64(v*float64(n))
			s.Low, s.High = x.roster.def.Lowest(i), x.roster.def.Highest(i)
		}
	}
}

// spread bounds the variance of a value by its range [a, b] and a noisy mean with the standard
// deviation sd: (b − u)(u − a) for the u within two sd of the mean that is nearest to the midpoint
// (Bhatia and Davis 2000). The values of returning units that keep their arm are not independent:
// the bound is then for as many equal values as a unit has.
func (x releaser) spread(metric int, mean, sd float64) float64 {
	r, mid := x.Private.sums.Config().Metrics[metric], x.Private.sums.Midpoint(metric)
	u := x.Private.clamp(metric, mean)
	if u < mid {
		u = min(u+2*sd, mid)
	} else {
		u = max(u-2*sd, mid)
	}
	v := float64((r.High - u) * (u - r.Low))
	if x.roster.def.Stickiness == "unit" {
		v *= float64(x.roster.def.Privacy.UnitContribution)
	}
	return v
}

// errPrivateArms refuses new arms, of which the release has no sums.
var errPrivateArms = noregret.BadInputf("arms", "a private experiment releases the sums of the arms that it began "+
	"with: make a new experiment, with a charge of its own")

// privateEvent applies the events of a private experiment's host.
func (s *State) privateEvent(e Event) Outcome {
	if e.Kind == KindPrivacy {
		var p PrivacyEvent
		if err := e.open(&p); err != nil {
			return Outcome{Err: err}
		}
		return s.with(p.Experiment, func(x *experimentState) Outcome {
			return Outcome{Err: releaser{x}.openPrivate(&p, s.time)}
		})
	}
	var p ReleaseEvent
	if err := e.open(&p); err != nil {
		return Outcome{Err: err}
	}
	return s.with(p.Experiment, func(x *experimentState) Outcome {
		return Outcome{Err: releaser{x}.release(&p, s.time)}
	})
}

// A Release is what the host of a private experiment must do next: it puts the noise on the sums
// and appends [KindRelease]. It must not give the sums to anybody.
type Release struct {
	Experiment string
	Step       int64
	Version    uint64
	Sums       []int64
	// Config has the constants of the noise.
	Config aggregate.Config
}

// Releases lists what private experiments wait for, at most one release for each.
func (s *State) Releases() (out []Release) {
	for _, name := range s.Names() {
		x := s.live[name]
		if x.Private == nil || x.Private.Statement == nil || len(x.Private.Pending) == 0 {
			continue
		}
		r := &x.Private.Pending[0]
		out = append(out, Release{
			Experiment: name, Step: x.Private.Step + 1, Version: r.Version, Sums: slices.Clone(r.Sums),
			Config: definition.ReleasedSums(x.roster.def, len(x.roster.Arms)),
		})
	}
	return out
}

// PrivateConfig returns the constants of the noise of a private definition, false for another one.
func PrivateConfig(d *definition.Definition) (aggregate.Config, bool) {
	if d.Privacy == nil {
		return aggregate.Config{}, false
	}
	arms, err := d.NamedArms()
	return definition.ReleasedSums(d, len(arms)), err == nil
}

// Private reports whether an experiment is private, also one that was deleted and can be restored.
func (s *State) Private(name string) bool {
	x := find(s, name)
	return x != nil && x.Private != nil
}

// PrivateNames lists the experiments that are private and the names of those that were when they
// were deleted, in order. The events of such a name stay secret, also if an experiment of that name
// that is not private is made later: see [Redact].
func PrivateNames(s *State) []string {
	names := slices.Collect(maps.Keys(s.secret))
	for _, name := range allNames(s) {
		if s.Private(name) && !s.secret[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Released returns the number of releases of a private experiment, 0 for another one.
func Released(s *State, name string) int64 {
	if !s.Private(name) {
		return 0
	}
	return find(s, name).Private.Step
}

// problems returns what operators should know about the releases.
func (x *privateSums) problems() (out []string) {
	if x.Statement == nil {
		out = append(out, "privacy: no budget is reserved, so that nothing is released or learned")
	}
	if x.Ended != "" {
		out = append(out, "privacy: nothing more is released or learned: "+x.Ended)
	}
	return out
}

// ReleasesDue reports whether [State.Releases] has any. It costs O(experiments).
func (s *State) ReleasesDue() bool {
	for _, x := range s.live {
		if x.Private != nil && x.Private.Statement != nil && len(x.Private.Pending) > 0 {
			return true
		}
	}
	return false
}

// withheld lists what the reports of private experiments leave out.
var withheld = []string{
	"the numbers of accepted, duplicate, late and rejected feedback, and of missing values",
	"confidence sequences: intervals of means, lifts, the states of guardrails and vetoes that rest on them",
	"the comparison with the uniform policy and tests for changes",
	"feedback in exports of the log, and snapshots of the state",
}

// notProtected lists what a service exposes beyond what dp.Statement says.
var notProtected = []string{
	"that a unit was decided for and exposed, when, and its arm",
	"the number, size and time of requests, from whoever sees the network or has a token with the role admin: with " +
		"one item in each request these are the number and the times of all items of feedback",
	"the feedback from whoever reads the data directory, the memory of the service, or the requests on their way to it",
	"units that are known under several names: each is a unit of its own",
}

// privacyReport returns the report of a private experiment, nil for another one.
func (x releaser) privacyReport() *api.PrivacyReport {
	p := x.Private
	if p == nil {
		return nil
	}
	d, m := x.roster.def, len(x.roster.def.Metrics)
	r := &api.PrivacyReport{
		Epsilon: d.Privacy.Epsilon, Delta: d.Privacy.Delta, Spent: d.Privacy.Epsilon,
		Unknown: "without the ledger the whole budget counts as spent", UnitContribution: d.Privacy.UnitContribution,
		Excess: x.joiner.Bounded.Excess, Rounds: d.Privacy.Rounds, Released: p.Step, Waiting: len(p.Pending),
		Ended:  p.Ended,
		Counts: map[string]int64{}, Sums: map[string]map[string]float64{}, Noise: map[string]float64{},
		Statement: "nothing is released: no budget is reserved", Withheld: withheld,
	}
	if p.Statement != nil {
		st := *p.Statement
		st.Exposes = append(slices.Clone(st.Exposes), notProtected...)
		st.Protects = append(slices.Clone(st.Protects), "whether a unit has sent feedback at all: a metric without a "+
			"value counts as its default")
		r.Statement = st.String()
	}
	for i := range d.Metrics {
		r.Noise[d.Metrics[i].Name] = p.sums.Deviation(p.Step, i)
	}
	for k := range p.Counts {
		of := map[string]float64{}
		for i := range d.Metrics {
			of[d.Metrics[i].Name] = float64(p.sums.Midpoint(i)*float64(p.Counts[k])) + p.Prefix[k*m+i]
		}
		name := x.roster.Arms[k].Name
		r.Counts[name], r.Sums[name] = p.Counts[k], of
	}
	return r
}
