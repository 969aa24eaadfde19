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

// loadKeys reads the keys that sign tokens. If there is no file and create is set, it makes keys
// and writes them. Without create that is an error: tokens that the lost keys have signed would all
// be refused, and nobody would know why.
func loadKeys(path string, create bool) (*policy.Keys, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		if !create {
			return nil, noregret.Errorf(noregret.NotFound, path,
				"the keys are missing, but the log has events: restore the file, or copy that of another node, as "+
					"feedback for earlier decisions is refused without it; "+
					"--new-keys (Config.NewKeys) makes new keys nevertheless")
		}
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		k := keyFile{1, map[byte][]byte{1: secret}}
		data, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		if err := atomicfile.WritePrivate(path, data); err != nil {
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
