package classify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
)

// The model file. docs/formats/model.md describes it; change them together.
const (
	modelFormat  = "noregret-model"
	modelVersion = 1
)

// document is the JSON document, its fields in the order of the file. Those that a private model
// does not have, or only a private model has, are pointers or empty.
type document struct {
	Format    string          `json:"format"`
	Version   int             `json:"version"`
	Task      string          `json:"task"`
	Measure   string          `json:"measure,omitempty"`
	Algorithm string          `json:"algorithm"`
	Labels    []string        `json:"labels"`
	Dim       int             `json:"dim"`
	Models    []ModelLinear   `json:"models"`
	Schema    *dataset.Schema `json:"schema"`
	Transform *Transform      `json:"transform,omitempty"`
	Scaling   *ModelScaling   `json:"scaling"`
	// Calibration is left out where there is none.
	Calibration []Calibration  `json:"calibration,omitempty"`
	Options     *ModelOptions  `json:"options,omitempty"`
	Data        *ModelData     `json:"data,omitempty"`
	Training    *ModelTraining `json:"training,omitempty"`
	Search      *ModelSearch   `json:"search,omitempty"`
	Figures     *ModelFigures  `json:"figures,omitempty"`
	Privacy     *ModelPrivacy  `json:"privacy,omitempty"`
	Shard       *ModelShard    `json:"shard,omitempty"`
	Warnings    []string       `json:"warnings"`
	Checksum    string         `json:"checksum"`
}

func (m *Model) document() *document {
	d := &document{
		Format: modelFormat, Version: modelVersion, Task: m.Task.String(), Measure: m.Measure, Algorithm: m.Algorithm,
		Labels: m.Labels, Dim: m.Schema.Dim, Models: m.Models, Schema: m.Schema, Scaling: m.Scaling,
		Privacy: m.Privacy, Warnings: m.Warnings, Calibration: m.Calibration, Transform: m.Transform,
		Search: m.Search, Figures: m.Figures, Shard: m.Shard,
	}
	if m.Privacy == nil {
		d.Options, d.Data, d.Training = &m.Options, &m.Data, &m.Training
	}
	return d
}

// model returns the model of a document, or an error if a part is missing or one too many.
func (d *document) model() (*Model, error) {
	m := &Model{
		Task: Task(slices.Index(taskNames, d.Task)), Measure: d.Measure, Algorithm: d.Algorithm, Labels: d.Labels,
		Models: d.Models, Schema: d.Schema, Scaling: d.Scaling, Privacy: d.Privacy, Warnings: d.Warnings,
		Calibration: d.Calibration, Transform: d.Transform, Search: d.Search, Figures: d.Figures,
		Shard: d.Shard,
	}
	for _, part := range []struct {
		name  string
		given bool
	}{
		{"measure", d.Measure != ""},
		{"options", d.Options != nil},
		{"data", d.Data != nil},
		{"training", d.Training != nil},
	} {
		switch {
		case d.Privacy != nil && (part.given || d.Transform != nil || d.Search != nil || d.Figures != nil):
			return nil, noregret.BadInputf(part.name, "a private model has none")
		case !part.given && d.Privacy == nil:
			return nil, noregret.BadInputf(part.name, "the field is missing")
		}
	}
	if d.Privacy == nil {
		m.Options, m.Data, m.Training = *d.Options, *d.Data, *d.Training
	}
	return m, nil
}

// encode writes the document canonically: one top-level field per line, no other white space,
// numbers with the fewest digits that read back the same.
func (d *document) encode() ([]byte, error) {
	b := []byte("{\n")
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.IsZero() && v.Type().Field(i).Tag.Get("json") != strictjson.Name(v.Type().Field(i)) {
			continue // left out where it is empty
		}
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = append(b, `"`+strictjson.Name(v.Type().Field(i))+`": `...)
		value, err := strictjson.Encode(v.Field(i).Interface())
		if err != nil {
			return nil, err
		}
		b = append(b, value...)
	}
	return append(b, "\n}\n"...), nil
}

