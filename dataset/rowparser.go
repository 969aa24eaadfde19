package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// RowParser parses the rows of requests by the schema of a model, by the same rules as [Open]
// parses those of files. It has no goroutines and reuses its memory; the rows of one call do not
// depend on earlier ones. It is not safe for concurrent use.
type RowParser struct {
	opt    Options
	parser parser
	chunk  chunk
	plan   *csvPlan
	column map[string]int // CSV: the numbers of the columns by their names
	names  string         // CSV: those of features, for errors
	// CSV: the features by their names, and the categories that are a boolean or a number in a
	// spelling of their own by "column=" and the usual spelling; "" stands for several.
	features map[string]uint32
	spelled  map[string]string
	text     []byte
	cells    []string
	// CSV: the values of columns that the model lacks, and the first of these.
	unknown   int64
	unknownIn []IgnoredColumn
}

// NewRowParser makes a parser for the rows of a model. Schemas of formats that have no text are
// refused with an error of code usage.
func NewRowParser(s *Schema, unseen Unseen) (*RowParser, error) {
	opt, err := Options{Schema: s, Unseen: unseen, AllowNoLabel: true, Workers: 1}.withDefaults()
	if err != nil {
		return nil, err
	}
	opt.rows = true
	p := &RowParser{opt: opt, chunk: chunk{file: "line", line: 1}}
	fixed := map[string]uint32{}
	for i, f := range s.Features {
		fixed[f] = uint32(i)
	}
	if s.Bits > 0 {
		fixed = nil
	}
	planner := csvPlanner{opt: &p.opt}
	planner.setColumns(s.Columns, s.Header, s.Features)
	switch s.Format {
	case SVMLight:
		p.parser = newSVMParser(&p.opt)
	case VW:
		p.parser = &vwParser{opt: &p.opt}
	case CSV:
		p.plan = planner.planOf(s.Columns)
		p.plan.delim = ','
		p.parser = newCSVParser(&p.opt, fixed)
		p.column = make(map[string]int, len(s.Columns))
		var names []string
		for i, c := range s.Columns {
			p.column[c.Name] = i
			if c.Kind != LabelKind && c.Kind != WeightKind && c.Kind != Ignored {
				names = append(names, strconv.Quote(c.Name))
			}
		}
		p.features, p.spelled = fixed, spellings(s, p.column)
		p.names = strings.Join(names[:min(len(names), 20)], ", ")
		if len(names) > 20 {
			p.names += fmt.Sprintf(" and %d more", len(names)-20)
		}
	case JSONL:
		p.plan = (&jsonPlanner{csvPlanner: planner, planned: true}).keyPlan()
		p.parser = newJSONParser(&p.opt, fixed)
	default:
		return nil, noregret.Errorf(noregret.Usage, "", "the model was trained on %s, whose rows are not text: want "+
			"svmlight, csv, jsonl or vw", s.Format)
	}
	return p, nil
}

// Lines parses text in the format of the schema, a row a line, except CSV. Blank lines and comments
// are no rows. Labels may be missing and are not read. The error has the place "line:N" of the
// first bad line. The block is valid until the next call; ignored is the number of values that were
// left out because the schema lacks their feature.
func (p *RowParser) Lines(text []byte) (b *Block, ignored int64, err error) {
	if p.column != nil {
		return nil, 0, noregret.BadInputf("", "rows of a model of CSV are JSON objects")
	}
	p.text = append(p.text[:0], text...)
	return p.parse()
}

