package train

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/legible"
)

// TestLegibleData: names of files and of features, and labels, are shown without the characters
// that people cannot see, and take as many lines as others.
func TestLegibleData(t *testing.T) {
	dir := t.TempDir()
	show := func(yes, no, feature, name string) (out []string) {
		var rows strings.Builder
		fmt.Fprintf(&rows, "%s,y,label\n", feature)
		for i := range 120 {
			label := no
			if i%3 == 0 {
				label = yes
			}
			fmt.Fprintf(&rows, "%d,%d,%s\n", i%7+10*((i+2)%3/2), i%5, label)
		}
		file, model := filepath.Join(dir, name+".csv"), filepath.Join(dir, name+".json")
		if err := os.WriteFile(file, []byte(rows.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"train", "--measure", "f1", "--label", "label", "--positive", yes, "--model", model, file},
			{"inspect", model},
			{"evaluate", "--model", model, file},
			{"predict", "--model", model, file},
			{"train", "--measure", "f1", "--label", "label", "--positive", "other", "--model", model, file},
		} {
			var stdout, stderr strings.Builder
			status := cmds.Run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
			if (status != 0) != slices.Contains(args, "other") {
				t.Fatalf("%q: status %d: %s", args, status, stderr.String())
			}
			out = append(out, stdout.String(), stderr.String())
		}
		return out
	}
	plain := show("yes", "no", "x", "plain")
	hostile := show("yes\u202e", "no\u009b2J", "x\x1b[2J", "b\x1bad\u202e")
	for i, text := range hostile {
		if strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(text), legible.Unclear) {
			t.Errorf("%d: %q", i, text)
		}
		if got, want := strings.Count(text, "\n"), strings.Count(plain[i], "\n"); got != want {
			t.Errorf("%d: %d lines, want %d: %s", i, got, want, text)
		}
	}
}
