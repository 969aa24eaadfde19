package policy

import (
	"sync"
	"testing"
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
	if c, ok := DecodeUnverified(want[:len(want)-1] + "A"); !ok || c.Experiment != token.Experiment {
		t.Errorf("claims %+v %v", c, ok)
	}
	if _, ok := DecodeUnverified("x"); ok {
		t.Error("an invalid token was decoded")
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
