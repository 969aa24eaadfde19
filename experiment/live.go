package experiment

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/policy"
)

func itoa(i int) string { return strconv.Itoa(i) }

// armState is an arm, retired ones too: indices never change.
type armState struct {
	policy.Arm
	Active bool     `json:"active"`
	Stats  armStats `json:"stats"`
	Since  int64    `json:"since"` // units of all arms when it was added
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

// Note is something that happened, for people.
type Note struct {
	Time int64  `json:"time"` // nanoseconds since 1970
	Text string `json:"text"`
}

// source is one that sends aggregates: the last sequence number, and the running version when it
// came.
type source struct {
	Name    string `json:"name"`
	Last    uint64 `json:"last"`
	Version uint64 `json:"version,omitempty"`
}

// guardState is what is kept of a guardrail.
type guardState struct {
	State     policy.GuardState `json:"state"`
	Shrinking bool              `json:"shrinking"` // the mixture is being shrunk for it
	Since     int64             `json:"since"`
}

// live is one experiment's state.
type live struct {
	def     *definition.Definition
	goals   *pasto.Goals // nil without an objective
	learner learner
	policy  *policy.Policy
	cohorts []*cohort // the oldest first; the last one runs
	bounds  [][]armBound
	saved
}

// saved is the part of the state that is saved as it is.
type saved struct {
	Created    int64         `json:"created"`
	Status     policy.Status `json:"status"`
	Version    uint64        `json:"version"`
	Round      uint64        `json:"round"`
	RoundStart int64         `json:"round_start"`
	RoundSeen  int64         `json:"round_seen"` // units exposed in the running round
	Arms       []armState    `json:"arms"`
	Held       armStats      `json:"held"`
	Learn      []int         `json:"learn"` // the maker's arms by index here
	Control    int           `json:"control"`
	Founders   int           `json:"founders"` // arms that it began with
	Versions   []*version    `json:"versions"`
	// Stream is the units' running draw, First the version that began it, Epoch counts those that
	// began as the one before was too long, in round StreamRound with stickiness round.
	Stream      string `json:"stream"`
	First       uint64 `json:"first"`
	Epoch       uint64 `json:"epoch"`
	StreamRound uint64 `json:"stream_round"`

	Guards    []guardState  `json:"guards"`
	Feedback  policy.Counts `json:"feedback"`
	Exposures policy.Counts `json:"exposures"`
	Orphans   int64         `json:"orphans"`
	Matured   int64         `json:"matured"` // units
	Missing   []int64       `json:"missing"` // by metric
	Unlearned int64         `json:"unlearned"`
	Again     int64         `json:"again"` // values of metrics that had one already
	Sources   []source      `json:"sources"`
	Ratio     ratioTest     `json:"ratio"`
	Recent    []roundStats  `json:"recent"`
	Notes     []Note        `json:"notes"`
}

// roundStats are a matured version's statistics, kept to teach a new learner when the definition
// changes.
type roundStats struct {
	Stats []armStats `json:"stats"` // by arm
}

// Bounds on what is kept.
const (
	keepNotes   = 200
	keepRecent  = 64
	keepSources = 10_000
)

// versionCells bounds the versions that are kept times the arms. Tests lower it.
var versionCells = 200_000

// keepVersions is how many versions are kept; streams of links are half as long.
func (x *live) keepVersions() int { return min(max(versionCells/len(x.Arms), 64), 2048) }

func (x *live) note(t int64, format string, args ...any) {
	x.Notes = append(x.Notes, Note{t, noregret.BadInputf("", format, args...).Message})
	if len(x.Notes) > keepNotes {
		x.Notes = slices.Clone(x.Notes[len(x.Notes)-keepNotes:])
	}
}

// newLive begins an experiment. The version is the last one that the name has had.
func newLive(d *definition.Definition, version uint64, now int64) (*live, error) {
	x := &live{def: d, saved: saved{
		Created: now, Status: policy.Running, Version: version, Control: -1, RoundStart: now,
		Round: 1,
	}}
	arms, err := d.Expand()
	if err != nil {
		return nil, err
	}
	if c := d.Control; c != nil && c.Value != nil {
		arms = slices.Insert(arms, 0, policy.Arm{Name: c.Arm, Value: c.Value})
	}
	for _, a := range arms {
		x.push(a, d.Control != nil && d.Control.Arm == a.Name)
	}
	x.Held = newArmStats(d)
	x.Missing = make([]int64, len(d.Metrics))
	x.Guards = newGuards(len(d.Guardrails), now)
	if err := x.rebuildLearner(); err != nil {
		return nil, err
	}
	x.Founders = len(x.Arms)
	x.note(now, "created")
	return x, x.renew(now, "created")
}

func newGuards(n int, now int64) []guardState {
	g := make([]guardState, n)
	for i := range g {
		g[i] = guardState{State: policy.GuardUnknown, Since: now}
	}
	return g
}

// push adds an arm. Which one is the control is said by the caller, once: a later arm never is,
// whatever its name.
func (x *live) push(a policy.Arm, control bool) {
	k := len(x.Arms)
	x.Arms = append(x.Arms, armState{Arm: a, Active: true, Stats: newArmStats(x.def), Since: x.units()})
	if control {
		x.Control = k
		if x.def.Policy.Kind != "fixed" {
			return
		}
	}
	x.Learn = append(x.Learn, k)
}

// units are all that were exposed and not held back.
func (x *live) units() (n int64) {
	for i := range x.Arms {
		n += x.Arms[i].Stats.Units
	}
	return n
}

// rebuildLearner makes a new learner for the definition, and lets it see the rounds that are kept.
func (x *live) rebuildLearner() error {
	d := x.def
	x.goals = nil
	if d.Objective != nil {
		g, err := d.Goals()
		if err != nil {
			return err
		}
		x.goals = g
	}
	m, err := makeLearner(d, len(x.Learn), x.fixedSplit())
	if err != nil {
		return err
	}
	x.learner = m
	x.grow()
	for i, k := range x.Learn {
		if !x.Arms[k].Active && d.Policy.Kind != "fixed" {
			if err := m.RetireArm(i); err != nil {
				return err
			}
		}
	}
	for i := range x.Recent {
		x.closeLearningRound(x.Recent[i].Stats) // what it cannot use was counted when it was new
	}
	return nil
}

// fixedSplit are the shares of a fixed policy, by arm; retired arms have none.
func (x *live) fixedSplit() []float64 {
	p := make([]float64, len(x.Learn))
	if x.def.Policy.Kind != "fixed" {
		return p
	}
	for i, k := range x.Learn {
		p[i] = x.def.Policy.Split[x.Arms[k].Name]
	}
	return p
}

// grow takes in the points that a maker has chosen since.
func (x *live) grow() {
	b, ok := x.learner.(pointChooser)
	if !ok {
		return
	}
	names, _, _ := x.def.Sides()
	for i := len(x.Learn); i < b.Arms(); i++ {
		x.push(point(names, i, b.Point(i)), false)
	}
	for i, p := range x.learner.Serving() {
		x.Arms[x.Learn[i]].Active = p > 0
	}
}

// mixture is what is to be served: the maker's distribution with the exploration floor, beside the
// control arm's fixed share, shrunk where guardrails ask for it.
func (x *live) mixture() []float64 {
	p := make([]float64, len(x.Arms))
	if x.Status == policy.RolledBack {
		p[x.Control] = 1
		return p
	}
	fixed := 0.0
	if x.def.Policy.Kind != "fixed" && x.Control >= 0 {
		fixed = x.def.Control.Share
		p[x.Control] = fixed
	}
	made, active := x.learner.Serving(), 0
	for i := range made {
		if x.Arms[x.Learn[i]].Active {
			active++
		}
	}
	floor := x.def.ExplorationFloor
	for i, v := range made {
		if x.Arms[x.Learn[i]].Active {
			p[x.Learn[i]] = float64((1 - fixed) * (float64((1-floor)*v) + floor/float64(active)))
		}
	}
	x.shrink(p)
	normalize(p)
	return p
}

// normalize makes shares sum to 1.
func normalize(p []float64) {
	total := 0.0
	for _, v := range p {
		total += v
	}
	for k := range p {
		p[k] /= total
	}
}

// cohortOf is the open cohort of a version, or nil.
func (x *live) cohortOf(v uint64) *cohort {
	for _, c := range slices.Backward(x.cohorts) {
		if c.Version == v {
			return c
		}
	}
	return nil
}

// Bounds on the versions that wait for their window: each costs statistics for every arm.
const (
	leastOpen, mostOpen = 16, 1024
	openCells           = 200_000
)

// maxOpen is how many versions may wait at once before rounds wait, too: so many that their
// statistics have at most 200,000 cells of an arm and a metric, but 16 at least and 1024 at most.
func (x *live) maxOpen() int {
	cells := (len(x.Arms) + 1) * (len(x.def.Metrics) + 2*len(x.def.Ratios()))
	return min(max(openCells/cells, leastOpen), mostOpen)
}

// room refuses changes by hand while far too many versions wait.
func (x *live) room() error {
	if n := 2 * x.maxOpen(); len(x.cohorts) >= n {
		return noregret.BadInputf("version", "%d versions wait for their attribution window, which is the most that "+
			"may: try again "+
			"when some have closed", n)
	}
	return nil
}

// roundOver reports whether the round has what it needs to end.
func (x *live) roundOver(now int64) bool {
	return x.Status != policy.Paused && now-x.RoundStart >= int64(x.def.Round.Length) &&
		x.RoundSeen >= x.def.Round.MinUnits
}

// aged reports whether the running version is to end without its round: while the experiment is
// paused, or too few units come, the rows of those that came must not wait for ever.
func (x *live) aged(now int64) bool {
	c := x.cohorts[len(x.cohorts)-1]
	if now-c.Begun < int64(max(x.def.Round.Length, x.def.AttributionWindow)) {
		return false
	}
	return c.used() || slices.ContainsFunc(x.Sources, func(s source) bool { return s.Version == c.Version })
}

// due reports whether the round, or the running version, may close.
func (x *live) due(now int64) bool {
	return len(x.cohorts) < x.maxOpen() && (x.roundOver(now) || x.aged(now))
}

// closeRound ends the round: the next version serves what was learned. A version that has only aged
// is followed by one that serves the same.
func (x *live) closeRound(now int64) error {
	if !x.due(now) {
		return noregret.BadInputf("round", "round %d has lasted %v with %d units: want %v and %d", x.Round,
			time.Duration(now-x.RoundStart), x.RoundSeen,
			time.Duration(x.def.Round.Length), x.def.Round.MinUnits)
	}
	if !x.roundOver(now) {
		return x.renewWith(now, "aged", x.served())
	}
	x.Round++
	x.RoundStart, x.RoundSeen = now, 0
	return x.renew(now, "round")
}

// served is what the running version serves.
func (x *live) served() *policy.Split { return x.Versions[len(x.Versions)-1].Split.Pad(len(x.Arms)) }

// rewind takes back times that a clock gave that was ahead.
func (x *live) rewind(now int64) {
	x.RoundStart = min(x.RoundStart, now)
	for _, c := range x.cohorts {
		c.Begun, c.Sealed = min(c.Begun, now), min(c.Sealed, now)
	}
}

func inf() float64 { return math.Inf(1) }
