package api

import (
	"maps"
	"slices"
)

// Page is a part of a list that is sorted by name: at most Limit names, 0 for all, after the name
// After. The zero value is the whole list.
type Page struct {
	After string
	Limit int
}

// Of returns the names of the page among sorted names and, if there are further ones, the last name
// of the page: the After of the next page.
func (p Page) Of(names []string) (page []string, next string) {
	if p.After != "" {
		i, found := slices.BinarySearch(names, p.After)
		if found {
			i++
		}
		names = names[i:]
	}
	if p.Limit > 0 && len(names) > p.Limit {
		names = names[:p.Limit]
		next = names[p.Limit-1]
	}
	return names, next
}

// Keep removes from a report what it says of each arm that is not kept. What it says of all arms
// together stays, such as the guardrails, and so does the evidence of a conclusion.
func (r *Report) Keep(kept func(arm string) bool) {
	shares := func(m map[string]float64) {
		maps.DeleteFunc(m, func(arm string, _ float64) bool { return !kept(arm) })
	}
	shares(r.Mixture)
	shares(r.Deployed)
	maps.DeleteFunc(r.Arms, func(arm string, _ ArmReport) bool { return !kept(arm) })
	for i := range r.Lift.Quantities {
		maps.DeleteFunc(r.Lift.Quantities[i].Arms, func(arm string, _ Comparison) bool { return !kept(arm) })
	}
	for i := range r.History {
		shares(r.History[i].Mixture)
		shares(r.History[i].Deployed)
	}
	if r.Privacy != nil {
		maps.DeleteFunc(r.Privacy.Counts, func(arm string, _ int64) bool { return !kept(arm) })
		maps.DeleteFunc(r.Privacy.Sums, func(arm string, _ map[string]float64) bool { return !kept(arm) })
	}
}