// sum returns the checksum of the document: that of its canonical form with an empty checksum.
func (d *document) sum() (string, error) {
	empty := *d
	empty.Checksum = ""
	b, err := empty.encode()
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:]), err
}

// Checksum returns the checksum that the model's file has.
func (m *Model) Checksum() (string, error) { return m.document().sum() }

// WriteModel writes a model as one JSON document. Equal models give equal bytes. It fails if the
// model breaks a rule (see [Model.Validate]) or w returns an error.
func WriteModel(w io.Writer, m *Model) error {
	if err := m.Validate(); err != nil {
		return err
	}
	d := m.document()
	var err error
	if d.Checksum, err = d.sum(); err != nil {
		return noregret.Errorf(noregret.Internal, "model", "cannot be written as JSON: %w", err)
	}
	b, err := d.encode()
	if err != nil {
		return noregret.Errorf(noregret.Internal, "model", "cannot be written as JSON: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// SaveModel writes a model to a file atomically: the file is complete or unchanged.
func SaveModel(path string, m *Model) error {
	var b bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(path, b.Bytes()); err != nil {
		return noregret.Errorf(noregret.Internal, path, "the model cannot be written: %w", err)
	}
	return nil
}

// ReadModel reads a model. It returns an error of code bad_input, with the file's name and the JSON
// path, for anything unexpected: another format or version, unknown, repeated or missing fields, a
// wrong checksum, an unknown measure or algorithm, indices that do not ascend or exceed the
// dimension, numbers out of their range.
func ReadModel(r io.Reader, name string) (*Model, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, name, "read failed: %w", err)
	}
	m, err := decodeModel(raw)
	if err == nil {
		return m, nil
	}
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok {
		return nil, noregret.BadInputf(name, "%w", err)
	}
	place := name
	if e.Place != "" {
		place += ": " + e.Place
	}
	return nil, &noregret.Error{Code: noregret.BadInput, Place: place, Message: e.Message, Err: err}
}

// LoadModel reads the model file of the given name; see [ReadModel]. A missing file is an error of
// code not_found.
func LoadModel(path string) (*Model, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noregret.Errorf(noregret.NotFound, path, "no such file")
	}
	if err != nil {
		return nil, noregret.BadInputf(path, "cannot be opened: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	return ReadModel(f, path)
}

func decodeModel(raw []byte) (*Model, error) {
	if err := checkHead(raw); err != nil {
		return nil, err
	}
	d := new(document)
	if err := strictjson.Decode(raw, d, strictjson.Rules{Required: true}); err != nil {
		return nil, err
	}
	m, err := d.model()
	if err != nil {
		return nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	if d.Dim != d.Schema.Dim {
		return nil, noregret.BadInputf("dim", "%d, but schema.dim is %d", d.Dim, d.Schema.Dim)
	}
	want, err := d.sum()
	if err != nil {
		return nil, err
	}
	if d.Checksum != want {
		return nil, noregret.BadInputf("checksum", "does not match the content: the file was damaged or edited")
	}
	return m, nil
}

// checkHead checks format and version first, as a newer file may have unknown fields.
func checkHead(raw []byte) error {
	var head struct {
		Format  *string         `json:"format"`
		Version json.RawMessage `json:"version"`
	}
	err := json.Unmarshal(raw, &head)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return noregret.BadInputf("", "not valid JSON: byte %d: %w", bad.Offset, err)
	}
	switch {
	case head.Format == nil || *head.Format != modelFormat:
		return noregret.BadInputf("format", "not a noregret model: want %q", modelFormat)
	case len(head.Version) == 0:
		return noregret.BadInputf("version", "the field is missing")
	case string(head.Version) != strconv.Itoa(modelVersion):
		return noregret.BadInputf("version", "%s: this program reads version %d; train the model again or use the "+
			"program that made it", head.Version[:min(len(head.Version), 40)], modelVersion)
	}
	return nil
}
