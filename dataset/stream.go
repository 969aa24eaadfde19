package dataset

import (
	"cmp"
	"context"
	"errors"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
)

// Stream reads inputs once, in order. See [Open]. It implements [Reader].
type Stream struct {
	opt   Options
	info  Info
	total int64 // bytes of the stored inputs, -1 when unknown
	stdin bool

	pipe   *pipeline
	cache  *cacheStream // instead of pipe when the input is a cache
	digest hash.Hash
	nulls  Nulls
	census censuses // without a schema: of each column or key
	large  ranges   // svmlight, VW without a schema: of features with large values
	err    error    // what Next returns from now on
	closed bool

	schema  Schema // Dim and Features grow
	named   []bool // of Options.named: a row has the key
	byLabel map[string]uint16
	byName  map[string]uint32
	class   []uint16 // scratch: local label number -> class
	feat    []uint32 // scratch: local name number -> feature
	sorter  rowSorter
	sawZero bool
	firstAt []string // place of the first row with each label
}

// Open starts to read the inputs (file names, or "-" for standard input; several are one data set)
// once, in order. Rows come in bounded blocks, so memory does not depend on the length of the
// input: about 1 MiB per worker. Parsing runs on opt.Workers goroutines; the rows, their order and
// all numbers do not depend on their number. A block has the rows of a piece of text of some size;
// rows of standard input or a pipe are delivered as they arrive, in blocks that depend on the
// writer.
//
// Wrong options are [noregret.Usage] errors, a missing file is [noregret.NotFound], and faults in
// the data are [noregret.BadInput] with "file:line" as their place; those of a line come from
// Next. Cancelling ctx ends the stream with ctx's error. The caller must Close the Stream.
//
// A stream cannot look ahead: under BaseAuto a svmlight input is assumed to number its features
// from 1, and an index 0 is an error that asks for the base.
func Open(ctx context.Context, inputs []string, opt Options) (*Stream, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	total, err := checkInputs(inputs)
	if err != nil {
		return nil, err
	}
	in, err := openInput(inputs[0], opt.Stdin)
	if err != nil {
		return nil, err
	}
	s := &Stream{
		opt: opt, total: total, digest: opt.Digest.hash(),
		byLabel: map[string]uint16{}, byName: map[string]uint32{},
		stdin: slices.Contains(inputs, stdinName),
	}
	s.info.Inputs = slices.Clone(inputs)
	if err := s.start(ctx, in, inputs); err != nil {
		_ = in.close()
		return nil, err
	}
	return s, nil
}

// start finds the format and starts the pipeline.
func (s *Stream) start(ctx context.Context, in *input, inputs []string) error {
	format, err := s.opt.findFormat(in)
	if err != nil {
		return err
	}
	if sch := s.opt.reading(); sch != nil && format != Cache && format != sch.Format {
		return noregret.BadInputf(in.name,
			"the input looks like %s, but the model was trained on %s; name the format if this is wrong", format,
			sch.Format)
	}
	if err := s.opt.checkNames(format); err != nil {
		return err
	}
	if s.opt.Schema != nil {
		s.schema = *s.opt.Schema
		for i, f := range s.schema.Features {
			s.byName[f] = uint32(i)
		}
	} else {
		if format == VW && s.opt.Bits == 0 {
			s.opt.Bits = vwBits
		}
		s.schema = Schema{Format: format, Bits: s.opt.Bits}
		if s.opt.Bits > 0 {
			s.schema.Dim = 1 << s.opt.Bits
		}
	}
	switch format {
	case Cache:
		return s.startCache(ctx, in, inputs)
	case IDX:
		return s.startIDX(ctx, in, inputs)
	default:
		return s.startText(ctx, in, inputs, format)
	}
}

