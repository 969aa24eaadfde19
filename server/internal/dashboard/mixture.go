package dashboard

import (
	"cmp"
	"slices"

	"github.com/noregret/noregret/api"
)

// mostArms is the number of arms in a picture of a mixture; it shows the sum of the others.
const mostArms = 7

// armsByShare lists the arms of all versions, those with the greatest shares first. The present
// share counts four times as much as the mean share of the versions.
func armsByShare(r *api.Report) []string {
	var names []string
	weight := map[string]float64{}
	for i := range r.History {
		for name, q := range r.History[i].Mixture {
			if _, seen := weight[name]; !seen {
				names = append(names, name)
			}
			weight[name] += q / float64(4*len(r.History))
		}
	}
	for _, name := range names {
		weight[name] += r.Mixture[name]
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(a, b))
	})
	return names
}
