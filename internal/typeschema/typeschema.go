// Package typeschema makes JSON Schemas of Go types, for files that tests write: what a struct's
// tags say by huma's package, and what its source text says beyond. Only tests import it.
//
// Comments of types and of fields are the descriptions, and the constants of a type of strings its
// values. Beside huma's tags fields may have
//
//   - values:"share": the values of a map are shares in [0, 1];
//   - names:"pattern": the names of a map match a regular expression;
//   - line:"true": a string, or each of a list, is one line without characters that are unclear;
//   - items:"object": the items of a list of raw JSON have the type;
//   - oneOf:"A,B": the items of a list have one of the named schemas;
//   - schema:"A": the field has the named schema.
//
// A tag json with the option string makes a string of a number.
package typeschema

import (
	"bytes"
	"encoding/json"
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
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/legible"
)

// Types are the schemas of types and of those of their fields.
type Types struct {
	huma.Registry
	prefix string
	// comments are those of types and of fields, by "path.Type" and "path.Type.Field", and values
	// the constants of types of strings.
	comments map[string]string
	values   map[string][]any
	read     map[string]bool // by directory
}

// New returns no schemas. References to them begin with the prefix, and their names are those of
// the types, as the function renames them.
func New(prefix string, rename func(t reflect.Type) string) *Types {
	huma.DefaultArrayNullable = false
	return &Types{
		Registry: huma.NewMapRegistry(prefix, func(t reflect.Type, hint string) string {
			for t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			if t.Name() == "" {
				return strings.TrimSuffix(hint, "Struct")
			}
			return rename(t)
		}),
		prefix: prefix, comments: map[string]string{}, values: map[string][]any{}, read: map[string]bool{},
	}
}

// Of returns the schema of a value's type: for a struct a reference to it.
func (s *Types) Of(v any) *huma.Schema { return s.Schema(reflect.TypeOf(v), true, "") }

// Complete adds to the schemas what huma's package does not know. Call it once, after the last
// type.
func (s *Types) Complete(t testing.TB) {
	t.Helper()
	for name, schema := range s.Map() {
		s.complete(t, schema, s.TypeFromRef(s.prefix+name))
	}
}

// Comment returns the comment of a field of a struct.
func (s *Types) Comment(t testing.TB, of reflect.Type, f reflect.StructField) string {
	t.Helper()
	for _, i := range f.Index[:len(f.Index)-1] {
		if of = of.Field(i).Type; of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
	}
	s.source(t, of.PkgPath())
	return s.comments[key(of)+"."+f.Name]
}

func key(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// complete completes the schema of a struct.
func (s *Types) complete(t testing.TB, schema *huma.Schema, of reflect.Type) {
	t.Helper()
	s.source(t, of.PkgPath())
	schema.Description = s.comments[key(of)]
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := schema.Properties[name]
		if p == nil {
			continue
		}
		p.Description = s.Comment(t, of, f)
		if f.Type.Kind() == reflect.String && p.Enum == nil && f.Type.PkgPath() != "" {
			s.source(t, f.Type.PkgPath())
			p.Enum = slices.Clone(s.values[key(f.Type)])
		}
		inner, _ := p.AdditionalProperties.(*huma.Schema)
		if inner != nil && f.Tag.Get("values") == "share" {
			low, high := 0.0, 1.0
			inner.Minimum, inner.Maximum = &low, &high
		}
		if names := f.Tag.Get("names"); names != "" {
			p.Extensions = map[string]any{"propertyNames": map[string]any{"pattern": names}}
		}
		if f.Tag.Get("line") == "true" {
			line := p
			if p.Items != nil {
				line = p.Items
			}
			line.Pattern = Line()
		}
		if kind := f.Tag.Get("items"); kind != "" {
			p.Items.Type = kind
		}
		if list := f.Tag.Get("oneOf"); list != "" {
			for of := range strings.SplitSeq(list, ",") {
				p.Items.OneOf = append(p.Items.OneOf, &huma.Schema{Ref: s.prefix + of})
			}
		}
		if of := f.Tag.Get("schema"); of != "" {
			p.Ref = s.prefix + of
		}
		if strings.Contains(options, "string") {
			p.Type, p.Format, p.Minimum = huma.TypeString, "", nil
		}
		if p.Ref != "" && f.Type.Kind() == reflect.Pointer && options == "" {
			schema.Properties[name] = &huma.Schema{
				Description: p.Description,
				OneOf:       []*huma.Schema{{Ref: p.Ref}, {Type: "null"}},
			}
		}
	}
}

// source reads the text of a package of the module, once.
func (s *Types) source(t testing.TB, path string) {
	t.Helper()
	dir, ok := strings.CutPrefix(path, module+"/")
	if !ok || s.read[dir] {
		return
	}
	s.read[dir] = true
	files, err := filepath.Glob(filepath.Join(root(t), dir, "*.go"))
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
					s.spec(path, d, spec)
				}
			}
		}
	}
}

const module = "github.com/noregret/noregret"

// root is the directory of the module, above that of the test.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatal("no go.mod")
	return ""
}

func (s *Types) spec(path string, d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		of := path + "." + spec.Name.Name
		s.comments[of] = words(d.Doc)
		if st, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					s.comments[of+"."+name.Name] = words(field.Doc, field.Comment)
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
				s.values[path+"."+of.Name] = append(s.values[path+"."+of.Name], v)
			}
		}
	}
}

// Line returns the pattern of one line without characters that are unclear.
func Line() string {
	var b strings.Builder
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if first := r; legible.Unclear(r) {
			for legible.Unclear(r + 1) {
				r++
			}
			b.WriteRune(first)
			if first < r {
				b.WriteString("-" + string(r))
			}
		}
	}
	return "^[^" + b.String() + "]*$"
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

// Golden checks that a file has the JSON of a value, with sorted names. If rewrite is set, it
// writes the file.
func Golden(t testing.TB, file string, v any, rewrite bool) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var sorted any
	if err := json.Unmarshal(b, &sorted); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(sorted); err != nil {
		t.Fatal(err)
	}
	want := legible.JSON(out.Bytes())
	if rewrite {
		if err := atomicfile.WriteBytes(file, want); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the types say: run go generate in its directory", file)
	}
}
