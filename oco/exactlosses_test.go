package oco

import (
	"bytes"
	"testing"

	"github.com/noregret/noregret/convex"
	"github.com/noregret/noregret/loss"
)

// distance is a user-defined loss.
type distance struct{ *loss.SquaredDistance }

// TestRegisterLoss saves losses of a registered user-defined type, and refuses names that are in
// use.
func TestRegisterLoss(t *testing.T) {
	if err := RegisterLoss("oco_test.distance", distance{}); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"a name in use": RegisterLoss("loss.Linear", distance{}),
		"a second name": RegisterLoss("oco_test.other", distance{}),
		"nil":           RegisterLoss("oco_test.nil", nil),
		"no name":       RegisterLoss("", unregistered{}),
	} {
		if err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	if err := RegisterLoss("oco_test.distance", distance{}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	set := must(convex.NewCenteredBall(3, 1))
	a, b := must(NewExactFTRL(values(set))), must(NewExactFTRL(values(set)))
	for i := range 5 {
		f := distance{must(loss.NewSquaredDistance([]float64{1, float64(i), 0.5}))}
		if err := a.UpdateLoss(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.UnmarshalBinary(must(a.MarshalBinary())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(must(a.MarshalBinary()), must(b.MarshalBinary())) {
		t.Error("the bytes differ after a restore")
	}
	last := b.m.(*ListMinimizer).losses[4].(distance)
	if last.C[1] != 4 {
		t.Errorf("the last loss is %v", last)
	}
}
