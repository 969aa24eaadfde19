package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// arffLine returns the first line that is neither blank nor a comment, if it ends.
func arffLine(head []byte) []byte {
	for {
		line, rest, found := bytes.Cut(head, []byte{'\n'})
		if !found {
			return nil
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '%' {
			return line
		}
		head = rest
	}
}

// isARFF reports whether a text begins as ARFF.
func isARFF(head []byte) bool {
	line := arffLine(head)
	return len(line) > 9 && strings.EqualFold(string(line[:9]), "@relation") && isBlank(line[9])
}

// arffAttribute is a column of ARFF.
type arffAttribute struct {
	name  string
	first string          // the first value of a nominal one
	among map[string]bool // the values of a nominal one, else nil
	text  bool            // string or date
}

// arffReader rewrites ARFF as CSV with a header. Dense rows keep their cells; sparse rows get those
// that they leave out: 0, or the first value of a nominal attribute.
type arffReader struct {
	in         *bufio.Reader
	name       string
	line       int64
	attributes []arffAttribute
	names      map[string]bool // of the attributes
	out        bytes.Buffer
	cells      []string
	err        error
}

func (a *arffReader) bad(format string, args ...any) error {
	return noregret.BadInputf(fmt.Sprintf("%s:%d", a.name, a.line), format, args...)
}

// nextLine returns the next line without its end.
func (a *arffReader) nextLine() (string, error) {
	line, err := a.in.ReadString('\n')
	if line == "" && err != nil {
		return "", err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	a.line++
	if len(line) > defaultLine {
		return "", a.bad("the line has %d bytes: want at most %d", len(line), defaultLine)
	}
	return strings.TrimRight(strings.TrimPrefix(line, "\ufeff"), "\r\n"), nil
}

// readHeader reads the lines to @data. They become empty, and the last one the names.
func (a *arffReader) readHeader() error {
	for {
		line, err := a.nextLine()
		if errors.Is(err, io.EOF) {
			return noregret.BadInputf(a.name, "ARFF without a line @data")
		}
		if err != nil {
			return err
		}
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0][0] == '%' || strings.EqualFold(fields[0], "@relation"):
		case strings.EqualFold(fields[0], "@attribute"):
			if err := a.attribute(strings.TrimSpace(strings.TrimSpace(line)[len(fields[0]):])); err != nil {
				return err
			}
		case strings.EqualFold(fields[0], "@data"):
			if len(a.attributes) == 0 {
				return a.bad("@data without an attribute before it")
			}
			for _, at := range a.attributes {
				a.cells = append(a.cells, at.name)
			}
			a.write()
			return nil
		default:
			return a.bad("%s: want @attribute or @data", quote([]byte(line)))
		}
		a.out.WriteByte('\n')
	}
}

// attribute reads the name and the type of an attribute.
func (a *arffReader) attribute(text string) error {
	name, rest, err := arffWord(text, " \t{")
	if err != nil || name == "" {
		return a.bad("@attribute %s: want a name and a type", quote([]byte(text)))
	}
	at := arffAttribute{name: name}
	rest = strings.TrimSpace(rest)
	kind, _, _ := strings.Cut(strings.ToLower(rest), " ")
	switch {
	case strings.HasPrefix(rest, "{") && strings.HasSuffix(rest, "}"):
		values, err := arffCells(rest[1 : len(rest)-1])
		if err != nil {
			return a.bad("@attribute %s: %w", name, err)
		}
		at.first, at.among = values[0], make(map[string]bool, len(values))
		for _, v := range values {
			at.among[v] = true
		}
	case kind == "string" || kind == "date":
		at.text = true
	case kind != "numeric" && kind != "real" && kind != "integer":
		return a.bad("@attribute %s: the type %s is not read; want numeric, real, integer, string, date or {a,b,...}",
			name, quote([]byte(rest)))
	}
	if a.names[name] {
		return a.bad("@attribute %s: there is one of this name already", name)
	}
	if a.names == nil {
		a.names = map[string]bool{}
	}
	a.names[name] = true
	a.attributes = append(a.attributes, at)
	return nil
}

// nominalNames are the names of the nominal attributes.
func (a *arffReader) nominalNames() []string {
	names := []string{}
	for _, at := range a.attributes {
		if at.among != nil {
			names = append(names, at.name)
		}
	}
	return names
}

