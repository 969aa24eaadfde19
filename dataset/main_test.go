package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// Every test of the package must leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// writeFile puts text into a new file of the given name.
func writeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// show writes all rows of a reader: class[*weight] index:value...; one string per row.
func show(t testing.TB, r Reader, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var b Block
	for {
		err := r.Next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			s := "-"
			if b.Class[i] != NoClass {
				s = fmt.Sprint(b.Class[i])
			}
			if b.RowWeight(i) != 1 {
				s += fmt.Sprintf("*%v", b.RowWeight(i))
			}
			index, value := b.Row(i)
			for k, x := range index {
				s += fmt.Sprintf(" %d:%v", x, value[k])
			}
			out = append(out, s)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// labelNames lists the labels in order.
func labelNames(i Info) []string {
	var out []string
	for _, l := range i.Labels {
		out = append(out, l.Name)
	}
	return out
}

// fingerprint hashes every number of every block, and the borders between blocks, for a stream
// those that Load makes.
func fingerprint(t testing.TB, r Reader, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	next := r.Next
	if s, ok := r.(*Stream); ok {
		next = (&evenReader{from: s}).next
	}
	var b Block
	for {
		err := next(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var buf []byte
		buf = binary.LittleEndian.AppendUint64(buf, uint64(b.FirstRow))
		buf = encodeBlock(buf, &b)
		_, _ = h.Write(buf)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// readAll opens the inputs with Open, reads them to the end and returns the error, nil if there is
// none.
func readAll(opt Options, inputs ...string) (Info, error) {
	s, err := Open(context.Background(), inputs, opt)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = s.Close() }()
	r := evenReader{from: s}
	var b Block
	for {
		if err := r.next(&b); err != nil {
			return s.Info(), eofIsNil(err)
		}
		if err := checkBlock(&b, s.Info()); err != nil {
			return s.Info(), err
		}
	}
}

// checkBlock checks the rules that every block obeys.
func checkBlock(b *Block, i Info) error {
	rules := blockRules{high: uint32(i.Dim), labels: len(i.Labels), noLabel: true}
	if b.Len() == 0 || b.Len() > blockRows {
		return fmt.Errorf("a block of %d rows", b.Len())
	}
	if b.Len() > 1 && 8*len(b.Index)+16*b.Len() > blockBytes {
		return fmt.Errorf("a block of %d rows and %d nonzeros", b.Len(), len(b.Index))
	}
	for _, v := range b.Value {
		if math.IsNaN(float64(v)) {
			return errors.New("NaN")
		}
	}
	return rules.block(b)
}