func (s *Stream) startText(ctx context.Context, in *input, inputs []string, format Format) error {
	s.info.Written = in.written
	src := &textSource{opt: &s.opt, format: format, inputs: inputs, next: 1, digest: s.digest}
	var newParser func() parser
	if format == CSV || format == JSONL {
		if err := s.opt.nameRoles(); err != nil {
			return err
		}
	}
	switch format {
	case SVMLight:
		s.chooseBase()
		newParser = func() parser { return newSVMParser(&s.opt) }
	case VW:
		newParser = func() parser { return &vwParser{opt: &s.opt} }
	case CSV:
		s.opt.nominalColumns(in.nominal)
		src.csv = &csvPlanner{opt: &s.opt}
		if sch := s.opt.Schema; sch != nil {
			src.csv.setColumns(sch.Columns, sch.Header, sch.Features)
		} else if like := s.opt.Like; like != nil {
			src.csv.readLike(like)
		}
		newParser = func() parser { return newCSVParser(&s.opt, s.fixedNames()) }
	default:
		s.opt.nameKeys()
		s.named = make([]bool, len(s.opt.named))
		src.json = &jsonPlanner{csvPlanner: csvPlanner{opt: &s.opt}}
		if sch := s.opt.Schema; sch != nil {
			src.json.planned = true
			src.json.setColumns(sch.Columns, false, sch.Features)
		} else if like := s.opt.Like; like != nil {
			src.json.planned = true
			src.json.readLike(like)
		}
		newParser = func() parser { return newJSONParser(&s.opt, s.fixedNames()) }
	}
	if err := src.open(in); err != nil {
		return err
	}
	if format == JSONL {
		s.schema.Label, s.schema.Weight = s.opt.LabelKey, s.opt.WeightKey
	}
	var err error
	switch {
	case s.opt.Schema != nil:
	case format == CSV && src.csv.columns == nil && len(inputs) > 1:
		err = noregret.BadInputf(in.name, "the first file has no row that tells the columns: name one with rows first")
	case format == CSV:
		err = s.copyColumns(src.csv)
	case format == JSONL && (len(src.json.columns) > 0 || s.opt.missingNumbers):
		err = s.copyColumns(&src.json.csvPlanner)
	}
	if err != nil {
		return err
	}
	s.pipe = startPipeline(ctx, src, newParser, s.opt.Workers)
	return nil
}

// copyColumns copies the columns that the first CSV file determined. From now on only the reading
// goroutine uses the planner.
func (s *Stream) copyColumns(p *csvPlanner) error {
	s.schema.Columns = slices.Clone(p.columns)
	s.schema.Header, s.schema.Missing, s.schema.MissingValues = p.header, s.opt.Missing, s.opt.MissingValues
	if s.opt.Bits > 0 {
		return nil
	}
	s.schema.Features = p.features()
	if most := s.opt.MaxDim; len(s.schema.Features) > most {
		return s.tooManyFeatures(s.info.Place(), []byte(s.schema.Features[most]))
	}
	s.schema.Dim = len(s.schema.Features)
	for i, f := range s.schema.Features {
		s.byName[f] = uint32(i)
	}
	return nil
}

// chooseBase chooses the base of indices before the first line is read.
func (s *Stream) chooseBase() {
	switch {
	case s.opt.Schema != nil:
	case s.opt.Bits > 0:
		s.opt.Base = BaseZero // hashing takes indices as written
	case s.opt.loaded && s.opt.Base == BaseAuto:
	case s.opt.Base == BaseAuto:
		s.opt.Base = BaseOne
	}
	if s.opt.Schema == nil {
		s.schema.Base = s.opt.Base
	}
}

// fixedNames returns the dictionary for the workers, or nil if it can still grow.
func (s *Stream) fixedNames() map[string]uint32 {
	if s.opt.Schema == nil || s.opt.Bits > 0 {
		return nil
	}
	return s.byName
}

// Next implements [Reader]. It delivers the rows before a fault first; then it returns the error,
// and the same error from then on. A block has the rows of one piece of the input: they are not
// copied, b and the piece exchange their memory.
func (s *Stream) Next(b *Block) error {
	b.Reset()
	if s.closed {
		return noregret.Errorf(noregret.Usage, "", "the stream is closed")
	}
	first := s.info.Rows
	b.FirstRow = first
	if s.cache != nil {
		return s.cache.next(s, b)
	}
	for s.err == nil {
		c, err := s.fetch()
		if err != nil {
			s.err = err
		}
		if c == nil {
			break
		}
		*b, c.rows = c.rows, *b
		b.FirstRow = first
		s.info.count(b)
		read := c.read
		s.pipe.release(c)
		if s.opt.Progress != nil {
			s.opt.Progress(read, s.total, s.info.Rows)
		}
		if b.Len() > 0 {
			return nil
		}
	}
	return s.err
}

