package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

// TestKeysAreSecret checks that other users cannot read the file of the keys.
func TestKeysAreSecret(t *testing.T) {
	w := newWorld(t)
	info, err := os.Stat(filepath.Join(w.config.Data, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// TestLostKeys checks that a service whose keys are gone does not start, and makes no keys of its
// own, unless it is asked to: with new keys it would refuse the feedback of all earlier decisions.
func TestLostKeys(t *testing.T) {
	w := newWorld(t)
	w.apply(toy)
	d := w.decide("toy", "ann")[0]
	w.http.Close()
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.config.Data, "keys.json")
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, lose := range map[string]func() error{
		"missing": func() error { return os.Remove(path) },
		"empty":   func() error { return os.WriteFile(path, nil, 0o600) },
	} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		s, err := New(w.config)
		if err == nil {
			_ = s.Close()
			t.Fatalf("%s: the service started without its keys", what)
		}
		if what == "missing" && (noregret.CodeOf(err) != noregret.NotFound || !strings.Contains(err.Error(), path) ||
			!strings.Contains(err.Error(), "--new-keys")) {
			t.Errorf("%v", err)
		}
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			t.Errorf("%s: new keys were written: %d bytes", what, len(b))
		}
	}
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.get(200, nil, "POST", "/v1/feedback", feedbackFor(d))
	w.http.Close()
	if err := w.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.config.NewKeys = true
	w.start()
	if f := w.post("/v1/feedback", item{d.Token, map[string]float64{"x": 1}}); f.Rejected != 1 {
		t.Errorf("with new keys: %+v", f)
	}
}

// TestReadableSecrets checks that the service warns of files of secrets that others can read.
func TestReadableSecrets(t *testing.T) {
	dir := t.TempDir()
	tokens, key := filepath.Join(dir, "tokens.yaml"), filepath.Join(dir, "key.pem")
	for path, mode := range map[string]os.FileMode{tokens: 0o640, key: 0o600} {
		text := "tokens: [{name: a, roles: [read], token: 0123456789abcdef}]"
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	w := newWorld(t, func(c *Config) { c.Tokens, c.Secrets = tokens, []string{key} })
	const warning = "other users can read or change a file of secrets"
	if logs := w.logs.String(); strings.Count(logs, warning) != 1 || !strings.Contains(logs, "file="+tokens) {
		t.Errorf("%s", logs)
	}
}
