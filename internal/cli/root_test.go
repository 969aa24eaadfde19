package cli

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
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/policy"
)

// Every command has a short text, a long text and an example that calls it by its name.
func TestCommandsAreDocumented(t *testing.T) {
	n := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.Hidden {
			return // cobra's own, and names of what has moved
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
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if d, err := time.ParseDuration(f.DefValue); err == nil && f.Value.Type() == "duration" {
				if want := policy.Duration(d).String(); f.DefValue != want {
					t.Errorf("%s --%s: the default is shown as %s, want %s", path, f.Name, f.DefValue, want)
				}
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root := Root(&command.App{})
	root.InitDefaultHelpCmd()
	walk(root)
	if n < 4 {
		t.Errorf("walked %d commands", n)
	}
}

// The help of the root leads with the service, and every command is in a group.
func TestHelpLeadsWithTheService(t *testing.T) {
	root := Root(&command.App{})
	if g := root.Groups()[0]; g.ID != "service" {
		t.Errorf("the first group is %+v", g)
	}
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && !slices.Contains([]string{"version", "completion"}, cmd.Name()) {
			t.Errorf("%s is in no group", cmd.Name())
		}
	}
	help := cmds.Printed(t, "help")
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

// An interrupted run says so, ends with status 1 and leaves neither the file nor a part of it.
func TestInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	status, stdout, stderr := cmds.Try(ctx, "generate", "g1", "--output", filepath.Join(dir, "g1.svm"))
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
		if got := cmds.Run(context.Background(), args, nil, brokenPipe{}, &errs); got != 1 ||
			!strings.Contains(errs.String(), "the pipe is broken") {
			t.Errorf("%v: status %d, stderr %q", args, got, &errs)
		}
	}
}

// Nil means no arguments, not those of this process.
func TestNilArguments(t *testing.T) {
	var out bytes.Buffer
	if got := cmds.Run(context.Background(), nil, nil, &out, io.Discard); got != 0 ||
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
