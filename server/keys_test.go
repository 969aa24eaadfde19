package server

import (
	"os"
	"path/filepath"
	"testing"
)

// TestKeysAreSecret checks that other users cannot read the file of the keys.
func TestKeysAreSecret(t *testing.T) {
	w := newWorld(t)
	info, err := os.Stat(filepath.Join(w.config.Data, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