// Objects parses rows that are JSON objects: by the names of columns for a model of CSV, in which a
// column that is left out or null is an empty cell and a number or text is the cell, of a column of
// categories the one category that is the same boolean or number; as a line of the file for one of
// JSON lines; and with the numbers of features as keys for one of svmlight. With UnseenIgnore a row
// may also have columns that the model lacks, if it has one of the model's. The error has the place
// "rows[i]" of the first bad row, from 0. See [RowParser.Lines] for the results.
func (p *RowParser) Objects(rows []json.RawMessage) (b *Block, ignored int64, err error) {
	p.text, p.unknown, p.unknownIn = p.text[:0], 0, p.unknownIn[:0]
	for i, raw := range rows {
		if err := p.object(raw); err != nil {
			return nil, 0, inRow(i, err)
		}
		p.text = append(p.text, '\n')
	}
	if b, ignored, err = p.parse(); err != nil {
		e, ok := errors.AsType[*noregret.Error](err)
		if !ok || len(p.chunk.bad) == 0 {
			return nil, 0, err
		}
		return nil, 0, noregret.BadInputf(rowPlace(p.chunk.bad[0].row), "%s", e.Message)
	}
	if b.Len() != len(rows) {
		return nil, 0, noregret.BadInputf("rows", "a row has no cell: want a value in each")
	}
	for _, c := range p.unknownIn {
		p.chunk.ignoredIn = ignoredIn(p.chunk.ignoredIn, []byte(c.Name), []byte(c.Value), false)
	}
	return b, ignored + p.unknown, nil
}

// IgnoredColumns returns the first columns of the values that the last call left out.
func (p *RowParser) IgnoredColumns() []IgnoredColumn { return slices.Clone(p.chunk.ignoredIn) }

func rowPlace(i int) string { return fmt.Sprintf("rows[%d]", i) }

// inRow returns an error about a row with the row's place.
func inRow(i int, err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	if !ok {
		return noregret.BadInputf(rowPlace(i), "%w", err)
	}
	place := rowPlace(i)
	if e.Place != "" {
		place += "." + e.Place
	}
	return noregret.BadInputf(place, "%s", e.Message)
}

// parse parses the text.
func (p *RowParser) parse() (*Block, int64, error) {
	c := &p.chunk
	c.data, c.plan = p.text, p.plan
	c.reset()
	p.parser.parse(c)
	if len(c.bad) > 0 {
		return nil, 0, c.bad[0].err
	}
	return &c.rows, c.ignored, nil
}

// object appends the line of an object, without its end.
func (p *RowParser) object(raw json.RawMessage) error {
	if len(raw) == 0 || raw[0] != '{' {
		return noregret.BadInputf("", "%.20q: want a JSON object", string(raw))
	}
	switch p.opt.Schema.Format {
	case JSONL:
		var line bytes.Buffer
		if err := json.Compact(&line, raw); err != nil {
			return err
		}
		p.text = append(p.text, line.Bytes()...)
		return nil
	case VW:
		return noregret.BadInputf("", "rows of a model of Vowpal Wabbit's text are text/x-vw")
	}
	var values map[string]json.RawMessage
	if err := strictjson.Decode(raw, &values, strictjson.Rules{}); err != nil {
		return err
	}
	if p.column == nil {
		return p.numbered(values)
	}
	return p.row(values)
}

// numbered appends a line of svmlight.
func (p *RowParser) numbered(values map[string]json.RawMessage) error {
	type entry struct {
		index uint64
		key   string
	}
	entries := make([]entry, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		n, err := strconv.ParseUint(key, 10, 63)
		if err != nil {
			return noregret.BadInputf(strconv.Quote(key), "want the number of a feature, as the model was trained on "+
				"svmlight")
		}
		if v := values[key]; v[0] != '-' && v[0]-'0' > 9 {
			return noregret.BadInputf(key, "%.20q: want a number", string(v))
		}
		entries = append(entries, entry{n, key})
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return int(min(max(int64(a.index)-int64(b.index), -1), 1)) })
	if len(entries) == 0 {
		p.text = append(p.text, '0') // a label, as a blank line is no row
	}
	for _, e := range entries {
		p.text = append(p.text, ' ')
		p.text = strconv.AppendUint(p.text, e.index, 10)
		p.text = append(append(p.text, ':'), values[e.key]...)
	}
	return nil
}

