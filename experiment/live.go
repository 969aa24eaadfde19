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

// experimentState is the state of one experiment. Its parts know their own state alone; those that
// count or judge arms are handed the roster. Exported fields are persisted (docs/formats/state.md);
// cohorts and the learner's snapshot are persisted beside them.
type experimentState struct {
	Created int64         `json:"created"`
	Status  policy.Status `json:"status"`
	roster
	rounds
	learning
	guards
	joiner
	Notes []Note `json:"notes"`
}

// roster is the definition, the arms and their statistics.
type roster struct {
	def         *definition.Definition
	goals       *pasto.Goals // nil without an objective
	Arms        []armState   `json:"arms"`
	Holdout     armStats     `json:"held"`
	LearnedArms []int        `json:"learn"` // the learner's arms, as indices of Arms
	Control     int          `json:"control"`
	InitialArms int          `json:"founders"` // the number of arms that it began with
}

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

// learning is the learner and what it has learned from.
type learning struct {
	learner   learner
	Recent    []roundStats `json:"recent"`
	Unlearned int64        `json:"unlearned"` // units that could not be learned from
}

// guards are the states of the guardrails.
type guards struct {
	Guards []guardState `json:"guards"`
	bounds [][]armBound // by guardrail and arm, as far as they are known
}

// joiner joins exposures, feedback and sums of units, within the window of each version.
type joiner struct {
	cohorts         []*cohort     // the oldest first; the last one runs
	RoundSeen       int64         `json:"round_seen"` // units exposed in the running round
	Feedback        policy.Counts `json:"feedback"`
	Exposures       policy.Counts `json:"exposures"`
	Orphans         int64         `json:"orphans"`
	Matured         int64         `json:"matured"` // units
	Missing         []int64       `json:"missing"` // by metric
	DuplicateValues int64         `json:"again"`   // values of metrics that the unit had already
	Sources         []source      `json:"sources"`
	Ratio           ratioTest     `json:"ratio"`
}

// running returns the cohort of the running version.
func (j *joiner) running() *cohort { return j.cohorts[len(j.cohorts)-1] }

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
func keepVersions(arms int) int { return min(max(versionCells/arms, 64), 2048) }

func (x *experimentState) note(t int64, format string, args ...any) {
	x.Notes = append(x.Notes, Note{t, noregret.BadInputf("", format, args...).Message})
	if len(x.Notes) > keepNotes {
		x.Notes = slices.Clone(x.Notes[len(x.Notes)-keepNotes:])
	}
}

