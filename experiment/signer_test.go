package experiment

import (
	"errors"
	"testing"
	"time"
)

// TestSigner: the same texts and the same answers as of its keys.
func TestSigner(t *testing.T) {
	s, err := NewSigner(testKeys)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewSigner(Keys{}); err == nil {
		t.Error("no keys were taken")
	}
	want, err := testKeys.Sign(token)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		got, err := s.Append([]byte("x"), token)
		if err != nil || string(got) != "x"+want {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	for i := range len(want) {
		for _, text := range []string{want, want[:i], want[:i] + "A" + want[i+1:]} {
			a, errA := testKeys.Verify(text)
			b, errB := s.Verify(text)
			if a != b || !errors.Is(errA, errB) {
				t.Fatalf("%s: %v %v, %v %v", text, a, errA, b, errB)
			}
		}
	}
	bad := token
	bad.Time = time.Time{}
	if _, err := s.Append(nil, bad); err == nil {
		t.Error("a time before 1970 was signed")
	}
	if c, ok := Claims(want[:len(want)-1] + "A"); !ok || c.Experiment != token.Experiment {
		t.Errorf("claims %+v %v", c, ok)
	}
	if _, ok := Claims("x"); ok {
		t.Error("claims of nothing")
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
