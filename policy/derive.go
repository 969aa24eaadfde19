package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Derive returns the number of the current key, a dot, and 64 hexadecimal digits that only who has
// the key can compute, for a purpose: what services that share keys show each other. It is secret.
func (s *Signer) Derive(purpose string) string {
	return s.derive(s.keys.Current, purpose)
}

// Derived reports whether a text is that of [Signer.Derive] of a signer whose current key is one of
// the keys. Its time depends on the number only.
func (s *Signer) Derived(purpose, text string) bool {
	for id := range s.keys.Secrets {
		if hmac.Equal([]byte(text), []byte(s.derive(id, purpose))) {
			return true
		}
	}
	return false
}

func (s *Signer) derive(id byte, purpose string) string {
	m := hmac.New(sha256.New, s.keys.Secrets[id])
	_, _ = m.Write([]byte("derive\n" + purpose)) // no token and no pseudonym begins like this
	return strconv.Itoa(int(id)) + "." + hex.EncodeToString(m.Sum(nil))
}

// KeyDigests returns the number of the current key, and a digest of each key by its number, from
// which nobody can find the key: two services have the same key if they have the same digest.
func (s *Signer) KeyDigests() (current string, digests map[string]string) {
	digests = map[string]string{}
	for id := range s.keys.Secrets {
		m := hmac.New(sha256.New, s.keys.Secrets[id])
		_, _ = m.Write([]byte("digest\n"))
		digests[strconv.Itoa(int(id))] = hex.EncodeToString(m.Sum(nil)[:8])
	}
	return strconv.Itoa(int(s.keys.Current)), digests
}
