package experiment

import (
	"encoding/base64"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	testKeys = Keys{Current: 2, Secrets: map[byte][]byte{1: []byte("an older secret, 1"), 2: []byte("the secret of today")}}
	noon     = time.Date(2026, 11, 21, 12, 0, 0, 5e6, time.UTC)
	token    = Token{Experiment: "ranking", Version: 17, Arm: 300, Propensity: .0625, Unit: 1<<63 + 5, Time: noon}
)

func TestTokenRoundTrip(t *testing.T) {
	text, err := testKeys.Sign(token)
	if err != nil {
		t.Fatal(err)
	}
	got, err := testKeys.VerifyFor(text, "ranking", noon.Add(time.Hour), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(token, got); d != "" {
		t.Error(d)
	}
	old := Keys{Current: 1, Secrets: testKeys.Secrets}
	text, err = old.Sign(token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testKeys.Verify(text); err != nil {
		t.Errorf("a token of the older key: %v", err)
	}
}

// TestTokenRefused changes every bit of a token, cuts it everywhere, and asks for what it is not.
func TestTokenRefused(t *testing.T) {
	text, err := testKeys.Sign(token)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			b := append([]byte(nil), raw...)
			b[i] ^= 1 << bit
			if _, err := testKeys.Verify(base64.RawURLEncoding.EncodeToString(b)); err == nil {
				t.Fatalf("bit %d of byte %d was changed and not noticed", bit, i)
			}
		}
		if _, err := testKeys.Verify(base64.RawURLEncoding.EncodeToString(raw[:i])); err == nil {
			t.Fatalf("%d of %d bytes were taken", i, len(raw))
		}
	}
	for want, f := range map[TokenError]func() error{
		Tampered: func() error { _, err := testKeys.Verify(text + "A"); return err },
		Foreign:  func() error { _, err := testKeys.VerifyFor(text, "other", noon, time.Hour); return err },
		Expired: func() error {
			_, err := testKeys.VerifyFor(text, "ranking", noon.Add(time.Hour+time.Millisecond), time.Hour)
			return err
		},
		Early: func() error {
			_, err := testKeys.VerifyFor(text, "ranking", noon.Add(-2*time.Minute), time.Hour)
			return err
		},
	} {
		var reason TokenError
		if err := f(); !errors.As(err, &reason) || reason != want || reason.Error() == "" {
			t.Errorf("%s: %v", want, err)
		}
	}
	stranger := Keys{Current: 9, Secrets: map[byte][]byte{9: []byte("somebody else's secret")}}
	if _, err := stranger.Verify(text); !errors.Is(err, Foreign) {
		t.Errorf("another's token: %v", err)
	}
	forged := Keys{Current: 2, Secrets: map[byte][]byte{2: []byte("a guess at the secret")}}
	text, err = forged.Sign(token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testKeys.Verify(text); !errors.Is(err, Tampered) {
		t.Errorf("a forged token: %v", err)
	}
	if _, err := testKeys.Verify(string(make([]byte, 1<<20))); !errors.Is(err, Tampered) {
		t.Errorf("a megabyte: %v", err)
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
		if _, err := testKeys.Sign(bad); err == nil {
			t.Errorf("%s was signed", what)
		}
	}
	for _, k := range []Keys{{}, {Current: 1, Secrets: map[byte][]byte{2: []byte("0123456789abcdef")}}, {Secrets: map[byte][]byte{0: []byte("short")}}} {
		if k.Validate() == nil {
			t.Errorf("keys %v were taken", k)
		}
	}
}

func FuzzToken(f *testing.F) {
	text, err := testKeys.Sign(token)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		got, err := testKeys.Verify(s)
		if err != nil {
			return
		}
		again, err := testKeys.Sign(got)
		if err != nil {
			t.Fatalf("a token that verifies cannot be signed: %v", err)
		}
		if back, err := testKeys.Verify(again); err != nil || back != got {
			t.Fatalf("%+v came back as %+v, %v", got, back, err)
		}
	})
}
