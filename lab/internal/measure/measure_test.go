package measure

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/noregret/noregret/lab/internal/labtest"
)

func run(t *testing.T, args ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := labtest.Run(t.Context(), Command(), args, &b, io.Discard); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Without flags for its options the learner is the catalogue's default. Each option changes the
// deployed mixture.
func TestMeasure(t *testing.T) {
	small := []string{"--runs", "3", "--rounds", "60", "--noise", "5"}
	def := run(t, append(small, "a")...)
	if got := run(t, append(small, "--algorithm", "default", "a")...); got != def {
		t.Errorf("the default options give\n%s\nthe catalogue's default\n%s", def, got)
	}
	if strings.Count(def, "\n") != 8 || !strings.Contains(def, "\n| 50 ") {
		t.Errorf("other rounds than expected:\n%s", def)
	}
	for _, flag := range []string{"--optimism", "--caution", "--share", "--decay"} {
		if got := run(t, append(small, flag, "0.3", "a")...); got == def {
			t.Errorf("%s 0.3 changes nothing", flag)
		}
	}
	hard := run(t, append(small, "--hard", "a")...)
	if got := run(t, append(small, "--hard", "--hard-caution", "0.3", "a")...); hard == def || got == hard {
		t.Errorf("hard guardrails or their caution change nothing")
	}
	long := append(small, "--rounds", "300", "--change-threshold", "0.5")
	if strings.Contains(run(t, append(long, "a")...), " 0 changes found") {
		t.Error("a threshold of half a standard error detects no changes")
	}
}

func TestRefused(t *testing.T) {
	for want, args := range map[string][]string{
		"received 0": nil,
		"received 2": {"a", "b"},
		"nowhere":    {"nowhere"},
		"decay":      {"--runs", "1", "--rounds", "5", "--decay", "-1", "a"},
	} {
		err := labtest.Run(t.Context(), Command(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q in it", args, err, want)
		}
	}
}
