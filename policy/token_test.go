package policy

import (
	"encoding/base64"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	testKeys = Keys{Current: 2, Secrets: map[byte][]byte{
		1: []byte("an older secret, 1"),
		2: []byte("the secret of today"),
	}}
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	token = Token{Experiment: "ranking", Version: 17, Arm: 300, Propensity: .0625, Unit: 1<<63 + 5, Time: noon}
)

// signer returns the signer with the given keys.
func signer(t testing.TB, k Keys) *Signer {
	t.Helper()
	s, err := NewSigner(k)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// signed returns the text of a token.
func signed(t testing.TB, k Keys, token Token) string {
	t.Helper()
	b, err := signer(t, k).Append(nil, token)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTokenPinned pins the format: later programs must read the tokens in use.
func TestTokenPinned(t *testing.T) {
	const want = "AQIRrAI_sAAAAAAAAIAAAAAAAAAFhYzp7580B3JhbmtpbmeIdp-WXinLUksJgSh3JwdP"
	if got := signed(t, testKeys, token); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTokenRoundTrip(t *testing.T) {
	s := signer(t, testKeys)
	got, err := s.Verify(signed(t, testKeys, token), noon.Add(1000*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(token, got); d != "" {
		t.Error(d)
	}
	old := Keys{Current: 1, Secrets: testKeys.Secrets}
	if _, err := s.Verify(signed(t, old, token), noon); err != nil {
		t.Errorf("a token of the older key: %v", err)
	}
}

// TestTokenRefused changes every bit of a token, truncates it to every length, and verifies tokens
// with wrong keys and at wrong times.
func TestTokenRefused(t *testing.T) {
	s, text := signer(t, testKeys), signed(t, testKeys, token)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			b := append([]byte(nil), raw...)
			b[i] ^= 1 << bit
			if _, err := s.Verify(base64.RawURLEncoding.EncodeToString(b), noon); err == nil {
				t.Fatalf("a change of bit %d of byte %d was not noticed", bit, i)
			}
		}
		if _, err := s.Verify(base64.RawURLEncoding.EncodeToString(raw[:i]), noon); err == nil {
			t.Fatalf("a token cut to %d of %d bytes was accepted", i, len(raw))
		}
	}
	stranger := Keys{Current: 9, Secrets: map[byte][]byte{9: []byte("somebody else's secret")}}
	forger := Keys{Current: 2, Secrets: map[byte][]byte{2: []byte("a guess at the secret")}}
	for _, c := range []struct {
		what, text string
		now        time.Time
		want       TokenError
	}{
		{"with a letter more", text + "A", noon, Tampered},
		{"with a line break", text[:10] + "\n" + text[10:], noon, Tampered},
		{"with a return at the end", text + "\r", noon, Tampered},
		{"with padding", text + "=", noon, Tampered},
		{"of another's key", signed(t, stranger, token), noon, Foreign},
		{"forged", signed(t, forger, token), noon, Tampered},
		{"a megabyte", string(make([]byte, 1<<20)), noon, Tampered},
		{"of the future", text, noon.Add(-2 * time.Minute), Early},
	} {
		var reason TokenError
		if _, err := s.Verify(c.text, c.now); !errors.As(err, &reason) || reason != c.want || reason.Error() == "" {
			t.Errorf("%s: %v, want %s", c.what, err, c.want)
		}
	}
	if _, err := s.Verify(text, noon.Add(-Tolerance)); err != nil {
		t.Errorf("a clock that is a minute behind: %v", err)
	}
}

func TestSignRefuses(t *testing.T) {
	for what, change := range map[string]func(*Token){
		"no experiment":      func(t *Token) { t.Experiment = "" },
		"a long name":        func(t *Token) { t.Experiment = string(make([]byte, 256)) },
		"a negative arm":     func(t *Token) { t.Arm = -1 },
		"propensity 0":       func(t *Token) { t.Propensity = 0 },
		"propensity NaN":     func(t *Token) { t.Propensity = math.NaN() },
		"propensity above 1": func(t *Token) { t.Propensity = 1.1 },
		"a time before 1970": func(t *Token) { t.Time = time.Time{} },
	} {
		bad := token
		change(&bad)
		if _, err := signer(t, testKeys).Append(nil, bad); err == nil {
			t.Errorf("%s was signed", what)
		}
	}
	for _, k := range []Keys{
		{},
		{Current: 1, Secrets: map[byte][]byte{2: []byte("0123456789abcdef")}},
		{Secrets: map[byte][]byte{0: []byte("short")}},
	} {
		if _, err := NewSigner(k); err == nil || k.Validate() == nil {
			t.Errorf("the keys %v were accepted", k)
		}
	}
}

func FuzzToken(f *testing.F) {
	s := signer(f, testKeys)
	f.Add(signed(f, testKeys, token))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := s.Verify(text, noon)
		if err != nil {
			return
		}
		if back, err := s.Verify(signed(t, testKeys, got), noon); err != nil || back != got {
			t.Fatalf("%+v came back as %+v, %v", got, back, err)
		}
	})
}
