package dataset

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/noregret/noregret"
)

// OpenFile decompresses, reads standard input and names what is wrong with a file.
func TestOpenFile(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("some text")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name string
		code noregret.Code // "" for success
	}{
		{stdinName, ""},
		{file("plain", []byte("some text")), ""},
		{file("packed", packed.Bytes()), ""},
		{file("cut", packed.Bytes()[:packed.Len()-6]), noregret.BadInput},
		{filepath.Join(dir, "none"), noregret.NotFound},
	} {
		in, err := OpenFile(c.name, strings.NewReader("some text"))
		var text []byte
		if err == nil {
			text, err = io.ReadAll(in)
			if closed := in.Close(); closed != nil {
				t.Error(closed)
			}
		}
		switch {
		case c.code != "" && (err == nil || noregret.CodeOf(err) != c.code):
			t.Errorf("%s: %v, want the code %s", c.name, err, c.code)
		case c.code == "" && (err != nil || string(text) != "some text"):
			t.Errorf("%s: %q, %v", c.name, text, err)
		}
	}
}
