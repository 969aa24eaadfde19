package experiment

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/forget"
)

// forgetter is a learner that tells what it has forgotten.
type forgetter interface {
	// Events returns the last events, the oldest first, and the number of all.
	Events() (last []forget.Event, count int)
	// Memory is the number of rounds that what is known is worth.
	Memory() float64
}

// everything is the memory of learners that forget nothing.
var everything = math.Inf(1)

// forgetting is the [forgetter] of a learner with a memory.
type forgetting struct{ memory *forget.Memory } // nil with drift none

// Events implements [forgetter].
func (f *forgetting) Events() (last []forget.Event, count int) {
	if f.memory == nil {
		return nil, 0
	}
	return f.memory.Events()
}

// Memory implements [forgetter].
func (f *forgetting) Memory() float64 {
	if f.memory == nil {
		return everything
	}
	return f.memory.Worth()
}

// forgotten is what the learner has forgotten at once.
type forgotten struct {
	Seen   int              `json:"seen"` // events of the learner that are in Events, or were
	Count  int64            `json:"count"`
	Events []forgottenEvent `json:"events,omitempty"`
}

// forgottenEvent is an event with its time; Arms are indices of the roster, none for all.
type forgottenEvent struct {
	Time      int64   `json:"time"`
	Version   uint64  `json:"version"`
	Arms      []int   `json:"arms,omitempty"`
	Cause     string  `json:"cause"`
	Statistic float64 `json:"statistic,omitempty"`
}

// newForgotten returns the record of a learner whose events so far do not count; nil for one that
// forgets nothing.
func newForgotten(l learner) *forgotten {
	f, ok := l.(forgetter)
	if !ok || f.Memory() == everything {
		return nil
	}
	_, n := f.Events()
	return &forgotten{Seen: n}
}

// forgottenView is an experiment as far as what its learner forgets.
type forgottenView struct{ *experimentState }

// note records what the learner has forgotten since it was last called.
func (v forgottenView) note(now int64) {
	x := v.experimentState
	log := x.learning.told.Forgotten
	l, ok := x.learning.learner.(forgetter)
	if log == nil || !ok {
		return
	}
	last, count := l.Events()
	for _, e := range last[max(len(last)-(count-log.Seen), 0):] {
		event := forgottenEvent{
			Time: now, Version: x.rounds.Version, Cause: e.Cause, Statistic: e.Statistic,
		}
		for _, i := range e.Arms {
			if i < len(x.roster.LearnedArms) {
				event.Arms = append(event.Arms, x.roster.LearnedArms[i])
			}
		}
		if len(log.Events) == forget.MostEvents {
			log.Events = slices.Delete(log.Events, 0, 1)
		}
		log.Events = append(log.Events, event)
		log.Count++
		if e.Cause != "memory" {
			t := &x.learning.told
			t.Notes = append(t.Notes, Note{now, forgottenText(&x.roster, &event)})
			t.Notes = slices.Clone(t.Notes[max(len(t.Notes)-keepNotes, 0):])
		}
	}
	log.Seen = count
}

// forgottenText says what was forgotten.
func forgottenText(x *roster, e *forgottenEvent) string {
	what := "all arms are learned anew"
	if len(e.Arms) > 0 {
		what = "learned anew: " + strings.Join(armNames(x, e.Arms), ", ")
	}
	switch e.Cause {
	case "interval":
		return what + ": the interval of restarts has ended"
	case "change":
		return what + ": their metrics have changed"
	case "unserved":
		return what + ": they have not been served for long"
	case "memory":
		if e.Statistic == 0 {
			return "the memory is all rounds: that has predicted best"
		}
		return "the memory is " + shortNumber(e.Statistic) + " rounds: that has predicted best"
	}
	return what + ": " + e.Cause + " reports a change, the largest residual is " + shortNumber(e.Statistic) +
		" standard errors"
}

func shortNumber(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }

// armNames returns the names of arms.
func armNames(x *roster, arms []int) (names []string) {
	for _, k := range arms {
		names = append(names, x.Arms[k].Name)
	}
	return names
}

// report returns what a report says of drift, nil with drift none.
func (v forgottenView) report() *api.DriftReport {
	x := v.experimentState
	l, ok := x.learning.learner.(forgetter)
	log := x.learning.told.Forgotten
	if !ok || log == nil {
		return nil
	}
	r := &api.DriftReport{Kind: x.roster.def.Drift.Kind, Memory: l.Memory(), Count: log.Count}
	if e, ok := l.(interface{ Variation() float64 }); ok {
		r.Variation = known(e.Variation())
	}
	for i := range log.Events {
		e := &log.Events[i]
		r.Events = append(r.Events, api.DriftEvent{
			Time: stamp(e.Time), Version: e.Version, Arms: armNames(&x.roster, e.Arms), Cause: e.Cause,
			Statistic: e.Statistic, Text: forgottenText(&x.roster, e),
		})
	}
	return r
}
