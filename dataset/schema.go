package dataset

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// maxIndex is the largest feature number that a file may use.
const maxIndex = math.MaxInt32

// maxDim is the largest number of features, and maxBits that of hash bits: as many as maxIndex
// allows, as far as an int holds them.
const (
	maxDim  = min(maxIndex+1, math.MaxInt)
	maxBits = 30 + bits.UintSize/64
)

// maxHashedIndex is the largest feature number as written in a svmlight file whose features are
// hashed.
const maxHashedIndex = 999_999_999_999_999_999

// Schema describes a feature space and how inputs map to it. It is stored as JSON in model files
// and in caches (their versions cover it), so that a model reads later inputs as it read the first.
// A Schema returned by this package must not be changed.
type Schema struct {
	Format Format    `json:"format"`         // the format it was learned from; never Auto or Cache
	Base   IndexBase `json:"base,omitempty"` // svmlight: BaseZero or BaseOne
	Bits   int       `json:"bits,omitempty"` // 0, or features are hashed into 2^Bits slots
	Dim    int       `json:"dim"`            // number of features

	// Features names the features 0..Dim-1; nil for svmlight, IDX and hashed features.
	Features []string `json:"features,omitempty"`

	// Columns are those of CSV, in the order of the file, and the keys of JSON lines whose values
	// are read in a way of their own.
	Columns []Column `json:"columns,omitempty"`
	Header  bool     `json:"header,omitempty"`  // CSV: whether the names come from a header
	Missing Missing  `json:"missing,omitempty"` // CSV and JSONL
	// MissingValues are cells that are missing besides the usual ones.
	MissingValues []string `json:"missing_values,omitempty"`

	Label  string `json:"label,omitempty"`  // JSONL: key of the label
	Weight string `json:"weight,omitempty"` // JSONL: key of the weight
}

// Validate checks s, for example after decoding it from JSON. The error has the code
// [noregret.BadInput] and names the field and the rule.
func (s *Schema) Validate() error {
	bad := func(format string, args ...any) error {
		return noregret.BadInputf("schema", format, args...)
	}
	if err := oneOf("format", s.Format, rowFormats...); err != nil {
		return bad("%v", err)
	}
	if s.Bits < 0 || s.Bits > maxBits {
		return bad("bits %d: it must be 0 to %d", s.Bits, maxBits)
	}
	if s.Dim < 0 || s.Dim > maxDim {
		return bad("dim %d: it must be 0 to %d", s.Dim, maxDim)
	}
	if s.Bits > 0 && s.Dim != 1<<s.Bits {
		return bad("dim %d: with %d hash bits it must be %d", s.Dim, s.Bits, 1<<s.Bits)
	}
	if s.Format == VW && s.Bits == 0 {
		return bad("bits 0: vw needs hash bits")
	}
	if s.Format == SVMLight && s.Base != BaseZero && s.Base != BaseOne {
		return bad("base %q: svmlight needs %q or %q", s.Base, BaseZero, BaseOne)
	}
	named := (s.Format == CSV || s.Format == JSONL) && s.Bits == 0
	if !named && s.Features != nil {
		return bad("%d feature names: %s with %d hash bits has no names", len(s.Features), s.Format, s.Bits)
	}
	if named && len(s.Features) != s.Dim {
		return bad("%d feature names for dim %d: there must be one per feature", len(s.Features), s.Dim)
	}
	seen := make(map[string]bool, len(s.Features))
	for i, f := range s.Features {
		if seen[f] {
			return bad("feature %d: duplicate name %q", i, f)
		}
		seen[f] = true
	}
	if s.Format == CSV || s.Format == JSONL && len(s.Columns) > 0 {
		return s.validateColumns(seen)
	}
	return nil
}

func (s *Schema) validateColumns(features map[string]bool) error {
	if err := oneOf("missing", s.Missing, MissingError, MissingZero, MissingIndicator); err != nil {
		return noregret.BadInputf("schema", "%v", err)
	}
	if len(s.Columns) == 0 {
		return noregret.BadInputf("schema", "no columns: csv needs at least one")
	}
	if err := checkColumns(s.Columns, s.Missing); err != nil {
		return noregret.BadInputf("schema", "%v", err)
	}
	for _, c := range s.Columns {
		if err := c.check(); err != nil {
			return noregret.BadInputf("schema", "%v", err)
		}
		for _, part := range c.parts() {
			if s.Bits == 0 && !features[part] {
				return noregret.BadInputf("schema", "column %q is %s but no feature is named %q", c.Name, c.Kind, part)
			}
		}
	}
	return nil
}

