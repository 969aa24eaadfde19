package demo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/testsize"
)

// watcher forwards what is written and calls seen once, when a given text has been written.
type watcher struct {
	bytes.Buffer
	want string
	seen func(all string)
}

func (w *watcher) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.seen != nil && strings.Contains(w.String(), w.want) {
		seen := w.seen
		w.seen = nil
		seen(w.String())
	}
	return n, err
}

// TestDemoGoesOn checks that without --exit the dashboard stays available after the rounds until
// the signal, and that the demo then leaves nothing behind.
func TestDemoGoesOn(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	page := ""
	out := &watcher{want: "until Ctrl-C", seen: func(all string) {
		defer cancel()
		h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := h.Get(regexp.MustCompile(`http://\S+/experiments/ranking`).FindString(all))
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		b, _ := io.ReadAll(resp.Body)
		page = string(b)
	}}
	var errs bytes.Buffer
	if status := cmds.Run(ctx, []string{"demo", "--rounds", "2", "--users", "60", "--exit=false"},
		strings.NewReader(""),
		out, &errs); status != 0 {
		t.Fatalf("status %d: %s", status, &errs)
	}
	for _, want := range []string{"documentary_recall", "alpha=0.5", `id="version">3<`} {
		if !strings.Contains(page, want) {
			t.Errorf("the dashboard lacks %q", want)
		}
	}
}

// TestDemoInterrupted checks that the signal ends the rounds and that the demo leaves nothing
// behind.
func TestDemoInterrupted(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := &watcher{want: "    1  ", seen: func(string) { cancel() }}
	var errs bytes.Buffer
	if status := cmds.Run(ctx, []string{"demo", "--rounds", "10000", "--users", "60"}, strings.NewReader(""), out,
		&errs); status != 1 {
		t.Errorf("status %d: %s", status, &errs)
	}
	if strings.Contains(out.String(), "learned mixture") || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("%s%s", out, &errs)
	}
}

// TestDemoLearns checks with other seeds that every served version truly holds the guardrail, from
// the first one on, and that the final mixture truly exceeds the best single setting.
func TestDemoLearns(t *testing.T) {
	if testsize.Short() {
		t.Skip("whole demonstrations; README.md's is always checked")
	}
	t.Parallel()
	command := clitest.Built(t)
	for _, seed := range []string{"2", "3", "4", "5"} {
		out, err := exec.Command(command, "demo", "--seed", seed).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("The guardrail held in 41 of 41 versions")) ||
			!bytes.Contains(out, []byte("% above that of the best single setting")) {
			t.Errorf("seed %s: %v: %s", seed, err, out)
		}
	}
}

// TestDemoRefuses checks that bad flags are found before the service starts.
func TestDemoRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"demo --rounds 0 --keep kept", "--rounds: 0 is out of range, want 1 to 10000"},
		clitest.Refusal{"demo --users 49 --keep kept", "--users: 49 is out of range, want 50 to 10000"},
		clitest.Refusal{"demo --plot a.gif --keep kept", "--plot: \"a.gif\""},
		clitest.Refusal{"demo now", "demo takes no arguments"},
	)
}
