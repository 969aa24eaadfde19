package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	library "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/noregret/noregret"
)

// maxHeader bounds the header of a page, which may hold the least and the largest text in it.
const maxHeader = 8 << 20

// plainDictionary is what older writers call Plain in a dictionary and RLEDictionary elsewhere.
const plainDictionary format.Encoding = 2

// pages are the pages of a column in a row group as the library reads them: one after the other,
// unpacked, each with a new header. The library itself would make room for whatever a damaged page
// unpacks to; here it gets only pages that hold what their headers declare, and fit into the limit.
type pages struct {
	file   *File
	leaf   *leaf
	place  string
	meta   *format.ColumnMetaData
	budget *int64 // what the pages of all columns may still take

	at, end       int64 // the next page and the end of the column in the file
	values        int64 // in the pages so far
	dictionary    int64 // what it takes
	hasDictionary bool
	page          int64 // what the current page takes

	read    int64 // bytes that the library has read
	pending []byte
	err     error
}

// newPages returns the pages of a column chunk.
func (f *File) newPages(place string, l *leaf, meta *format.ColumnMetaData, budget *int64) (*pages, error) {
	p := &pages{file: f, leaf: l, place: place, meta: meta, budget: budget, at: meta.DataPageOffset}
	if d := meta.DictionaryPageOffset; d != 0 {
		p.at = d
	}
	p.end = p.at + meta.TotalCompressedSize
	if meta.NumValues == 0 && meta.TotalCompressedSize == 0 {
		return p, nil // pyarrow then writes no place
	}
	if p.at < 4 || meta.TotalCompressedSize < 0 || p.end < p.at || p.end > f.size {
		return nil, noregret.BadInputf(place, "damaged: the column takes the bytes from %d to %d of a file of %d",
			p.at, p.end, f.size)
	}
	return p, nil
}

// ReadAt is for one reader that goes on from where it was. As Read does, it may return fewer bytes
// than asked for without an error.
func (p *pages) ReadAt(b []byte, at int64) (n int, err error) {
	if at -= virtualOffset; at != p.read {
		return 0, fmt.Errorf("read at %d instead of %d", at, p.read)
	}
	for len(p.pending) == 0 && p.err == nil {
		p.pending, p.err = p.next()
	}
	if len(p.pending) == 0 {
		return 0, p.err
	}
	n = copy(b, p.pending)
	p.pending, p.read = p.pending[n:], p.read+int64(n)
	return n, nil
}

// next returns the header and the content of the next page, or io.EOF after the last value.
func (p *pages) next() ([]byte, error) {
	if p.values >= p.meta.NumValues || p.at >= p.end {
		if p.values != p.meta.NumValues {
			return nil, noregret.BadInputf(p.place, "damaged: the pages have %d values, and the column must have %d",
				p.values, p.meta.NumValues)
		}
		return nil, io.EOF
	}
	place := fmt.Sprintf("%s, byte %d", p.place, p.at)
	h, n, err := p.file.pageHeader(place, p.at, p.end)
	if err != nil {
		return nil, err
	}
	packed, size := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if p.at += n; packed < 0 || size < 0 || p.at+packed > p.end {
		return nil, noregret.BadInputf(place, "damaged: a page of %d bytes (%d unpacked) does not fit into the "+
			"column, which ends at byte %d", packed, size, p.end)
	}
	count, err := p.reserve(place, h)
	if err != nil {
		return nil, err
	}
	body := make([]byte, packed)
	if _, err := p.file.r.ReadAt(body, p.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, p.file.readError(place, err)
	}
	p.at += packed
	if h.Type == format.IndexPage {
		return nil, nil
	}
	if h.CRC != 0 && crc32.ChecksumIEEE(body) != uint32(h.CRC) {
		return nil, noregret.BadInputf(place, "damaged: the page has another checksum")
	}
	if body, err = p.unpack(h, body); err == nil {
		err = p.checkCounts(h, body, count)
	}
	if err != nil {
		return nil, noregret.BadInputf(place, "damaged: %v", err)
	}
	h.CRC, h.CompressedPageSize = 0, h.UncompressedPageSize
	header, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	if err != nil {
		return nil, noregret.BadInputf(place, "damaged: %v", err)
	}
	return append(header, body...), nil
}

