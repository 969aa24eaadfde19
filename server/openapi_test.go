package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/experiment/definition"
	"github.com/noregret/noregret/internal/typeschema"
	"github.com/noregret/noregret/policy"
	"github.com/noregret/noregret/server/internal/access"
	"github.com/noregret/noregret/server/internal/personalizer"
	"github.com/noregret/noregret/server/internal/web"
)

const schemasAt = "#/components/schemas/"

//go:generate go test -count=1 -run ^TestDocument$ -args -rewrite

// TestDocument checks that openapi.json is what the routes and the types of their bodies say, and
// that it is served.
func TestDocument(t *testing.T) {
	w := newWorld(t)
	typeschema.Golden(t, "openapi.json", newDescription(t, w.server.router.all).document, *rewrite)
	if status, b := w.do("GET", "/openapi.json", ""); status != 200 || !json.Valid(b) || len(b) != len(openAPI) {
		t.Errorf("status %d: %.100s", status, b)
	}
}

// description makes the document.
type description struct {
	t        testing.TB
	types    *typeschema.Types
	document *huma.OpenAPI
}

func newDescription(t testing.TB, routes []web.Route) *description {
	t.Helper()
	d := &description{t: t, types: typeschema.New(schemasAt, nameOf)}
	d.types.RegisterTypeAlias(reflect.TypeFor[definition.Definition](), reflect.TypeFor[definitionRef]())
	d.types.RegisterTypeAlias(reflect.TypeFor[policy.Split](), reflect.TypeFor[[]string]())
	d.document = &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title: "noregret decision service", Version: "1",
			License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			Extensions: map[string]any{
				"summary": "Decisions drawn from a learned distribution, with feedback, guardrails and explanations.",
			},
		},
		Servers:  []*huma.Server{{URL: "/"}},
		Security: []map[string][]string{{"bearer": {}}, {"key": {}}, {"subscription": {}}},
		Tags: []*huma.Tag{
			{Name: "experiments", Description: "Definitions and their changes"},
			{Name: "decisions", Description: "An arm for each unit, and why"},
			{Name: "feedback", Description: "Exposures, metrics and sums; answered when they are durable"},
			{Name: "log", Description: "The events and the state that is their fold"},
			{Name: "openfeature", Description: "OpenFeature Remote Evaluation Protocol 0.3.0"},
			{Name: "personalizer", Description: "The calls of Azure Personalizer for one choice"},
			{Name: "service", Description: "This description, metrics and health"},
			{
				Name:        "pages",
				Description: "The dashboard, for browsers; a cookie of /login does for them, and for them only",
			},
		},
		Paths: map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas: d.types.Registry, Responses: map[string]*huma.Response{},
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"bearer":       {Type: "http", Scheme: "bearer"},
				"key":          {Type: "apiKey", In: "header", Name: "X-API-Key"},
				"subscription": {Type: "apiKey", In: "header", Name: "Ocp-Apim-Subscription-Key"},
			},
		},
	}
	for i := range routes {
		d.add(&routes[i])
	}
	d.types.Complete(t)
	schemas := d.types.Map()
	schemas["Context"] = &huma.Schema{
		Type:        huma.TypeObject,
		Description: "What the definition's features know of a unit, in at most 65536 bytes of JSON",
		AdditionalProperties: &huma.Schema{OneOf: []*huma.Schema{
			{Type: huma.TypeString}, {Type: huma.TypeNumber, Format: "double"}, {Type: huma.TypeBoolean},
		}},
	}
	addDefinition(t, schemas)
	return d
}

// nameOf names the schema of a type.
func nameOf(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[api.FeedbackResult]():
		return "Fates"
	case reflect.TypeFor[personalizer.RankResponse]():
		return "RankAnswer"
	case reflect.TypeFor[personalizer.Error]():
		return "PersonalizerError"
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if t == reflect.TypeFor[policy.Arm]() || t == reflect.TypeFor[policy.Feature]() {
		return "Definition" + name
	}
	return name
}

// definitionRef stands for a definition, whose schema is that of its package.
type definitionRef struct{}

func (definitionRef) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Ref: schemasAt + "Definition"}
}

