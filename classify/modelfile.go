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
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/internal/atomicfile"
	"github.com/noregret/noregret/internal/strictjson"
)

// The model file. Version 1 holds two classes, version 2 several classes or labels, version 3
// (privateVersion) two classes that were learned privately. docs/formats/model.md describes them;
// change them together.
const (
	modelFormat  = "noregret-model"
	modelVersion = 1
	multiVersion = 2
)

// modelDoc is the JSON document, its fields in the order of the file.
type modelDoc struct {
	Format    string          `json:"format"`
	Version   int             `json:"version"`
	Measure   string          `json:"measure"`
	Algorithm string          `json:"algorithm"`
	Labels    ModelLabels     `json:"labels"`
	Dim       int             `json:"dim"`
	Weights   SparseVector    `json:"weights"`
	Intercept float64         `json:"intercept"`
	Threshold float64         `json:"threshold"`
	Schema    *dataset.Schema `json:"schema"`
	Scaling   *ModelScaling   `json:"scaling"`
	Options   ModelOptions    `json:"options"`
	Data      ModelData       `json:"data"`
	Training  ModelTraining   `json:"training"`
	Warnings  []string        `json:"warnings"`
	Checksum  string          `json:"checksum"`
}

func (m *Model) document() document {
	if m.Privacy != nil {
		return m.privateDocument()
	}
	return &modelDoc{
		Format: modelFormat, Version: modelVersion, Measure: m.Measure, Algorithm: m.Algorithm, Labels: m.Labels,
		Dim: m.Schema.Dim, Weights: m.Weights, Intercept: m.Intercept, Threshold: m.Threshold, Schema: m.Schema,
		Scaling: m.Scaling, Options: m.Options, Data: m.Data, Training: m.Training, Warnings: m.Warnings,
	}
}

func (d *modelDoc) model() *Model {
	return &Model{
		Measure: d.Measure, Algorithm: d.Algorithm, Labels: d.Labels, Weights: d.Weights, Intercept: d.Intercept,
		Threshold: d.Threshold, Schema: d.Schema, Scaling: d.Scaling, Options: d.Options, Data: d.Data,
		Training: d.Training, Warnings: d.Warnings,
	}
}

// document is a model as JSON: its fields are in the order of the file, the checksum is last.
type document interface {
	// checksum is the field of the checksum.
	checksum() *string
	// dims are the dimension of the document and that of its schema.
	dims() (dim, schema int)
	classifier() Classifier
}

func (d *modelDoc) checksum() *string { return &d.Checksum }

func (d *modelDoc) dims() (dim, schema int) { return d.Dim, d.Schema.Dim }

func (d *modelDoc) classifier() Classifier { return d.model() }

// encodeDocument writes a document canonically: one top-level field per line, no other white space,
// numbers with the fewest digits that read back the same.
func encodeDocument(d document) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		if i == 0 {
			b.WriteString("{\n")
		} else {
			b.WriteString(",\n")
		}
		b.WriteString(`"` + strictjson.Name(v.Type().Field(i)) + `": `)
		if err := enc.Encode(v.Field(i).Interface()); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - 1) // the encoder's line end
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// checksumOf returns the checksum of a document: that of its canonical form with an empty checksum.
func checksumOf(d document) (string, error) {
	field := d.checksum()
	given := *field
	*field = ""
	b, err := encodeDocument(d)
	*field = given
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(h[:]), nil
}

// Classifier is what a model file holds: a [*Model] of two classes or a [*MultiModel] of several
// classes or labels.
type Classifier interface {
	// Validate checks the rules that a model file must keep.
	Validate() error

	document() document
}

// WriteModel writes a model as one JSON document. Equal models give equal bytes. It fails if the
// model breaks a rule (see [Model.Validate]) or w returns an error.
func WriteModel(w io.Writer, m Classifier) error {
	if err := m.Validate(); err != nil {
		return err
	}
	d := m.document()
	sum, err := checksumOf(d)
	if err != nil {
		return noregret.Errorf(noregret.Internal, "model", "cannot be written as JSON: %w", err)
	}
	*d.checksum() = sum
	b, err := encodeDocument(d)
	if err != nil {
		return noregret.Errorf(noregret.Internal, "model", "cannot be written as JSON: %w", err)
	}
	_, err = w.Write(b)
	return err
}

