package experiment

import (
	"slices"

	"github.com/noregret/noregret/bandit/contextual"
	"github.com/noregret/noregret/drift"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/pasto/drifting"
)

// contextRestart restarts the regressions of a contextual policy at intervals.
type contextRestart struct {
	trigger drift.Trigger
	s       contextRestartState
}

// contextRestartState is what a contextLearner with restarts persists.
type contextRestartState struct {
	Learner contextState // in snapshots
	Trigger []byte       // in snapshots
	Rounds  int
	Since   int // rounds since the last restart
	Events  []drifting.Event
	Count   int
}

// restartEvery makes the learner begin anew after so many versions.
func (l *contextLearner) restartEvery(rounds int) error {
	t, err := drift.Every(rounds)
	l.restart = &contextRestart{trigger: t}
	return err
}

// endRound ends a version that was learned from, and begins anew where that is due. The recent
// contexts stay: the shares are averaged over them.
func (l *contextLearner) endRound(r *roster) error {
	x := l.restart
	if x == nil {
		return nil
	}
	x.s.Rounds++
	x.s.Since++
	due, err := x.trigger.Add(0)
	if err != nil || !due {
		return err
	}
	o := l.options
	o.Arms = len(r.Arms)
	m, err := contextual.NewLearner(o)
	if err != nil {
		return err
	}
	for k := range r.Arms {
		if !r.Arms[k].Active {
			if err := m.RetireArm(k); err != nil {
				return err
			}
		}
	}
	l.Learner = m
	if x.s.Since = 0; len(x.s.Events) == mostEvents {
		x.s.Events = slices.Delete(x.s.Events, 0, 1)
	}
	x.s.Count++
	x.s.Events = append(x.s.Events, drifting.Event{Round: x.s.Rounds, Cause: "interval"})
	return nil
}

// Events returns what was forgotten at once: see [drifting.Learner.Events].
func (l *contextLearner) Events() (last []drifting.Event, count int) {
	if l.restart == nil {
		return nil, 0
	}
	return slices.Clone(l.restart.s.Events), l.restart.s.Count
}

// Memory returns the number of versions since the last restart.
func (l *contextLearner) Memory() float64 {
	if l.restart == nil {
		return everything
	}
	return float64(l.restart.s.Since)
}

const contextRestartMagic = "noregret-experiment-context-restart-2\n"

// sealRestart returns the snapshot of a learner with restarts.
func (l *contextLearner) sealRestart(base *contextState) (b []byte, err error) {
	s := l.restart.s
	s.Learner = *base
	if s.Trigger, err = l.restart.trigger.MarshalBinary(); err != nil {
		return nil, err
	}
	return snapshot.Seal(contextRestartMagic, l.Learner.String(), &s)
}

// openRestart reads the snapshot of a learner with restarts.
func (l *contextLearner) openRestart(data []byte, base *contextState) error {
	var s contextRestartState
	if err := snapshot.Open(data, contextRestartMagic, l.Learner.String(), &s); err != nil {
		return err
	}
	if s.Rounds < 0 || s.Since < 0 || s.Since > s.Rounds || s.Count < len(s.Events) || len(s.Events) > mostEvents {
		return snapshot.Bad("damaged: %d rounds and %d events", s.Rounds, len(s.Events))
	}
	if err := l.restart.trigger.UnmarshalBinary(s.Trigger); err != nil {
		return err
	}
	*base = s.Learner
	s.Learner, s.Trigger = contextState{}, nil
	l.restart.s = s
	return nil
}
