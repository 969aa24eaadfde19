package server

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/noregret/noregret/policy"
)

func TestConfigRefused(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no directory": func(c *Config) {
			c.Data = ""
		}, "tick": func(c *Config) { c.Tick = 1 }, "body": func(c *Config) { c.MaxBody = 1 },
		"items": func(c *Config) {
			c.MaxItems = -1
		}, "answer": func(c *Config) {
			c.MaxAnswer = 1023
		}, "streams": func(c *Config) {
			c.MaxStreams = -1
		}, "rate": func(c *Config) { c.Rate = -1 }, "burst": func(c *Config) { c.Burst = -1 },
		"no tick": func(c *Config) { c.Tick = 0 }, "no snapshots": func(c *Config) { c.SnapshotEvery = 0 },
		"no body": func(c *Config) { c.MaxBody = 0 }, "no items": func(c *Config) { c.MaxItems = 0 },
		"no answer": func(c *Config) { c.MaxAnswer = 0 }, "no streams": func(c *Config) { c.MaxStreams = 0 },
		"no burst": func(c *Config) { c.Rate = 5 }, "no time": func(c *Config) { c.RequestTime = 0 },
		"time": func(c *Config) { c.RequestTime = -1 }, "tokens": func(c *Config) { c.Tokens = "/nowhere" },
		"keys": func(c *Config) { c.Keys = &policy.Keys{} }, "retain": func(c *Config) { c.Retain = -1 },
		"exports": func(c *Config) { c.MaxExports = 0 }, "reads": func(c *Config) { c.MaxReads = 0 },
		"log retry":    func(c *Config) { c.LogRetry = 0 },
		"open memory":  func(c *Config) { c.OpenMemory = 0 },
		"open disk":    func(c *Config) { c.OpenDisk = -1 },
		"connections":  func(c *Config) { c.MaxConnections = 0 },
		"address":      func(c *Config) { c.MaxConnectionsPerAddress = 0 },
		"proxies":      func(c *Config) { c.TrustedProxies = []string{"proxy"} },
		"origin":       func(c *Config) { c.CORSOrigins = []string{"*"} },
		"cors":         func(c *Config) { c.CORSFeedback = true },
		"bytes":        func(c *Config) { c.SnapshotBytes = 0 },
		"no retention": func(c *Config) { c.Retain = 0 },
	} {
		c := DefaultConfig(t.TempDir())
		c.FS = vfs.NewMem()
		change(&c)
		if s, err := New(c); err == nil {
			_ = s.Close()
			t.Errorf("%s was accepted", name)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte(`{"current": 1, "secrets": {"1": "AAAA"}}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig(dir)
	c.FS = vfs.NewMem()
	if s, err := New(c); err == nil {
		_ = s.Close()
		t.Error("short keys were accepted")
	}
}
