package words_test

import (
	"hash/fnv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/words"
)

func TestEach(t *testing.T) {
	for text, want := range map[string][]string{
		"":                     nil,
		" ,;":                  nil,
		"Free MONEY!!4u":       {"free", "money", "4u"},
		"don't":                {"don", "t"},
		"Ünï code":             {"Ünï", "code"},
		"a":                    {"a"},
		"https://x.example/y?": {"https", "x", "example", "y"},
	} {
		var got, hashes []uint64
		words.Each([]byte(text), func(h uint64) bool {
			got = append(got, h)
			return true
		})
		for _, w := range want {
			h := fnv.New64a()
			_, _ = h.Write([]byte(w)) // never fails
			hashes = append(hashes, random.Mix(h.Sum64()))
		}
		if d := cmp.Diff(hashes, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", text, d)
		}
	}
	n := 0
	words.Each([]byte("a b c"), func(uint64) bool { n++; return n < 2 })
	if n != 2 {
		t.Errorf("%d words after a stop at the second", n)
	}
}

// Slots and signs are spread evenly, and the order of a pair matters.
func TestSlot(t *testing.T) {
	var counts [7]int
	plus := 0
	for i := range uint64(70_000) {
		k, sign := words.Slot(random.Mix(i), len(counts))
		if counts[k]++; sign == 1 {
			plus++
		} else if sign != -1 {
			t.Fatalf("sign %v", sign)
		}
	}
	for k, n := range counts {
		if n < 9500 || n > 10500 {
			t.Errorf("slot %d: %d of 70000", k, n)
		}
	}
	if plus < 34_000 || plus > 36_000 {
		t.Errorf("%d of 70000 signs are 1", plus)
	}
	if words.Pair(1, 2) == words.Pair(2, 1) || words.Pair(1, 1) == words.Pair(2, 2) {
		t.Error("pairs collide")
	}
}
