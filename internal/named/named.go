// Package named looks up learners, games and other entries by the name that a user gives. Its
// errors list the valid names.
package named

import (
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
	return nil, noregret.Errorf(noregret.Usage, kind, "%q: want one of %s", name, strings.Join(names, ", "))
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
			return noregret.Errorf(noregret.Usage, owner, "no option %q: %s", name, choice(all, nameOf))
		}
		if err := check(&all[i], given[name]); err != nil {
			return err
		}
	}
	return nil
}

// choice says which options exist.
func choice[T any](all []T, nameOf func(*T) string) string {
	if len(all) == 0 {
		return "there are no options"
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = nameOf(&all[i])
	}
	return "want one of " + strings.Join(names, ", ")
}