// newExperiment begins an experiment. The version is the last one that the name has had.
func newExperiment(d *definition.Definition, version uint64, now int64) (*experimentState, error) {
	x := &experimentState{
		Created: now, Status: policy.Running, roster: roster{def: d, Control: -1},
		rounds: rounds{Version: version, Round: 1, RoundStart: now},
	}
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
	x.Holdout = newArmStats(d)
	x.Missing = make([]int64, len(d.Metrics))
	x.Guards = newGuards(len(d.Guardrails), now)
	if err := x.rebuildLearner(&x.roster); err != nil {
		return nil, err
	}
	x.InitialArms = len(x.Arms)
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
func (x *roster) push(a policy.Arm, control bool) {
	k := len(x.Arms)
	x.Arms = append(x.Arms, armState{Arm: a, Active: true, Stats: newArmStats(x.def), Since: x.units()})
	if control {
		x.Control = k
		if x.def.Policy.Kind != "fixed" {
			return
		}
	}
	x.LearnedArms = append(x.LearnedArms, k)
}

// units are all that were exposed and not held back.
func (x *roster) units() (n int64) {
	for i := range x.Arms {
		n += x.Arms[i].Stats.Units
	}
	return n
}

// rebuildLearner makes a new learner for the definition, and lets it see the rounds that are kept.
func (x *learning) rebuildLearner(r *roster) error {
	d := r.def
	r.goals = nil
	if d.Objective != nil {
		g, err := d.Goals()
		if err != nil {
			return err
		}
		r.goals = g
	}
	m, err := makeLearner(d, len(r.LearnedArms), r.fixedSplit())
	if err != nil {
		return err
	}
	x.learner = m
	x.grow(r)
	for i, k := range r.LearnedArms {
		if !r.Arms[k].Active && d.Policy.Kind != "fixed" {
			if err := m.RetireArm(i); err != nil {
				return err
			}
		}
	}
	for i := range x.Recent {
		x.closeLearningRound(r, x.Recent[i].Stats) // what it cannot use was counted when it was new
	}
	return nil
}

// fixedSplit are the shares of a fixed policy, by arm; retired arms have none.
func (x *roster) fixedSplit() []float64 {
	p := make([]float64, len(x.LearnedArms))
	if x.def.Policy.Kind != "fixed" {
		return p
	}
	for i, k := range x.LearnedArms {
		p[i] = x.def.Policy.Split[x.Arms[k].Name]
	}
	return p
}

// grow takes in the points that a maker has chosen since.
func (x *learning) grow(r *roster) {
	b, ok := x.learner.(pointChooser)
	if !ok {
		return
	}
	names, _, _ := r.def.Sides()
	for i := len(r.LearnedArms); i < b.Arms(); i++ {
		r.push(point(names, i, b.Point(i)), false)
	}
	for i, p := range x.learner.Serving() {
		r.Arms[r.LearnedArms[i]].Active = p > 0
	}
}

// mixture is what is to be served: the maker's distribution with the exploration floor, beside the
// control arm's fixed share, shrunk where guardrails ask for it.
func (x *experimentState) mixture() []float64 {
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
		if x.Arms[x.LearnedArms[i]].Active {
			active++
		}
	}
	floor := x.def.ExplorationFloor
	for i, v := range made {
		if x.Arms[x.LearnedArms[i]].Active {
			p[x.LearnedArms[i]] = float64((1 - fixed) * (float64((1-floor)*v) + floor/float64(active)))
		}
	}
	x.guards.shrink(&x.roster, p)
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
func (j *joiner) cohortOf(v uint64) *cohort {
	for _, c := range slices.Backward(j.cohorts) {
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
func (x *roster) maxOpen() int {
	cells := (len(x.Arms) + 1) * (len(x.def.Metrics) + 2*len(x.def.Ratios()))
	return min(max(openCells/cells, leastOpen), mostOpen)
}

// checkCapacity returns an error, for changes by hand, while too many versions wait for their
// windows.
func (x *experimentState) checkCapacity() error {
	if n := 2 * x.maxOpen(); len(x.cohorts) >= n {
		return noregret.BadInputf("version", "%d versions wait for their attribution window, which is the most that "+
			"may: try again "+
			"when some have closed", n)
	}
	return nil
}

// roundOver reports whether the round has what it needs to end.
func (x *experimentState) roundOver(now int64) bool {
	return x.Status != policy.Paused && now-x.RoundStart >= int64(x.def.Round.Length) &&
		x.RoundSeen >= x.def.Round.MinUnits
}

// aged reports whether the running version is to end without its round: while the experiment is
// paused, or too few units come, the rows of those that came must not wait for ever.
func (x *experimentState) aged(now int64) bool {
	c := x.cohorts[len(x.cohorts)-1]
	if now-c.Begun < int64(max(x.def.Round.Length, x.def.AttributionWindow)) {
		return false
	}
	return c.used() || slices.ContainsFunc(x.Sources, func(s source) bool { return s.Version == c.Version })
}

// due reports whether the round, or the running version, may close.
func (x *experimentState) due(now int64) bool {
	return len(x.cohorts) < x.maxOpen() && (x.roundOver(now) || x.aged(now))
}

// closeRound ends the round: the next version serves what was learned. A version that has only aged
// is followed by one that serves the same.
func (x *experimentState) closeRound(now int64) error {
	if !x.due(now) {
		return noregret.BadInputf("round", "round %d has lasted %v with %d units: want %v and %d", x.Round,
			time.Duration(now-x.RoundStart), x.RoundSeen,
			time.Duration(x.def.Round.Length), x.def.Round.MinUnits)
	}
	if !x.roundOver(now) {
		return x.renewWith(now, "aged", x.served(len(x.Arms)))
	}
	x.Round++
	x.RoundStart, x.RoundSeen = now, 0
	return x.renew(now, "round")
}

// served is what the running version serves.
func (x *rounds) served(arms int) *policy.Split { return x.Versions[len(x.Versions)-1].Split.Pad(arms) }

// rewind takes back times that a clock gave that was ahead.
func (x *experimentState) rewind(now int64) {
	x.RoundStart = min(x.RoundStart, now)
	for _, c := range x.cohorts {
		c.Begun, c.Sealed = min(c.Begun, now), min(c.Sealed, now)
	}
}

func inf() float64 { return math.Inf(1) }
