package dataset

import (
	"io"
	"os"
	"runtime"
	"slices"

	"github.com/noregret/noregret"
)

// Format names a file format.
type Format string

// The formats. The zero Format is Auto.
const (
	Auto     Format = "auto"     // by content, then by the file's extension
	SVMLight Format = "svmlight" // label index:value ...
	CSV      Format = "csv"      // separated by commas, semicolons or tabs
	JSONL    Format = "jsonl"    // one JSON object per line
	IDX      Format = "idx"      // MNIST's image and label files
	VW       Format = "vw"       // Vowpal Wabbit's text, for simple labels
	Cache    Format = "cache"    // the binary cache of this package
)

// formats are all formats, and rowFormats those that a file of rows can have.
var (
	formats    = []Format{Auto, SVMLight, CSV, JSONL, VW, IDX, Cache}
	rowFormats = formats[1 : len(formats)-1]
)

// Formats returns the names of all formats, [Auto] first.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, string(f))
	}
	return names
}

// IndexBase is the number of the first feature of a svmlight file.
type IndexBase string

// The index bases. The zero IndexBase is BaseAuto.
const (
	BaseAuto IndexBase = "auto" // BaseZero if an index 0 occurs anywhere in the set, else BaseOne
	BaseZero IndexBase = "0"
	BaseOne  IndexBase = "1"
)

// Unseen is the rule for features that a fixed [Schema] lacks.
type Unseen string

// The rules for unseen features. The zero Unseen is UnseenError.
const (
	UnseenError  Unseen = "error"  // the line is bad
	UnseenIgnore Unseen = "ignore" // the feature is dropped and counted in Info.IgnoredFeatures
)

// Missing is the rule for missing cells of columns of numbers and dates. A cell is missing if it is
// empty, one of NA, N/A, NaN, ?, null, missing, none, unknown and <NA> in any case of letters, one
// of - -- . #N/A \N, or one of Options.MissingValues.
type Missing string

// The rules for missing cells. The zero Missing is MissingIndicator.
const (
	MissingError     Missing = "error"     // the line is bad
	MissingZero      Missing = "zero"      // the value 0
	MissingIndicator Missing = "indicator" // the value 0 and a feature "column=missing" of value 1
)

// Header is the rule for the first row of a CSV file: whether it holds the names of the columns.
type Header string

// The header rules. The zero Header is HeaderAuto.
const (
	HeaderAuto Header = "auto" // inferred from the first rows, see docs/formats/inputs.md
	HeaderYes  Header = "yes"
	HeaderNo   Header = "no"
)

// DefaultMaxDim is the default of Options.MaxDim, 2^22. Training takes about 180 bytes per feature,
// so less than a gigabyte: one line with an absurd index, or a column whose names never repeat,
// must not exhaust the memory.
const DefaultMaxDim = 1 << 22

