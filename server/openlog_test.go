package server

import (
	"os"
	"path/filepath"
	"testing"
)

// TestVanishedDirectory checks that a service whose log directory was moved away acknowledges
// nothing and makes no new log in its place, and goes on when the directory is back.
func TestVanishedDirectory(t *testing.T) {
	w := newLeakyWorld(t, func(c *Config) { c.FS = nil })
	w.apply(toy)
	ds := w.decide("toy", "a", "b")
	w.post("/v1/feedback", item{ds[0].Token, map[string]float64{"x": 1}})
	log := LogDir(w.config.Data)
	away := filepath.Join(w.config.Data, "away")
	if err := os.Rename(log, away); err != nil {
		t.Fatal(err)
	}
	w.get(503, nil, "POST", "/v1/feedback", feedbackFor(ds[1]))
	for range 3 {
		w.wait(lastRetry)
		w.server.Tick()
		w.get(503, nil, "POST", "/v1/feedback", feedbackFor(ds[1]))
		w.get(503, nil, "GET", "/readyz/writes", "")
	}
	if len(w.decide("toy", "c")) != 1 {
		t.Error("no decision")
	}
	if _, err := os.Stat(log); err == nil {
		t.Error("a new log was made")
	}
	if err := os.Rename(away, log); err != nil {
		t.Fatal(err)
	}
	w.wait(lastRetry)
	w.server.Tick()
	if f := w.post("/v1/feedback", item{ds[1].Token, map[string]float64{"x": 1}}); f.Accepted+f.Duplicate != 1 {
		t.Errorf("%+v", f)
	}
	if f := w.post("/v1/feedback", item{ds[0].Token, map[string]float64{"x": 1}}); f.Duplicate != 1 {
		t.Errorf("%+v", f)
	}
	w.checkFolds()
}

// TestReplacedDirectory checks that another log in the place of the service's is noticed before
// anything is acknowledged, even without a request.
func TestReplacedDirectory(t *testing.T) {
	w := newLeakyWorld(t, func(c *Config) { c.FS = nil })
	w.apply(toy)
	log := LogDir(w.config.Data)
	away := filepath.Join(w.config.Data, "away")
	if err := os.Rename(log, away); err != nil {
		t.Fatal(err)
	}
	if err := copyDir(away, log); err != nil {
		t.Fatal(err)
	}
	w.server.Tick()
	w.get(503, nil, "GET", "/readyz/writes", "")
	if err := os.RemoveAll(log); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, log); err != nil {
		t.Fatal(err)
	}
	w.wait(lastRetry)
	w.server.Tick()
	w.get(200, nil, "GET", "/readyz/writes", "")
}

// copyDir copies a directory of files.
func copyDir(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }
