package faults

import (
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/noregret/noregret/lab/internal/labtest"
)

// TestKills kills the node that leads, and in full stalls the one that leads then and kills a
// server, under load: nothing is lost, nothing counts twice, the nodes agree, and the history is
// that of a log.
func TestKills(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command, which compiles the programs that are killed, is not here")
	}
	dir := t.TempDir()
	p, err := build(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"kill-node"}
	if !testing.Short() {
		names = append(names, "stall-node", "kill-replica")
	}
	few := slices.DeleteFunc(faults(), func(f fault) bool { return !slices.Contains(names, f.name) })
	results, err := play(t.Context(), plan{
		dir: filepath.Join(dir, "cluster"), programs: p, sync: "always", faults: few, rounds: 1, step: func() {},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.lost+r.twice > 0 || r.acknowledged < 40*workers || r.appended == 0 || len(r.odd) > 0 {
			t.Errorf("%s: %+v", r.fault.name, r)
		}
	}
}

// TestModel shows the model histories that a log can have, and some that it cannot.
func TestModel(t *testing.T) {
	type op struct {
		call     call
		outcome  outcome
		from, to int64
	}
	appended := func(at uint64, id string, from, to int64) op {
		return op{call{at: at, id: id}, outcome{stored: true, known: true}, from, to}
	}
	refused := func(at uint64, id string, from, to int64) op {
		return op{call{at: at, id: id}, outcome{known: true}, from, to}
	}
	read := func(at uint64, id string, from, to int64) op {
		return op{call{read: true, at: at}, outcome{id: id, known: true}, from, to}
	}
	for _, c := range []struct {
		name string
		ops  []op
		want porcupine.CheckResult
	}{
		{"two writers in turn", []op{appended(1, "a", 0, 1), appended(2, "b", 2, 3), read(1, "a", 4, 5)}, porcupine.Ok},
		{"two at once", []op{appended(1, "a", 0, 9), refused(1, "b", 1, 8), appended(2, "b", 9, 12)}, porcupine.Ok},
		{
			"an append repeated",
			[]op{appended(1, "a", 0, 1), appended(2, "b", 2, 3), appended(1, "a", 4, 5)},
			porcupine.Ok,
		},
		{"a read before the answer", []op{appended(1, "a", 0, 9), read(1, "a", 1, 2)}, porcupine.Ok},
		{"two at one position", []op{appended(1, "a", 0, 1), appended(1, "b", 2, 3)}, porcupine.Illegal},
		{
			"an append that is lost",
			[]op{appended(1, "a", 0, 1), appended(1, "b", 2, 3), read(1, "b", 4, 5)},
			porcupine.Illegal,
		},
		{"a read of what comes later", []op{read(1, "a", 0, 1), appended(1, "a", 2, 3)}, porcupine.Illegal},
		{"a read of another event", []op{appended(1, "a", 0, 1), read(1, "b", 2, 3)}, porcupine.Illegal},
		{"a gap", []op{appended(1, "a", 0, 1), appended(3, "c", 2, 3)}, porcupine.Illegal},
		{"a refusal without reason", []op{appended(1, "a", 0, 1), refused(2, "b", 2, 3)}, porcupine.Illegal},
		{"a refusal of what is stored", []op{appended(1, "a", 0, 1), refused(1, "a", 2, 3)}, porcupine.Illegal},
	} {
		var history []porcupine.Operation
		for i, o := range c.ops {
			history = append(history, porcupine.Operation{
				ClientId: i, Input: o.call, Output: o.outcome, Call: o.from, Return: o.to,
			})
		}
		if got := porcupine.CheckOperationsTimeout(model(&entry{}), history, 0); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestBadFlags(t *testing.T) {
	for _, flag := range []string{"--rounds=0", "--faults=flood", "--sync=never"} {
		err := labtest.Run(t.Context(), Command(), []string{flag}, io.Discard, io.Discard)
		if name, _, _ := strings.Cut(flag, "="); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want an error that names it", flag, err)
		}
	}
}
