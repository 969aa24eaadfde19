package dataset

import (
	"context"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// idxPair is an image file with its label file, which may be "".
type idxPair struct{ images, labels string }

// idxSource cuts IDX image files into chunks of whole rows with their labels.
type idxSource struct {
	opt    *Options
	pairs  []idxPair
	next   int
	images *input
	labels []byte // of all rows of the current file: one byte per row
	digest hash.Hash
	dim    int // features per row, of every file
	row    int64
	rows   int64
	before int64 // stored bytes of the files before the current one
}

// startIDX pairs the inputs and opens the first images.
func (s *Stream) startIDX(ctx context.Context, in *input, inputs []string) error {
	if s.opt.Bits > 0 {
		return noregret.Errorf(noregret.Usage, "",
			"idx cannot be hashed (%d bits): its features are the pixels", s.opt.Bits)
	}
	src := &idxSource{opt: &s.opt, digest: s.digest, dim: -1}
	if err := src.pair(inputs); err != nil {
		return err
	}
	if s.opt.Schema != nil {
		src.dim = s.opt.Schema.Dim
	}
	if src.pairs[0].images != inputs[0] {
		if err := in.close(); err != nil {
			return noregret.Errorf(noregret.Internal, in.name, "close failed: %w", err)
		}
		in = nil
	}
	if err := src.open(in); err != nil {
		if src.images != in {
			_ = src.close() // only read
		}
		return err
	}
	s.schema.Dim = src.dim
	s.pipe = startPipeline(ctx, src, func() parser { return idxParser{} }, s.opt.Workers)
	return nil
}

// pair divides the inputs into images and labels and pairs them.
func (s *idxSource) pair(inputs []string) error {
	vector := make([]bool, len(inputs))
	for i, name := range inputs {
		if name == stdinName {
			if len(inputs) > 1 || !s.opt.AllowNoLabel {
				return noregret.Errorf(noregret.Usage, "",
					"idx from standard input has no labels; name the image and the label file")
			}
			continue
		}
		dims, err := idxDims(name)
		if err != nil {
			return err
		}
		vector[i] = len(dims) == 1
	}
	for i := 0; i < len(inputs); i++ {
		p := idxPair{images: inputs[i]}
		switch {
		case vector[i] && i+1 < len(inputs) && !vector[i+1]: // labels first
			p.images, p.labels = inputs[i+1], inputs[i]
			i++
		case vector[i]:
			return noregret.BadInputf(inputs[i],
				"this is a label file, but no image file is next to it in the inputs")
		case i+1 < len(inputs) && vector[i+1]:
			p.labels = inputs[i+1]
			i++
		default:
			p.labels = labelFileOf(inputs[i])
			if p.labels == "" && !s.opt.AllowNoLabel {
				return noregret.Errorf(noregret.NotFound, inputs[i],
					"label file not found: name it after the images, or keep it in their directory with "+
						"\"images-idx3\" replaced by \"labels-idx1\"")
			}
		}
		s.pairs = append(s.pairs, p)
	}
	return nil
}

// labelFileOf returns the label file in the directory of an image file, or "".
func labelFileOf(images string) string {
	dir, base := filepath.Split(images)
	for _, dims := range []string{"3", "2", "4"} {
		for _, sep := range []string{"-", "."} {
			name := strings.Replace(base, "images"+sep+"idx"+dims, "labels"+sep+"idx1", 1)
			if name == base {
				continue
			}
			for _, z := range []string{
				name, strings.TrimSuffix(name, filepath.Ext(name)), name + ".gz",
				name + ".zst",
			} {
				if st, err := os.Stat(dir + z); err == nil && st.Mode().IsRegular() {
					return dir + z
				}
			}
		}
	}
	return ""
}

// idxDims reads the sizes in the header of a file.
func idxDims(name string) ([]uint32, error) {
	in, err := openInput(name, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.close() }() // only read
	dims, _, err := readIDXHeader(in)
	return dims, err
}

// readIDXHeader reads the magic number and the sizes.
func readIDXHeader(in *input) (dims []uint32, head []byte, err error) {
	head = make([]byte, 4)
	if err := in.full(head); err != nil {
		return nil, nil, err
	}
	if head[0] != 0 || head[1] != 0 {
		return nil, nil, noregret.BadInputf(in.name,
			"magic number %#08x: an idx file starts with 0x0000", binary.BigEndian.Uint32(head))
	}
	if head[2] != 8 || head[3] == 0 || head[3] > 8 {
		return nil, nil, noregret.BadInputf(in.name,
			"magic number %#08x: only unsigned bytes (type 0x08) in 1 to 8 dimensions are read",
			binary.BigEndian.Uint32(head))
	}
	sizes := make([]byte, 4*int(head[3]))
	if err := in.full(sizes); err != nil {
		return nil, nil, err
	}
	for i := 0; i < len(sizes); i += 4 {
		dims = append(dims, binary.BigEndian.Uint32(sizes[i:]))
	}
	return dims, append(head, sizes...), nil
}

// full reads exactly len(b) bytes.
func (in *input) full(b []byte) error {
	for n := 0; n < len(b); {
		m, err := in.Read(b[n:])
		if n += m; n == len(b) {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return noregret.BadInputf(in.name, "the file is cut off: it ends %d bytes early, or more",
				len(b)-n)
		}
		if err != nil {
			return in.readError(err)
		}
	}
	return nil
}

// open opens the next pair of files. in is the image file if it is already open.
func (s *idxSource) open(in *input) error {
	p := s.pairs[s.next]
	s.next++
	if in == nil {
		var err error
		if in, err = openInput(p.images, s.opt.Stdin); err != nil {
			return err
		}
	}
	s.images = in
	dims, head, err := readIDXHeader(in)
	if err != nil {
		return err
	}
	_, _ = s.digest.Write(head) // a hash never fails
	dim := uint64(1)
	for _, d := range dims[1:] {
		if dim *= uint64(d); dim > math.MaxInt32 || d == 0 {
			return noregret.BadInputf(in.name, "sizes %v: a row must have 1 to %d values", dims,
				math.MaxInt32)
		}
	}
	if len(dims) == 1 {
		return noregret.BadInputf(in.name, "this is a label file, not an image file")
	}
	if dim > uint64(s.opt.lineLimit) {
		return noregret.BadInputf(in.name, "sizes %v: a row is longer than %d bytes", dims,
			s.opt.lineLimit)
	}
	if most := s.opt.MaxDim; s.opt.Schema == nil && dim > uint64(most) {
		return noregret.BadInputf(in.name, "rows have %d values: there are more than %d; raise the largest dimension "+
			"(--max-dim)", dim, most)
	}
	if s.dim >= 0 && int(dim) != s.dim {
		return noregret.BadInputf(in.name, "rows have %d values: %d are expected", dim, s.dim)
	}
	s.dim, s.row, s.rows = int(dim), 0, int64(dims[0])
	return s.readLabels(p)
}

// readLabels reads the whole label file, one byte per row.
func (s *idxSource) readLabels(p idxPair) error {
	s.labels = nil
	if p.labels == "" {
		return nil
	}
	in, err := openInput(p.labels, nil)
	if err != nil {
		return err
	}
	defer func() { _ = in.close() }() // only read
	dims, head, err := readIDXHeader(in)
	if err != nil {
		return err
	}
	if len(dims) != 1 {
		return noregret.BadInputf(p.labels, "%d dimensions: a label file has 1", len(dims))
	}
	if int64(dims[0]) != s.rows {
		return noregret.BadInputf(p.labels, "%d labels for the %d rows of %s", dims[0], s.rows,
			p.images)
	}
	labels, err := io.ReadAll(io.LimitReader(in.r, s.rows+1))
	if err != nil {
		return in.readError(err)
	}
	if int64(len(labels)) != s.rows {
		return noregret.BadInputf(p.labels, "the file does not hold the %d labels that its header states",
			s.rows)
	}
	s.before += in.raw.n.Load()
	s.labels = append(head, labels...)
	return nil
}

// fill implements source.
func (s *idxSource) fill(c *chunk) error {
	for s.row == s.rows {
		if err := s.end(); err != nil {
			return err
		}
		if s.next == len(s.pairs) {
			return io.EOF
		}
		if err := s.open(nil); err != nil {
			return err
		}
	}
	n := min(int64(max(s.opt.chunkBytes/s.dim, 1)), s.rows-s.row)
	size := int(n) * s.dim
	if cap(c.data) < size {
		c.data = make([]byte, size)
	}
	c.data = c.data[:size]
	if err := s.images.full(c.data); err != nil {
		return err
	}
	_, _ = s.digest.Write(c.data) // a hash never fails
	c.file, c.line = s.images.name, s.row+1
	c.class, c.width = nil, s.dim
	if s.labels != nil {
		c.class = s.labels[8+s.row : 8+s.row+n]
	}
	s.row += n
	c.read = s.before + s.images.raw.n.Load()
	return nil
}

// end checks that nothing follows the rows of the current file and closes it.
func (s *idxSource) end() error {
	if s.images == nil {
		return nil
	}
	if _, err := s.images.r.ReadByte(); err == nil {
		return noregret.BadInputf(s.images.name, "bytes follow the %d rows that its header states",
			s.rows)
	} else if !errors.Is(err, io.EOF) {
		return s.images.readError(err)
	}
	_, _ = s.digest.Write(s.labels) // a hash never fails
	s.before += s.images.raw.n.Load()
	return s.close()
}

func (s *idxSource) close() error {
	if s.images == nil {
		return nil
	}
	in := s.images
	s.images = nil
	return in.close()
}

// idxParser turns bytes into rows: feature i is the byte i of the row.
type idxParser struct{}

// parse implements parser.
func (idxParser) parse(c *chunk) {
	var names [256]int32
	var buf [3]byte
	for row := 0; len(c.data) >= (row+1)*c.width; row++ {
		for i, v := range c.data[row*c.width : (row+1)*c.width] {
			if v != 0 {
				c.rows.Index = append(c.rows.Index, uint32(i))
				c.rows.Value = append(c.rows.Value, float32(v))
			}
		}
		class := uint16(NoClass)
		if c.class != nil {
			v := c.class[row]
			if names[v] == 0 {
				id, _ := c.labels.id(strconv.AppendUint(buf[:0], uint64(v), 10))
				names[v] = int32(id) + 1
			}
			class = uint16(names[v] - 1)
		}
		c.rows.endRow(class, 1)
	}
	c.maxSeen = int64(c.width) - 1
}
