package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/server"
)

func TestDeleteRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"experiment delete", "delete takes the name of one experiment, got 0 arguments"},
		refusal{"experiment delete a b", "delete takes the name of one experiment, got 2 arguments"},
		refusal{"experiment delete a", "--yes: the standard input is no terminal, so the name cannot be typed"},
		refusal{"experiment restore", "restore takes the name of one experiment, got 0 arguments"},
		refusal{"serve --delete-grace -1h", "delete grace: -1h0m0s: want a length of time up to 10 years"},
	)
}

// TestDeleteAsks: on a terminal the name must be typed.
func TestDeleteAsks(t *testing.T) {
	for typed, want := range map[string]string{
		"ranking\n": "", " ranking \n": "", "ranking": "", "\n": `"" was typed`, "": `"" was typed`, "yes\n": `"yes" was typed`,
	} {
		var out bytes.Buffer
		a := &app{stdin: strings.NewReader(typed), stderr: &out, asks: func() bool { return true }}
		err := a.confirmName(t.Context(), "ranking")
		if (err == nil) != (want == "") || err != nil &&
			(!strings.Contains(err.Error(), want) || noregret.CodeOf(err) != noregret.Usage) {
			t.Errorf("%q: %v, want %q", typed, err, want)
		}
		if !strings.Contains(out.String(), "type the name of the experiment to delete it (ranking): ") {
			t.Errorf("it asked %q", out.String())
		}
	}
	if server.DefaultConfig("d").DeleteGrace <= 0 {
		t.Error("by default a deletion has no grace time")
	}
}
