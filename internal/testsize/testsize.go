package testsize

import (
	"flag"
	"strconv"
	"testing"
)

// Short reports whether tests run in their short form: with -short, or under the race detector.
func Short() bool { return race || testing.Short() }

// Of is full, or short in the short form.
func Of(full, short int) int {
	if Short() {
		return short
	}
	return full
}

// Rapid sets the number of checks of a property under the race detector, for the whole package,
// unless the flag -rapid.checks says otherwise. Call it in a test file's init, before flags are
// parsed. (With -short, rapid makes a fifth of its checks by itself.)
func Rapid(checks int) {
	if race {
		if err := flag.Set("rapid.checks", strconv.Itoa(checks)); err != nil {
			panic(err) // the package's tests do not import rapid
		}
	}
}

// NoRace skips a test under the race detector: one whose code other tests run there, and which
// would take minutes. `make montecarlo` runs it, and so does .ci/run.
func NoRace(t testing.TB) {
	t.Helper()
	if race {
		t.Skip("minutes under the race detector: make montecarlo runs it")
	}
}
