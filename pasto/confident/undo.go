package confident

import (
	"slices"

	"github.com/noregret/noregret/pasto"
)

// undo holds what is needed to take back a round of [Learner].
type undo struct {
	scalars state     // its slices are not used
	rows    []float64 // of each observation's arm: what each and rows of the state name
	pool    []float64 // what metrics of the state names
	whole   bool
	all     []float64 // of all arms
}

// mark saves what the observations are about to change.
func (l *Learner) mark(obs []pasto.Observation) {
	s, u, m := &l.s, &l.undo, l.objective.Dim()
	each, rows := s.each(), s.rows()
	u.scalars, u.whole, u.pool, u.rows = *s, false, u.pool[:0],
		slices.Grow(u.rows[:0], len(obs)*(len(each)+len(rows)*m))
	for _, v := range s.metrics() {
		u.pool = append(u.pool, *v...)
	}
	for i := range obs {
		k := obs[i].Arm
		for _, v := range each {
			u.rows = append(u.rows, (*v)[k])
		}
		for _, v := range rows {
			u.rows = append(u.rows, (*v)[k*m:(k+1)*m]...)
		}
	}
}

// markAll saves the state of all arms before a change resets them.
func (l *Learner) markAll() {
	s, u := &l.s, &l.undo
	each, rows := s.each(), s.rows()
	u.whole, u.all = true, slices.Grow(u.all[:0], len(s.Size)*(len(each)+len(rows)*l.objective.Dim()))
	for _, v := range each {
		u.all = append(u.all, *v...)
	}
	for _, v := range rows {
		u.all = append(u.all, *v...)
	}
}

// revert restores the state at mark.
func (l *Learner) revert(obs []pasto.Observation) {
	s, u, m := &l.s, &l.undo, l.objective.Dim()
	*s = u.scalars
	from := u.pool
	for _, v := range s.metrics() {
		from = from[copy(*v, from):]
	}
	if from = u.all; u.whole {
		for _, v := range s.each() {
			from = from[copy(*v, from):]
		}
		for _, v := range s.rows() {
			from = from[copy(*v, from):]
		}
	}
	from = u.rows
	for i := range obs {
		k := obs[i].Arm
		for _, v := range s.each() {
			(*v)[k] = from[0]
			from = from[1:]
		}
		for _, v := range s.rows() {
			from = from[copy((*v)[k*m:(k+1)*m], from):]
		}
	}
}