// row appends a line of CSV.
func (p *RowParser) row(values map[string]json.RawMessage) error {
	columns := p.opt.Schema.Columns
	p.cells = append(p.cells[:0], make([]string, len(columns))...)
	keys := slices.Sorted(maps.Keys(values))
	extra := p.opt.Unseen == UnseenIgnore && slices.ContainsFunc(keys, func(key string) bool {
		i, ok := p.column[key]
		return ok && columns[i].Kind != LabelKind && columns[i].Kind != WeightKind && columns[i].Kind != Ignored
	})
	for _, key := range keys {
		i, ok := p.column[key]
		if !ok && !extra {
			return noregret.BadInputf(strconv.Quote(key), "the model has no such column: want some of %s", p.names)
		}
		if !ok {
			p.ignore(key, values[key])
			continue
		}
		if k := columns[i].Kind; k == LabelKind || k == WeightKind || k == Ignored {
			continue
		}
		cell, err := p.cellOf(&columns[i], values[key])
		if err != nil {
			return noregret.BadInputf(strconv.Quote(key), "%w", err)
		}
		p.cells[i] = cell
	}
	for i, cell := range p.cells {
		if i > 0 {
			p.text = append(p.text, ',')
		}
		if columns[i].Kind == WeightKind {
			cell = "1"
		}
		if strings.ContainsAny(cell, ",\"\r\n") || strings.TrimSpace(cell) != cell {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		p.text = append(p.text, cell...)
	}
	return nil
}

// ignore counts the value of a column that the model lacks, unless it is a missing one.
func (p *RowParser) ignore(key string, raw json.RawMessage) {
	value := string(raw)
	if raw[0] == '"' {
		_ = json.Unmarshal(raw, &value) // it was decoded before
	}
	if isMissing([]byte(value)) {
		return
	}
	p.unknown++
	p.unknownIn = ignoredIn(p.unknownIn, []byte(key), []byte(value), false)
}

// spellings lists the categories of columns that are booleans or numbers, but not in the usual
// spelling.
func spellings(s *Schema, column map[string]int) map[string]string {
	out := map[string]string{}
	for _, name := range s.Features {
		for i := range len(name) {
			if name[i] != '=' {
				continue
			}
			k, ok := column[name[:i]]
			if !ok || s.Columns[k].Kind != Categorical {
				continue
			}
			category := name[i+1:]
			if usual := usualSpelling(category); usual != category {
				key := name[:i+1] + usual
				if _, again := out[key]; again {
					category = ""
				}
				out[key] = category
			}
		}
	}
	return out
}

// usualSpelling returns the text of the same boolean or number as JSON usually has it, and other
// texts as they are.
func usualSpelling(text string) string {
	switch text {
	case "True", "TRUE":
		return "true"
	case "False", "FALSE":
		return "false"
	}
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return text
	}
	const exact = 1 << 53 // from it on several numbers have one value
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v <= -exact || v >= exact {
		return text
	}
	return strconv.FormatFloat(v+0, 'f', -1, 64) // 0 has no sign
}

// category returns the category of a column that a JSON boolean or number is: the one that is
// spelled as it is, or the only one that is the same, or the text itself.
func (p *RowParser) category(c *Column, text string) string {
	prefix := c.Name + "="
	if _, ok := p.features[prefix+text]; ok {
		return text
	}
	usual := usualSpelling(text)
	if _, ok := p.features[prefix+usual]; ok {
		return usual
	}
	return cmp.Or(p.spelled[prefix+usual], text)
}

// cellOf returns the cell of CSV for a JSON value. A number is the value itself; a text is written
// as cells of the file are.
func (p *RowParser) cellOf(c *Column, v json.RawMessage) (string, error) {
	switch v[0] {
	case '{', '[':
		return "", fmt.Errorf("%.20q: want a number, a text, true, false or null", string(v))
	case '"':
		var text string
		err := strictjson.Decode(v, &text, strictjson.Rules{})
		return text, err
	case 'n':
		return "", nil
	}
	text := string(v)
	if c.Kind == Categorical {
		return p.category(c, text), nil
	}
	if v[0] == 't' || v[0] == 'f' {
		return text, nil
	}
	if c.Kind == Numeric && c.Percent {
		return "", fmt.Errorf("%.20s: the column has percentages: want a text such as \"12%%\"", text)
	}
	if c.Kind == Numeric && c.Decimal == "," {
		text = strings.Replace(text, ".", ",", 1)
	}
	if c.Kind == Numeric {
		text = c.Currency + text
	}
	return text, nil
}
