package experiment

import (
	"slices"
	"strconv"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/guard"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/experiment/report"
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
	joiner   *join.Joiner
	health   health
	Ramp     guard.Ramp
	// Tight and Uniform serve reports only: where lifts are tightest, and the comparison with the
	// uniform policy, nil before the first version with units has matured.
	Tight   report.Tight
	Uniform *report.Uniform
	// Conclusion is the record of how the experiment ended, nil before it has.
	Conclusion *api.Conclusion
	// Private has the sums of a private experiment, nil for another one.
	Private *privateSums
	// Sequences compare the arms with the control, by the versions whose window has closed.
	Sequences compare.Sequences
	// Wanted is what the guardrails ask for since an event, nil for nothing. It holds back their
	// further judgement until the event that grants it.
	Wanted *guard.Demand
	Notes  []Note

	event consequence // of the event at hand
}

// Bounds on the stored history.
const (
	keepNotes  = 200
	keepRecent = 64
)

func (x *experimentState) note(t int64, format string, args ...any) {
	x.Notes = append(x.Notes, Note{t, noregret.BadInputf("", format, args...).Message})
	if len(x.Notes) > keepNotes {
		x.Notes = slices.Clone(x.Notes[len(x.Notes)-keepNotes:])
	}
}

// newExperiment creates an experiment. The version is the last one of an earlier experiment of that
// name.
func newExperiment(memory *pages.Pool, d *definition.Definition, version uint64, now int64, event consequence,
) (*experimentState, error) {
	x := &experimentState{
		Created: now, Status: policy.Running, roster: roster{def: d, Control: -1},
		rounds: rounds{Version: version, Round: 1, RoundStart: now}, Ramp: guard.Ramp{Since: now},
		joiner: join.New(memory, d), event: event,
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
	if x.Private, err = newPrivate(d, len(x.roster.Arms)); err != nil {
		return nil, err
	}
	x.health = newHealth(len(d.Metrics))
	x.guards = guards{guard.New(d, version, now), new(guard.Cache)}
	x.Sequences.Watch(d.ComparedMetrics())
	x.Tight.Watch(d)
	if x.learning.Store, err = newStore(d, len(x.roster.Arms)); err != nil {
		return nil, err
	}
	if err := x.roster.setGoals(); err != nil {
		return nil, err
	}
	if err := x.taught(x.learning.rebuildLearner(&x.roster, x.joiner)); err != nil {
		return nil, err
	}
	x.note(now, "created")
	return x, x.renew(now, "created")
}

// push adds an arm. The caller decides whether it is the control: an arm that is added later never
// is, whatever its name.
func (x *experimentState) push(a policy.Arm, control bool) {
	since := x.joiner.Units()
	x.joiner.AddArm(x.roster.def)
	x.roster.push(a, control, since)
}

// maxOpen returns the number of versions that may wait for their windows before rounds wait, too.
// It limits their statistics to 200,000 cells of arm and metric, within 16 to 1024 versions.
func (x *roster) maxOpen() int {
	cells := (len(x.Arms) + 1) * (len(x.def.Metrics) + 2*len(x.def.Ratios()))
	return min(max(openCells/cells, leastOpen), mostOpen)
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
	if n := 2 * x.roster.maxOpen(); len(x.joiner.Versions) >= n {
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
// Versions that have only aged fill at most half of maxOpen, however much longer they wait for the
// longest window than the shortest one lasts, so that a round can always end.
func (x *experimentState) aged(now int64) bool {
	shortest, longest := x.roster.def.Windows()
	apart := 2 * longest / time.Duration(x.roster.maxOpen())
	least := int64(max(time.Duration(x.roster.def.Round.Length), shortest, apart))
	return now-x.joiner.Running().Begun >= least && x.joiner.Used()
}

// due reports whether the round, or the running version, may close.
func (x *experimentState) due(now int64) bool {
	return len(x.joiner.Versions) < x.roster.maxOpen() && (x.roundOver(now) || x.aged(now))
}

// closeRound ends the round: the next version serves what the event says, which is what was
// learned. If the version has only aged, the next one serves the same mixture.
func (x *experimentState) closeRound(now int64) error {
	if !x.due(now) {
		return noregret.BadInputf("round", "round %d has lasted %v with %d units: want %v and %d", x.rounds.Round,
			time.Duration(now-x.rounds.RoundStart), x.joiner.RoundSeen,
			time.Duration(x.roster.def.Round.Length), x.roster.def.Round.MinUnits)
	}
	if !x.roundOver(now) {
		return x.renewWith(now, "aged", x.rounds.served(len(x.roster.Arms)))
	}
	s, err := x.serving("round", func(p *proposer, s *Serving) error {
		s.Stage = p.nextStage(now)
		return p.learned(s)
	})
	if err != nil {
		return err
	}
	x.rounds.Round++
	x.rounds.RoundStart, x.joiner.RoundSeen = now, 0
	return x.follow(now, s)
}

// rewind moves back the times that were recorded while the clock was ahead.
func (x *experimentState) rewind(now int64) {
	x.rounds.RoundStart, x.Ramp.Since = min(x.rounds.RoundStart, now), min(x.Ramp.Since, now)
	x.joiner.Rewind(now)
}