// fetch takes the next chunk and maps its local numbers to those of the whole set. With an error it
// may return the rows before the fault.
func (s *Stream) fetch() (*chunk, error) {
	c, err := s.pipe.next()
	if err != nil {
		if err == io.EOF {
			s.info.Digest = s.opt.Digest.text(s.digest)
			if bad := cmp.Or(s.checkNamed(), s.checkColumns()); bad != nil {
				return nil, bad
			}
		}
		return nil, err
	}
	s.count(c)
	fault := s.countBadLines(c)
	s.nulls.add(c.nulls)
	if err := s.mapLabels(c); err != nil {
		return nil, err
	}
	if err := s.mapFeatures(c); err != nil {
		return nil, err
	}
	s.sawZero = s.sawZero || c.sawZero
	for i, seen := range c.named {
		s.named[i] = s.named[i] || seen
	}
	s.info.IgnoredFeatures += c.ignored
	for _, x := range c.ignoredIn {
		s.info.IgnoredColumns = ignoredIn(s.info.IgnoredColumns, []byte(x.Name), []byte(x.Value), x.Missing)
	}
	return c, fault
}

// count adds the census of a chunk. Columns of a further file may come in another order.
func (s *Stream) count(c *chunk) {
	for index, r := range c.large {
		s.large.add(index, r)
	}
	for k := range c.census {
		one := &c.census[k]
		name := ""
		if c.counted.len() > 0 {
			name = string(c.counted.at(k))
		} else {
			name = c.plan.columns[k].name
		}
		if one.cells > 0 || one.all.some || one.larges > 0 {
			s.census.of(name).addFrom(one, c.file)
		}
	}
}

// checkNamed returns an error if no row of JSON lines has a key that an option names.
func (s *Stream) checkNamed() error {
	for i, k := range s.opt.named {
		if !s.named[i] {
			return noregret.BadInputf(s.info.Place(), "no row has the key %q (%s): %sthe keys of the first rows are %s",
				k.name, k.flag, named.DidYouMean(k.name, s.opt.keys), listNames(s.opt.keys))
		}
	}
	return nil
}

// checkColumns returns an error if a column cannot be meant to be read as it was.
func (s *Stream) checkColumns() error {
	for _, index := range slices.Sorted(maps.Keys(s.large)) {
		r := s.large[index]
		if step, lost := lostRange(r.low, r.high); lost && s.opt.Schema == nil {
			name := strconv.FormatInt(index, 10)
			if r.name != "" {
				name = strconv.Quote(r.name)
			}
			return noregret.BadInputf(s.info.Place(), "feature %s: its large values lie between %v and %v, where "+
				"float32 has steps of %.0f: subtract a constant from its values, or leave it out", name, r.low, r.high,
				step)
		}
	}
	for _, name := range s.census.names {
		col := Column{Name: name, Kind: Categorical}
		if i := slices.IndexFunc(s.schema.Columns, func(c Column) bool { return c.Name == name }); i >= 0 {
			col = s.schema.Columns[i]
		}
		// A stream ends too late to refuse a column that counts the rows.
		mayCount := !s.opt.loaded || slices.Contains(s.opt.CenterColumns, name)
		if err := s.census.of(name).check(&col, s.info.Rows, mayCount); err != nil {
			if _, ok := errors.AsType[*noregret.Error](err); ok {
				return err
			}
			return noregret.BadInputf(s.info.Place(), "%w", err)
		}
	}
	return nil
}

// countBadLines counts the chunk's bad lines. It drops the rows after the first line that exceeds
// the limit and returns the error of that line.
func (s *Stream) countBadLines(c *chunk) error {
	for _, bad := range c.bad {
		if s.info.BadLines+bad.lines > s.opt.MaxBadLines {
			c.truncate(bad.row)
			return bad.err
		}
		s.info.BadLines += bad.lines
		if len(s.info.FirstBad) < maxFirstBad {
			s.info.FirstBad = append(s.info.FirstBad, bad.err)
		}
	}
	return nil
}

