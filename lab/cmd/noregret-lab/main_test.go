package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
)

var tree clitest.Tree = newRoot

// TestEveryCommandIsDescribed: each command has a text and an example, and refuses flags that it
// does not know with status 2.
func TestEveryCommandIsDescribed(t *testing.T) {
	for _, c := range newRoot(&command.App{Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer)}).Commands() {
		if c.GroupID == "" || c.Name() == "simulate" {
			continue // of cobra, and of noregret
		}
		if c.Short == "" || c.Long == "" || !strings.Contains(c.Example, "noregret-lab "+c.Name()) {
			t.Errorf("%s has no description or no example", c.Name())
		}
		if s, _, stderr := tree.Try(t.Context(), c.Name(), "--none"); s != 2 {
			t.Errorf("%s --none: status %d, %s", c.Name(), s, stderr)
		}
	}
}

// TestStatus: an unknown command is a usage error under the program's own name, missing data are an
// error that names the flag, and an interrupted run says so.
func TestStatus(t *testing.T) {
	if s, _, stderr := tree.Try(t.Context(), "chess"); s != 2 ||
		!strings.HasPrefix(stderr, `noregret-lab: unknown command "chess"`) {
		t.Errorf("status %d, %s", s, stderr)
	}
	for _, study := range []string{"obd", "contexts", "parameterfree"} {
		dir := t.TempDir()
		s, stdout, stderr := tree.Try(t.Context(), study, "--data", dir)
		if s != 3 || stdout != "" || !strings.Contains(stderr, dir+": no ") ||
			!strings.HasSuffix(stderr, "in this directory: name the directory of the data with --data\n") {
			t.Errorf("%s: status %d, %s%s", study, s, stdout, stderr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _, stderr := tree.Try(ctx, "arena", "--families", "rare", "--learners", "control", "--runs", "2")
	if s != 1 || !strings.HasSuffix(stderr, "interrupted\n") {
		t.Errorf("status %d, %s", s, stderr)
	}
}

// TestSimulate plays a scenario that only the laboratory has.
func TestSimulate(t *testing.T) {
	args := strings.Fields("simulate rates-abrupt --runs 2 --rounds 30 --at 10,30 --json --progress quiet")
	s, stdout, stderr := tree.Try(t.Context(), args...)
	if s != 0 || !strings.Contains(stdout, `"scenario": "rates-abrupt"`) {
		t.Errorf("status %d, %s%s", s, stdout, stderr)
	}
}

// TestNames: a name that a list of a study does not have is refused with the names, before the
// study looks for its data.
func TestNames(t *testing.T) {
	for args, want := range map[string]string{
		"contexts --players nope":                   "want one of ",
		"contexts --sets letter,nope":               "want one of covtype, letter, mnist",
		"parameterfree --sets nope":                 "want one of ijcnn1, ",
		"parameterfree --trainers spade,nope":       "want one of sgd-logistic, ",
		"arena --families rare,nope":                "want one of rare, ",
		"arena --learners nope":                     "want one of mixture, ",
		"arena --drift --learners mixture,nope":     "want one of mixture, ",
		"catastrophe --only nope":                   `want one of "shrink, default 0", `,
		"validity --only nope":                      "want one of aa, power, revenue",
		"boxes --learner nope":                      "want surface, peer or all",
		"measure b --algorithm nope":                "want one of default, ",
		"private --columns nope":                    "want some of ",
		"private-bandit --columns non-private,nope": "want some of ",
		"drift --policy nope":                       "want restarted, plain or fixed:STEP",
		"bandits nope":                              "there are two-adversarial.svg, ",
		"tables nope":                               "there are 9.1, ",
	} {
		s, stdout, stderr := tree.Try(t.Context(), strings.Fields(args)...)
		if s != 2 || stdout != "" || !strings.Contains(stderr, `"nope"`) || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s%s", args, s, stdout, stderr)
		}
	}
}
