// Package named looks up learners, games and other entries by the name that a user gives. Its
// errors list the valid names, and ask for the one that was probably meant.
package named

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret"
)

// Find returns the entry with the given name. For an unknown name it returns an error of code usage
// whose place is the kind and whose message lists the names.
func Find[T any](kind, name string, all []T, nameOf func(*T) string) (*T, error) {
	names := make([]string, len(all))
	for i := range all {
		if names[i] = nameOf(&all[i]); names[i] == name {
			return &all[i], nil
		}
	}
	return nil, noregret.Errorf(noregret.Usage, kind, "%s", Unknown(name, names))
}

// Unknown says that a name is not one of several: the name in quotes, the name that was probably
// meant, if there is one, and all names.
func Unknown(name string, names []string) string {
	return fmt.Sprintf("%.80q: %swant one of %s", name, DidYouMean(name, names), strings.Join(names, ", "))
}

// DidYouMean asks for the name that was probably meant, with a space at the end, or returns "" if
// none is near: at most a third of its letters, and at least one, are to be inserted, left out,
// replaced or swapped with the next one. Of several the nearest one, the first of these, is meant.
// A name that the given one begins, or that it ends, is near as well. Upper case is lower case
// here.
func DidYouMean(name string, names []string) string {
	name = strings.ToLower(name)
	best, least := "", math.MaxInt
	for _, candidate := range names {
		c := strings.ToLower(candidate)
		if len(name) > 2*len(c)+8 {
			continue
		}
		d := distance(name, c)
		near := d <= max(len(c)/3, 1) && d < len(c)
		if len(name) >= 3 && (strings.HasPrefix(c, name) || strings.HasSuffix(c, name)) {
			near = true
		}
		if near && d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "? "
}

// distance is the number of bytes to insert, leave out or replace, or of neighbours to swap, that
// makes b of a: the distance of Damerau and Levenshtein in the form of optimal string alignment.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// CheckOptions calls check for the given options in the order of their names. It returns an error
// of code usage for an option that the owner does not have.
func CheckOptions[T any](owner string, given map[string]float64, all []T, nameOf func(*T) string,
	check func(o *T, v float64) error,
) error {
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		i := slices.IndexFunc(all, func(o T) bool { return nameOf(&o) == name })
		if i < 0 {
			return noregret.Errorf(noregret.Usage, owner, "no option %q: %s", name, choice(name, all, nameOf))
		}
		if err := check(&all[i], given[name]); err != nil {
			return err
		}
	}
	return nil
}

// choice says which options exist.
func choice[T any](name string, all []T, nameOf func(*T) string) string {
	if len(all) == 0 {
		return "there are no options"
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = nameOf(&all[i])
	}
	return DidYouMean(name, names) + "want one of " + strings.Join(names, ", ")
}
