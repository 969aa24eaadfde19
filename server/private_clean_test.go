package server

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leftovers returns the files below a directory whose content a test has left there as secret.
func leftovers(t *testing.T, dir, secret string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A writer that is killed leaves a whole checkpoint of the noise under a temporary name. The
// service removes it when it takes the run over, and when it closes a run that needs its journal no
// more. A journal with a file of somebody else is not used.
func TestPrivateLeftovers(t *testing.T) {
	const secret = "a planted checkpoint"
	w := privateServer(t)
	round := func(name string) {
		w.privateRound(unitNames(name, 50), func(int) map[string]float64 { return map[string]float64{"buy": 60} })
		w.matured()
	}
	round("a")
	dir := privacyRunsDir(w.config.Data, "secret")
	plant := func(name string) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(path, []byte(secret), 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plant(".epoch-00000000000000000009.tmp4711-0")
	w.restart()
	round("b")
	if left := leftovers(t, w.config.Data, secret); len(left) > 0 {
		t.Errorf("after the run was taken over: %q", left)
	}

	foreign := plant("epoch-00000000000000000002.bak")
	w.restart()
	round("c")
	problems := strings.Join(w.report("secret").Health.Problems, " ")
	if !strings.Contains(problems, "the next release waits") {
		t.Errorf("with a copy of the journal in its directory: %q", problems)
	}
	if err := os.Remove(foreign); err != nil {
		t.Fatal(err)
	}
	round("d")
	if p := w.report("secret").Privacy; p.Released != 4 {
		t.Errorf("after the copy was removed: %+v", p)
	}

	plant(".epoch-00000000000000000009.tmp4711-0")
	w.get(204, nil, "DELETE", "/v1/experiments/secret", "")
	w.server.Tick()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal of a deleted experiment: %v, %q", err, leftovers(t, w.config.Data, secret))
	}
	plant(".epoch-00000000000000000009.tmp4711-1") // of a process that was killed while it erased
	w.restart()
	w.server.Tick()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a restart: %v, %q", err, leftovers(t, w.config.Data, secret))
	}
}

// A restore that is killed leaves keys, events and sums in the data directory. The next restore and
// the next start of a service remove them.
func TestRestoreLeftovers(t *testing.T) {
	const secret = "raw events"
	w := newWorld(t)
	w.apply(toy)
	backup := w.takeBackup()
	data := filepath.Join(t.TempDir(), "data")
	plant := func(data string) {
		dir := filepath.Join(data, ".restore.tmp4711-0", "log")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "events"), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plant(data)
	if _, err := Restore(t.Context(), "b.tar", bytes.NewReader(backup), data); err != nil {
		t.Fatal(err)
	}
	plant(w.config.Data)
	w.restart()
	left := slices.Concat(leftovers(t, data, secret), leftovers(t, w.config.Data, secret))
	if len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
