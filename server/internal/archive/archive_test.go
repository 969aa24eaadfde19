package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret"
)

// sample is an archive with something in three pieces between two entries.
func sample(t testing.TB) (file, large []byte) {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, time.Unix(1e9, 5))
	large = bytes.Repeat([]byte("0123456789abcdef"), (2*pieceSize+100)/16)
	err := errors.Join(w.Add("first.json", []byte("{}")), w.AddPieces("large", func(to io.Writer) error {
		for rest := large; len(rest) > 0; {
			n, err := to.Write(rest[:min(len(rest), 70_001)])
			if err != nil {
				return err
			}
			rest = rest[n:]
		}
		return nil
	}), w.Add("last", nil), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), large
}

// read reads a whole archive.
func read(file []byte) (names []string, large []byte, err error) {
	r := NewReader("b.tar", bytes.NewReader(file))
	for {
		name, content, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, large, nil
		}
		if err != nil {
			return names, nil, err
		}
		names = append(names, name+string(content))
		if name == "first.json" {
			if large, err = io.ReadAll(r.Pieces("large")); err != nil {
				return names, nil, err
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	file, large := sample(t)
	names, got, err := read(file)
	if err != nil || strings.Join(names, " ") != "first.json{} last" || !bytes.Equal(got, large) {
		t.Errorf("%v, %q, %d bytes", err, names, len(got))
	}
}

// Whatever is cut off, and whichever byte of the content is changed, the archive is refused as bad
// input. tar itself does not read the padding and the marks of its end.
func TestDamage(t *testing.T) {
	file, _ := sample(t)
	refused := func(file []byte, what string, at int) {
		t.Helper()
		if _, _, err := read(file); noregret.CodeOf(err) != noregret.BadInput || err == nil {
			t.Errorf("%s at %d: %v", what, at, err)
		}
	}
	sums := bytes.Index(file, []byte(sumsName))
	for _, n := range []int{0, 100, 512, 600, 4096, pieceSize, 2 * pieceSize, sums, sums + 512, sums + 600} {
		refused(file[:n], "cut", n)
	}
	for _, n := range []int{512, 513, 1536 + 7, 1536 + pieceSize/2, 1536 + pieceSize + 1000, sums + 512, sums + 700} {
		changed := bytes.Clone(file)
		changed[n] ^= 1
		refused(changed, "flipped", n)
	}
	if _, _, err := read(append(bytes.Clone(file[:512]), file[1024:]...)); err == nil {
		t.Error("an archive that lacks a block was read")
	}
}

// An entry of one archive within another is refused, although tar reads it.
func TestMixed(t *testing.T) {
	make := func(text string) []byte {
		var b bytes.Buffer
		w := NewWriter(&b, time.Unix(1e9, 0))
		if err := errors.Join(w.Add("a", []byte(text)), w.Add("b", []byte(text)), w.Close()); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one, two := make("one"), make("two")
	mixed := append(bytes.Clone(one[:1024]), two[1024:]...)
	_, _, err := read(mixed)
	if err == nil || !strings.Contains(err.Error(), `the entry "a" has another checksum than SHA256SUMS says`) {
		t.Errorf("%v", err)
	}
}

func FuzzReader(f *testing.F) {
	var b bytes.Buffer
	w := NewWriter(&b, time.Unix(1e9, 0))
	if err := errors.Join(w.Add("first.json", []byte("{}")), w.AddPieces("large", func(to io.Writer) error {
		_, err := to.Write([]byte("text"))
		return err
	}), w.Close()); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:700])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _, err := read(file)
		if err != nil && noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%v is not bad input", err)
		}
	})
}

// TestTrailing: what follows the end of an archive is refused with its offset, such as a second
// archive, however the first one ends. Zeros are not: tools fill up the last record.
func TestTrailing(t *testing.T) {
	file, _ := sample(t)
	cut := bytes.TrimRight(file, "\x00") // by a tool that writes no empty blocks at the end
	cut = file[:(len(cut)+511)/512*512]
	zeros := make([]byte, 9000)
	n := len(file)
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"zeros", slices.Concat(file, zeros), ""},
		{"no empty blocks", cut, ""},
		{"garbage", slices.Concat(file, []byte("garbage")), fmt.Sprintf("something follows its end, at byte %d", n)},
		{"garbage after zeros", slices.Concat(file, zeros, []byte("x")), fmt.Sprintf("at byte %d", n+9000)},
		{"two archives", slices.Concat(file, file), fmt.Sprintf("something follows its end, at byte %d", n)},
		{"two archives, without empty blocks between them", slices.Concat(cut, file), "something follows SHA256SUMS"},
	} {
		_, _, err := read(c.file)
		if (err == nil) != (c.want == "") || err != nil &&
			(!strings.Contains(err.Error(), c.want) || noregret.CodeOf(err) != noregret.BadInput) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
