package edge

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/web"
)

// token is what the token of a decision says: all that a sum needs to know, so that the edge keeps
// no decisions and no earlier policies.
type token struct {
	Experiment string `json:"e"`
	Version    uint64 `json:"v"`
	Arm        string `json:"a"`
	HeldBack   bool   `json:"h,omitempty"`
	Unit       uint64 `json:"u"`
}

// assignment is the decision, as far as sums need it.
func (t *token) assignment() policy.Assignment {
	return policy.Assignment{Version: t.Version, Name: t.Arm, HeldBack: t.HeldBack, Unit: t.Unit}
}

const (
	keySize = 32
	macSize = 16
	// longest is the largest length of a token that is read.
	longest = 2048
)

// loadKey reads the key that signs tokens, and makes one if there is no file.
func loadKey(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		b = make([]byte, keySize)
		_, _ = rand.Read(b) // never fails
		err = atomicfile.WritePrivate(path, b)
	}
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, path, "the key of tokens: %w", err)
	}
	if len(b) != keySize {
		return nil, noregret.BadInputf(path, "not a key of tokens: it has %d bytes, want %d", len(b), keySize)
	}
	return b, nil
}

func mac(key, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte("noregret edge token\n"))
	_, _ = h.Write(body) // a hash never fails
	return h.Sum(nil)[:macSize]
}

// sign returns the text of a token.
func sign(key []byte, t *token) (string, error) {
	body, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(append(mac(key, body), body...)), nil
}

// verify reads the text of a token.
func verify(key []byte, text string) (t token, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(text) > longest || strings.ContainsAny(text, "\r\n") || len(b) <= macSize ||
		!hmac.Equal(mac(key, b[macSize:]), b[:macSize]) {
		return t, noregret.BadInputf("token", "it cannot be read, or is not one of this edge")
	}
	return t, web.DecodeJSON(b[macSize:], &t)
}
