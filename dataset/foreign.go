package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"unicode/utf8"

	"github.com/noregret/noregret"
)

// magics are the first bytes of files that are not read, what they are, and what to do.
var magics = []struct{ magic, what, instead string }{
	{"\xfd7zXZ\x00", "compressed by xz", "xz -dc FILE | noregret ... -"},
	{"PK\x03\x04", "a zip archive", "unzip -p FILE | noregret ... -, or, if it is a spreadsheet " +
		"such as .xlsx, save the sheet as CSV"},
	{"PK\x05\x06", "an empty zip archive", "name a file with data"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x -so FILE | noregret ... -"},
	{"\x04\x22\x4d\x18", "compressed by lz4", "lz4 -dc FILE | noregret ... -"},
	{"PAR1", "Parquet", "noregret-input parquet FILE > data.csv (see docs/how-to/sources.md)"},
	{"ARROW1", "Arrow", "write it as CSV"},
	{"\x89HDF", "HDF5", "write it as CSV"},
	{"\x93NUMPY", "an array of NumPy", "write it as text, as with numpy.savetxt"},
	{"\xd0\xcf\x11\xe0", "an old office document", "save the sheet as CSV"},
}

// foreign returns an error if the first bytes of a file, before or after decompression, are those
// of something that is not read. A zip archive may also be a spreadsheet.
func foreign(name string, head []byte) error {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return noregret.BadInputf(name, "the file is %s, which is not read: %s", m.what, m.instead)
		}
	}
	if len(head) >= 262 && string(head[257:262]) == "ustar" {
		return noregret.BadInputf(name, "the file is a tar archive, which is not read: tar -xOf FILE | noregret ... -")
	}
	return nil
}

// otherEncoding returns an error if a text is UTF-16 or UTF-32, by its byte order mark or by its
// zero bytes.
func otherEncoding(name string, head []byte) error {
	what, code := "", ""
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		what = "UTF-32"
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		what = "UTF-16"
	default:
		line := head[:min(len(head), 64)]
		zeros := bytes.Count(line, []byte{0})
		if zeros < len(line)/3 || zeros < 2 {
			return nil
		}
		what, code = "little-endian UTF-16 without a byte order mark, or no text", "UTF-16LE"
		if line[0] == 0 {
			what, code = "big-endian UTF-16 without a byte order mark, or no text", "UTF-16BE"
		}
	}
	return noregret.BadInputf(name, "the text is %s, which is not read: iconv -f %s -t UTF-8 FILE | noregret ... -",
		what, cmp.Or(code, what))
}

// notUTF8 returns the error of bytes that are not UTF-8, which has no place.
func notUTF8(b []byte) error {
	at := 0
	for at < len(b) {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	from := max(0, at-20)
	return fmt.Errorf("byte %#02x in %s is not UTF-8; the file may be Latin-1: iconv -f WINDOWS-1252 -t UTF-8 FILE | "+
		"noregret ... -", b[min(at, len(b)-1)], quote(bytes.TrimRight(b[from:min(len(b), at+20)], "\r\n")))
}
