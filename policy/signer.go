package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

// Signer signs tokens and verifies them with its [Keys]. It is safe for concurrent use.
type Signer struct {
	keys Keys
	pads map[byte]*pads
}

// NewSigner validates the keys, which must not change afterwards.
func NewSigner(k Keys) (*Signer, error) {
	if err := k.Validate(); err != nil {
		return nil, err
	}
	s := &Signer{keys: k, pads: map[byte]*pads{}}
	for id, secret := range k.Secrets {
		s.pads[id] = newPads(secret)
	}
	return s, nil
}

// pads are what HMAC with SHA-256 makes of a secret (RFC 2104). crypto/hmac allocates memory for
// each signature, and copies the state of its hashes to it; this takes a third of the time.
type pads struct{ inner, outer [sha256.BlockSize]byte }

func newPads(secret []byte) *pads {
	if len(secret) > sha256.BlockSize {
		sum := sha256.Sum256(secret)
		secret = sum[:]
	}
	p := new(pads)
	copy(p.inner[:], secret)
	copy(p.outer[:], secret)
	for i := range p.inner {
		p.inner[i] ^= 0x36
		p.outer[i] ^= 0x5c
	}
	return p
}

// mac returns the signature of body.
func (p *pads) mac(body []byte) (signature [macSize]byte) {
	var space [512]byte
	b := append(space[:0], p.inner[:]...)
	b = append(b, macPrefix...)
	b = append(b, body...)
	sum := sha256.Sum256(b)
	var outer [sha256.BlockSize + sha256.Size]byte
	copy(outer[:], p.outer[:])
	copy(outer[sha256.BlockSize:], sum[:])
	sum = sha256.Sum256(outer[:])
	copy(signature[:], sum[:])
	return signature
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
	sum := s.pads[s.keys.Current].mac(b)
	b = append(b, sum[:]...)
	return base64.RawURLEncoding.AppendEncode(dst, b), nil
}

// Pseudonym returns 16 hexadecimal digits in the place of a unit's hash in an experiment. Who does
// not have the current key cannot find the unit by trying names, and cannot tell that two
// experiments have the same unit.
func (s *Signer) Pseudonym(experiment, unit string) string {
	body := append([]byte("pseudonym\n"+experiment+"\n"), unit...) // no token begins like this
	sum := s.pads[s.keys.Current].mac(body)
	return FormatUnit(binary.BigEndian.Uint64(sum[:]))
}

// Verify reads a token of any experiment. The error, if any, is a [TokenError]: Tampered, Foreign
// for an unknown key, or Early for a time more than [Tolerance] after now. A token whose signature
// is right is returned with Early; with the others it is the zero Token. Whether a token is too old
// depends on its experiment: see [Expired].
func (s *Signer) Verify(text string, now time.Time) (Token, error) {
	body, sum, err := splitToken(text)
	if err != nil {
		return Token{}, err
	}
	key := s.pads[body[1]]
	if key == nil {
		return Token{}, Foreign
	}
	if want := key.mac(body); !hmac.Equal(want[:], sum) {
		return Token{}, Tampered
	}
	t, err := readToken(body)
	if err == nil && t.Time.Sub(now) > Tolerance {
		return t, Early
	}
	return t, err
}
