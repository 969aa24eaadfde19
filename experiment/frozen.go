package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// frozenFields are the fields that a running experiment cannot change, each in a form that can be
// compared.
func frozenFields(d *definition.Definition) map[string]any {
	control := ""
	if d.Control != nil {
		control = d.Control.Arm
	}
	frozen := map[string]any{
		"unit": d.Unit, "salt": d.Salt, "control.arm": control, "metrics": d.Metrics,
		"stickiness": d.Stickiness,
		"exposure":   d.Exposure, "policy.kind": d.Policy.Kind, "arms.box": d.Arms.Box,
		"privacy": d.Privacy, // reserved for these sums; what came before it has been published
	}
	if d.Contextual() { // the contexts of earlier units are not kept
		frozen["context"], frozen["objective"], frozen["policy"] = d.Context, d.Objective, d.Policy
		frozen["drift"] = d.Drift
	}
	if d.Arms.Box != nil { // the points were chosen for it
		frozen["objective"], frozen["guardrails"] = d.Objective, d.Guardrails
		frozen["arms.nodes"], frozen["arms.every"] = d.Arms.Nodes, d.Arms.Every
	}
	return frozen
}

// checkFrozen returns an error for the first of the frozen fields in which two definitions of an
// experiment differ, with the place of the first difference in it.
func checkFrozen(before, after *definition.Definition) error {
	old, new := frozenFields(before), frozenFields(after)
	for _, field := range slices.Sorted(maps.Keys(old)) {
		if !sameJSON(old[field], new[field]) {
			place, what := difference(field, plain(old[field]), plain(new[field]))
			return noregret.BadInputf(place, "%s while the experiment runs: delete the experiment, or make one of "+
				"another name", what)
		}
	}
	return nil
}

// plain returns a value as what its JSON is made of, nil if it has none.
func plain(v any) (out any) {
	text, err := strictjson.Encode(v)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // digits as they are written
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

// difference returns the place of the first difference of two values in plain form, and that the
// one cannot become the other. Lists of different lengths differ as a whole.
func difference(place string, from, to any) (string, string) {
	switch a := from.(type) {
	case map[string]any:
		b, ok := to.(map[string]any)
		if !ok {
			break
		}
		all := maps.Clone(a)
		maps.Copy(all, b)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !sameJSON(a[name], b[name]) {
				return difference(strictjson.Member(place, name), a[name], b[name])
			}
		}
	case []any:
		b, ok := to.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			if !sameJSON(a[i], b[i]) {
				return difference(fmt.Sprintf("%s[%d]", place, i), a[i], b[i])
			}
		}
	}
	old, new := short(from), short(to)
	switch {
	case old != "" && new != "":
		return place, old + " cannot become " + new
	case old != "" && to == nil:
		return place, old + " cannot be left out"
	case from == nil && new != "":
		return place, "cannot become " + new
	}
	return place, "cannot change"
}

// short writes a value in plain form, "" for a list, an object and none. Lengths of time are
// without quotes and parts of zero.
func short(v any) string {
	switch v := v.(type) {
	case string:
		var length policy.Duration
		if length.UnmarshalText([]byte(v)) == nil {
			if s, ok := strings.CutSuffix(v, "m0s"); ok {
				v = s + "m"
			}
			if s, ok := strings.CutSuffix(v, "h0m"); ok {
				v = s + "h"
			}
			return v
		}
		return strconv.Quote(v)
	case bool, json.Number:
		return fmt.Sprint(v)
	}
	return ""
}
