package contextual

import "github.com/noregret/noregret"

// waiting holds the choices without a reward, in a ring by ID: the place of choice id is id modulo
// limit. A new choice takes the place of the one that came limit choices before it.
type waiting struct {
	limit int
	next  uint64 // the number of choices so far
	ring  []waitingChoice
	used  int
}

// waitingChoice is a choice without a reward. ID is 0 in a place that is free.
type waitingChoice struct {
	ID  uint64
	Arm int
	X   []float64
}

// size is the number of choices.
func (w *waiting) size() int { return w.used }

// add adds a choice, copies x and returns the ID.
func (w *waiting) add(arm int, x []float64) uint64 {
	w.next++
	at := int(w.next % uint64(w.limit))
	for len(w.ring) <= at {
		w.ring = append(w.ring, waitingChoice{})
	}
	c := &w.ring[at]
	if c.ID == 0 {
		w.used++
	}
	c.ID, c.Arm, c.X = w.next, arm, append(c.X[:0], x...)
	return w.next
}

// find returns the choice of an ID.
func (w *waiting) find(id uint64) (*waitingChoice, error) {
	if id == 0 || id > w.next {
		return nil, noregret.BadInputf("id", "%d: no such choice; the last one is %d", id, w.next)
	}
	if at := int(id % uint64(w.limit)); at < len(w.ring) && w.ring[at].ID == id {
		return &w.ring[at], nil
	}
	if w.next-id >= uint64(w.limit) {
		return nil, noregret.BadInputf("id", "%d: the choice has a reward already or was forgotten: %d choices came "+
			"later, "+
			"and at most %d are kept", id, w.next-id, w.limit)
	}
	return nil, noregret.BadInputf("id", "%d: the choice has a reward already", id)
}

// remove frees the place of a choice.
func (w *waiting) remove(id uint64) {
	w.ring[id%uint64(w.limit)].ID = 0
	w.used--
}

// list returns the choices, oldest first.
func (w *waiting) list() []waitingChoice {
	out := make([]waitingChoice, 0, w.used)
	first := uint64(1)
	if w.next > uint64(w.limit) {
		first = w.next - uint64(w.limit) + 1
	}
	for id := first; id <= w.next; id++ {
		if at := int(id % uint64(w.limit)); at < len(w.ring) && w.ring[at].ID == id {
			out = append(out, w.ring[at])
		}
	}
	return out
}

// fill reads a list and reports whether it is one of a waiting with this limit.
func (w *waiting) fill(next uint64, list []waitingChoice, arms, dim int) bool {
	last := uint64(0)
	for _, c := range list {
		if c.ID <= last || c.ID > next || next-c.ID >= uint64(w.limit) || c.Arm < 0 || c.Arm >= arms ||
			checkVector(c.X, dim) != nil {
			return false
		}
		last = c.ID
		w.next = c.ID - 1
		w.add(c.Arm, c.X)
	}
	w.next = next
	return true
}
