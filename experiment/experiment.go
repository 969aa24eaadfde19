package experiment

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/pages"
	"github.com/noregret/noregret/policy"
)

func itoa(i int) string { return strconv.Itoa(i) }

// Note is something that happened, for people.
type Note struct {
	Time int64  `json:"time"` // nanoseconds since 1970
	Text string `json:"text"`
}

// experimentState is the state of one experiment. Its parts know only their own state; those that
// count or judge arms are given the roster. The receiver of the parts' methods is x, too.
// [persistedParts] lists its persisted fields.
type experimentState struct {
	Created  int64
	Status   policy.Status
	roster   roster
	rounds   rounds
	learning learning
	guards   guards
	lifts    lifts
	joiner   joiner
	health   health
	senders  senders
	Ratio    ratioTest
	Ramp     rampState
	Kept     *decisions
	// Uniform compares with the uniform policy, nil before the first version with units has
	// matured.
	Uniform *uniformSums
	// Conclusion is the record of how the experiment ended, nil before it has.
	Conclusion *api.Conclusion
	// Private has the sums of a private experiment, nil for another one.
	Private *privateSums
	// Joint compares the arms with each other, nil without an objective.
	Joint *joint
	Notes []Note
}

// Bounds on the stored history.
const (
	keepNotes   = 200
	keepRecent  = 64
	keepSources = 10_000
)

func (x *experimentState) note(t int64, format string, args ...any) {
	x.Notes = append(x.Notes, Note{t, noregret.BadInputf("", format, args...).Message})
	if len(x.Notes) > keepNotes {
		x.Notes = slices.Clone(x.Notes[len(x.Notes)-keepNotes:])
	}
}

// newExperiment creates an experiment. The version is the last one of an earlier experiment of that
// name.
func newExperiment(memory *pages.Pool, d *definition.Definition, version uint64, now int64) (*experimentState, error) {
	x := &experimentState{
		Created: now, Status: policy.Running, roster: roster{def: d, Control: -1},
		rounds: rounds{Version: version, Round: 1, RoundStart: now}, Ramp: rampState{Since: now},
		joiner: joiner{memory: memory}, Kept: newDecisions(),
	}
	arms, err := d.Expand()
	if err != nil {
		return nil, err
	}
	if c := d.Control; c != nil && c.Value != nil {
		arms = slices.Insert(arms, 0, policy.Arm{Name: c.Arm, Value: c.Value})
	}
	for _, a := range arms {
		x.roster.push(a, d.Control != nil && d.Control.Arm == a.Name)
	}
	if x.Private, err = newPrivate(d, len(x.roster.Arms)); err != nil {
		return nil, err
	}
	x.roster.Holdout = newArmStats(d)
	x.health = newHealth(len(d.Metrics))
	x.guards.Guards = newGuards(len(d.Guardrails), now)
	x.guards.watch(d)
	x.lifts.watch(d)
	valuer{x}.watch()
	earlyContrastView{&x.roster}.begin(version)
	if err := x.learning.rebuildLearner(&x.roster, nil); err != nil {
		return nil, err
	}
	x.roster.InitialArms = len(x.roster.Arms)
	x.note(now, "created")
	return x, x.renew(now, "created")
}

// mixture returns the distribution to serve: the learned mixture with its share of the traffic,
// shrunk if guardrails require it.
func (x *experimentState) mixture() []float64 {
	if x.Status == policy.RolledBack {
		p := make([]float64, len(x.roster.Arms))
		p[x.roster.Control] = 1
		return p
	}
	p := x.learnedMixture()
	dilute(p, rampShare(x.roster.def, x.Ramp.Stage), x.roster.Control)
	x.guards.shrink(x.guardInput(true), p)
	normalize(p)
	return p
}

// learnedMixture returns the learner's mixture without stopped arms and within the bounds on
// shares. Where the control arm is not an arm of the learner, it adds its fixed share and the
// exploration floor.
func (x *experimentState) learnedMixture() []float64 {
	p := make([]float64, len(x.roster.Arms))
	fixed, floor := 0.0, x.roster.def.ExplorationFloor
	switch {
	case x.roster.def.LearnsControl():
		floor = 0
	case x.roster.def.Policy.Kind != "fixed" && x.roster.Control >= 0:
		fixed = x.roster.def.Control.Share
		p[x.roster.Control] = fixed
	}
	made, active, arms := x.learning.learner.Serving(), 0, stopView{&x.roster}
	for i := range made {
		if arms.planned(x.roster.LearnedArms[i]) {
			active++
		}
	}
	for i, v := range made {
		k, share := x.roster.LearnedArms[i], float64((1-floor)*v)
		if arms.planned(k) {
			share += floor / float64(active)
		}
		if x.roster.Arms[k].Active {
			p[k] += float64((1 - fixed) * share)
		}
	}
	arms.limit(p)
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

// Bounds on the versions that wait for their window: each costs statistics for every arm.
const (
	leastOpen, mostOpen = 16, 1024
	openCells           = 200_000
)

// checkCapacity returns an error, for changes by hand, while too many versions wait for their
// windows.
func (x *experimentState) checkCapacity() error {
	if n := 2 * x.roster.maxOpen(); len(x.joiner.cohorts) >= n {
		return noregret.BadInputf("version", "%d versions wait for their attribution window, the maximum: try again "+
			"when some have closed", n)
	}
	return nil
}

// roundOver reports whether the round has what it needs to end.
func (x *experimentState) roundOver(now int64) bool {
	return !x.frozen() && now-x.rounds.RoundStart >= int64(x.roster.def.Round.Length) &&
		x.joiner.RoundSeen >= x.roster.def.Round.MinUnits
}

// aged reports whether the running version must end before its round. While the experiment is
// paused or too few units arrive, the rows of the units that did arrive must not wait for ever.
func (x *experimentState) aged(now int64) bool {
	c := x.joiner.running()
	if now-c.Begun < int64(max(x.roster.def.Round.Length, x.roster.def.AttributionWindow)) {
		return false
	}
	return c.used() || slices.ContainsFunc(x.senders.Sources, func(s source) bool { return s.Version == c.Version })
}

// due reports whether the round, or the running version, may close.
func (x *experimentState) due(now int64) bool {
	return len(x.joiner.cohorts) < x.roster.maxOpen() && (x.roundOver(now) || x.aged(now))
}

// closeRound ends the round: the next version serves what was learned. If the version has only
// aged, the next one serves the same mixture.
func (x *experimentState) closeRound(now int64) error {
	if !x.due(now) {
		return noregret.BadInputf("round", "round %d has lasted %v with %d units: want %v and %d", x.rounds.Round,
			time.Duration(now-x.rounds.RoundStart), x.joiner.RoundSeen,
			time.Duration(x.roster.def.Round.Length), x.roster.def.Round.MinUnits)
	}
	if !x.roundOver(now) {
		return x.renewWith(now, "aged", x.rounds.served(len(x.roster.Arms)))
	}
	x.rounds.Round++
	x.rounds.RoundStart, x.joiner.RoundSeen = now, 0
	ramp{x}.step(now)
	return x.renew(now, "round")
}

// rewind moves back the times that were recorded while the clock was ahead.
func (x *experimentState) rewind(now int64) {
	x.rounds.RoundStart, x.Ramp.Since = min(x.rounds.RoundStart, now), min(x.Ramp.Since, now)
	for _, c := range x.joiner.cohorts {
		c.Begun, c.Sealed = min(c.Begun, now), min(c.Sealed, now)
	}
	x.Kept.rewind(now)
}

func inf() float64 { return math.Inf(1) }
