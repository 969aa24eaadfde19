package dataset

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/noregret/noregret"
)

// cacheStream implements a Stream whose input is a cache file.
type cacheStream struct {
	ctx    context.Context
	set    *Set
	reader Reader
	owned  bool // the stream closes the set
	total  int64
	read   Block

	remap   bool           // rows must be mapped to the schema of a model
	dim     uint32         // of the model
	feature []uint32       // feature of the cache -> that of the model or noFeature; nil: the same
	columns map[string]int // of the cache, by name
	sorter  rowSorter
}

const noFeature = ^uint32(0)

func (s *Stream) startCache(ctx context.Context, in *input, inputs []string) error {
	if len(inputs) > 1 {
		return noregret.BadInputf(in.name, "this is a binary cache: a cache must be the only input")
	}
	if in.file == nil || in.packed {
		return noregret.BadInputf(in.name,
			"a binary cache must be a plain file: not compressed, not standard input")
	}
	set, err := openCacheSet(in.name, s.opt.WindowBytes, s.info.Inputs)
	if err != nil {
		return err
	}
	c := &cacheStream{ctx: ctx, set: set, owned: true}
	if err := c.reconcile(&s.opt, in.name); err != nil {
		_ = set.Close() // only read
		return err
	}
	if st, err := os.Stat(in.name); err == nil {
		c.total = st.Size()
	}
	c.reader, _ = set.Read() // never fails
	s.cache = c
	s.info = set.info.withoutCounts()
	s.info.Digest = ""
	if s.opt.Schema == nil {
		s.schema = *set.info.Schema
	}
	return in.close()
}

// reconcile checks the cache against the options and prepares the mapping of its features to those
// of the model.
func (c *cacheStream) reconcile(opt *Options, name string) error {
	have := c.set.info.Schema
	bad := func(format string, args ...any) error {
		return noregret.BadInputf(name, format, args...)
	}
	if opt.Like != nil {
		return bad("a cache was read before: to read as another schema says, name the file that it was made from")
	}
	want := opt.Schema
	if want != nil && want.Format != have.Format {
		return bad("the cache was made from %s, but the model was trained on %s", have.Format, want.Format)
	}
	if opt.Bits != 0 && opt.Bits != have.Bits || opt.Schema != nil && opt.Schema.Bits != have.Bits {
		return bad("the cache was made with %d hash bits, not %d; make it again", have.Bits, opt.Bits)
	}
	if have.Format == SVMLight && have.Bits == 0 && opt.Base != BaseAuto && opt.Base != have.Base {
		return bad("the cache numbers features from %s, not from %s; make it again with that base", have.Base, opt.Base)
	}
	if n := c.set.info.NoLabel; n > 0 && !opt.AllowNoLabel {
		return bad("%d rows of the cache have no label", n)
	}
	if err := have.checkOptions(opt); err != nil {
		return bad("%w; make the cache again with that, or leave it out", err)
	}
	if want == nil || have.Bits > 0 {
		return nil
	}
	if want.Format == IDX && want.Dim != have.Dim {
		return bad("the cache has %d features, but the model was trained on %d", have.Dim, want.Dim)
	}
	c.remap, c.dim, c.columns = true, uint32(want.Dim), have.columnPlaces()
	if want.Features == nil {
		c.remap = have.Dim > want.Dim
		return nil
	}
	number := make(map[string]uint32, len(want.Features))
	for i, f := range want.Features {
		number[f] = uint32(i)
	}
	same := true
	for i, f := range have.Features {
		n, ok := number[f]
		if !ok {
			n = noFeature
		}
		same = same && n == uint32(i)
		c.feature = append(c.feature, n)
	}
	c.remap = !same
	return nil
}