// reserve takes what a page needs from the budget and gives back what the last one took. It returns
// the number of values.
func (p *pages) reserve(place string, h *format.PageHeader) (count int64, err error) {
	count = -1
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		count = int64(h.DataPageHeader.V.NumValues)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		count = int64(h.DataPageHeaderV2.V.NumValues)
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		count = int64(h.DictionaryPageHeader.V.NumValues)
	case h.Type == format.IndexPage:
		count = 0
	}
	if count < 0 {
		return 0, noregret.BadInputf(place, "damaged: a page of the type %s without a number of values", h.Type)
	}
	// The page as it is stored, unpacked, for the library and decoded, while the library still has
	// the last one; offsets of texts or indices, and levels.
	need := int64(h.CompressedPageSize) + 4*int64(h.UncompressedPageSize) + 6*count
	switch h.Type {
	case format.DictionaryPage:
		*p.budget += p.dictionary - need
		p.dictionary, p.hasDictionary = need, true
	case format.DataPage, format.DataPageV2:
		*p.budget += p.page - need
		p.page = need
		p.values += count
	}
	if *p.budget < 0 {
		return 0, noregret.BadInputf(place, "a page of each column needs %d bytes together, and the limit is %d: "+
			"write the file with smaller pages, raise the limit (--max-held) or leave columns out (--ignore-columns)",
			p.file.opt.MaxHeld-*p.budget, p.file.opt.MaxHeld)
	}
	return count, nil
}

// unpack returns the content of a page, which has the size that its header declares.
func (p *pages) unpack(h *format.PageHeader, body []byte) ([]byte, error) {
	levels := int64(0)
	packed := true
	if h.Type == format.DataPageV2 {
		v2 := &h.DataPageHeaderV2.V
		levels = int64(v2.RepetitionLevelsByteLength) + int64(v2.DefinitionLevelsByteLength)
		if v2.RepetitionLevelsByteLength < 0 || v2.DefinitionLevelsByteLength < 0 || levels > int64(len(body)) ||
			levels > int64(h.UncompressedPageSize) {
			return nil, fmt.Errorf("levels of %d bytes in a page of %d", levels, len(body))
		}
		packed = !v2.IsCompressed.Valid || v2.IsCompressed.V
	}
	size := int(h.UncompressedPageSize) - int(levels)
	content := body[levels:]
	if packed && p.meta.Codec != format.Uncompressed && (len(content) > 0 || size > 0) {
		var err error
		if content, err = unpack(p.meta.Codec, content, size); err != nil {
			return nil, err
		}
	}
	if len(content) != size {
		return nil, fmt.Errorf("a page unpacks to %d bytes instead of %d", len(content), size)
	}
	if levels == 0 {
		return content, nil
	}
	return append(body[:levels:levels], content...), nil
}

