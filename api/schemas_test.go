package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/noregret/noregret/internal/atomicfile"
)

var rewrite = flag.Bool("rewrite", false, "write server/schemas.json anew")

const (
	schemasFile = "../server/schemas.json"
	schemasAt   = "#/components/schemas/"
)

// bodies are the types whose schemas are in the OpenAPI document, with those of their fields.
var bodies = []any{
	Aggregate{},
	Alerts{},
	Applied{},
	Audit{},
	Decisions{},
	Explanation{},
	FeedbackResult{},
	Problem{},
	Report{},
	StateName{},
	Summary{},
}

// TestSchemas checks that server/schemas.json, a part of the OpenAPI document, has the schemas of
// this package's types: go test ./api -run TestSchemas -rewrite writes it. The tags of fields are
// those of huma's package. Comments are the descriptions, and the constants of a type of strings
// its values.
func TestSchemas(t *testing.T) {
	huma.DefaultArrayNullable = false
	r := huma.NewMapRegistry(schemasAt, func(t reflect.Type, hint string) string {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch name := t.Name(); name {
		case "":
			return strings.TrimSuffix(hint, "Struct")
		case "FeedbackResult":
			return "Fates"
		default:
			return name
		}
	})
	for _, v := range bodies {
		r.Schema(reflect.TypeOf(v), true, "")
	}
	s := sources{comments: map[string]string{}, values: map[string][]any{}}
	s.read(t, ".")
	s.read(t, "../policy")
	for name, schema := range r.Map() {
		s.complete(schema, r.TypeFromRef(schemasAt+name))
	}
	b, err := json.Marshal(r.Map())
	if err != nil {
		t.Fatal(err)
	}
	var sorted any
	if err := json.Unmarshal(b, &sorted); err != nil {
		t.Fatal(err)
	}
	if b, err = json.MarshalIndent(sorted, "", " "); err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	if *rewrite {
		if err := atomicfile.WriteBytes(schemasFile, b); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(schemasFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b) {
		t.Errorf("%s is not what the types say: run go test ./api -run TestSchemas -rewrite", schemasFile)
	}
}

// sources are what the source text says of types: the comments of types and of fields, by "Type"
// and "Type.Field", and the constants of types of strings.
type sources struct {
	comments map[string]string
	values   map[string][]any
}

// read reads the package in a directory.
func (s *sources) read(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					s.spec(d, spec)
				}
			}
		}
	}
}

func (s *sources) spec(d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		s.comments[spec.Name.Name] = words(d.Doc)
		if st, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					s.comments[spec.Name.Name+"."+name.Name] = words(field.Doc, field.Comment)
				}
			}
		}
	case *ast.ValueSpec:
		of, ok := spec.Type.(*ast.Ident)
		if !ok || d.Tok != token.CONST || len(spec.Values) != 1 {
			return
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
			if v, err := strconv.Unquote(text.Value); err == nil {
				s.values[of.Name] = append(s.values[of.Name], v)
			}
		}
	}
}

// links are the links of comments, such as [Report] and [policy.Token].
var links = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// words returns comments as one line.
func words(groups ...*ast.CommentGroup) string {
	var out []string
	for _, g := range groups {
		out = append(out, strings.Fields(g.Text())...)
	}
	return links.ReplaceAllString(strings.Join(out, " "), "$1")
}

// complete adds to the schema of a struct the descriptions and values of its fields, the bounds of
// maps with the tag values:"share", and null to pointers to structs that are written as null.
func (s *sources) complete(schema *huma.Schema, of reflect.Type) {
	schema.Description = s.comments[of.Name()]
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := schema.Properties[name]
		if p == nil {
			continue
		}
		owner := of
		if len(f.Index) > 1 {
			owner = of.Field(f.Index[0]).Type
		}
		if p.Ref == "" {
			p.Description = s.comments[owner.Name()+"."+f.Name]
		}
		if f.Type.Kind() == reflect.String && p.Enum == nil {
			p.Enum = slices.Clone(s.values[f.Type.Name()])
		}
		if v, ok := p.AdditionalProperties.(*huma.Schema); ok && f.Tag.Get("values") == "share" {
			low, high := 0.0, 1.0
			v.Minimum, v.Maximum = &low, &high
		}
		if p.Ref != "" && f.Type.Kind() == reflect.Pointer && options == "" {
			schema.Properties[name] = &huma.Schema{OneOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
		}
	}
}