// Options configures the reading of inputs. The zero value recognises the format by its content and
// accepts no bad line.
type Options struct {
	Format Format    // format of the inputs; default Auto
	Base   IndexBase // svmlight: number of the first feature; default BaseAuto

	// Bits hashes features into 2^Bits slots and sums colliding values: 1 to 31 (30 where int has
	// 32 bits), or 0 for no hashing.
	Bits int
	// MaxDim bounds, without Bits and Schema, the svmlight index or the number of CSV or JSONL
	// features; default DefaultMaxDim.
	MaxDim      int
	MaxBadLines int64   // number of lines that may break a rule; they are skipped and counted
	Unseen      Unseen  // with Schema: what to do with a feature it lacks; default UnseenError
	Schema      *Schema // the fixed feature space of a trained model; nil: learn one
	// Like reads as the inputs of this schema were read (columns, marks, centers, weights of words,
	// base), and learns a feature space of its own. Excludes Schema; a cache is refused.
	Like *Schema

	Delimiter string // CSV: "," ";" "|" or a tab; "": found in the first line
	NoQuotes  bool   // CSV: quotes are ordinary characters, every line is a row
	Header    Header // CSV: default HeaderAuto
	// CSV: name, number from 1, or "last"; default: the schema's, else the column that is named
	// label, target, class or y, else the last one. LabelKey is the same for JSONL: in either
	// format one of the two may stand for the other
	LabelColumn string
	// CSV: name or number from 1; "": no weights. WeightKey is the same for JSONL
	WeightColumn string
	// CSV: columns (names or numbers) to encode one-hot in any case; JSONL: keys
	Categorical   []string
	TextColumns   []string // CSV, JSONL: columns or keys of texts, see docs/formats/inputs.md
	IgnoreColumns []string // CSV: columns to skip (names or numbers); JSONL: keys to skip
	Missing       Missing  // default the schema's, else MissingIndicator
	MissingValues []string // cells that are missing besides the usual ones; default the schema's
	// decimal mark, "." or ","; "": found in the first rows. A schema has its own
	Decimal string
	// order of day and month in dates such as 1/2/2024, "dmy" or "mdy"; "": found in the first
	// rows. A schema has its own
	DateOrder string
	// names of columns of numbers from which the median of the first rows is subtracted, see
	// Column.Center
	CenterColumns []string

	// JSONL: key of the label; default the schema's, else the key of the first rows that is named
	// label, target, class or y
	LabelKey  string
	WeightKey string // JSONL: key of the weight; default the schema's, else "weight"

	AllowNoLabel bool // rows without a label get NoClass instead of being bad
	// OnlyLabels, if not nil, makes each line of svmlight, CSV or JSON lines one row that depends
	// on no other line, for differential privacy. A row whose label has another name than these has
	// NoClass. A line that breaks a rule, is blank or a comment is a null row: without features,
	// with NoClass, and not counted as bad. Only the header of CSV, with blank lines before it, is
	// no row. A quoted cell ends with its line, features that the schema lacks are ignored, and
	// weights are 1. A Schema and the format are required.
	OnlyLabels []string
	CountNulls bool // with OnlyLabels: Stream.Nulls says why rows have no class

	Digest Digest // of the input; "" is SHA256
	// Goroutines that parse; 0: GOMAXPROCS. The result is the same for any number
	Workers int
	// Load: bytes of rows held in memory before they go to a temporary file; 0: 72 MiB
	MemoryLimit int64
	WindowBytes int64  // Set.Shuffle: bytes of rows that are shuffled together; 0: 32 MiB
	TempDir     string // Load: directory of the temporary file; "": os.TempDir()
	Share       Share  // Load: the rows to keep; the zero Share keeps all
	CachePath   string // Load: also keep the binary cache under this path, written atomically

	// Progress, if not nil, is called after every piece of the input (about 256 KiB of text) by the
	// goroutine that calls Next or Load, with the bytes read of the stored (compressed) inputs,
	// their total or -1 if it is unknown, and the rows so far.
	Progress func(bytesRead, bytesTotal, rows int64)

	Stdin io.Reader // what the input "-" reads; nil: os.Stdin

	chunkBytes int   // size of the pieces of text that are parsed in parallel; 0: 256 KiB
	lineLimit  int   // longest line; 0: 64 MiB
	asked      asked // options as given, before defaults
	loaded     bool  // by Load: indices stay as written until the end, which may refuse columns

	only    map[string]bool // OnlyLabels, or nil
	nominal []string        // CSV that was ARFF: columns that are categorical without another role
	rows    bool            // of requests, see advise
	keys    []string        // JSONL: keys of the first rows
	// one of MissingValues is a number in some notation
	missingNumbers bool
	// JSONL: none of these is named as a label is, and no option names it
	unlabeled bool
	named     []namedKey // JSONL: keys that options name
}

// namedKey is a key of JSON lines that an option names.
type namedKey struct {
	name, flag string
	top        bool // it is no nested one
}

// advise returns advice that names flags. There is none on the rows of requests: the model says how
// these are read, and who sends them has no flags.
func (opt *Options) advise(advice string) string {
	if opt.rows {
		return ""
	}
	return advice
}

// asked holds options as they were given, for those whose default hides this.
type asked struct {
	missing             Missing
	missingValues       []string
	labelKey, weightKey string
}

const (
	defaultChunk  = 256 << 10
	defaultLine   = 64 << 20
	defaultMemory = 72 << 20
	defaultWindow = 32 << 20
)

func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func oneOf[T ~string](what string, v T, allowed ...T) error {
	for _, a := range allowed {
		if v == a {
			return nil
		}
	}
	return noregret.Errorf(noregret.Usage, "", "%s %q: it must be one of %q", what, string(v), allowed)
}