// Schema implements [huma.SchemaProvider]: a unit is its name, or its name and context.
func (unitForm) Schema(r huma.Registry) *huma.Schema {
	least, most := 1, 512
	return &huma.Schema{
		Description: "The unit's name, or its name and context",
		OneOf: []*huma.Schema{
			{Type: huma.TypeString, MinLength: &least, MaxLength: &most},
			r.Schema(reflect.TypeFor[api.UnitContext](), true, ""),
		},
	}
}

// addDefinition adds the schema of definitions, whose parts get names such as DefinitionArm.
func addDefinition(t testing.TB, schemas map[string]*huma.Schema) {
	t.Helper()
	var parts struct {
		Parts map[string]map[string]any `json:"$defs"`
	}
	var all map[string]any
	text := regexp.MustCompile(`"#/\$defs/`).ReplaceAll(definition.Schema, []byte(`"`+schemasAt+`Definition`))
	text = bytes.ReplaceAll(text, []byte("DefinitionArmValue"), []byte("ArmValue"))
	for _, v := range []any{&all, &parts} {
		if err := json.Unmarshal(text, v); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"$defs", "$schema", "$id"} {
		delete(all, key)
	}
	for name, part := range parts.Parts {
		schemas["Definition"+name] = &huma.Schema{Extensions: part}
	}
	schemas["Definition"] = &huma.Schema{Extensions: all}
	// A value is any JSON; generators cannot follow a schema that refers to itself.
	schemas["ArmValue"] = &huma.Schema{Description: "Any JSON but null; numbers are those of a float64"}
	delete(schemas, "DefinitionArmValue")
	delete(schemas, "DefinitionValue")
}

// add adds the operation of a route.
func (d *description) add(rt *web.Route) {
	d.t.Helper()
	path, summary := strings.TrimSuffix(rt.Pattern, "{$}"), rt.Summary
	if rt.Role != access.Anyone {
		summary += " (role " + string(rt.Role) + ")"
	}
	o := &huma.Operation{
		OperationID: rt.ID, Tags: []string{rt.Tag}, Summary: summary, Description: rt.About,
		Parameters: d.parameters(rt), Responses: map[string]*huma.Response{},
	}
	if rt.ID == "" || rt.Tag == "" || rt.Summary == "" || len(rt.Answers) == 0 {
		d.t.Errorf("%s %s: want an ID, a tag, a summary and answers", rt.Method, rt.Pattern)
	}
	if rt.Role == access.Anyone {
		o.Security = []map[string][]string{}
	}
	if rt.Body != nil {
		media := rt.Media
		if media == nil {
			media = []string{"application/json"}
		}
		o.RequestBody = &huma.RequestBody{Required: !rt.Optional, Content: map[string]*huma.MediaType{}}
		for _, m := range media {
			o.RequestBody.Content[m] = &huma.MediaType{Schema: d.types.Of(rt.Body)}
		}
		if rt.Lenient {
			d.open(o.RequestBody.Content[media[0]].Schema)
		}
	}
	for status, a := range rt.Answers {
		if status != 0 {
			o.Responses[strconv.Itoa(status)] = d.answer(a)
		}
	}
	wrong, ok := rt.Answers[0]
	if !ok {
		wrong = web.Problem
	}
	o.Responses["4XX"], o.Responses["5XX"] = d.answer(wrong), d.answer(wrong)
	item := d.document.Paths[path]
	if item == nil {
		item = &huma.PathItem{}
		d.document.Paths[path] = item
	}
	switch rt.Method {
	case "GET":
		item.Get = o
	case "POST":
		item.Post = o
	case "PUT":
		item.Put = o
	case "DELETE":
		item.Delete = o
	default:
		d.t.Errorf("%s: the document has no method %s", rt.Pattern, rt.Method)
	}
}

// open lets objects have members that the types have not.
func (d *description) open(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		s = d.types.SchemaFromRef(s.Ref)
	}
	if s.Type == huma.TypeObject {
		s.AdditionalProperties = true
	}
	for _, p := range s.Properties {
		d.open(p)
	}
	d.open(s.Items)
}

// pathParameters are those of all paths.
type pathParameters struct {
	// The experiment's name.
	Name string `path:"name"`
	// The experiment's name.
	Key  string `path:"key"`
	File string `path:"file"`
}

