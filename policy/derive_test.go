package policy

import (
	"maps"
	"strings"
	"testing"
)

// TestDerive compares what signers derive that share keys, and that do not.
func TestDerive(t *testing.T) {
	signer := func(current byte, secrets map[byte][]byte) *Signer {
		s, err := NewSigner(Keys{Current: current, Secrets: secrets})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := []byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))
	a, both := signer(1, map[byte][]byte{1: one}), signer(2, map[byte][]byte{1: one, 2: two})
	other := signer(1, map[byte][]byte{1: two})
	text := a.Derive("node")
	if !a.Derived("node", text) || !both.Derived("node", text) || other.Derived("node", text) ||
		a.Derived("form", text) || a.Derived("node", "") || a.Derived("node", both.Derive("node")) {
		t.Errorf("%s is taken where it should not be, or refused", text)
	}
	if both.Derive("node") == other.Derive("node") {
		t.Error("the number of a key is not in what is derived")
	}
	current, digests := both.KeyDigests()
	_, of := a.KeyDigests()
	_, others := other.KeyDigests()
	if current != "2" || len(digests) != 2 || digests["1"] != of["1"] || digests["2"] != others["1"] ||
		maps.Equal(of, others) {
		t.Errorf("current %s, digests %v, %v and %v", current, digests, of, others)
	}
	if strings.Contains(text, of["1"]) {
		t.Error("the digest tells a part of what is derived")
	}
}