// withDefaults returns opt with defaults, or a Usage error that names the first option out of its
// range.
func (opt Options) withDefaults() (Options, error) {
	opt.asked = asked{opt.Missing, opt.MissingValues, opt.LabelKey, opt.WeightKey}
	orDefault(&opt.Format, Auto)
	orDefault(&opt.Base, BaseAuto)
	orDefault(&opt.Unseen, UnseenError)
	if opt.Schema != nil && opt.Like != nil {
		return opt, noregret.Errorf(noregret.Usage, "", "a fixed schema and one to read like exclude each other")
	}
	if s := opt.reading(); s != nil {
		orDefault(&opt.Missing, s.Missing)
		orDefault(&opt.LabelKey, s.Label)
		orDefault(&opt.WeightKey, s.Weight)
		opt.MissingValues = s.MissingValues
	}
	opt.missingNumbers = slices.ContainsFunc(opt.MissingValues, func(text string) bool {
		set, _ := notationsOf([]byte(text))
		return set != 0
	})
	orDefault(&opt.Missing, MissingIndicator)
	orDefault(&opt.Header, HeaderAuto)
	orDefault(&opt.Digest, SHA256)
	orDefault(&opt.LabelKey, "label")
	orDefault(&opt.WeightKey, "weight")
	orDefault(&opt.MaxDim, DefaultMaxDim)
	orDefault(&opt.Workers, runtime.GOMAXPROCS(0))
	orDefault(&opt.MemoryLimit, defaultMemory)
	orDefault(&opt.WindowBytes, defaultWindow)
	orDefault(&opt.chunkBytes, defaultChunk)
	orDefault(&opt.lineLimit, defaultLine)
	if opt.Stdin == nil {
		opt.Stdin = os.Stdin
	}
	for _, err := range []error{
		oneOf("format", opt.Format, formats...),
		oneOf("index base", opt.Base, BaseAuto, BaseZero, BaseOne),
		oneOf("rule for unseen features", opt.Unseen, UnseenError, UnseenIgnore),
		oneOf("rule for missing cells", opt.Missing, MissingError, MissingZero, MissingIndicator),
		oneOf("header rule", opt.Header, HeaderAuto, HeaderYes, HeaderNo),
		oneOf("delimiter", opt.Delimiter, "", ",", ";", "\t", "|"),
		oneOf("decimal mark", opt.Decimal, "", ".", ","),
		oneOf("order of dates", opt.DateOrder, "", dayFirst, monthFirst),
		oneOf("digest", opt.Digest, SHA256, XXH64, NoDigest),
	} {
		if err != nil {
			return opt, err
		}
	}
	for _, r := range []struct {
		what           string
		v, least, most int64
	}{
		{"number of hash bits", int64(opt.Bits), 0, maxBits},
		{"largest dimension", int64(opt.MaxDim), 0, maxDim},
		{"number of allowed bad lines", opt.MaxBadLines, 0, 1 << 62},
		{"number of workers", int64(opt.Workers), 0, 1024},
		{"memory limit", opt.MemoryLimit, 0, 1 << 62},
		{"shuffle window", opt.WindowBytes, 0, 1 << 62},
	} {
		if r.v < r.least || r.v > r.most {
			return opt, noregret.Errorf(noregret.Usage, "", "%s %d: it must be %d to %d", r.what, r.v, r.least, r.most)
		}
	}
	if err := opt.setOnlyLabels(); err != nil {
		return opt, err
	}
	if err := opt.checkShare(); err != nil {
		return opt, err
	}
	if opt.LabelKey == opt.WeightKey {
		return opt, noregret.Errorf(noregret.Usage, "", "label key and weight key are both %q: they must differ",
			opt.LabelKey)
	}
	return opt.withSchema()
}

// missingNumber reports whether a number, as it is written, means a missing value.
func (opt *Options) missingNumber(text []byte) bool {
	return opt.missingNumbers && slices.Contains(opt.MissingValues, string(text))
}

// missingLabel reports whether a label is one of MissingValues. Numbers are none: -1 may be missing
// in columns of numbers and a label beside them.
func (opt *Options) missingLabel(text []byte) bool {
	if !slices.Contains(opt.MissingValues, string(text)) {
		return false
	}
	set, _ := notationsOf(text)
	return set == 0
}

// nameRoles gives label and weight the same name as column and as key.
func (opt *Options) nameRoles() error {
	for _, r := range []struct {
		what, flag         string
		column, key, asked *string
	}{
		{"label", "label", &opt.LabelColumn, &opt.LabelKey, &opt.asked.labelKey},
		{"weight", "weight-column", &opt.WeightColumn, &opt.WeightKey, &opt.asked.weightKey},
	} {
		switch {
		case *r.column == "" && *r.asked != "":
			*r.column = *r.asked
		case *r.column != "" && *r.asked == "":
			*r.key, *r.asked = *r.column, *r.column
		case *r.column != *r.asked:
			return noregret.Errorf(noregret.Usage, "", "the %s is the column %q (--%s) and the key %q (--%s-key): "+
				"name one", r.what, *r.column, r.flag, *r.asked, r.what)
		}
	}
	return nil
}

