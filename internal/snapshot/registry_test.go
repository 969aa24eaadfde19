package snapshot_test

import (
	"testing"

	"github.com/noregret/noregret/internal/snapshot"
)

func TestRegister(t *testing.T) {
	if err := snapshot.Register("test.square", &square{}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	for what, err := range map[string]error{
		"a second type": snapshot.Register("test.square", square{}),
		"a second name": snapshot.Register("test.other", &square{}),
		"no name":       snapshot.Register("", point{}),
		"nil":           snapshot.Register("test.nil", nil),
	} {
		if err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
}
