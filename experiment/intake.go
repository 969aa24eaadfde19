package experiment

import (
	"fmt"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/experiment/join"
	"github.com/noregret/noregret/policy"
)

// Memory of a unit that waits for feedback, when its tables have just grown: see
// TestMemoryPerToken.
const (
	unitBytes  = 56
	valueBytes = 9 // for each metric
)

// Memory that no pool can hold: of a kept decision, of a unit with a context, and of each of its
// coordinates.
const (
	keptBytes    = 100
	contextBytes = 20
	termBytes    = 15
)

// UnitBytes returns the memory, in bytes, that a unit of the definition's experiment uses while it
// waits for feedback, at most.
func UnitBytes(d *definition.Definition) int64 {
	return unitBytes + valueBytes*int64(len(d.Metrics))
}

// OpenBytes returns how many bytes the units of an experiment need which wait for feedback, at
// most: those of the rows, which are in the pool of [NewStateIn], and those that are in memory in
// any case, of kept decisions and of contexts. A kept decision whose exposure waits has room for
// its row. Both are 0 if there is no such experiment. It costs O(versions that wait).
func (s *State) OpenBytes(name string) (rows, fixed int64) {
	x := find(s, name)
	if x == nil {
		return 0, 0
	}
	n := x.joiner.Open()
	fixed += int64(x.joiner.Terms()) * termBytes
	if x.roster.encoder != nil {
		fixed += n * contextBytes
	}
	kept, pending, bytes := x.joiner.Kept.Size()
	n += pending
	fixed += kept*keptBytes + bytes
	return n * UnitBytes(x.roster.def), fixed
}

// Waits reports whether the unit of an event waits for feedback already, so that the event needs no
// further memory. The error wraps a [pages.ReadError].
func (s *State) Waits(name string, e *join.Unit) (waits bool, err error) {
	defer catchLost(&err)
	x := s.live[name]
	if x == nil {
		return false, nil
	}
	unit, ok := policy.ParseUnit(e.Unit)
	return ok && x.joiner.Waits(e.Version, unit), nil
}

// Refusals are a problem if they are at least leastRefused items and more than this share of all.
const (
	refusedShare = 0.01
	leastRefused = 10
)

// RefusalProblem returns the problem that a share of items was rejected or late, "" for none. The
// kind is a plural, such as "exposures".
func RefusalProblem(kind string, c api.Counts) string {
	refused, all := c.Rejected+c.Late, c.Accepted+c.Duplicate+c.Late+c.Rejected
	if refused < leastRefused || float64(refused) <= refusedShare*float64(all) {
		return ""
	}
	return fmt.Sprintf("refused %s: %d of %d items (%.1f %%) were not counted, %d of them rejected and %d late", kind,
		refused, all, 100*float64(refused)/float64(all), c.Rejected, c.Late)
}

// LastSequence returns the last sequence number of a source of sums, false if the source is
// unknown.
func (s *State) LastSequence(name, source string) (last uint64, known bool) {
	x := s.live[name]
	if x == nil {
		return 0, false
	}
	return x.joiner.LastSequence(source)
}

// KeptArm returns the arm of the decision that is kept for a unit, false if none is. O(1).
func (s *State) KeptArm(name string, unit uint64) (arm int, ok bool) {
	x := s.live[name]
	if x == nil {
		return 0, false
	}
	return x.joiner.Kept.KeptArm(unit)
}
