package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/policy"
)

// keyFile is the form of keys.json.
type keyFile struct {
	Current byte            `json:"current"`
	Secrets map[byte][]byte `json:"secrets"` // base64
}

// loadKeys reads the keys that sign tokens. If there is no file, it makes keys and writes them.
func loadKeys(path string) (*policy.Keys, error) {
	data, err := os.ReadFile(path)
	if err == nil && len(data) == 0 {
		err = os.ErrNotExist // a crash between the two steps below
	}
	if errors.Is(err, os.ErrNotExist) {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		k := keyFile{1, map[byte][]byte{1: secret}}
		data, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		// WriteBytes keeps the mode of an existing file.
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return nil, noregret.Errorf(noregret.Internal, path, "the keys cannot be written: %w", err)
		}
		if err := atomicfile.WriteBytes(path, data); err != nil {
			return nil, noregret.Errorf(noregret.Internal, path, "the keys cannot be written: %w", err)
		}
		return &policy.Keys{Current: k.Current, Secrets: k.Secrets}, nil
	}
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, path, "the keys cannot be read: %w", err)
	}
	var k keyFile
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, noregret.BadInputf(path,
			"not a file of keys: want {\"current\": 1, \"secrets\": {\"1\": base64}}")
	}
	keys := &policy.Keys{Current: k.Current, Secrets: k.Secrets}
	if err := keys.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}