// parameters are those of the path, then those of the route's struct.
func (d *description) parameters(rt *web.Route) (out []*huma.Param) {
	d.t.Helper()
	inPath := regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(rt.Pattern, -1)
	seen := 0
	for _, params := range []any{pathParameters{}, rt.Params} {
		if params == nil {
			continue
		}
		of := reflect.TypeOf(params)
		for _, f := range reflect.VisibleFields(of) {
			for _, in := range []string{"path", "query", "header"} {
				name := f.Tag.Get(in)
				mine := slices.ContainsFunc(inPath, func(m []string) bool { return m[1] == name })
				if name == "" || in == "path" && !mine {
					continue
				}
				if in == "path" {
					seen++
				}
				p := &huma.Param{
					Name: name, In: in, Required: in == "path" || f.Tag.Get("required") == "true",
					Description: d.types.Comment(d.t, of, f), Schema: &huma.Schema{Type: huma.TypeString},
				}
				if f.Type != reflect.TypeFor[time.Duration]() {
					p.Schema = huma.SchemaFromField(d.types, f, "")
				} else {
					p.Schema.Default = f.Tag.Get("default")
				}
				out = append(out, p)
			}
		}
	}
	if seen != len(inPath) {
		d.t.Errorf("%s: a parameter of the path is described nowhere", rt.Pattern)
	}
	return out
}

// answer describes an answer; those with a name are there once.
func (d *description) answer(a web.Answer) *huma.Response {
	if a.Name != "" {
		named := d.document.Components.Responses
		if named[a.Name] == nil {
			one := a
			one.Name = ""
			named[a.Name] = d.answer(one)
		}
		return &huma.Response{Ref: "#/components/responses/" + a.Name}
	}
	out := &huma.Response{Description: a.Text}
	for media, v := range a.Content {
		if out.Content == nil {
			out.Content = map[string]*huma.MediaType{}
		}
		s := &huma.Schema{Type: huma.TypeString}
		switch v.(type) {
		case string:
		case []byte:
			// Not the field Format: huma's package would add the media type.
			s.Extensions = map[string]any{"format": "binary"}
		case map[string]any:
			s.Type = huma.TypeObject
		default:
			s = d.types.Of(v)
		}
		out.Content[media] = &huma.MediaType{Schema: s}
	}
	if a.Tagged {
		out.Headers = map[string]*huma.Param{"ETag": {Schema: &huma.Schema{Type: huma.TypeString}}}
	}
	return out
}

// TestDocumentIsComplete checks what the generators of clients need of the document: numbers with
// their formats, and references that lead somewhere; and that a request that is not as the document
// says is found.
func TestDocumentIsComplete(t *testing.T) {
	var visit func(where string, v any)
	visit = func(where string, v any) {
		switch v := v.(type) {
		case map[string]any:
			kind, _ := v["type"].(string)
			format := map[string]string{"number": "double", "integer": "int64"}[kind]
			if format != "" && v["format"] != format {
				t.Errorf("%s: format %v, want %s", where, v["format"], format)
			}
			if ref, ok := v["$ref"].(string); ok {
				if node, _ := follow(t, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...); node == nil {
					t.Errorf("%s: %s leads nowhere", where, ref)
				}
			}
			for key, value := range v {
				visit(where+"/"+key, value)
			}
		case []any:
			for i, value := range v {
				visit(fmt.Sprint(where, "/", i), value)
			}
		}
	}
	visit("", map[string]any(doc().all))
	_, pointer := follow(t, "components", "schemas", "Aggregate")
	const sums = `{"experiment": "e", "source": "s", "sequence": 1, "items": [` +
		`{"version": 1, "arm": "a", "units": 1, %s}]}`
	for member, ok := range map[string]bool{
		`"pairs": {"r": {"n": 1, "x": 1, "y": 2, "xx": 1, "yy": 4, "xy": 2}}`: true,
		`"pairs": {"r": {"n": 1, "z": 1}}`:                                    false,
		`"products": {"r": 1}`:                                                false,
	} {
		if err := validate(t, pointer, []byte(fmt.Sprintf(sums, member))); (err == nil) != ok {
			t.Errorf("%s: %v", member, err)
		}
	}
}
