package definition

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
	"github.com/noregret/noregret/policy"
)

// Schema is the JSON Schema (draft 2020-12) of a [Definition]. It has the fields, their types and
// their ranges; only [Parse] checks rules about several fields, such as that a goal must be a
// metric. TestSchema makes it of the types and their tags.
//
//go:embed definition.schema.json
var Schema []byte

// maxDefinition is the greatest size of a definition, in bytes.
const maxDefinition = 1 << 20

// Parse reads a definition, YAML or JSON, fills in the defaults and validates it. File is the name
// for errors, whose place is "file:line: path". Unknown fields, wrong types and duplicate fields
// are errors, and so are texts that people could misread: those with line breaks, control
// characters or marks of the direction of text, and names of arms that differ in nothing that can
// be seen.
func Parse(file string, data []byte) (*Definition, error) {
	d, s, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	if err := checkTexts(d); err != nil {
		return nil, s.locate(err)
	}
	return d, nil
}

// ParseStored is [Parse] for a definition that the service has accepted before. It takes texts that
// people could misread, which an old log may have.
func ParseStored(file string, data []byte) (*Definition, error) {
	d, _, err := parse(file, data)
	return d, err
}

func parse(file string, data []byte) (*Definition, *source, error) {
	if len(data) > maxDefinition {
		return nil, nil, noregret.BadInputf(file, "%d bytes: want at most %d", len(data), maxDefinition)
	}
	s, err := readSource(file, data)
	if err != nil {
		return nil, nil, err
	}
	d := presets()
	var head struct {
		Policy struct{ Kind string }
	}
	if json.Unmarshal(s.json, &head) == nil && slices.Contains(policy.LinearKinds(), head.Policy.Kind) {
		d.Exposure = "immediate"
	}
	if err := strictjson.Decode(s.json, &d, rules); err != nil {
		return nil, nil, s.locate(err)
	}
	d.defaults()
	if err := d.Validate(); err != nil {
		return nil, nil, s.locate(err)
	}
	return &d, s, nil
}

// rules are the rules by which a definition is decoded.
var rules = strictjson.Rules{
	WholeFloats: true,
	NoNull:      true,
	Preset:      preset,
	Needs: func(t reflect.Type, field string) bool {
		return slices.Contains(required, t.Name()+"."+field)
	},
}

// preset sets the values of fields that may be left out.
func preset(v any) {
	switch v := v.(type) {
	case *Goal:
		v.Weight = 1
	case *Guardrail:
		v.Penalty, v.Alpha, v.Action, v.Hard = 5, 0.05, "alert", true
	case *Exploration:
		v.Share = firstShare
	case *Privacy:
		v.UnitContribution, v.Rounds = 1, 1000
	case *Plan:
		*v = planPresets()
	case *Metric:
		v.Kind, v.Direction = "mean", "up"
	}
}

// required lists the fields that every definition has, by type.
var required = []string{
	"Definition.name", "Definition.arms", "Definition.metrics", "Arm.name", "Arm.value", "Metric.name",
	"Goal.metric", "Guardrail.metric", "Feature.name", "Feature.kind", "Control.arm", "Objective.goals", "Side.low",
	"Side.high", "Stage.share",
	"Privacy.epsilon", "Privacy.delta",
	"capForm.quantile", "capForm.of", "Plan.units_per_day", "Plan.expect", "Expectation.mean",
}

// armsForm is how grids and boxes are written. Nodes and Every are nil if they are left out.
type armsForm struct {
	Grid  map[string][]json.RawMessage `json:"grid,omitempty" minProperties:"1" names:"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"`
	Box   map[string]Side              `json:"box,omitempty" minProperties:"1" maxProperties:"16" names:"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$"`
	Nodes *int64                       `json:"nodes,omitempty" minimum:"0" maximum:"200" dependentRequired:"box"`
	Every *int64                       `json:"every,omitempty" minimum:"0" maximum:"1000000" dependentRequired:"box"`
}

// UnmarshalStrict implements [strictjson.Unmarshaler]: it reads a list of arms, a grid or a box.
func (a *Arms) UnmarshalStrict(first byte, decode func(v any) error) error {
	const want = "want a list of arms, {grid: ...} or {box: ...}"
	if first == '[' {
		return decode(&a.List)
	}
	var f armsForm
	if first != '{' {
		return noregret.BadInputf("", want)
	}
	if err := decode(&f); err != nil {
		return err
	}
	switch {
	case (f.Grid == nil) == (f.Box == nil):
		return noregret.BadInputf("", want)
	case f.Grid != nil && f.Nodes != nil:
		return noregret.BadInputf("nodes", "only a box has nodes")
	case f.Grid != nil && f.Every != nil:
		return noregret.BadInputf("every", "only a box has every")
	}
	*a = f.arms()
	return nil
}

// locate prefixes an error's place, a path, with file and line.
func (s *source) locate(err error) error {
	e, ok := err.(*noregret.Error)
	if !ok {
		return err
	}
	path := e.Place
	for {
		if line, ok := s.lines[path]; ok {
			return &noregret.Error{Code: e.Code, Place: s.place(line, e.Place), Message: e.Message, Err: e.Err}
		}
		if path == "" {
			return e
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}
