package testsize

import (
	"flag"
	"strconv"
	"testing"
)

// Short reports whether tests run in their short form: with -short or under the race detector.
func Short() bool { return race || testing.Short() }

// Of returns short in the short form and full otherwise.
func Of(full, short int) int {
	if Short() {
		return short
	}
	return full
}

// Rapid sets the number of checks per property under the race detector for the whole package,
// unless the flag -rapid.checks overrides it. Call it in a test file's init, before flags are
// parsed. (With -short, rapid itself makes only a fifth of its checks.)
func Rapid(checks int) {
	if race {
		if err := flag.Set("rapid.checks", strconv.Itoa(checks)); err != nil {
			panic(err) // the package's tests do not import rapid
		}
	}
}

// NoRace skips a test under the race detector. It is for slow tests of code that other tests run
// there, and for what the race detector changes. `make norace`, and so .ci/run, and `make
// montecarlo` run them.
func NoRace(t testing.TB) {
	t.Helper()
	if race {
		t.Skip("not under the race detector: make norace runs it")
	}
}
