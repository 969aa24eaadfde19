package eventlog

import (
	"testing"
)

// If two intact records of one position follow the previous one, the record of the newer file is
// taken.
func TestSalvagePrefersTheNewer(t *testing.T) {
	v := &salvage{pieces: map[uint64][]piece{}}
	v.add(piece{link: link{1, 0, 11}, order: 4})
	v.add(piece{link: link{2, 11, 21}, order: 4})
	v.add(piece{link: link{2, 11, 22}, order: 7})
	v.add(piece{link: link{2, 99, 23}, order: 9}) // its link is to another record
	v.add(piece{link: link{3, 22, 33}, order: 5})
	v.add(piece{link: link{5, 44, 55}, order: 5})
	run, end := v.walk(mark{})
	if len(run) != 3 || end != (mark{3, 33}) {
		t.Errorf("%+v, %+v", run, end)
	}
	if got := v.beyond(3); len(got) != 1 || got[0] != (Range{5, 5}) {
		t.Errorf("%+v", got)
	}
}