// checkOptions checks that the schema of a cache has the columns and keys that the options ask for.
// The error has no code and no place.
func (s *Schema) checkOptions(opt *Options) error {
	if s.Format == CSV || s.Format == JSONL {
		if err := opt.nameRoles(); err != nil {
			return err
		}
	}
	if err := opt.checkNames(s.Format); err != nil {
		return err
	}
	switch s.Format {
	case CSV:
		for _, r := range []struct {
			refs []string
			kind ColumnKind
		}{
			{nonEmpty(opt.LabelColumn), LabelKind},
			{nonEmpty(opt.WeightColumn), WeightKind},
			{opt.Categorical, Categorical},
			{opt.TextColumns, Text},
			{opt.IgnoreColumns, Ignored},
		} {
			for _, ref := range r.refs {
				i, err := findColumn(s.Columns, ref, string(r.kind))
				if err != nil {
					return err
				}
				if c := s.Columns[i]; c.Kind != r.kind {
					return fmt.Errorf("column %q is %s in the cache, not %s", c.Name, c.Kind, r.kind)
				}
			}
		}
		if m := opt.asked.missing; m != "" && m != s.Missing {
			return fmt.Errorf("missing cells were read under the rule %q, not %q", s.Missing, m)
		}
	case JSONL:
		if k := opt.asked.labelKey; k != "" && k != s.Label {
			return fmt.Errorf("the label's key is %q, not %q", s.Label, k)
		}
		if k := opt.asked.weightKey; k != "" && k != s.Weight {
			return fmt.Errorf("the weight's key is %q, not %q", s.Weight, k)
		}
		for _, k := range opt.IgnoreColumns {
			for _, f := range s.Features {
				if f == k || strings.HasPrefix(f, k+"=") || strings.HasPrefix(f, k+".") {
					return fmt.Errorf("key %q is not ignored in the cache, which has the feature %q", k, f)
				}
			}
		}
	}
	if what, given, was := s.readOtherwise(opt); what != "" {
		return fmt.Errorf("%s %q: the rows were read with %q", what, given, was)
	}
	return nil
}

// nonEmpty returns a list of ref unless it is empty.
func nonEmpty(ref string) []string {
	if ref == "" {
		return nil
	}
	return []string{ref}
}

// cachedSet returns the set of an input that is a cache and can be used unchanged, or nil. The
// caller then owns the set.
func (s *Stream) cachedSet() *Set {
	if s.cache == nil || s.cache.remap || s.opt.CachePath != "" {
		return nil
	}
	set := s.cache.set
	if s.opt.Schema != nil {
		set.info.Schema, set.info.Dim = s.opt.Schema, s.opt.Schema.Dim
	}
	s.cache.owned = false
	return set
}

func (c *cacheStream) next(s *Stream, b *Block) error {
	if s.err == nil {
		s.err = c.ctx.Err()
	}
	if s.err != nil {
		return s.err
	}
	dst := b
	if c.remap {
		dst = &c.read
	}
	if err := c.reader.Next(dst); err != nil {
		b.Reset()
		if err == io.EOF {
			s.info.Digest = c.set.info.Digest
		}
		s.err = err
		return err
	}
	if c.remap {
		if err := c.remapRows(s, b); err != nil {
			b.Reset()
			s.err = err
			return err
		}
	}
	b.FirstRow = s.info.Rows
	s.info.count(b)
	if s.opt.Progress != nil {
		s.opt.Progress(c.total*s.info.Rows/c.set.info.Rows, c.total, s.info.Rows)
	}
	return nil
}

// remapRows copies the rows read into b with the model's feature numbers.
func (c *cacheStream) remapRows(s *Stream, b *Block) error {
	for i := range c.read.Len() {
		index, value := c.read.Row(i)
		from := len(b.Index)
		for k, x := range index {
			f := x
			if c.feature != nil {
				f = c.feature[x]
			}
			if f >= c.dim {
				if s.opt.Unseen == UnseenError {
					return noregret.BadInputf(s.info.Place(),
						"row %d: the model has no feature %s; --unseen ignore drops such values",
						c.read.FirstRow+int64(i)+1, c.set.info.Schema.name(x))
				}
				s.info.IgnoredFeatures++
				if columns := s.info.IgnoredColumns; len(columns) < MaxIgnoredColumns {
					of := c.set.info.Schema.columnOf(x, c.columns)
					s.info.IgnoredColumns = ignoredIn(columns, []byte(of.Name), []byte(of.Value), of.Missing)
				}
				continue
			}
			b.Index = append(b.Index, f)
			b.Value = append(b.Value, value[k])
		}
		c.sorter.sort(b.Index[from:], b.Value[from:])
		b.endRow(c.read.Class[i], float32(c.read.RowWeight(i)))
	}
	return nil
}

func (c *cacheStream) close() error {
	err := c.reader.Close()
	if !c.owned {
		return err
	}
	return c.set.Close()
}
