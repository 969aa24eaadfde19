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
	create := compare.New
	if d.Control == nil {
		create = compare.NewFree
	}
	s, err := create(max(arms, 1), compare.Metrics(d))
	if err != nil {
		return nil, err
	}
	return s, fix(s, d)
}

// fix gives the store the memory that a definition fixes.
func fix(s *compare.Store, d *definition.Definition) error {
	memory := 0
	if d.Mixes() {
		memory = int(d.Drift.Memory)
	}
	if s == nil || s.Fixed() == memory {
		return nil
	}
	return s.Fix(memory)
}

// fits reports whether the store may be that of the roster.
func (x *learning) fits(r *roster) bool {
	if x.Store == nil || r.def.Contextual() {
		return x.Store == nil && r.def.Contextual()
	}
	return x.Store.Fits(max(len(r.Arms), 1), compare.Metrics(r.def)) && x.Store.Free() == (r.Control < 0)
}

// growStore adds the arms that have come since to the store.
func (x *learning) growStore(arms int) {
	for x.Store != nil && x.Store.Arms() < arms {
		x.Store.AddArm()
	}
}
