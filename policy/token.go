package policy

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/noregret/noregret"
)

// Token records a decision. It is signed, goes out with the arm and comes back with the feedback.
// Times have the precision of a millisecond.
type Token struct {
	Experiment string    // the experiment's name, at most 255 bytes
	Version    uint64    // the version of the policy that decided
	Arm        int       // the arm's number, at least 0
	Propensity float64   // the arm's probability, in (0, 1]
	Unit       uint64    // [Hash]("unit", salt, unit): the token does not contain the unit's name
	Time       time.Time // when the decision was made; not before 1970
}

// The format's version, the first byte of a token, and the length of its signature.
const (
	tokenFormat = 1
	macSize     = 16
)

// TokenError is the reason why a token was refused.
type TokenError string

// The reasons. A token that cannot be read is tampered with.
const (
	Tampered TokenError = "tampered"
	Foreign  TokenError = "foreign" // signed for another experiment, or by an unknown key
	Early    TokenError = "early"   // from the future
	// Expired is older than the attribution window. Only the fold knows the window and the relevant
	// time: it gives such an item the status "late" and this error.
	Expired TokenError = "expired"
)

// Error implements error.
func (e TokenError) Error() string {
	switch e {
	case Foreign:
		return "the token belongs to another experiment or was signed with an unknown key"
	case Expired:
		return "the token is older than the attribution window"
	case Early:
		return "the token is from the future"
	}
	return "the token cannot be read or was changed"
}

// Keys are the secrets that a [Signer] signs tokens with, by number. The key with the number
// Current signs and all keys verify, so that a key can be replaced while old tokens are in use.
// Keys have at least 16 bytes; numbers are 0 to 255.
type Keys struct {
	Current byte
	Secrets map[byte][]byte
}

// Validate returns an error if a key is too short or the current key is missing.
func (k Keys) Validate() error {
	for id := range 256 {
		if s, ok := k.Secrets[byte(id)]; ok && len(s) < 16 {
			return noregret.BadInputf(fmt.Sprintf("keys[%d]", id), "%d bytes: want at least 16",
				len(s))
		}
	}
	if _, ok := k.Secrets[k.Current]; !ok {
		return noregret.BadInputf("keys", "no key has the current number %d", k.Current)
	}
	return nil
}

// check returns an error for a field out of its range; ms is the time.
func (t *Token) check(ms int64) error {
	switch {
	case t.Experiment == "" || len(t.Experiment) > 255:
		return noregret.BadInputf("token", "the experiment's name has %d bytes: want 1 to 255",
			len(t.Experiment))
	case t.Arm < 0:
		return noregret.BadInputf("token", "arm %d: want at least 0", t.Arm)
	case !(t.Propensity > 0 && t.Propensity <= 1):
		return noregret.BadInputf("token", "propensity %v: want a number in (0, 1]", t.Propensity)
	case ms < 0:
		return noregret.BadInputf("token", "time %v: want one from 1970 on", t.Time)
	}
	return nil
}

// tokenBody appends the signed part of a token whose fields are in their ranges.
func tokenBody(b []byte, key byte, t Token, ms int64) []byte {
	b = append(b, tokenFormat, key)
	b = binary.AppendUvarint(b, t.Version)
	b = binary.AppendUvarint(b, uint64(t.Arm))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(t.Propensity))
	b = binary.BigEndian.AppendUint64(b, t.Unit)
	b = binary.AppendUvarint(b, uint64(ms))
	b = append(b, byte(len(t.Experiment)))
	return append(b, t.Experiment...)
}

// macPrefix separates these signatures from others made with the same secret.
var macPrefix = []byte("noregret token\n")

// tokenLimit is the largest length of a token that is read.
const tokenLimit = 1024

// splitToken separates the signed part of a token from the signature.
func splitToken(text string) (body, sum []byte, err error) {
	if len(text) > tokenLimit {
		return nil, nil, Tampered
	}
	// The decoder skips line breaks, so that a token would have many forms.
	if strings.IndexByte(text, '\n') >= 0 || strings.IndexByte(text, '\r') >= 0 {
		return nil, nil, Tampered
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 2+macSize || b[0] != tokenFormat {
		return nil, nil, Tampered
	}
	return b[:len(b)-macSize], b[len(b)-macSize:], nil
}

// readToken decodes the signed part.
func readToken(body []byte) (Token, error) {
	var t Token
	r := body[2:]
	version, n := binary.Uvarint(r)
	if n <= 0 {
		return Token{}, Tampered
	}
	r = r[n:]
	arm, n := binary.Uvarint(r)
	if n <= 0 || arm > math.MaxInt32 || len(r) < n+16 {
		return Token{}, Tampered
	}
	r = r[n:]
	t.Version, t.Arm = version, int(arm)
	t.Propensity, t.Unit = math.Float64frombits(binary.BigEndian.Uint64(r)), binary.BigEndian.Uint64(r[8:])
	r = r[16:]
	ms, n := binary.Uvarint(r)
	if n <= 0 || ms > math.MaxInt64/1_000_000 || len(r) < n+1 || int(r[n]) != len(r)-n-1 {
		return Token{}, Tampered
	}
	t.Time, t.Experiment = time.UnixMilli(int64(ms)).UTC(), string(r[n+1:])
	return t, nil
}

// Tolerance is how far a token's time may be ahead of the verifier's clock, since clocks differ.
const Tolerance = time.Minute
