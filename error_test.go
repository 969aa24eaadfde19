package noregret_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/noregret/noregret"
)

func TestErrorText(t *testing.T) {
	for _, tc := range []struct {
		err  *noregret.Error
		want string
	}{
		{
			noregret.Errorf(noregret.BadInput, "a.svm:3", "index %d is not allowed", 0),
			"a.svm:3: index 0 is not allowed",
		},
		{noregret.Errorf(noregret.Usage, "", "passes is 0, want at least 1"), "passes is 0, want at least 1"},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	inner := noregret.Errorf(noregret.NotFound, "x", "no such file: %w", fs.ErrNotExist)
	outer := fmt.Errorf("training: %w", inner)
	if got := noregret.CodeOf(outer); got != noregret.NotFound {
		t.Errorf("CodeOf(wrapped) = %q, want %q", got, noregret.NotFound)
	}
	if !errors.Is(outer, fs.ErrNotExist) {
		t.Error("the cause is not reachable through the chain")
	}
	if got := noregret.CodeOf(errors.New("x")); got != noregret.Internal {
		t.Errorf("CodeOf(plain) = %q, want %q", got, noregret.Internal)
	}
	if got := noregret.CodeOf(nil); got != "" {
		t.Errorf("CodeOf(nil) = %q, want none", got)
	}
	for code, want := range map[noregret.Code]int{
		noregret.Internal: 1, noregret.Usage: 2, noregret.BadInput: 3, noregret.NotFound: 3, noregret.Diverged: 1,
	} {
		if got := code.ExitStatus(); got != want {
			t.Errorf("%s.ExitStatus() = %d, want %d", code, got, want)
		}
	}
}

func ExampleErrorf() {
	err := noregret.Errorf(noregret.BadInput, "train.svm:12", "value %q is not a finite number", "nan")
	fmt.Println(err)
	fmt.Println(noregret.CodeOf(err), noregret.CodeOf(err).ExitStatus())
	// Output:
	// train.svm:12: value "nan" is not a finite number
	// bad_input 3
}

func TestBadInputf(t *testing.T) {
	got := noregret.BadInputf("w[3]", "%v: want a finite number", "nan")
	if got.Code != noregret.BadInput || got.Place != "w[3]" || got.Error() != "w[3]: nan: want a finite number" {
		t.Errorf("BadInputf made %+v", got)
	}
}
