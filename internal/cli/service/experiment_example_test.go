package service

import (
	"testing"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/cli/clitest"
	"github.com/noregret/noregret/internal/examples"
)

// TestExample checks that the examples are definitions that need no note, and that the one without
// a name has the name that the documents use.
func TestExample(t *testing.T) {
	for _, name := range append([]string{examples.Toy}, examples.Names...) {
		text, _ := examples.Get(name)
		d, err := definition.Parse(name+".yaml", text)
		if err != nil || d.Name != name || len(definition.Notes(d)) > 0 {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if name != examples.Toy && d.Plan == nil {
			t.Errorf("%s has no plan", name)
		}
	}
	cmds.Refused(t, clitest.Refusal{"experiment example a b", "example takes one name at most, got 2"})
	cmds.Refused(t, clitest.Refusal{
		"experiment example rankin",
		`no example "rankin": did you mean ranking? want one of ranking, price, banner, contextual, ab, private`,
	})
}
