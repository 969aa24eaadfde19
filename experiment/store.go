package experiment

import (
	"github.com/noregret/noregret/experiment/compare"
	"github.com/noregret/noregret/experiment/definition"
)

// newStore returns the empty store of an experiment's arms, nil for a contextual policy: it gives
// the arms to different units, whose means do not compare.
func newStore(d *definition.Definition, arms int) (*compare.Store, error) {
	if d.Contextual() {
		return nil, nil
	}
	return compare.New(max(arms, 1), compare.Metrics(d))
}

// fits reports whether the store may be that of the roster.
func (x *learning) fits(r *roster) bool {
	if x.Store == nil || r.def.Contextual() {
		return x.Store == nil && r.def.Contextual()
	}
	return x.Store.Fits(max(len(r.Arms), 1), compare.Metrics(r.def))
}

// growStore adds the arms that have come since to the store.
func (x *learning) growStore(arms int) {
	for x.Store != nil && x.Store.Arms() < arms {
		x.Store.AddArm()
	}
}
