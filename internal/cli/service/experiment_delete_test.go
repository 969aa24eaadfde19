package service

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

func TestDeleteRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"experiment delete", "delete takes the name of one experiment, got 0 arguments"},
		clitest.Refusal{"experiment delete a b", "delete takes the name of one experiment, got 2 arguments"},
		clitest.Refusal{"experiment delete a", "--yes: the standard input is no terminal, so the name cannot be typed"},
		clitest.Refusal{"experiment restore", "restore takes the name of one experiment, got 0 arguments"},
		clitest.Refusal{"serve --delete-grace -1h", "delete grace: -1h: want a length of time up to 10 years"},
	)
}

// TestDeleteAsks: on a terminal the name must be typed.
func TestDeleteAsks(t *testing.T) {
	for typed, want := range map[string]string{
		"ranking\n": "", " ranking \n": "", "ranking": "", "\n": `"" was typed`, "": `"" was typed`, "yes\n": `"yes" was typed`,
	} {
		var out bytes.Buffer
		a := &command.App{Stdin: strings.NewReader(typed), Stderr: &out, Asks: func() bool { return true }}
		err := confirmName(t.Context(), a, "ranking")
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

// TestDeleteSaysWhatIsKnown: when the list of what can be restored does not come, nothing is said
// to be deleted for good, unless that was asked for.
func TestDeleteSaysWhatIsKnown(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.Error(w, "no lists today", http.StatusForbidden)
	}))
	t.Cleanup(h.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	t.Setenv("NOREGRET_SERVER", h.URL)
	got := cmds.Printed(t, "experiment", "delete", "coin", "--yes")
	if !strings.HasPrefix(got, "coin: deleted; whether it can be restored is not known: ") ||
		strings.Contains(got, "for good") || strings.Count(got, "\n") != 1 {
		t.Errorf("it prints %q", got)
	}
	if got := cmds.Printed(t, "experiment", "delete", "coin", "--yes", "--now"); got != "coin: deleted for good\n" {
		t.Errorf("with --now it prints %q", got)
	}
}
