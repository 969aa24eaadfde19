package experiment

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/join"
)

// applyPrivate applies feedback of a private experiment. For everybody else it has not happened:
// time does not advance, no window closes, and the event has no public position. Whether an item is
// too late goes by the time of the event.
func applyPrivate(s *State, e Event) Outcome {
	s.hidden++
	p := e.units
	if p == nil {
		p = new(join.Units)
		if err := e.openUnits(p); err != nil {
			return Outcome{Err: err}
		}
	}
	x := s.live[p.Experiment]
	switch {
	case x == nil:
		return Outcome{Experiment: p.Experiment, Err: s.Deleted.NotThere(p.Experiment)}
	case x.Private == nil:
		return Outcome{Experiment: p.Experiment, Err: errNotPrivate}
	}
	o := outcome(x.joiner.Report(x.joinInput(max(s.time, e.Time)), p))
	o.Experiment = p.Experiment
	return o
}

// errNotPrivate is the error of private feedback of an experiment that is not private.
var errNotPrivate = noregret.BadInputf("experiment", "not private")

// Hidden returns the number of events that were applied and have no public position.
func Hidden(s *State) uint64 { return s.hidden }

// PublicPosition returns the number of events that were applied without those that have no public
// position: of [KindPrivateFeedback], which nobody may learn of, and of the nodes of a cluster.
func PublicPosition(s *State) uint64 { return s.position - s.hidden }

// PublicPosition returns that of the frozen state: see [PublicPosition].
func (f *Frozen) PublicPosition() uint64 { return f.saved.Position - f.saved.Hidden }

// PublicDigest returns a digest of what an export says: that of [Frozen.Digest] without the
// feedback of private experiments that is not released, the events that brought it, the secrets and
// the audit trail. Two states with the same public events have the same one, whatever feedback
// private experiments have got.
func (f *Frozen) PublicDigest() (string, error) {
	g := f.withoutShown()
	g.saved.Position, g.saved.Hidden, g.saved.Audit, g.saved.Leads = f.PublicPosition(), 0, nil, nil
	private := map[*join.Version]bool{}
	for i := range g.saved.Experiments {
		e := &g.saved.Experiments[i]
		p := e.State.Private
		if p == nil {
			continue
		}
		p = p.copy()
		p.Secret = ""
		p.Pending = slices.Clone(p.Pending)
		for k := range p.Pending {
			p.Pending[k].Sums = nil
		}
		parts := *e.State
		parts.Private, e.State = p, &parts
		for _, c := range e.Cohorts {
			private[c] = true
		}
	}
	sum := sha256.New()
	if err := g.writePublic(&snapshotWriter{to: sum}, private); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// writePublic writes the state, of private cohorts all but the rows of their units.
func (f *Frozen) writePublic(w *snapshotWriter, private map[*join.Version]bool) (err error) {
	defer catchLost(&err)
	f.writeJSON(w, func(c *join.Version) {
		if private[c] {
			w.value(c)
		} else {
			w.version(c)
		}
	})
	return w.err
}

// IsHidden reports whether events of a kind have no public position.
func IsHidden(kind string) bool { return kind == KindPrivateFeedback || isNode(kind) }

// isUnits reports whether the payload of events of a kind is a [join.Units].
func isUnits(kind string) bool {
	return kind == KindExposures || kind == KindFeedback || kind == KindPrivateFeedback
}