// mapLabels replaces the chunk's label numbers by classes.
func (s *Stream) mapLabels(c *chunk) error {
	s.class = s.class[:0]
	for i := range c.labels.len() {
		class, ok := s.byLabel[string(c.labels.at(i))]
		if !ok {
			name, err := canonicalLabel(c.labels.at(i))
			if err != nil {
				return noregret.BadInputf(c.file, "%s", err)
			}
			if class, ok = s.byLabel[name]; !ok {
				if len(s.info.Labels) == maxLabels {
					return noregret.BadInputf(c.file,
						"label %q: there are more than %d different labels; is this a real-valued target?", name,
						maxLabels)
				}
				class = uint16(len(s.info.Labels))
				s.info.Labels = append(s.info.Labels, Label{Name: name})
				s.byLabel[name] = class
				s.firstAt = append(s.firstAt, c.placeOf(slices.Index(c.rows.Class, uint16(i))))
			}
			if len(s.byLabel) < 4*maxLabels {
				s.byLabel[string(c.labels.at(i))] = class
			}
		}
		s.class = append(s.class, class)
	}
	for i, l := range c.rows.Class {
		if l != NoClass {
			c.rows.Class[i] = s.class[l]
		}
	}
	return nil
}

// mapFeatures numbers the chunk's new names, or extends the space to its largest index.
func (s *Stream) mapFeatures(c *chunk) error {
	if s.opt.Schema != nil || s.opt.Bits > 0 {
		return nil
	}
	if !c.local {
		s.schema.Dim = max(s.schema.Dim, int(c.maxSeen+1))
		return nil
	}
	s.feat = s.feat[:0]
	for i := range c.feats.len() {
		f, ok := s.byName[string(c.feats.at(i))]
		if !ok && len(s.schema.Features) >= s.opt.MaxDim {
			return s.tooManyFeatures(c.placeOfFeature(i), c.feats.at(i))
		}
		if !ok {
			name := string(c.feats.at(i))
			f = uint32(len(s.schema.Features))
			s.schema.Features = append(s.schema.Features, name)
			s.byName[name] = f
		}
		s.feat = append(s.feat, f)
	}
	s.schema.Dim = len(s.schema.Features)
	rows := &c.rows
	for i, f := range rows.Index {
		if f >= c.direct {
			rows.Index[i] = s.feat[f-c.direct]
		}
	}
	for i := range rows.Len() {
		index, value := rows.Row(i)
		s.sorter.sort(index, value)
	}
	return nil
}

// placeOfFeature returns the place of the first row with name i of the chunk.
func (c *chunk) placeOfFeature(i int) string {
	row := -1
	if at := slices.Index(c.rows.Index, c.direct+uint32(i)); at >= 0 {
		row, _ = slices.BinarySearch(c.rows.Offset, uint32(at)+1)
		row--
	}
	return c.placeOf(row)
}

// tooManyFeatures returns the error for the first name that exceeds the limit on features.
func (s *Stream) tooManyFeatures(place string, name []byte) error {
	return noregret.BadInputf(place,
		"feature %s: there are more than %d features; leave a column of names out (--ignore-columns), hash features "+
			"(--bits) or raise the largest dimension (--max-dim)",
		quote(name), s.opt.MaxDim)
}

// LabelPlace returns the place of the first row with the label of a class as "file:line", or the
// file alone if the line is unknown.
func (s *Stream) LabelPlace(class int) string {
	if class >= 0 && class < len(s.firstAt) {
		return s.firstAt[class]
	}
	return s.info.Place()
}

// Info summarizes the blocks returned so far. It is final after Next has returned io.EOF.
func (s *Stream) Info() Info {
	i := s.info.clone()
	sch := s.schema
	sch.Features = slices.Clip(sch.Features)
	i.Schema, i.Dim = &sch, sch.Dim
	if len(i.Inputs) > 1 {
		i.FirstAt = slices.Clone(s.firstAt)
	}
	return i
}

// Close stops the reading and releases all resources. If an input is standard input, Close does not
// wait for the goroutine that reads it, which may be blocked.
func (s *Stream) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.cache != nil {
		return s.cache.close()
	}
	s.pipe.close(!s.stdin || s.err == io.EOF)
	return nil
}
