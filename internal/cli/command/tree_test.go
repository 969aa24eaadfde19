package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
)

// Every code of an error that a command returns reaches the exit status, and the text is
// printed once, with the command's name in front.
func TestExitStatus(t *testing.T) {
	for _, tc := range []struct {
		err    error
		status int
		stderr string
	}{
		{nil, 0, ""},
		{errors.New("boom"), 1, "noregret: boom\n"},
		{noregret.Errorf(noregret.Diverged, "", "lost"), 1, "noregret: lost\n"},
		{noregret.Errorf(noregret.Usage, "--x", "odd"), 2, "noregret: --x: odd\n"},
		{noregret.BadInputf("a:1", "bad"), 3, "noregret: a:1: bad\n"},
		{noregret.Errorf(noregret.NotFound, "a", "none"), 3, "noregret: a: none\n"},
		{context.Canceled, 1, "noregret: context canceled\n"}, // not by a signal
	} {
		var errs bytes.Buffer
		a := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs}
		root := NewRoot(a, &cobra.Command{Use: "noregret"})
		sub := &cobra.Command{Use: "fail", RunE: func(*cobra.Command, []string) error { return tc.err }}
		root.AddCommand(sub)
		markRunning(a, sub)
		if got := a.execute(context.Background(), root, []string{"fail"}); got != tc.status ||
			errs.String() != tc.stderr {
			t.Errorf("%v: status %d, stderr %q; want %d, %q", tc.err, got, errs.String(), tc.status, tc.stderr)
		}
	}
}

// A missing required flag is found after the hooks and before the command's own code.
func TestRequiredFlagIsUsage(t *testing.T) {
	var errs bytes.Buffer
	a := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs}
	root := NewRoot(a, &cobra.Command{Use: "noregret"})
	sub := &cobra.Command{Use: "sub", RunE: func(*cobra.Command, []string) error { return nil }}
	sub.Flags().String("model", "", "")
	if err := sub.MarkFlagRequired("model"); err != nil {
		t.Fatal(err)
	}
	root.AddCommand(sub)
	markRunning(a, sub)
	if got := a.execute(context.Background(), root, []string{"sub"}); got != 2 {
		t.Errorf("status %d, want 2: %s", got, &errs)
	}
}
