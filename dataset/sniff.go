package dataset

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret"
)

// findFormat returns the format of the input: the one that was named, or else the one that its
// first line looks like, or else the one of its extension.
func (opt *Options) findFormat(in *input) (Format, error) {
	head, _ := in.peek(func(head []byte) bool {
		return len(head) >= 8 && (head[0] == 0 || firstLineEnds(head))
	})
	if bytes.HasPrefix(head, []byte(cacheMagic)) {
		if opt.Format != Auto && opt.Format != Cache {
			return "", noregret.BadInputf(in.name, "this is a binary cache, not %s", opt.Format)
		}
		return Cache, nil
	}
	if opt.Format != Auto {
		return opt.Format, nil
	}
	if len(head) >= 4 && head[0] == 0 && head[1] == 0 && head[3] > 0 && head[3] < 16 {
		return IDX, nil
	}
	byName := formatOfName(in.name)
	line := firstLine(head)
	switch {
	case len(line) > 0 && line[0] == '{':
		return JSONL, nil
	case looksLikeSVMLight(line):
		return SVMLight, nil
	case byName != Auto:
		return byName, nil
	case bytes.ContainsAny(line, ",;\t"):
		return CSV, nil
	case len(line) == 0 || len(bytes.Fields(line)) == 1 && !bytes.Contains(line, []byte{0}):
		return SVMLight, nil // rows without features
	}
	names := Formats()[1:]
	last := len(names) - 1
	return "", noregret.BadInputf(in.name,
		"the format cannot be recognized from the first line %s; name it (--format %s or %s)", quote(line),
		strings.Join(names[:last], ", "), names[last])
}

// firstLine returns the first line that is neither blank nor a comment, without blanks around it.
func firstLine(head []byte) []byte {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
		head = rest
	}
	return nil
}

// firstLineEnds reports whether head has all of what firstLine returns.
func firstLineEnds(head []byte) bool {
	i := bytes.LastIndexByte(head, '\n')
	return i >= 0 && firstLine(head[:i]) != nil
}

// looksLikeSVMLight reports whether the first or the second token of a line is N:... or qid:...
func looksLikeSVMLight(line []byte) bool {
	f := bytes.Fields(line[:min(len(line), 4096)])
	for _, tok := range f[:min(len(f), 2)] {
		if i, _, ok := bytes.Cut(tok, []byte(":")); ok &&
			(isDigits(i) || string(i) == "qid" || len(i) > 1 && i[0] == '-' && isDigits(i[1:])) {
			return !bytes.ContainsAny(tok, `,;"`)
		}
	}
	return false
}

// extension returns the lower-case extension of a file's name without that of the compression.
func extension(name string) string {
	name = strings.ToLower(filepath.Base(name))
	for _, z := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, z)
	}
	return filepath.Ext(name)
}

func isTSV(name string) bool { return extension(name) == ".tsv" }

func formatOfName(name string) Format {
	switch extension(name) {
	case ".csv", ".tsv", ".data":
		return CSV
	case ".jsonl", ".ndjson", ".json":
		return JSONL
	case ".svm", ".svmlight", ".libsvm":
		return SVMLight
	}
	return Auto
}
