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
	format, line := in.sniff()
	if err := in.checkText(format); err != nil {
		return "", err
	}
	switch {
	case format == Cache && opt.Format != Auto && opt.Format != Cache:
		return "", noregret.BadInputf(in.name, "this is a binary cache, not %s", opt.Format)
	case opt.Format != Auto && format != Cache:
		return opt.Format, nil
	case format != Auto:
		return format, nil
	case len(line) == 0 || len(bytes.Fields(line)) == 1 && !bytes.Contains(line, []byte{0}):
		return SVMLight, nil // rows without features
	}
	names := Formats()[1:]
	last := len(names) - 1
	return "", noregret.BadInputf(in.name,
		"the format cannot be recognized from the first line %s; name it (--format %s or %s)", quote(line),
		strings.Join(names[:last], ", "), names[last])
}

// checkFormat returns an error if a further input looks like another format than that of the first
// one. Its lines could pass for rows: a line of CSV is a label without features in svmlight. A
// named format is not questioned.
func (opt *Options) checkFormat(in *input, format Format, first string) error {
	got, _ := in.sniff()
	if err := in.checkText(got); err != nil || opt.Format != Auto {
		return err
	}
	if got != Auto && got != format {
		return noregret.BadInputf(in.name, "the input looks like %s, but %s is %s: want inputs of one format; name it "+
			"(--format %s) if this is wrong", got, first, format, format)
	}
	return nil
}

// checkText returns an error if the input, decompressed, is of a kind that is not read, or text in
// another encoding.
func (in *input) checkText(format Format) error {
	if format == Cache || format == IDX {
		return nil
	}
	head, _ := in.r.Peek(min(in.r.Buffered(), 512)) // sniff has filled the buffer
	if err := foreign(in.name, head); err != nil {
		return err
	}
	return otherEncoding(in.name, head)
}

// sniff returns the format that the first line looks like, or else that of the extension, Auto if
// neither tells, and the line.
func (in *input) sniff() (format Format, line []byte) {
	head, _ := in.peek(func(head []byte) bool {
		return len(head) >= 8 && (head[0] == 0 || firstLineEnds(head))
	})
	line = firstLine(head)
	byName := formatOfName(in.name)
	switch {
	case bytes.HasPrefix(head, []byte(cacheMagic)):
		return Cache, line
	case len(head) >= 4 && head[0] == 0 && head[1] == 0 && head[3] > 0 && head[3] < 16:
		return IDX, line
	case len(line) > 0 && line[0] == '{':
		return JSONL, line
	case looksLikeVW(line):
		return VW, line
	case looksLikeSVMLight(line):
		return SVMLight, line
	case byName != Auto:
		return byName, line
	case bytes.ContainsAny(line, ",;\t"):
		return CSV, line
	}
	return Auto, line
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
	for _, z := range []string{".gz", ".zst", ".bz2"} {
		name = strings.TrimSuffix(name, z)
	}
	return filepath.Ext(name)
}

func isTSV(name string) bool { return extension(name) == ".tsv" }

func formatOfName(name string) Format {
	switch extension(name) {
	case ".csv", ".tsv", ".data", ".arff":
		return CSV
	case ".jsonl", ".ndjson", ".json":
		return JSONL
	case ".svm", ".svmlight", ".libsvm":
		return SVMLight
	case ".vw":
		return VW
	}
	return Auto
}
