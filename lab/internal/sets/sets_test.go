package sets

import (
	"strings"
	"testing"
)

// Messages are numbers of the words of a message, by slot.
func TestWriteMessage(t *testing.T) {
	var b strings.Builder
	writeMessage(&b, true, "Win a PRIZE, win!")
	fields := strings.Fields(b.String())
	if len(fields) != 4 || fields[0] != "1" || strings.Count(b.String(), ":2") < 1 {
		t.Errorf("wrote %q", b.String())
	}
}