// checkColumns returns an error if the column names could give two features the same name: equal
// names, unless both columns are ignored, and a name that starts with "c=" where the features of
// column c are named "c=...".
func checkColumns(columns []Column, missing Missing) error {
	seen := make(map[string]ColumnKind, len(columns))
	for _, c := range columns {
		kind, again := seen[c.Name]
		switch role := func(k ColumnKind) bool { return k == LabelKind || k == WeightKind }; {
		case !again || kind == Ignored && c.Kind == Ignored:
		case role(kind) || role(c.Kind):
			return fmt.Errorf("two columns are named %q: the names must differ", c.Name)
		default:
			return &RefusedColumn{Column: c.Name, Kind: SameName, Reason: fmt.Sprintf("two columns are named %q: the "+
				"names must differ, or leave both out (--ignore-columns)", c.Name)}
		}
		seen[c.Name] = c.Kind
	}
	for _, c := range columns {
		prefix := c.prefix(missing)
		if prefix == "" {
			continue
		}
		for _, other := range columns {
			if strings.HasPrefix(other.Name, prefix) {
				return fmt.Errorf("column %q: its name starts with %q, as do the features of the column %q; rename one",
					other.Name, prefix, c.Name)
			}
		}
	}
	return nil
}

// featureName returns the name of feature i, or what stands for one where there is none.
func (s *Schema) featureName(i uint32) string {
	if int(i) < len(s.Features) {
		return s.Features[i]
	}
	return "feature " + s.name(i)
}

// readOtherwise returns the first option that says otherwise than the schema how values are read,
// with what it says and what the schema says; what is "" if there is none. A rule for missing cells
// may be another than that of training. A column in which no number was seen tells no mark.
func (s *Schema) readOtherwise(opt *Options) (what, given, fixed string) {
	if s.Format != CSV && s.Format != JSONL {
		return "", "", ""
	}
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	if v := opt.asked.missingValues; len(v) > 0 && !slices.Equal(sorted(v), sorted(s.MissingValues)) {
		return "missing values", strings.Join(v, ","), strings.Join(s.MissingValues, ",")
	}
	comma := slices.ContainsFunc(s.Columns, func(c Column) bool { return c.Decimal == "," })
	point := slices.ContainsFunc(s.Columns, func(c Column) bool {
		centered := s.Format == JSONL && c.Center != 0 // its numbers may not be strings
		return c.Kind == Numeric && c.Decimal == "" && !centered
	})
	switch {
	case opt.Decimal == "." && comma:
		return "decimal mark", ".", ","
	case opt.Decimal == "," && point:
		return "decimal mark", ",", "."
	}
	for _, c := range s.Columns {
		if o := c.DateOrder; opt.DateOrder != "" && o != "" && o != packedDays && o != opt.DateOrder {
			return "order of dates", opt.DateOrder, o
		}
	}
	for _, name := range opt.TextColumns {
		if i, err := findColumn(s.Columns, name, ""); err == nil && s.Columns[i].Kind != Text {
			return "column of texts", name, string(s.Columns[i].Kind)
		}
	}
	for _, name := range opt.CenterColumns {
		if i, err := findColumn(s.Columns, name, ""); err == nil && s.Columns[i].Center == 0 {
			return "centered column", name, "no center"
		}
	}
	return "", "", ""
}

// columnPlaces maps the names of columns to their places.
func (s *Schema) columnPlaces() map[string]int {
	at := make(map[string]int, len(s.Columns))
	for i, c := range s.Columns {
		at[c.Name] = i
	}
	return at
}

// columnOf returns the column or key of feature i, and of a feature "column=value" its value: what
// is told of it where it is ignored. at is that of columnPlaces.
func (s *Schema) columnOf(i uint32, at map[string]int) IgnoredColumn {
	name := s.featureName(i)
	if s.Format != CSV && s.Format != JSONL || int(i) >= len(s.Features) {
		return IgnoredColumn{Name: name}
	}
	for _, cut := range []int{
		strings.IndexByte(name, '='), strings.LastIndexByte(name, '='), strings.LastIndexByte(name, '#'),
	} {
		if cut < 0 {
			continue
		}
		k, ok := at[name[:cut]]
		if !ok {
			continue
		}
		c, value := &s.Columns[k], name[cut+1:]
		switch prefix := c.prefix(s.Missing); {
		case !strings.HasPrefix(name, prefix) || prefix == "":
		case c.Kind == Categorical:
			return IgnoredColumn{Name: c.Name, Value: value}
		default:
			return IgnoredColumn{Name: c.Name, Missing: value == "missing"}
		}
	}
	if _, ok := at[name]; ok || s.Format == CSV {
		return IgnoredColumn{Name: name}
	}
	key, value, _ := strings.Cut(name, "=")
	return IgnoredColumn{Name: key, Value: value}
}

// name returns feature i for a message: its name, or its number as the file writes it.
func (s *Schema) name(i uint32) string {
	if int(i) < len(s.Features) {
		return strconv.Quote(s.Features[i])
	}
	if s.Base == BaseOne {
		return strconv.FormatUint(uint64(i)+1, 10)
	}
	return strconv.FormatUint(uint64(i), 10)
}
