package dataset

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/noregret/noregret"
)

// findFormat returns the format of the input: the one that was named, or else the one that its
// first line looks like, or else the one of its extension, or else that of the model.
func (opt *Options) findFormat(in *input) (Format, error) {
	format, line, err := in.sniff()
	if err != nil {
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
		if sch := opt.reading(); sch != nil {
			return sch.Format, nil
		}
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
	got, _, err := in.sniff()
	if err != nil || opt.Format != Auto {
		return err
	}
	if got != Auto && got != format {
		return noregret.BadInputf(in.name, "the input looks like %s, but %s is %s: want inputs of one format; name it "+
			"(--format %s) if this is wrong", got, first, format, format)
	}
	return nil
}

// sniff returns the format that the first line looks like, or else that of the extension, Auto if
// neither tells, and the line. It returns an error if the input, decompressed, is of a kind that is
// not read, or text in another encoding.
func (in *input) sniff() (format Format, line []byte, err error) {
	head, _ := in.peek(func(head []byte) bool { return toSniff(head) > 0 })
	if n := toSniff(head); n > 0 {
		head = head[:n] // no more than a live input is sure to have
	}
	format, line = in.looksLike(head)
	if format == Cache || format == IDX {
		return format, line, nil
	}
	if err := foreign(in.name, head); err != nil {
		return "", nil, err
	}
	return format, line, otherEncoding(in.name, head)
}

// toSniff returns how many bytes tell the format: the first line with those before it, and 8 at
// least. It returns 0 if head has too few.
func toSniff(head []byte) int {
	switch _, end := firstLine(head); {
	case len(head) < 8:
		return 0
	case head[0] == 0:
		return 8
	case end > 0:
		return max(8, end)
	}
	return 0
}

// looksLike returns the format and the first line of sniff.
func (in *input) looksLike(head []byte) (format Format, line []byte) {
	line, _ = firstLine(head)
	byName := formatOfName(in.name)
	switch {
	case bytes.HasPrefix(head, []byte(cacheMagic)):
		return Cache, line
	case len(head) >= 4 && head[0] == 0 && head[1] == 0 && head[3] > 0 && head[3] < 16:
		return IDX, line
	case len(line) > 0 && line[0] == '{':
		return JSONL, line
	case byName != CSV && looksLikeVW(line):
		return VW, line
	case looksLikeSVMLight(line):
		return SVMLight, line
	case len(line) >= 4 && len(line) <= 5 && foldEqual(line[:4], "sep="):
		return CSV, line
	case byName != Auto:
		return byName, line
	case bytes.ContainsAny(line, ",;\t|"):
		return CSV, line
	}
	return Auto, line
}

// firstLine returns the first line that is neither blank nor a comment, without blanks around it,
// and the number of bytes up to its end, 0 if head does not have the end.
func firstLine(head []byte) (line []byte, end int) {
	rest := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	for len(rest) > 0 {
		var ended bool
		line, rest, ended = bytes.Cut(rest, []byte("\n"))
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			if ended {
				end = len(head) - len(rest)
			}
			return line, end
		}
	}
	return nil, 0
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
	case ".csv", ".tsv", ".psv", ".data", ".arff":
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