// arffWord returns the word at the start of a text, which may be quoted, and what follows it. A
// plain word ends at one of the bytes in ends.
func arffWord(text, ends string) (word, rest string, err error) {
	if text == "" || text[0] != '\'' && text[0] != '"' {
		if i := strings.IndexAny(text, ends); i >= 0 {
			return strings.TrimSpace(text[:i]), text[i:], nil
		}
		return strings.TrimSpace(text), "", nil
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == text[0]:
			return b.String(), text[i+1:], nil
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("a quote in %s is not closed", quote([]byte(text)))
}

// arffCells splits cells at commas.
func arffCells(text string) ([]string, error) {
	cells := []string{}
	for {
		word, rest, err := arffWord(strings.TrimLeft(text, " \t"), ",")
		if err != nil {
			return nil, err
		}
		cells = append(cells, word)
		if rest = strings.TrimLeft(rest, " \t\r"); rest == "" {
			return cells, nil
		}
		if rest[0] != ',' {
			return nil, fmt.Errorf("%s follows a quoted value; want a comma", quote([]byte(rest)))
		}
		text = rest[1:]
	}
}

// Read implements io.Reader.
func (a *arffReader) Read(p []byte) (int, error) {
	for a.out.Len() == 0 {
		if a.err != nil {
			return 0, a.err
		}
		a.err = a.row()
	}
	return a.out.Read(p)
}

// row rewrites the next line.
func (a *arffReader) row() error {
	line, err := a.nextLine()
	if err != nil {
		return err
	}
	if line = strings.TrimSpace(line); line == "" || line[0] == '%' {
		a.out.WriteByte('\n')
		return nil
	}
	if line[0] == '{' {
		err = a.sparse(line)
	} else if a.cells, err = arffCells(line); err == nil && len(a.cells) != len(a.attributes) {
		err = fmt.Errorf("%d values, but there are %d attributes", len(a.cells), len(a.attributes))
	}
	for i, at := range a.attributes {
		if err != nil {
			break
		}
		if c := a.cells[i]; at.among != nil && c != "?" && !at.among[c] {
			err = fmt.Errorf("attribute %s: %s is none of its %d values", at.name, quote([]byte(c)), len(at.among))
		}
	}
	if err != nil { // a bad line, which the reader of CSV counts
		a.cells = append(a.cells[:0], faultMark+err.Error())
		a.cells = append(a.cells, make([]string, len(a.attributes))...)
	}
	a.write()
	return nil
}

// faultMark begins the first cell of a row that stands for a bad line of ARFF. The rest of the cell
// says why it is bad. Such a row has one cell more than there are columns.
const faultMark = "\x00bad: "

// sparse reads a row {index value, ...}.
func (a *arffReader) sparse(line string) error {
	if !strings.HasSuffix(line, "}") {
		return fmt.Errorf("the sparse row has no closing brace")
	}
	a.cells = a.cells[:0]
	for _, at := range a.attributes {
		switch {
		case at.among != nil:
			a.cells = append(a.cells, at.first)
		case at.text:
			a.cells = append(a.cells, "?")
		default:
			a.cells = append(a.cells, "0")
		}
	}
	last := -1
	for rest := strings.TrimSpace(line[1 : len(line)-1]); rest != ""; {
		number, after, _ := strings.Cut(rest, " ")
		i, err := strconv.Atoi(number)
		if err != nil || i <= last || i >= len(a.cells) {
			return fmt.Errorf("index %s of the sparse row: want ascending numbers below %d", quote([]byte(number)),
				len(a.cells))
		}
		word, next, err := arffWord(strings.TrimLeft(after, " \t"), ",")
		if err != nil {
			return err
		}
		a.cells[i], last = word, i
		if next = strings.TrimSpace(next); next != "" && next[0] != ',' {
			return fmt.Errorf("%s in the sparse row: want a comma", quote([]byte(next)))
		}
		rest = strings.TrimSpace(strings.TrimPrefix(next, ","))
	}
	return nil
}

// write writes the cells as a row of CSV.
func (a *arffReader) write() {
	for i, c := range a.cells {
		if i > 0 {
			a.out.WriteByte(',')
		}
		if strings.ContainsAny(c, ",\"\n\r ;\t#") || c == "" {
			a.out.WriteString(`"` + strings.ReplaceAll(c, `"`, `""`) + `"`)
		} else {
			a.out.WriteString(c)
		}
	}
	a.out.WriteByte('\n')
	a.cells = a.cells[:0]
}

// nominalColumns makes the nominal attributes of ARFF, nil for other inputs, categorical unless
// options give them another role, and fixes that a header names the columns.
func (opt *Options) nominalColumns(names []string) {
	if names == nil {
		return
	}
	opt.Header, opt.Delimiter, opt.NoQuotes = HeaderYes, ",", false
	for _, n := range names {
		given := n == opt.LabelColumn || n == opt.WeightColumn
		for _, list := range [][]string{opt.Categorical, opt.TextColumns, opt.IgnoreColumns} {
			given = given || slices.Contains(list, n)
		}
		if !given && opt.reading() == nil {
			opt.nominal = append(opt.nominal, n)
		}
	}
}
