package arena

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/noregret/noregret/lab/internal/labtest"
)

func TestCommand(t *testing.T) {
	args := []string{"--runs", "2", "--families", "rare,crash", "--learners", "greedy-2,oracle", "--seed", "4"}
	var text, data bytes.Buffer
	if err := labtest.Run(t.Context(), Command(), args, &text, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(text.String(), "2 runs of each family, seed 4") ||
		!strings.Contains(text.String(), "\n### crash\n") {
		t.Errorf("printed\n%s", text.String())
	}
	if err := labtest.Run(t.Context(), Command(), append(args, "--json"), &data, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal(data.Bytes(), &r); err != nil || len(r.Families) != 2 || len(r.Families[0].Rows) != 2 {
		t.Errorf("%v in\n%s", err, data.String())
	}
}

// TestCommandServed: --served plays package mixture with its table.
func TestCommandServed(t *testing.T) {
	args := []string{"--served", "--runs", "2", "--families", "crash", "--learners", "mixture,greedy-2-safe"}
	var text bytes.Buffer
	if err := labtest.Run(t.Context(), Command(), args, &text, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "package mixture beside the best peer") {
		t.Errorf("printed\n%s", text.String())
	}
	var o Options
	o.useServed()
	if len(o.Families) < 40 || o.Learners[0] != "mixture" {
		t.Errorf("%d families, learners %v", len(o.Families), o.Learners)
	}
}

func TestCommandLists(t *testing.T) {
	var b bytes.Buffer
	if err := labtest.Run(t.Context(), Command(), []string{"--list"}, &b, io.Discard); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "family week: ") || !strings.Contains(b.String(), "learner mixture: ") {
		t.Errorf("printed\n%s", b.String())
	}
}

func TestCommandRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"arena takes no arguments": {"week"},
		"nowhere":                  {"--families", "nowhere"},
		"nobody":                   {"--learners", "nobody"},
		"runs":                     {"--runs", "0"},
	} {
		err := labtest.Run(t.Context(), Command(), args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q in it", args, err, want)
		}
	}
}