// checkCounts checks that the runs of a page declare no more values than it has.
func (p *pages) checkCounts(h *format.PageHeader, body []byte, count int64) error {
	var encoding format.Encoding
	levels := []byte{}
	switch h.Type {
	case format.DictionaryPage:
		if e := h.DictionaryPageHeader.V.Encoding; e != format.Plain && e != plainDictionary {
			return fmt.Errorf("a dictionary in the encoding %s", e)
		}
		return nil
	case format.DataPage:
		v1 := &h.DataPageHeader.V
		if encoding = v1.Encoding; p.leaf.optional {
			if v1.DefinitionLevelEncoding != format.RLE {
				return fmt.Errorf("levels in the encoding %s, and RLE is read", v1.DefinitionLevelEncoding)
			}
			var ok bool
			if levels, body, ok = prefixed(body); !ok {
				return errors.New("the levels end outside of the page")
			}
		}
	default:
		v2 := &h.DataPageHeaderV2.V
		from := v2.RepetitionLevelsByteLength
		encoding, levels = v2.Encoding, body[from:from+v2.DefinitionLevelsByteLength]
		body = body[from+v2.DefinitionLevelsByteLength:]
		if v2.NumNulls < 0 || int64(v2.NumNulls) > count || !p.leaf.optional && v2.NumNulls > 0 {
			return fmt.Errorf("%d nulls among %d values", v2.NumNulls, count)
		}
	}
	if !runs(levels, 1, count) {
		return errors.New("the levels are not of so many values")
	}
	ok := true
	switch encoding {
	case plainDictionary, format.RLEDictionary:
		if !p.hasDictionary {
			return errors.New("a page needs a dictionary, and there is none before it")
		}
		ok = len(body) == 0 || body[0] <= 32 && runs(body[1:], int(body[0]), count)
	case format.RLE: // of booleans
		var bits []byte
		if bits, _, ok = prefixed(body); ok {
			ok = runs(bits, 1, count)
		}
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray:
		ok = deltas(body, count)
	case format.DeltaByteArray: // a value repeats the first bytes of the one before it
		if ok = deltas(body, count); ok {
			shared, err := library.DeltaBinaryPacked.DecodeInt32(nil, body)
			if err != nil {
				return err
			}
			total := int64(0)
			for _, n := range shared {
				total += int64(max(n, 0))
			}
			if *p.budget -= total; *p.budget < 0 {
				return fmt.Errorf("texts of %d bytes in one page, which is above the limit (--max-held)", total)
			}
			p.page += total
		}
	}
	if !ok {
		return fmt.Errorf("a page of %d values is not one in the encoding %s", count, encoding)
	}
	return nil
}

// prefixed splits bytes that begin with a length.
func prefixed(b []byte) (part, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > int64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

// paddedGroups is the number of groups of values up to which a writer may fill a run with padding:
// DuckDB fills 32 of them, and a header of one byte counts no more than 63.
const paddedGroups = 63

// runs reports whether the runs of numbers of so many bits are whole, and are of at most count
// values and the padding of the last run.
func runs(b []byte, bits int, count int64) bool {
	total := int64(0)
	for len(b) > 0 {
		u, n := binary.Uvarint(b)
		if n <= 0 || u > 1<<32 {
			return false
		}
		b = b[n:]
		size, k := int64(bits+7)/8, int64(u>>1)
		if u&1 == 1 { // groups of 8 values
			size = k * int64(bits)
			padded := total < count && k <= paddedGroups
			if k *= 8; padded {
				k = min(k, count-total)
			} else {
				k = max(k-7, 0)
			}
		}
		if total += k; total > count || size > int64(len(b)) {
			return false
		}
		b = b[size:]
	}
	return true
}

// deltas reports whether packed differences declare at most count values.
func deltas(b []byte, count int64) bool {
	if len(b) == 0 {
		return true
	}
	for i := range 3 { // the block, its parts, the values
		u, n := binary.Uvarint(b)
		if n <= 0 || i == 2 && u > uint64(count) {
			return false
		}
		b = b[n:]
	}
	return true
}

// pageHeader reads the header of the page at an offset and returns its length.
func (f *File) pageHeader(place string, at, end int64) (*format.PageHeader, int64, error) {
	for size := int64(512); ; size *= 8 {
		b := make([]byte, min(size, maxHeader, end-at))
		if _, err := f.r.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, f.readError(place, err)
		}
		n, short, ok := skim(b, 16)
		if short && int64(len(b)) == size {
			continue
		}
		if !ok {
			return nil, 0, noregret.BadInputf(place, "damaged: no header of a page")
		}
		h := new(format.PageHeader)
		var protocol thrift.CompactProtocol
		if err := thrift.NewDecoder(protocol.NewReader(bytes.NewReader(b[:n]))).Decode(h); err != nil {
			return nil, 0, noregret.BadInputf(place, "damaged: no header of a page: %v", err)
		}
		return h, int64(n), nil
	}
}
