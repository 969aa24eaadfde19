package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash"
	"sync"
	"time"
)

// Signer signs tokens and verifies them with its [Keys]. It keeps the keyed hashes, and is safe for
// concurrent use.
type Signer struct {
	keys   Keys
	hashes map[byte]*sync.Pool
}

// NewSigner validates the keys, which must not change afterwards.
func NewSigner(k Keys) (*Signer, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	s := &Signer{keys: k, hashes: map[byte]*sync.Pool{}}
	for id, secret := range k.Secrets {
		s.hashes[id] = &sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }}
	}
	return s, nil
}

func (s *Signer) mac(dst []byte, key byte, body []byte) []byte {
	pool := s.hashes[key]
	h := pool.Get().(hash.Hash)
	dst = mac(dst, h, body)
	h.Reset()
	pool.Put(h)
	return dst
}

// Append appends the text of a token, some 80 characters of the URL-safe base64 alphabet. It
// refuses fields out of their ranges.
func (s *Signer) Append(dst []byte, t Token) ([]byte, error) {
	ms := t.Time.UnixMilli()
	if err := t.check(ms); err != nil {
		return dst, err
	}
	var space [400]byte
	b := tokenBody(space[:0], s.keys.Current, t, ms)
	b = s.mac(b, s.keys.Current, b)
	return base64.RawURLEncoding.AppendEncode(dst, b), nil
}

// Pseudonym returns 16 hexadecimal digits in the place of a unit's hash in an experiment. Who does
// not have the current key cannot find the unit by trying names, and cannot tell that two
// experiments have the same unit.
func (s *Signer) Pseudonym(experiment, unit string) string {
	body := append([]byte("pseudonym\n"+experiment+"\n"), unit...) // no token begins like this
	return FormatUnit(binary.BigEndian.Uint64(s.mac(nil, s.keys.Current, body)))
}

// Verify reads a token of any experiment. The error, if any, is a [TokenError]: Tampered, Foreign
// for an unknown key, or Early for a time more than [Tolerance] after now. Whether a token is too
// old depends on its experiment: see [Expired].
func (s *Signer) Verify(text string, now time.Time) (Token, error) {
	body, sum, err := splitToken(text)
	if err != nil {
		return Token{}, err
	}
	if s.hashes[body[1]] == nil {
		return Token{}, Foreign
	}
	var space [macSize]byte
	if !hmac.Equal(s.mac(space[:0], body[1], body), sum) {
		return Token{}, Tampered
	}
	t, err := readToken(body)
	if err == nil && t.Time.Sub(now) > Tolerance {
		return Token{}, Early
	}
	return t, err
}
