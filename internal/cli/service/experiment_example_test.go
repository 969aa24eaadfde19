package service

import (
	"testing"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/cli/clitest"
)

// TestExample checks that the example is a definition, of the name that the documents use.
func TestExample(t *testing.T) {
	d, err := definition.Parse("toy.yaml", exampleDefinition)
	if err != nil || d.Name != "toy" || len(d.Guardrails) != 1 {
		t.Errorf("%+v, %v", d, err)
	}
	cmds.Refused(t, clitest.Refusal{"experiment example now", `example takes no arguments, got "now"`})
}
