package dataset

import (
	"testing"

	"pgregory.net/rapid"
)

// names must number like a map, and truncate must restore the earlier state.
func TestNamesIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d names
		var list []string
		find := func(s string) int {
			for i, x := range list {
				if x == s {
					return i
				}
			}
			return -1
		}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if rapid.IntRange(0, 20).Draw(t, "op") == 0 {
				n := rapid.IntRange(0, len(list)).Draw(t, "keep")
				d.truncate(n)
				list = list[:n]
				continue
			}
			s := rapid.StringN(0, 3, 4).Draw(t, "name")
			want := find(s)
			id, isNew := d.id([]byte(s))
			if isNew != (want < 0) || !isNew && int(id) != want || isNew && int(id) != len(list) {
				t.Fatalf("%q: id %d, new %v; want %d", s, id, isNew, want)
			}
			if isNew {
				list = append(list, s)
			}
			if string(d.at(int(id))) != s || d.len() != len(list) {
				t.Fatalf("%q is stored as %q", s, d.at(int(id)))
			}
		}
	})
}

// Pinned: a change of the hash would break every saved model that hashes.
func TestHashIsPinned(t *testing.T) {
	if got := [3]uint32{
		hashIndex(0, 18), hashIndex(1, 18),
		hashName([]byte("colour=red"), 18),
	}; got != ([3]uint32{0x38882, 0x24428, 0x188c5}) {
		t.Errorf("got %#v", got)
	}
}
