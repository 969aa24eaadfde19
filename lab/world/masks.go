package world

import (
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
)

// Segment is a part of the units that may get some of the arms only: by age, by country, by what
// they have bought. The arms' means are the same in all segments.
type Segment struct {
	// Share is its part of the units of each round. The shares of all segments sum to one.
	Share float64
	// Allowed reports by arm whether its units may get it. Arm 0 is allowed.
	Allowed []bool
}

// Masked reports whether some units may not get some arm in some round.
func (w *World) Masked() bool { return w.Away != nil || w.Segments != nil }

// masks returns the segments of round t, without the arms that are away. A world without segments
// has one of all units.
func (w *World) masks(t int) []Segment {
	masks := slices.Clone(w.Segments)
	if masks == nil {
		masks = []Segment{{Share: 1, Allowed: slices.Repeat([]bool{true}, w.Arms())}}
	}
	for g := range masks {
		masks[g].Allowed = slices.Clone(masks[g].Allowed)
		for k := range masks[g].Allowed {
			masks[g].Allowed[k] = masks[g].Allowed[k] && (w.Away == nil || k == 0 || !w.Away(t, k))
		}
	}
	return masks
}

// Serve returns what the units of round t get where the policy gives them mixture p, as the service
// decides among the arms that a unit allows (policy.DecideAmong). A unit whose arm is not allowed
// gets another one, drawn from the shares of those that are, or arm 0 if these have none. The
// service does not learn from such units, so learned has the shares of the others only. In a world
// without masks both are p. O(segments·arms).
func (w *World) Serve(t int, p []float64) (served, learned []float64) {
	if !w.Masked() {
		return p, p
	}
	served, learned = make([]float64, len(p)), make([]float64, len(p))
	for _, g := range w.masks(t) {
		sum := 0.0
		for k, share := range p {
			if g.Allowed[k] {
				sum += share
			}
		}
		if sum == 0 {
			served[0] += g.Share
			continue
		}
		for k, share := range p {
			if g.Allowed[k] {
				served[k] += float64(g.Share * (share / sum))
				learned[k] += float64(g.Share * share)
			}
		}
	}
	return served, learned
}

// Allowed reports by arm whether a unit may get it in round t. A unit that returns is in the same
// segment.
func (s *Sampler) Allowed(t int, unit uint64) []bool {
	masks := s.w.masks(t)
	source := random.SplitMix64(random.Mix(s.seed ^ random.Mix(unit^segmentStream)))
	u := source.Float64()
	for g := range masks[:len(masks)-1] {
		if u -= masks[g].Share; u < 0 {
			return masks[g].Allowed
		}
	}
	return masks[len(masks)-1].Allowed
}

// mostChoices bounds the assignments of arms to segments.
const mostChoices = 10_000

// assignments returns the ways to give each segment one of its arms, as shares of the arms: what a
// policy that decides for each segment by itself can do without randomness. What policies can do
// are the mixtures of them, and one mixture for all units that the segments' masks restrict comes
// as near to each as one likes, as shares of a log-linear model do. Without masks the assignments
// are the arms, in order.
func assignments(masks []Segment, arms int) (*pasto.Table, error) {
	list := [][]float64{make([]float64, arms)}
	for _, g := range masks {
		var next [][]float64
		for _, shares := range list {
			for k, ok := range g.Allowed {
				if ok {
					more := slices.Clone(shares)
					more[k] += g.Share
					next = append(next, more)
				}
			}
		}
		if list = next; len(list) > mostChoices {
			return nil, noregret.BadInputf("segments", "%d assignments of arms or more: want at most %d", len(list),
				mostChoices)
		}
	}
	t, err := pasto.NewTable(len(list), arms)
	if err != nil {
		return nil, err
	}
	for i, shares := range list {
		copy(t.Arm(i), shares)
	}
	return t, nil
}
