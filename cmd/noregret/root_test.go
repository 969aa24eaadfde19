package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/noregret/noregret"
)

// try runs the command in this process.
func try(ctx context.Context, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(ctx, args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// Every command has a short text, a long text and an example that calls it by its name.
func TestCommandsAreDocumented(t *testing.T) {
	n := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" {
			return // cobra's own
		}
		n++
		path := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q, want a phrase without a full stop", path, cmd.Short)
		}
		if len(cmd.Long) <= len(cmd.Short) {
			t.Errorf("%s: Long is no longer than Short", path)
		}
		if !strings.Contains(cmd.Example, path) {
			t.Errorf("%s: the example does not show %q", path, path)
		}
		for _, l := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if len(l) > 100 {
				t.Errorf("%s: a line of %d bytes: %q", path, len(l), l)
			}
		}
		if cmd.Runnable() && cmd.RunE == nil {
			t.Errorf("%s has Run instead of RunE, which loses its errors", path)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root := newRootCommand(&app{})
	walk(root)
	walk(newHelpCommand(&app{}))
	if n < 4 {
		t.Errorf("walked %d commands", n)
	}
}

// The help of the root leads with the service, and every command is in a group.
func TestHelpLeadsWithTheService(t *testing.T) {
	root := newRootCommand(&app{})
	if g := root.Groups()[0]; g.ID != "service" {
		t.Errorf("the first group is %+v", g)
	}
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && !slices.Contains([]string{"version", "completion"}, cmd.Name()) {
			t.Errorf("%s is in no group", cmd.Name())
		}
	}
	help := printed(t, "help")
	at := -1
	for _, text := range []string{
		"runs a decision service", "noregret demo\n", "noregret experiment apply toy.yaml", "The decision service:",
		"\n  serve ", "Classifiers:",
	} {
		i := strings.Index(help, text)
		if i <= at {
			t.Errorf("%q is not in the help, or too early:\n%s", text, help)
		}
		at = i
	}
}

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
		a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs}
		root := newRootCommand(a)
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
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs}
	root := newRootCommand(a)
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

// An interrupted run says so, ends with status 1 and leaves neither the file nor a part of it.
func TestInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	status, stdout, stderr := try(ctx, "generate", "g1", "--output", filepath.Join(dir, "g1.svm"))
	if status != 1 || stdout != "" || stderr != "noregret: interrupted\n" {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

func TestWriteErrorIsAFailure(t *testing.T) {
	for _, args := range [][]string{{"generate", "g1"}, {"version"}} {
		var errs bytes.Buffer
		if got := run(context.Background(), args, nil, brokenPipe{}, &errs); got != 1 ||
			!strings.Contains(errs.String(), "the pipe is broken") {
			t.Errorf("%v: status %d, stderr %q", args, got, &errs)
		}
	}
}

// Nil means no arguments, not those of this process.
func TestNilArguments(t *testing.T) {
	var out bytes.Buffer
	if got := run(context.Background(), nil, nil, &out, io.Discard); got != 0 ||
		!strings.Contains(out.String(), "Exit status") {
		t.Errorf("status %d, stdout %q", got, &out)
	}
}

func TestVersionLine(t *testing.T) {
	var out bytes.Buffer
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	if err := writeVersion(&out, info); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "noregret v1.2.3 0123456789ab+changes go") {
		t.Errorf("got %q", &out)
	}
}