// SaveModel writes a model to a file atomically: the file is complete or unchanged.
func SaveModel(path string, m Classifier) error {
	var b bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(path, b.Bytes()); err != nil {
		return noregret.Errorf(noregret.Internal, path, "the model cannot be written: %w", err)
	}
	return nil
}

// ReadModel reads a model of two classes. It returns an error of code bad_input, with the file's
// name and the JSON path, for anything unexpected: another format or version, unknown, repeated or
// missing fields, a wrong checksum, an unknown measure or algorithm, indices that do not ascend or
// exceed the dimension, numbers out of their range.
func ReadModel(r io.Reader, name string) (*Model, error) {
	c, err := ReadClassifier(r, name)
	return asTwoClasses(c, name, err)
}

// LoadModel reads the model file of the given name; see [ReadModel]. A missing file is an error of
// code not_found.
func LoadModel(path string) (*Model, error) {
	c, err := LoadClassifier(path)
	return asTwoClasses(c, path, err)
}

func asTwoClasses(c Classifier, name string, err error) (*Model, error) {
	if err != nil {
		return nil, err
	}
	m, ok := c.(*Model)
	if !ok {
		return nil, noregret.BadInputf(name+": version", "%d: a model of several classes or labels; want one of "+
			"two classes, version %d", multiVersion, modelVersion)
	}
	return m, nil
}

// ReadClassifier reads a model of two classes or of several classes or labels, as the file says;
// its errors are those of [ReadModel].
func ReadClassifier(r io.Reader, name string) (Classifier, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, name, "read failed: %w", err)
	}
	c, err := decodeModel(raw)
	if err == nil {
		return c, nil
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

// LoadClassifier reads the model file of the given name; see [ReadClassifier]. A missing file is an
// error of code not_found.
func LoadClassifier(path string) (Classifier, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noregret.Errorf(noregret.NotFound, path, "no such file")
	}
	if err != nil {
		return nil, noregret.BadInputf(path, "cannot be opened: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	return ReadClassifier(f, path)
}

func decodeModel(raw []byte) (Classifier, error) {
	version, err := checkHead(raw)
	if err != nil {
		return nil, err
	}
	d := document(new(modelDoc))
	switch version {
	case multiVersion:
		d = new(multiDoc)
	case privateVersion:
		d = new(privateDoc)
	}
	if err := strictjson.Decode(raw, d, strictjson.Rules{Required: true}); err != nil {
		return nil, err
	}
	c := d.classifier()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if dim, schema := d.dims(); dim != schema {
		return nil, noregret.BadInputf("dim", "%d, but schema.dim is %d", dim, schema)
	}
	want, err := checksumOf(d)
	if err != nil {
		return nil, err
	}
	if *d.checksum() != want {
		return nil, noregret.BadInputf("checksum", "does not match the content: the file was damaged or edited")
	}
	return c, nil
}

// checkHead checks format and version first, as a newer file may have unknown fields. It returns
// the version.
func checkHead(raw []byte) (version int, err error) {
	var head struct {
		Format  *string         `json:"format"`
		Version json.RawMessage `json:"version"`
	}
	err = json.Unmarshal(raw, &head)
	if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
		return 0, noregret.BadInputf("", "not valid JSON: byte %d: %w", bad.Offset, err)
	}
	switch {
	case head.Format == nil || *head.Format != modelFormat:
		return 0, noregret.BadInputf("format", "not a noregret model: want %q", modelFormat)
	case len(head.Version) == 0:
		return 0, noregret.BadInputf("version", "the field is missing")
	}
	version, err = strconv.Atoi(string(head.Version))
	if err != nil || version < modelVersion || version > privateVersion {
		return 0, noregret.BadInputf("version", "%s: this program reads versions %d to %d; train the model "+
			"again or use the program that made it", head.Version[:min(len(head.Version), 40)], modelVersion,
			privateVersion)
	}
	return version, nil
}
