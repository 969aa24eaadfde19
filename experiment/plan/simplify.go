package plan

import (
	"encoding/json"
	"fmt"

	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/pasto/box"
	"github.com/noregret/noregret/policy"
)

// Simplify returns a definition that [Closed] and [Simulate] can plan, with a sentence for each
// part of d that it leaves out. If it leaves out nothing, it returns d itself.
//
//   - Privacy: the times are those of raw feedback, without the noise of the releases. Those of
//     guardrails mean nothing then, and [Result.ClearVerdicts] removes them.
//   - Contexts: the policy is Thompson sampling, which gives every unit the same mixture.
//   - A box: its first points are planned as a list of arms.
func Simplify(d *definition.Definition) (simpler *definition.Definition, without []string) {
	simpler = d
	if d.Privacy != nil {
		simpler = clone(simpler)
		simpler.Privacy = nil
		text := "planned without privacy: the times are those of raw feedback, and the noise of a private " +
			"experiment makes them longer"
		if len(d.Guardrails) > 0 {
			text += "; it calls no guardrail held or breached, so there are no days for that"
		}
		without = append(without, text)
	}
	if d.Contextual() {
		simpler = clone(simpler)
		simpler.Policy, simpler.Context = definition.Rule{Kind: "thompson"}, nil
		without = append(without, "planned without contexts: the times are those of one best arm for all units, "+
			"by the policy thompson")
	}
	if d.Arms.Box != nil {
		simpler = clone(simpler)
		nodes := int64(box.DefaultOptions(len(d.Arms.Box)).Nodes)
		if d.Arms.Nodes != nil {
			nodes = *d.Arms.Nodes
		}
		simpler.Arms = definition.Arms{}
		for i := range nodes {
			simpler.Arms.List = append(simpler.Arms.List, policy.Arm{
				Name: fmt.Sprintf("point-%d", i+1), Value: json.RawMessage("0"),
			})
		}
		without = append(without, fmt.Sprintf("planned without the box: the times are those of %d points as arms, and "+
			"the best points of a box are found later", nodes))
	}
	return simpler, without
}

func clone(d *definition.Definition) *definition.Definition {
	c := *d
	return &c
}
