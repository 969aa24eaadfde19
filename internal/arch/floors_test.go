package arch

import (
	"fmt"
	"strings"
)

const module = "github.com/noregret/noregret"

// floors is the architecture: every house (top-level directory) and its floor.
// ARCHITECTURE.md shows the same as a picture. Houses that do not exist yet have
// their place already.
var floors = []struct {
	houses []string
	role   string
}{
	0: {[]string{".", "internal"}, "the error type and the helpers that everything shares"},
	1: {
		[]string{"convex", "loss", "law", "dp", "dataset", "policy", "confseq", "changepoint"},
		"mathematics and data that know no learner",
	},
	2: {
		[]string{"oco", "experts", "bandit", "regret", "forget", "api"},
		"games, learners and the referee; how to forget; the forms of the service's API",
	},
	3: {[]string{"drift", "private"}, "reductions over learners: restarts and privacy"},
	4: {[]string{"pasto", "classify", "play"}, "systems built of learners"},
	5: {[]string{"experiment", "eventlog"}, "the service's pure core and its log"},
	6: {[]string{"server", "client"}, "the service and its clients"},
	7: {[]string{commands}, "the commands"},
	8: {[]string{"cmd", "docs"}, "the program, and the tests of the pages"},
	9: {[]string{"lab", "inputs"}, "modules of their own: the laboratory, and inputs from elsewhere"},
}

// commands is the only house that is not a top-level directory: it is internal and stands on top.
const commands = "internal/cli"

// house is the top-level directory of a package directory given relative to the module's
// root: "dataset" for "dataset/synth", "." for the root.
func house(dir string) string {
	if dir == commands || strings.HasPrefix(dir, commands+"/") {
		return commands
	}
	h, _, _ := strings.Cut(dir, "/")
	return h
}

// floorOf returns the floor of a package directory, or -1.
func floorOf(dir string) int {
	for n, f := range floors {
		for _, h := range f.houses {
			if h == house(dir) {
				return n
			}
		}
	}
	return -1
}

// checkImport returns why the package in directory dir may not import path, or "".
func checkImport(dir, path string) string {
	if path == "C" {
		return `imports "C": noregret has no cgo, so that it builds for any platform from any other`
	}
	if path == "math/rand" {
		return `imports math/rand: its generator is global and its sequence not promised; ` +
			`use internal/random, which is seeded`
	}
	var target string
	switch rest, ok := strings.CutPrefix(path, module); {
	case !ok:
		return ""
	case rest == "":
		target = "."
	case rest[0] == '/':
		target = rest[1:]
	default:
		return "" // another module with a longer name
	}
	from, to := floorOf(dir), floorOf(target)
	switch {
	case to < 0:
		return fmt.Sprintf("imports %s, whose house %q has no floor: give it one in internal/arch/floors_test.go",
			path, house(target))
	case from < 0, house(dir) == house(target), from > to:
		return "" // a house without a floor is reported once, by checkFiles
	case house(dir) == "internal" && target == ".":
		return ""
	case from == to:
		return fmt.Sprintf("imports %s, its neighbour on floor %d (%s): houses on one floor stay apart, "+
			"so that each can be used without the other; move what both need down", path, to, floors[to].role)
	default:
		return fmt.Sprintf("imports %s, which is up on floor %d (%s) while this is floor %d (%s): "+
			"imports point down only, so that a floor can be read and tested without those above it",
			path, to, floors[to].role, from, floors[from].role)
	}
}