// checkNames returns an error if an option names a column or key and rows of the format have none.
// The error has no place.
func (opt *Options) checkNames(format Format) error {
	if format != SVMLight && format != VW && format != IDX {
		return nil
	}
	for _, o := range []struct {
		flag  string
		names []string
	}{
		{"label", nonEmpty(opt.LabelColumn)},
		{"label-key", nonEmpty(opt.asked.labelKey)},
		{"weight-column", nonEmpty(opt.WeightColumn)},
		{"weight-key", nonEmpty(opt.asked.weightKey)},
		{"categorical", opt.Categorical},
		{"text", opt.TextColumns},
		{"center", opt.CenterColumns},
		{"ignore-columns", opt.IgnoreColumns},
	} {
		if len(o.names) > 0 {
			return noregret.Errorf(noregret.Usage, "", "there is no column %q (--%s): the input is %s, which has no "+
				"columns or keys by name", o.names[0], o.flag, format)
		}
	}
	return nil
}

// nameKeys lists the keys of JSON lines that options name. Rows that no other may change have none,
// nor have rows that are read as others were, in which the keys have been.
func (opt *Options) nameKeys() {
	if opt.only != nil || opt.reading() != nil {
		return
	}
	add := func(flag string, top bool, names ...string) {
		for _, name := range names {
			if name != "" {
				opt.named = append(opt.named, namedKey{name, flag, top})
			}
		}
	}
	if !opt.AllowNoLabel {
		add("--weight-key", true, opt.asked.weightKey)
	}
	add("--categorical", false, opt.Categorical...)
	add("--text", false, opt.TextColumns...)
	add("--ignore-columns", false, opt.IgnoreColumns...)
	add("--center", false, opt.CenterColumns...)
}

// setOnlyLabels prepares the options for rows that do not depend on each other.
func (opt *Options) setOnlyLabels() error {
	if opt.OnlyLabels == nil {
		return nil
	}
	text := opt.Format == SVMLight || opt.Format == CSV || opt.Format == JSONL
	if opt.Schema == nil || !text {
		return noregret.Errorf(noregret.Usage, "", "labels are declared for format %q: this needs a schema and the "+
			"format svmlight, csv or jsonl", opt.Format)
	}
	opt.AllowNoLabel, opt.Unseen, opt.only = true, UnseenIgnore, map[string]bool{}
	for _, l := range opt.OnlyLabels {
		opt.only[l] = true
	}
	return nil
}

// plainLines reports whether every line of CSV is a row, whatever its quotes.
func (opt *Options) plainLines() bool { return opt.NoQuotes || opt.only != nil }

// reading returns the schema that says how inputs are read, or nil.
func (opt *Options) reading() *Schema {
	if opt.Schema != nil {
		return opt.Schema
	}
	return opt.Like
}

// withSchema applies the schema of the reading. It returns an error if an option contradicts it.
func (opt Options) withSchema() (Options, error) {
	s := opt.reading()
	if s == nil {
		return opt, nil
	}
	if err := s.Validate(); err != nil {
		return opt, err
	}
	clash := func(what, given, fixed string) error {
		return noregret.Errorf(noregret.Usage, "",
			"%s %q: the model was trained with %q; leave it out or give the same", what, given, fixed)
	}
	if opt.Format != Auto && opt.Format != Cache && opt.Format != s.Format {
		return opt, clash("format", string(opt.Format), string(s.Format))
	}
	if opt.Base != BaseAuto && s.Format == SVMLight && s.Bits == 0 && opt.Base != s.Base {
		return opt, clash("index base", string(opt.Base), string(s.Base))
	}
	if opt.Bits != 0 && opt.Bits != s.Bits {
		return opt, noregret.Errorf(noregret.Usage, "",
			"%d hash bits: the model was trained with %d; leave it out or give the same", opt.Bits, s.Bits)
	}
	if what, given, fixed := s.readOtherwise(&opt); what != "" && opt.Like != nil {
		return opt, clash(what, given, fixed)
	}
	if s.Format == SVMLight {
		opt.Base = s.Base
	}
	opt.Bits = s.Bits
	return opt, nil
}
