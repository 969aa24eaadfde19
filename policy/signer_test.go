package policy

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"sync"
	"testing"
	"time"
)

// TestSigner checks that Append appends, gives the same token each time, and keeps nothing of a
// token between calls.
func TestSigner(t *testing.T) {
	s, want := signer(t, testKeys), signed(t, testKeys, token)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if got, err := s.Append([]byte("x"), token); err != nil || string(got) != "x"+want {
					t.Errorf("got %s, %v", got, err)
				}
				if got, err := s.Verify(want, noon); err != nil || got != token {
					t.Errorf("got %+v, %v", got, err)
				}
				if _, err := s.Verify(want[:len(want)-1]+"A", noon); err == nil {
					t.Error("a changed token was accepted")
				}
			}
		})
	}
	all.Wait()
	if got, err := s.Verify(want[:len(want)-1]+"A", noon); got != (Token{}) || err != Tampered {
		t.Errorf("a changed token: %+v, %v", got, err)
	}
	if got, err := s.Verify(want, noon.Add(-time.Hour)); got != token || err != Early {
		t.Errorf("a token from the future: %+v, %v", got, err)
	}
}

// TestMac compares signatures with those of crypto/hmac, for secrets and texts of every length up
// to some blocks.
func TestMac(t *testing.T) {
	text := make([]byte, 700)
	for i := range text {
		text[i] = byte(i * 7)
	}
	for _, secret := range []int{16, 32, 63, 64, 65, 200} {
		p := newPads(text[1 : 1+secret])
		for n := range text {
			h := hmac.New(sha256.New, text[1:1+secret])
			_, _ = h.Write(macPrefix)
			_, _ = h.Write(text[:n])
			if got := p.mac(text[:n]); !bytes.Equal(got[:], h.Sum(nil)[:macSize]) {
				t.Fatalf("a secret of %d bytes, a text of %d: got %x", secret, n, got)
			}
		}
	}
}

func BenchmarkSign(b *testing.B) {
	s, err := NewSigner(testKeys)
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = s.Append(dst[:0], token)
	}
}
