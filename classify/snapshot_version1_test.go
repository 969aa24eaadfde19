package classify

import (
	"bytes"
	"os"
	"testing"
)

// TestSnapshotVersion1 opens snapshots that encoding/gob wrote of learners after 600 examples, and
// goes on as learners do that have seen the examples.
func TestSnapshotVersion1(t *testing.T) {
	for file, name := range map[string]string{"spade": "spade gmean", "stamp": "stamp f1, adaptive"} {
		data, err := os.ReadFile("testdata/snapshot1/" + file + ".bin")
		if err != nil {
			t.Fatal(err)
		}
		old, err := learners[name](Config{Dim: 13})
		if err != nil {
			t.Fatal(err)
		}
		if err := old.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		l, err := learners[name](Config{Dim: 13})
		if err != nil {
			t.Fatal(err)
		}
		feed(t, l, stream(5, 600))
		got, err := old.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if want, err := l.MarshalBinary(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: other bytes than a learner that has seen the examples (%v)", name, err)
		}
	}
}
